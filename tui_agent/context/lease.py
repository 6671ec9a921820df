"""One writer at a time: the lease of a session.

The lease is an exclusive `flock` on a file that names its holder (host, process, since when). The system gives it back
when the process ends, however it ends. Where the file system cannot lock, a file that exists only while it is held
takes its place: its holder touches it every few seconds, and one that was not touched for long is taken over.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tui_agent.context.errors import Holder, LogBusy, LogWriteError

_UNSUPPORTED = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_BEAT_SECONDS = 5.0
"""A holder without a lock touches its file this often."""
_STALE_SECONDS = 30.0
"""A lease file that was not touched for so long is taken over."""
_ORPHAN_SECONDS = 2.0
"""So long a lock is waited for whose holder has ended."""
_LARGEST = 4096
"""Bytes read of a lease file; what names a holder is far shorter."""


class Lease:
    """The right to write one log: taken with `acquire`, held until `release` or the end of the process.

    `notice` is empty, or says in words that only a heartbeat guards the log. `beat` and `stale` are its seconds
    between two touches and without one.
    """

    def __init__(
        self, path: Path | str, *, beat: float = _BEAT_SECONDS, stale: float = _STALE_SECONDS
    ) -> None:
        self.path = Path(path)
        self.notice = ""
        self._beat = beat
        self._stale = stale
        self._descriptor: int | None = None
        self._pulse: _Pulse | None = None

    @property
    def held(self) -> bool:
        """True from `acquire` to `release`.

        Where only a file guards the log it turns False if that file was not touched in time (the machine slept), since
        another writer may have taken it over; then `acquire` tells.
        """
        return self._descriptor is not None or (self._pulse is not None and self._pulse.alive)

    def acquire(self) -> None:
        """Take the lease; nothing happens if it is held already.

        Raises:
            LogBusy: another writer holds it; the error says who.
            LogWriteError: the lease file cannot be made or opened.
        """
        if self.held:
            return
        self.release()
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._descriptor = _lock(self.path)
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
                self._pulse = _Pulse(self.path.with_name(self.path.name + ".held"), self._beat, self._stale)
                self.notice = (
                    f"{self.path.parent} is on a file system without locks; a file guards this session instead. "
                    "Do not open it on two machines at once."
                )
        except OSError as error:
            ways = ("make the folder writable, or open the session read-only",)
            raise LogWriteError(
                self.path, error.errno or 0, "the session cannot be opened for writing", ways
            ) from error

    def release(self) -> None:
        """Give the lease back; nothing happens if it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)
        pulse, self._pulse = self._pulse, None
        if pulse is not None:
            pulse.stop()


def holder_of(path: Path) -> Holder | None:
    """Who holds the lease of a session now, without taking it; None if nobody does."""
    for file in (path, path.with_name(f"{path.name}.held")):
        try:
            holder = _parse(file.read_bytes()[:_LARGEST])
        except OSError:
            continue
        # a killed holder leaves its name; only the lock itself says whether a namesake lives
        if holder.pid and not _is_gone(holder) and (file != path or _is_locked(path)):
            return holder
    return None


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class _Pulse:
    """A lease file that exists while it is held and is touched while its holder lives."""

    def __init__(self, path: Path, beat: float, stale: float) -> None:
        self._path = path
        self._beat = beat
        self._stale = stale
        self._mine = _describe(nonce=secrets.token_hex(8))
        self._touched = time.monotonic()
        self._ended = threading.Event()
        try:
            self._create()
        except FileExistsError:
            with self._takeover():
                self._path.unlink(missing_ok=True)
                self._create()
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    @property
    def alive(self) -> bool:
        return not self._ended.is_set() and time.monotonic() - self._touched < self._stale

    def stop(self) -> None:
        """Remove the file if it is still ours."""
        self._ended.set()
        with contextlib.suppress(OSError):
            if self._is_mine():
                self._path.unlink(missing_ok=True)

    def _create(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, self._mine)
        finally:
            os.close(descriptor)

    def _run(self) -> None:
        while not self._ended.wait(self._beat):
            try:
                if not self._is_mine():
                    self._ended.set()
                    return
                os.utime(self._path)
                self._touched = time.monotonic()
            except OSError:
                continue

    def _is_mine(self) -> bool:
        try:
            return self._path.read_bytes() == self._mine
        except FileNotFoundError:
            return False

    @contextlib.contextmanager
    def _takeover(self) -> Iterator[None]:
        """The exclusive right to replace a stale lease file.

        Raises:
            LogBusy: it is not stale, or another process is replacing it.
        """
        guard = self._path.with_name(self._path.name + ".takeover")
        if self._age(guard) > self._stale:
            guard.unlink(missing_ok=True)
        try:
            os.close(os.open(guard, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            raise LogBusy(self._holder()) from None
        try:
            holder = self._holder()
            if self._age(self._path) <= self._stale and not _is_gone(holder):
                raise LogBusy(holder)
            yield
        finally:
            guard.unlink(missing_ok=True)

    def _holder(self) -> Holder:
        try:
            return _parse(self._path.read_bytes()[:_LARGEST])
        except FileNotFoundError:
            return _parse(b"")

    def _age(self, path: Path) -> float:
        """Seconds since the file was touched, by the clock of the file system; 0 if it is not there."""
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".tmp") as probe:
            now = os.fstat(probe.fileno()).st_mtime
        try:
            return now - path.stat().st_mtime
        except FileNotFoundError:
            return 0.0


def _lock(path: Path) -> int:
    """A descriptor that holds the lock on the file at `path`, which names us.

    A process that was killed while it started another may leave the lock with that one until it runs its own
    program, which closes it: so a lock whose holder is gone is waited for.
    """
    until = time.monotonic() + _ORPHAN_SECONDS
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                _sign(descriptor)
                return descriptor
        except BlockingIOError:
            holder = _signed(descriptor)
            if not _is_gone(holder) or time.monotonic() > until:
                os.close(descriptor)
                raise LogBusy(holder) from None
            time.sleep(0.01)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """False if the file was removed or replaced between opening and locking it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    """Write who we are. On a full disk the lock holds without it."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _describe(), 0)


def _signed(descriptor: int) -> Holder:
    """Who holds the lock. One that took it just now writes its name in the next moment."""
    for _ in range(5):
        holder = _parse(os.pread(descriptor, _LARGEST, 0))
        if holder.pid:
            break
        time.sleep(0.001)
    return holder


def _describe(**more: str) -> bytes:
    me = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(me | more).encode()


def _parse(data: bytes) -> Holder:
    """The holder a lease file names; an empty host and process 0 where it does not (yet)."""
    try:
        fields = json.loads(data)
    except ValueError:
        fields = None
    fields = fields if isinstance(fields, dict) else {}
    host, pid, since = fields.get("host"), fields.get("pid"), fields.get("since")
    return Holder(
        host=host if isinstance(host, str) else "",
        pid=pid if isinstance(pid, int) else 0,
        since=since if isinstance(since, str) else "",
    )


def _is_gone(holder: Holder) -> bool:
    """True if the holder is a process of this machine that has ended."""
    if holder.host != socket.gethostname() or holder.pid <= 0:
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
