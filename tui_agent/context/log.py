"""The file under a context: appended to, synced, and watched for others' changes.

An append is one `write` of whole lines to one descriptor opened with O_APPEND. What was written since the last good
fsync stays in memory: after a failed fsync the system may have dropped it, so that descriptor is never used again
and the file is written anew from what was safe and what is remembered.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tui_agent.context.errors import LogChanged, LogReadError, LogWriteError
from tui_agent.context.projection import Projection
from tui_agent.context.source import Source

Durability = Literal["step", "record", "off"]

_UNSYNCED_BYTES = 32 * 1024 * 1024
"""More than this is not kept in memory: the next append waits for the disk first."""

_WAYS = {
    errno.ENOSPC: ("free some space on the disk", "then repeat what you did"),
    errno.EDQUOT: ("free some of your quota", "then repeat what you did"),
    errno.EFBIG: ("the limit on file sizes is too low for this session: raise it", "or clear the context"),
    errno.EROFS: ("the file system is read-only: remount it, or open the session read-only",),
    errno.EACCES: ("make the folder and the file writable, or open the session read-only",),
    errno.EPERM: ("make the folder and the file writable, or open the session read-only",),
}
_NO_SENDFILE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSOCK})
_ANY_WAY = ("check the disk, then repeat what you did",)


def write_error(path: Path, error: OSError, what: str) -> LogWriteError:
    """The error that says, in words, that the disk refused."""
    number = error.errno or 0
    return LogWriteError(path, number, what, _WAYS.get(number, _ANY_WAY))


def sync_folder(folder: Path) -> None:
    """Make names in the folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Log:
    """One context.jsonl and the descriptor its writer appends to."""

    def __init__(self, path: Path, durability: Durability = "step") -> None:
        self.path = path
        self._name = os.fspath(path)
        self.durability = durability
        self.broken: LogWriteError | None = None
        """Set when the disk left the file in doubt: nothing more is written until it is read anew."""
        self._suspect = False
        """Set when an fsync failed: the descriptor is not asked again, since it would not tell twice."""
        self._identity: tuple[int, int] | None = None
        self._size = 0
        self._torn = False
        self._descriptor: int | None = None
        self._new_name = False
        self._unsynced: list[bytes] = []
        self._unsynced_bytes = 0
        self._synced = 0
        self._lock = threading.Lock()

    # --- reading -------------------------------------------------------------------------------------------------

    def scan(self, opened: Callable[[Source, int], None]) -> Projection:
        """Read the file; a missing one is like an empty one, but for its source. Blocks (call it in a thread).

        `opened` is told of the file and its size before it is read.

        Raises:
            LogReadError: it is a folder, not a file, or cannot be read.
        """
        try:
            source = Source(self.path)
            status = os.fstat(source.descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise LogReadError(
                    self.path, "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is no file"
                )
            opened(source, status.st_size)
            projection = Projection.load(source)
        except FileNotFoundError:
            self._forget(None, 0, False)
            return Projection()
        except OSError as error:
            raise LogReadError(self.path, os.strerror(error.errno or 0)) from error
        self._forget((status.st_dev, status.st_ino), projection.size, projection.torn)
        return projection

    def _forget(self, identity: tuple[int, int] | None, size: int, torn: bool) -> None:
        """Take the file as it was found; a descriptor of before is closed."""
        with self._lock:
            if self._descriptor is not None and identity != self._identity:
                os.close(self._descriptor)
                self._descriptor = None
            if self._descriptor is None:
                self._suspect = False
            if self._descriptor is None or size != self._size:
                self._unsynced, self._unsynced_bytes, self._synced = [], 0, size
            self._identity, self._size, self._torn = identity, size, torn
            self.broken = None

    @property
    def size(self) -> int:
        """Bytes in the file, as this process left it."""
        return self._size

    @property
    def is_open(self) -> bool:
        """True if it can be appended to at once."""
        return self._descriptor is not None

    @property
    def has_unsynced(self) -> bool:
        """True if something written is not known to be on the disk."""
        return self.durability != "off" and (bool(self._unsynced) or self._new_name)

    @property
    def is_full(self) -> bool:
        """True if so much is not on the disk yet that the next append should wait for it."""
        return self._unsynced_bytes > _UNSYNCED_BYTES

    # --- writing -------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the file for appending; a missing one is made (0600, its folder 0700).

        Raises:
            LogChanged: it is not what was read.
            LogWriteError: it cannot be opened or made.
        """
        if self._descriptor is not None:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        try:
            if self._identity is None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o600)
                self._new_name = True
            else:
                descriptor = os.open(self.path, flags)
        except FileExistsError:
            raise LogChanged(self.path, "it was made by another program") from None
        except FileNotFoundError:
            raise LogChanged(self.path, "it was removed") from None
        except OSError as error:
            raise write_error(self.path, error, "it cannot be opened for writing") from error
        status = os.fstat(descriptor)
        if self._identity is None:
            self._identity = (status.st_dev, status.st_ino)
        elif (status.st_dev, status.st_ino) != self._identity:
            os.close(descriptor)
            raise LogChanged(self.path, "another file took its place")
        self._descriptor = descriptor
        self._synced = self._size

    def verify(self) -> None:
        """Check that the file is what this process left.

        Raises:
            LogChanged: another program replaced, removed, grew or cut it.
            LogWriteError: the disk left it in doubt before.
        """
        if self.broken is not None:
            raise self.broken
        try:
            status = os.stat(self._name)  # noqa: PTH116 - half the price of Path.stat, once per append
        except OSError:
            raise LogChanged(self.path, "it was removed") from None
        if (status.st_dev, status.st_ino) != self._identity:
            raise LogChanged(self.path, "another file took its place")
        if status.st_size != self._size:
            raise LogChanged(self.path, f"it has {status.st_size:,} bytes, not {self._size:,}")

    def append(self, lines: bytes) -> int:
        """Write whole lines at the end; returns the offset of the first. A torn last line is closed before.

        Raises:
            LogChanged: as `verify`.
            LogWriteError: nothing was added; the file is as long as before.
        """
        self.verify()
        if self._descriptor is None:
            raise LogWriteError(self.path, errno.EBADF, "it is not open for writing")
        data = b"\n" + lines if self._torn else lines
        before = self._size
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            self._cut_back(before)
            raise write_error(self.path, error, "a record could not be written") from error
        if written != len(data):
            self._cut_back(before)
            short = OSError(self._why_short(len(data)), "")
            what = f"a record could not be written ({written} of {len(data)} bytes)"
            raise write_error(self.path, short, what)
        offset = before + 1 if self._torn else before
        self._size = before + written
        self._torn = False
        if self.durability != "off":
            with self._lock:
                self._unsynced.append(data)
                self._unsynced_bytes += written
        return offset

    def _cut_back(self, size: int) -> None:
        """Give the file the length it had. If that fails too, the next append finds another length and stops."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)

    def _why_short(self, wanted: int) -> int:
        try:
            room = os.statvfs(self.path)
        except OSError:
            return 0
        return errno.ENOSPC if room.f_bavail * room.f_frsize < wanted else 0

    def sync(self) -> bool:
        """Make what was written last; blocks (call it in a thread). False: the disk refused, see `rebuild`."""
        with self._lock:
            descriptor, count, size = self._descriptor, len(self._unsynced), self._size
        if descriptor is None or self.durability == "off":
            return True
        if self._suspect:
            return False
        try:
            os.fdatasync(descriptor)
            if self._new_name:
                sync_folder(self.path.parent)
        except OSError:
            self._suspect = True
            return False
        with self._lock:
            self._unsynced_bytes -= sum(map(len, self._unsynced[:count]))
            del self._unsynced[:count]
            self._synced = max(self._synced, size)
            self._new_name = False
        return True

    def rebuild(self) -> Source:
        """Write the file anew after a failed fsync: what was safe, and what is remembered since.

        Blocks, and nothing may be appended meanwhile. Returns the new file, opened for reading.

        Raises:
            LogWriteError: that failed too; nothing more is written by this process until the file is read anew.
        """
        temporary = self.path.with_name(self.path.name + ".tmp")
        try:
            old = Source(self.path)
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                copy(old.descriptor, 0, self._synced, descriptor)
                write_all(descriptor, b"".join(self._unsynced))
                os.fsync(descriptor)
                source = Source(temporary)
                temporary.replace(self.path)
                sync_folder(self.path.parent)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            self.broken = write_error(
                self.path, error, "the disk did not confirm what was written, and writing it anew failed"
            )
            raise self.broken from error
        self.adopt(descriptor, self._size)
        return source

    def adopt(self, descriptor: int, size: int) -> None:
        """Go on with another file, which is complete, synced and has the log's name."""
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
        status = os.fstat(descriptor)
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = descriptor
            self._identity = (status.st_dev, status.st_ino)
            self._size = self._synced = size
            self._torn = self._new_name = self._suspect = False
            self._unsynced, self._unsynced_bytes = [], 0

    def close(self) -> None:
        """Close the descriptor; nothing is synced."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def copy(source: int, offset: int, length: int, target: int) -> None:
    """Copy bytes from one file to the end of another inside the system, where it can do that.

    Raises:
        OSError: the disk refused, or the source is shorter than that.
    """
    while length > 0:
        try:
            done = os.sendfile(target, source, offset, min(length, 1 << 30))
        except OSError as error:
            if error.errno not in _NO_SENDFILE:
                raise
            data = os.pread(source, min(length, 1 << 20), offset)
            write_all(target, data)
            done = len(data)
        if done == 0:
            raise OSError(errno.EIO, "the file is shorter than it was")
        offset += done
        length -= done
