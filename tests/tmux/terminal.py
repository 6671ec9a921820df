"""A real terminal to type into and read: a private tmux server with one window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

WAIT_SECONDS = 30.0


class Terminal:
    """Runs a command in tmux: `pane()` is what a person sees, `keys()` what they press, `type()` what they write."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        size: tuple[int, int] = (120, 36),
    ) -> None:
        self._socket = f"tui-agent-{uuid.uuid4().hex[:8]}"
        self._command = command
        self._cwd = cwd
        self._environment = dict(environment)
        self._size = size

    def __enter__(self) -> Self:
        width, height = self._size
        environment = [f"{name}={value}" for name, value in self._environment.items()]
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(self._cwd),
            "env", *environment, *self._command,
        )  # fmt: skip
        self._tmux("set", "-g", "remain-on-exit", "on")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=True, env=_clean()
        )
        return done.stdout

    def pane(self) -> str:
        """The screen, line by line, without trailing blanks."""
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p").splitlines())

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names (`Enter`, `C-x`, `Escape`, `g`)."""
        for name in names:
            self._tmux("send-keys", name)

    def type(self, text: str) -> None:
        """Write text, without Enter."""
        self._tmux("send-keys", "-l", text)

    def mouse(self, *events: tuple[int, int, int, bool]) -> None:
        """Move and press the mouse: button (0 left, 32 moved with it down), column and row from 1, pressed."""
        for button, column, row, down in events:
            sequence = f"\x1b[<{button};{column};{row}{'M' if down else 'm'}"
            self._tmux("send-keys", "-H", *(f"{byte:02x}" for byte in sequence.encode()))

    def takes_mouse(self) -> bool:
        """Does the program ask for the mouse?"""
        return self._tmux("display-message", "-p", "#{mouse_any_flag}").strip() == "1"

    def buffer(self) -> str:
        """The newest paste buffer, or nothing."""
        done = subprocess.run(
            ["tmux", "-L", self._socket, "show-buffer"], capture_output=True, check=False, env=_clean()
        )
        return done.stdout.decode()

    def buffer_after(self, before: str) -> str:
        """The paste buffer once it is another one."""
        end = time.monotonic() + WAIT_SECONDS
        while (text := self.buffer()) == before:
            assert time.monotonic() < end, f"nothing new in the paste buffer:\n{self.pane()}"
            time.sleep(0.05)
        return text

    def paste(self, text: str) -> None:
        """Paste text, as a terminal does where the program asked for it in brackets."""
        self._tmux("set-buffer", "-b", "pasted", text)
        self._tmux("paste-buffer", "-p", "-b", "pasted")

    def wait_cursor(self, column: int, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the cursor stands in a column."""
        end = time.monotonic() + seconds
        while (at := int(self._tmux("display-message", "-p", "#{cursor_x}"))) != column:
            assert time.monotonic() < end, f"the cursor stands in column {at}, not {column}:\n{self.pane()}"
            time.sleep(0.05)

    def pid(self) -> int:
        """The process in the window."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def dead(self) -> bool:
        """True once the command has ended."""
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    def wait(self, pattern: str, *, gone: bool = False, seconds: float = WAIT_SECONDS) -> str:
        """The pane once it shows (or, `gone`, no longer shows) a pattern.

        Raises:
            AssertionError: it does not, in time; the message is the pane.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pane = self.pane()
            if (re.search(pattern, pane) is None) == gone:
                return pane
            time.sleep(0.05)
        raise AssertionError(f"{'still' if gone else 'never'} {pattern!r} on the screen:\n{self.pane()}")

    def wait_dead(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the command has ended."""
        end = time.monotonic() + seconds
        while not self.dead():
            assert time.monotonic() < end, f"still running:\n{self.pane()}"
            time.sleep(0.05)


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}


def missing() -> str:
    """Why there is no terminal to be had here, or an empty string."""
    return "" if shutil.which("tmux") else "tmux is not installed"
