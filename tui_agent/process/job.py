"""One command at work, in a thread of its own.

The thread starts, reads and ends the command, so that neither a slow start nor a flood of output holds up the event
loop; what it has to tell goes there by `call_soon_threadsafe`.
"""

from __future__ import annotations

import codecs
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui_agent.process.session import POLL_SECONDS, Ending, Left, begun, members, over, signal_session

if TYPE_CHECKING:
    from tui_agent.process.output import Kept, Spool

OUTPUT_LIMIT = 8_000_000
"""Characters of output kept by default: half from its beginning, half from its end."""

_FLUSH_SECONDS = 0.05
"""Output is handed on at most this often."""
_FLUSH_CHARACTERS = 16_384
"""Characters handed on at once; of a flood only the newest."""
_QUIET_SECONDS = 0.1
"""After the command ended, output of children that still hold the pipe is awaited for so long a silence ..."""
_DRAIN_SECONDS = 0.5
"""... and so long in all."""
_IDLE_SECONDS = 3600.0
_READ_BYTES = 65_536
_NEVER = float("inf")

_Cause = Literal["stop", "time", "enough"]

_NO_COLOR = os.environ.get("NO_COLOR")
"""As it was when this program started; a screen toolkit may take it out of the environment."""


class ProcessError(Exception):
    """A program could not be started; the message names it and says why."""


class Result(Struct, frozen=True):
    """How a command ended.

    `exit` is its exit code, or -N if signal N killed it. `cut` says that it was ended because enough had come. `output`
    is what it and its children wrote to both streams, in order; of a longer text the beginning and the end, with a
    line between that says how many characters were left out (`omitted`). `size` is bytes of all output. `spooled` says
    whether the spool file holds all of it. `left` are processes that go on in the background, None if there are none.
    """

    exit: int
    output: str
    timed_out: bool
    seconds: float
    omitted: int = 0
    size: int = 0
    spooled: bool = False
    left: Left | None = None
    cut: bool = False


def arguments(command: Sequence[str] | str) -> list[str]:
    """A shell command as arguments: bash where there is one; arguments as they are."""
    if isinstance(command, str):
        return [shutil.which("bash") or "/bin/sh", "-c", command]
    return list(command)


def environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """This program's environment with `changes` (None takes a variable out), and NO_COLOR if it had been set."""
    changed: dict[str, str | None] = dict(os.environ)
    if _NO_COLOR is not None:
        changed.setdefault("NO_COLOR", _NO_COLOR)
    changed.update(changes or {})
    return {name: value for name, value in changed.items() if value is not None}


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path | str | None,
    env: dict[str, str],
    stderr: int,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program in a new session, with an empty input (or the file `stdin`) and a pipe for its output.

    Raises:
        ProcessError: it could not be started.
    """
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        # ValueError: a NUL or a lone surrogate in an argument
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        if cwd is not None and not Path(cwd).is_dir():
            reason = f"its folder is not there: {cwd}"
        raise ProcessError(f"cannot start {argv[0]}: {reason}") from error
    begun(process.pid)
    return process


class Job(threading.Thread):
    """One command, from its start to its end. What comes of it goes back through `later` (call_soon_threadsafe)."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | str | None,
        env: dict[str, str],
        timeout: float | None,
        enough: int | None,
        kept: Kept,
        spool: Spool | None,
        later: Callable[..., object],
        on_output: Callable[[str], None] | None,
        settle: Callable[[Result | None, Exception | None], None],
        input: bytes = b"",
    ) -> None:
        super().__init__(name=f"run {argv[0]}", daemon=True)
        self._argv, self._cwd, self._env, self._timeout = argv, cwd, env, timeout
        self._kept, self._spool = kept, spool
        self._later, self._on_output, self._settle = later, on_output, settle
        self._enough = enough
        self._input = input
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._size = 0
        self._stops = 0
        self._pending = ""
        self._skipped = 0
        self._flushed = 0.0
        self._under_way = False
        self._lock = threading.Lock()
        self._alarm: tuple[int, int] | None = os.pipe()

    def stop(self) -> None:
        """Ask for the end of the command; asked twice, it is killed at once."""
        with self._lock:
            self._stops += 1
            if self._alarm is not None:
                os.write(self._alarm[1], b"!")

    def run(self) -> None:
        result: Result | None = None
        error: Exception | None = None
        try:
            result = self._work()
        except (ProcessError, OSError) as caught:
            error = caught
        finally:
            if self._spool is not None:
                self._spool.close()
            with self._lock:
                ends, self._alarm = self._alarm, None
                for end in ends or ():
                    os.close(end)
            self._call(self._settle, result, error)

    def _work(self) -> Result:
        started = time.monotonic()
        process = self._spawn()
        try:
            cause = self._watch(process, started)
        except BaseException:
            signal_session(process.pid, signal.SIGKILL)
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
        self._take(self._decoder.decode(b"", final=True))
        self._flush(last=True)
        left = frozenset() if cause else self._survivors(process.pid)
        if not left:
            over(process.pid)
        return Result(
            exit=-signal.SIGKILL if process.returncode is None else process.returncode,
            output=self._kept.text(),
            timed_out=cause == "time",
            seconds=time.monotonic() - started,
            omitted=self._kept.omitted,
            size=self._size,
            spooled=self._spool is not None and self._spool.whole,
            left=Left(process.pid, left) if left else None,
            cut=cause == "enough",
        )

    def _spawn(self) -> subprocess.Popen[bytes]:
        if not self._input:
            return spawn(self._argv, cwd=self._cwd, env=self._env, stderr=subprocess.STDOUT)
        from tempfile import TemporaryFile  # needed by few commands, and not before the first frame

        # a file and no pipe: nobody has to wait for a command that does not read
        try:
            with TemporaryFile() as file:
                file.write(self._input)
                file.seek(0)
                return spawn(
                    self._argv, cwd=self._cwd, env=self._env, stderr=subprocess.STDOUT, stdin=file.fileno()
                )
        except OSError as error:
            raise ProcessError(
                f"cannot start {self._argv[0]}: its input cannot be stored: {error}"
            ) from error

    def _survivors(self, session: int) -> frozenset[tuple[int, str]]:
        found = members(session)
        if found:
            # the other ends of a pipeline may need a moment to notice that it is over
            time.sleep(POLL_SECONDS)
            found &= members(session)
        return found

    def _watch(self, process: subprocess.Popen[bytes], started: float) -> _Cause | None:
        """Read until it is over; why it was ended from here, None if it ended by itself."""
        assert process.stdout is not None and self._alarm is not None
        deadline = _NEVER if self._timeout is None else started + self._timeout
        ended_at = _NEVER
        silent_since = started
        cause: _Cause | None = None
        ending: Ending | None = None
        with selectors.DefaultSelector() as selector, _exit_file(process.pid) as exit_file:
            os.set_blocking(process.stdout.fileno(), False)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(self._alarm[0], selectors.EVENT_READ)
            if exit_file is not None:
                selector.register(exit_file, selectors.EVENT_READ)
            is_open = True
            while True:
                now = time.monotonic()
                if cause is None:
                    cause = self._cause(is_late=ended_at == _NEVER and now >= deadline)
                    ending = Ending(process.pid, now) if cause else None
                is_over = ending is not None and ending.over(now, hard=self._stops > 1)
                if ended_at == _NEVER and process.poll() is not None:
                    ended_at = silent_since = now
                    if exit_file is not None:
                        selector.unregister(exit_file)
                if ending is not None and not is_over:
                    wait = POLL_SECONDS
                elif ended_at != _NEVER:
                    wait = min(silent_since + _QUIET_SECONDS, ended_at + _DRAIN_SECONDS) - now
                    if not is_open or wait <= 0:
                        return cause
                elif ending is not None:
                    # SIGKILL did not help: it hangs in the kernel, and nobody should wait for it
                    return cause
                else:
                    wait = min(deadline - now, POLL_SECONDS if exit_file is None else _IDLE_SECONDS)
                if self._pending:
                    wait = min(wait, _FLUSH_SECONDS)
                for key, _ in selector.select(wait):
                    if key.fileobj is process.stdout:
                        silent_since = now
                        if not self._read(key.fd):
                            selector.unregister(process.stdout)
                            is_open = False
                    elif key.fd == self._alarm[0]:
                        os.read(key.fd, 64)
                self._flush()

    def _cause(self, *, is_late: bool) -> _Cause | None:
        if self._stops:
            return "stop"
        if self._enough is not None and self._size > self._enough:
            return "enough"
        return "time" if is_late else None

    def _read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return True
        self._size += len(data)
        self._take(self._decoder.decode(data))
        return bool(data)

    def _take(self, text: str) -> None:
        if not text:
            return
        self._kept.add(text)
        if self._spool is not None:
            self._spool.add(text)
        if self._on_output is not None:
            self._pending += text
            over = len(self._pending) - _FLUSH_CHARACTERS
            if over > 0:
                self._pending = self._pending[over:]
                self._skipped += over

    def _flush(self, *, last: bool = False) -> None:
        if not self._pending:
            return
        now = time.monotonic()
        if not last and (self._under_way or now - self._flushed < _FLUSH_SECONDS):
            return
        text = self._pending
        if self._skipped:
            text = f"[... {self._skipped} characters not shown ...]\n{text}"
        self._pending, self._skipped, self._flushed, self._under_way = "", 0, now, True
        self._call(self._deliver, text)

    def _deliver(self, text: str) -> None:
        self._under_way = False
        if self._on_output is not None:
            self._on_output(text)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._later(function, *arguments)
        except RuntimeError:
            # the event loop is closed: nobody waits for this command any more
            self._stops += 2


@contextmanager
def _exit_file(pid: int) -> Iterator[int | None]:
    """A descriptor that becomes readable when the process ends, where the system has such a thing (Linux 5.3)."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
