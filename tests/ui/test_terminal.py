"""The terminal itself: keys, clipboard, and an end that comes from outside."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import stat
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from tui_agent.ui import terminal
from tui_agent.ui.terminal import NEW_LINE_KEYS, clipboard_command, copy_with, register_keys

_PATIENCE = 60.0


@pytest.mark.parametrize(
    "sequence",
    ["\x1b\r", "\x1b\n", "\x1b[27;2;13~", "\x1b[27;3;13~", "\x1b[13;2u", "\x1b[13;3u", "\n"],
)
def test_enter_with_a_modifier_breaks_a_line_and_enter_alone_does_not(sequence: str) -> None:
    register_keys()
    assert _keys(sequence)[0] in NEW_LINE_KEYS
    assert len(_keys(sequence)) == 1
    assert _keys("\r") == ["enter"]


def _keys(sequence: str) -> list[str]:
    return [event.key for event in XTermParser(debug=False).feed(sequence) if isinstance(event, events.Key)]


def _program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a display, tmux or ssh, whose programs are those of a folder."""
    for name in ("TMUX", "SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_clipboard_is_filled_where_the_person_sits(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tmux", "xclip", "wl-copy"):
        _program(bare, name, "exit 0")
    if sys.platform != "darwin":
        assert clipboard_command() is None
    monkeypatch.setenv("DISPLAY", ":0")
    if sys.platform != "darwin":
        assert clipboard_command() == ["xclip", "-selection", "clipboard"]
    monkeypatch.setenv("SSH_CONNECTION", "a b c d")
    assert clipboard_command() is None, "a program here would fill the wrong machine's clipboard"
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    assert clipboard_command() == ["tmux", "load-buffer", "-w", "-"]


def test_copied_is_only_what_a_program_took(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(bare, "good", f"/bin/cat > {bare}/got")
    _program(bare, "bad", "exit 3")
    _program(bare, "hangs", "exec /bin/sleep 30")
    assert copy_with(["good"], "日本 \ud83d")
    assert (bare / "got").read_bytes() == "日本 ?".encode()
    assert not copy_with(["bad"], "x")
    assert not copy_with(["missing"], "x")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.2)
    assert not copy_with(["hangs"], "x")


class Program:
    """The real program on a terminal of its own."""

    def __init__(self, workspace: Path, *arguments: str) -> None:
        self.seen = b""
        arguments = arguments or ("-m", "tui_agent", ".", "--demo")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(workspace)
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, *arguments])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def until(self, words: bytes) -> None:
        end = time.monotonic() + _PATIENCE
        while words not in self.seen:
            assert time.monotonic() < end, self.seen[-2000:]
            self.read(0.1)

    def read(self, seconds: float) -> None:
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.terminal, 1 << 16)
            except OSError:
                time.sleep(seconds)

    def write(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def ended(self, *, read: bool = True) -> int:
        """Wait until it ended; its wait status."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return status
            if read:
                self.read(0.02)
            else:
                time.sleep(0.02)
        raise AssertionError("it did not end")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    if made.pid:
        os.kill(made.pid, signal.SIGKILL)
        os.waitpid(made.pid, 0)


def test_a_program_that_is_quit_gives_the_terminal_back_and_says_how_to_go_on(program: Program) -> None:
    program.until(b"ready")
    program.write(b"read a.txt\r")
    program.until(b"checkpoint")
    program.until(b"read_file")
    program.write(b"\x11")
    assert program.ended() == 0
    program.until(b"To go on: tui-agent --resume ")
    assert b"\x1b[>4;0m" in program.seen
    assert b"To go on: tui-agent --resume " in program.seen.rpartition(b"\x1b[?1049l")[2]


def test_a_terminal_that_goes_away_ends_the_program_with_its_session_closed(
    program: Program, home: Path
) -> None:
    program.until(b"ready")
    program.write(b"half a thought")
    program.until(b"thought")
    os.close(program.terminal)
    status = program.ended(read=False)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    drafts = list(home.rglob("draft.json"))
    assert [draft.read_text() for draft in drafts] == ['{"draft": "half a thought", "queue": []}']


def test_a_program_that_is_told_to_end_closes_its_session_and_gives_the_terminal_back(
    program: Program,
) -> None:
    program.until(b"ready")
    os.kill(program.pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(program.ended()) == 128 + signal.SIGTERM
    assert b"\x1b[?1049l" in program.seen


def test_the_mouse_is_left_to_the_terminal_until_it_is_taken_back_also_over_a_suspend(
    program: Program,
) -> None:
    program.until(b"ready")
    program.until(b"\x1b[?1003h")
    program.write(b"\x18s")
    program.until(b"\x1b[?1003l")
    program.seen = b""
    os.kill(program.pid, signal.SIGTSTP)
    program.until(b"\x1b[?1049l")
    assert os.WIFSTOPPED(os.waitpid(program.pid, os.WUNTRACED)[1])
    program.seen = b""
    os.kill(program.pid, signal.SIGCONT)
    program.until(b"\x1b[?1049h")
    program.until(b"ready")
    assert b"\x1b[?1003h" not in program.seen
    program.write(b"\x18s")
    program.until(b"\x1b[?1003h")


_WRITES = """
import os, signal, threading
from textual.app import App
from tui_agent.ui.terminal import Terminal

class Busy(App):
    def on_mount(self):
        self.call_later(self.fill)

    def fill(self):
        stop = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTSTP))
        stop.start()
        self._driver.write("busy")
        while not stop.finished.is_set():
            self._driver.write("")
        for _ in range(20_000):
            self._driver.write("")

Busy(driver_class=Terminal).run()
"""


def test_a_program_that_is_stopped_while_it_writes_gives_the_terminal_back_first(tmp_path: Path) -> None:
    for _ in range(3):
        program = Program(tmp_path, "-c", _WRITES)
        try:
            program.until(b"busy")
            assert os.WIFSTOPPED(_stopped(program))
            program.until(b"\x1b[?1049l")
        finally:
            os.kill(program.pid, signal.SIGKILL)
            os.waitpid(program.pid, 0)


def _stopped(program: Program) -> int:
    """Read what it writes until it has stopped; its wait status."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        pid, status = os.waitpid(program.pid, os.WUNTRACED | os.WNOHANG)
        if pid:
            return status
        program.read(0.02)
    raise AssertionError("it did not stop")


def test_moving_the_mouse_over_the_chat_writes_nothing_also_while_something_is_selected(
    program: Program,
) -> None:
    program.until(b"ready")
    for button, column, row, end in ((35, 20, 4, "M"), (0, 3, 3, "M"), (32, 20, 3, "M"), (0, 20, 3, "m")):
        program.write(f"\x1b[<{button};{column};{row}{end}".encode())
    program.until(b"copy")
    for letter in (b"W", b"Q"):  # the first time, the scroll bar learns its colour
        program.seen = b""
        for row in range(2, 18):
            for column in range(2, 78, 4):
                program.write(f"\x1b[<35;{column};{row}M".encode())
        program.write(letter)
        program.until(letter)
    assert len(program.seen) < 200, "the letter, and nothing for the moves before it"
