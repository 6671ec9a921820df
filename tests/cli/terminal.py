"""A real command on a terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.cli.command import environment

SECONDS = 60


class Terminal:
    """Runs Python with these arguments on a pseudo-terminal; `shown` is every byte it wrote.

    `changes` are variables of its environment. With `controls` it is the terminal of the process's session, as a
    terminal window is: closing it sends SIGHUP, ctrl+c SIGINT.
    """

    def __init__(
        self,
        *argv: str,
        cwd: Path,
        python: str = sys.executable,
        size: tuple[int, int] = (80, 24),
        controls: bool = False,
        changes: Mapping[str, str] | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = environment(**{"TERM": "xterm-256color", **(changes or {})})
        env.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [python, *argv],
            cwd=cwd,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal if controls else None,
        )
        os.close(slave)
        self.shown = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.hang_up()

    def hang_up(self) -> None:
        """Close the terminal."""
        if self._master >= 0:
            os.close(self._master)
        self._master = -1

    def until(self, *signs: bytes) -> None:
        """Read until all of these were shown."""
        self._read(lambda: all(sign in self.shown for sign in signs))
        missing = [sign for sign in signs if sign not in self.shown]
        assert not missing, (missing, self.shown[-2000:])

    def until_after(self, start: int, *signs: bytes) -> int:
        """Read until all of these were shown after a place in `shown`; the place where it ends now."""
        self._read(lambda: all(sign in self.shown[start:] for sign in signs))
        missing = [sign for sign in signs if sign not in self.shown[start:]]
        assert not missing, (missing, self.shown[start:][-2000:])
        return len(self.shown)

    def until_one_of(self, start: int, *signs: bytes) -> bytes:
        """Read until one of these was shown after a place in `shown`; which one."""
        self._read(lambda: any(sign in self.shown[start:] for sign in signs))
        found = [sign for sign in signs if sign in self.shown[start:]]
        assert found, (signs, self.shown[start:][-2000:])
        return found[0]

    def until_quiet(self, seconds: float = 0.3) -> None:
        """Read until nothing was written for so long."""
        size = -1
        while size < len(self.shown):
            size = len(self.shown)
            self._read(partial(_over, time.monotonic() + seconds))

    def read_slowly(self, seconds: float, rate: int, until: Callable[[], bool] = lambda: False) -> None:
        """Take at most `rate` bytes a second, as a slow line does, for so long or until something was shown."""
        began, taken = time.monotonic(), 0
        while (now := time.monotonic()) - began < seconds and not until():
            allowed = int((now - began) * rate) - taken
            if allowed < 1 or not select.select([self._master], [], [], 0.05)[0]:
                time.sleep(0.01)
                continue
            data = os.read(self._master, min(allowed, 1_024))
            self.shown += data
            taken += len(data)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def end(self) -> int:
        """Read to the end; the exit code."""
        self._read(lambda: False)
        return self.process.wait(SECONDS)

    def _read(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not done() and time.monotonic() < deadline:
            ready, _, _ = select.select([self._master], [], [], 0.2)
            if ready:
                with contextlib.suppress(OSError):
                    if data := os.read(self._master, 65_536):
                        self.shown += data
                        continue
                return
            if self.process.poll() is not None:
                return


def _over(end: float) -> bool:
    return time.monotonic() > end


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def run(*argv: str, cwd: Path, **options: Any) -> Terminal:
    """The command on a terminal; options are those of `Terminal`."""
    return Terminal("-m", "tui_agent", *argv, cwd=cwd, **options)


def python(script: str, argv: Sequence[str], cwd: Path) -> Terminal:
    """A script on a terminal."""
    return Terminal("-c", script, *argv, cwd=cwd)
