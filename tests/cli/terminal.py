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
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.command import environment

SECONDS = 60


class Terminal:
    """Runs Python with these arguments on a pseudo-terminal of 80x24; `shown` is every byte it wrote."""

    def __init__(self, *argv: str, cwd: Path, python: str = sys.executable) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = environment(TERM="xterm-256color")
        env.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [python, *argv],
            cwd=cwd,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def until(self, *signs: bytes) -> None:
        """Read until all of these were shown."""
        self._read(lambda: all(sign in self.shown for sign in signs))
        missing = [sign for sign in signs if sign not in self.shown]
        assert not missing, (missing, self.shown[-2000:])

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


def run(*argv: str, cwd: Path) -> Terminal:
    """The command on a terminal."""
    return Terminal("-m", "tui_agent", *argv, cwd=cwd)


def python(script: str, argv: Sequence[str], cwd: Path) -> Terminal:
    """A script on a terminal."""
    return Terminal("-c", script, *argv, cwd=cwd)
