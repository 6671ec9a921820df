"""A real program on a pseudo-terminal, and what it costs: time to what it shows, CPU, memory, bytes, its loop's lag."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyte

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
"""A wait that takes so long has failed."""

_SEQUENCE = re.compile(
    rb"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_^X].*?\x1b\\|\x1b[()][0-9A-B]|\x1b.",
    re.S,
)
_UNKNOWN = re.compile(
    rb"\x1b\[[<>=?][0-9;]*u|\x1b\[\?[0-9;]*\$p|\x1b\[>[0-9;]*[qm]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
)
"""Sequences that pyte would print."""
_ALTERNATE = b"\x1b[?1049h"


@dataclass(frozen=True)
class Moment:
    """When something was shown: seconds since the start, and the CPU seconds that the program had used."""

    seconds: float
    cpu: float


class Program:
    """Runs Python with these arguments on a terminal of so many columns and rows.

    `early` is typed before the program can read it. `rate`: bytes that are read of it in a second at most; 0 reads all.
    """

    def __init__(
        self, *argv: str, home: Path, size: tuple[int, int] = (120, 40), early: str = "", rate: int = 0
    ) -> None:
        self._master, slave = pty.openpty()
        self.resize(*size)
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LC_ALL": "C.UTF-8",
            "TUI_AGENT_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            # as an installed program runs: from bytecode
            "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
        }
        for name in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR", "TMUX", "SSH_CONNECTION", "COLUMNS", "LINES"):
            environment.pop(name, None)
        workspace = home / "workspace"
        workspace.mkdir(exist_ok=True)
        self._began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            cwd=workspace,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.shown = bytearray()
        self.rate = rate
        self._allowance, self._filled = 0.0, time.perf_counter()
        if early:
            self.press(early)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    # --- in and out

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        self._screen = (columns, rows)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> int:
        """Read for so long, or until something came; how many bytes did."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return 0
        size = 1 << 16
        if self.rate:
            now = time.perf_counter()
            self._allowance = min(self._allowance + (now - self._filled) * self.rate, self.rate / 10)
            self._filled = now
            size = int(self._allowance)
            if size < 1:
                time.sleep(min(seconds, 0.01))
                return 0
        try:
            data = os.read(self._master, size)
        except OSError:
            return 0
        self._allowance -= len(data)
        self.shown += data
        return len(data)

    def read_for(self, seconds: float) -> int:
        """Read for so long; how many bytes came."""
        count, end = 0, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            count += self.read(min(left, 0.05))
        return count

    def until(self, done: str | Callable[[], bool], *, since: int = 0) -> Moment:
        """Read until a text was shown, or something is so.

        Raises:
            AssertionError: it ended, or it took too long.
        """
        end, seen = time.perf_counter() + SECONDS, since
        while time.perf_counter() < end:
            if callable(done):
                if done():
                    return self.now()
            elif self._holds(done.encode(), max(since, seen - 400)):
                return self.now()
            seen = len(self.shown)
            if not self.read(0.2) and self.process.poll() is not None:
                break
        raise AssertionError(f"{done} was not shown; the screen is\n" + "\n".join(self.display()))

    def _holds(self, sign: bytes, since: int) -> bool:
        # what the terminal echoes before the program has it does not count
        begin = self.shown.find(_ALTERNATE)
        if begin < 0:
            return False
        return sign in _SEQUENCE.sub(b"", bytes(self.shown[max(begin, since) :]))

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self.process.poll() is None:
            self.read(0.2)
        return self.process.returncode

    def settle(self, quiet: float = 0.3) -> None:
        """Read until nothing came for so long."""
        end = time.perf_counter() + SECONDS
        last = time.perf_counter()
        while time.perf_counter() - last < quiet and time.perf_counter() < end:
            if self.read(0.05):
                last = time.perf_counter()

    def display(self) -> list[str]:
        """The rows of the screen now."""
        screen = pyte.Screen(*self._screen)
        stream = pyte.ByteStream(screen)
        begin = max(self.shown.find(_ALTERNATE), 0)
        stream.feed(_UNKNOWN.sub(b"", bytes(self.shown[begin:])))
        return [row.rstrip() for row in screen.display]

    # --- what it costs

    def now(self) -> Moment:
        return Moment(time.perf_counter() - self._began, self.cpu)

    @property
    def cpu(self) -> float:
        """CPU seconds of the program so far, all threads, those that ended too."""
        # the clock of that process, as clock_getcpuclockid(3) names it
        return time.clock_gettime((~self.process.pid << 3) | 2)

    @property
    def memory(self) -> float:
        """Its resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


class Watched(Program):
    """tui-agent with its loop watched."""

    def __init__(self, *argv: str, home: Path, size: tuple[int, int] = (120, 40), rate: int = 0) -> None:
        self._lags = Path(tempfile.mkdtemp(dir=home)) / "lags.json"
        super().__init__(
            *("-m", "tests.benchmarks.watched", str(self._lags), *argv),
            home=home,
            size=size,
            rate=rate,
        )

    def lags(self) -> dict[str, list[float]]:
        """How late the loop was and how long it was busy, in milliseconds, since the last time this was asked."""
        self._lags.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        self.until(self._lags.exists)
        found: dict[str, list[float]] = json.loads(self._lags.read_text())
        return found


def percentile(values: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """A folder for settings, sessions and bytecode."""
    with tempfile.TemporaryDirectory(prefix="tui-agent-benchmark-") as folder:
        yield Path(folder)
