"""The terminal itself: keys it sends that Textual does not know, its pace, its title, its end, and the clipboard.

`Terminal` is Textual's Linux driver, and what is Textual's own and private about it is touched here alone. It writes
through a thread that never makes the loop wait, says when the terminal is behind (`behind`) or gone, keeps the
window's title and gives it back, and asks for modified keys (`CSI > 4 ; 1 m`, xterm's modifyOtherKeys), so that
shift+enter arrives as itself where the kitty protocol is not spoken.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import MutableMapping
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._parser import ParseError
from textual.drivers.linux_driver import LinuxDriver

from tui_agent import literal
from tui_agent.ui.answers import ASK_GROUND, Parser
from tui_agent.ui.pastes import Pastes
from tui_agent.ui.writer import Writer

if TYPE_CHECKING:
    from textual.app import App

Keyboard = Literal["auto", "kitty", "legacy"]
"""How keys are asked for: every way there is, the kitty protocol alone, or without it."""

_SEQUENCES = {
    "\x1b\r": "alt+enter",
    "\x1b\n": "alt+enter",
}
"""What terminals send for Enter with a modifier. Without the first, alt+enter in tmux is Esc, then Enter: it sends."""

NEW_LINE_KEYS = frozenset({"ctrl+j", "alt+enter", "shift+enter", "shift+\r", "\r"})
"""Keys that break a line. The last two are what Textual makes of xterm's `CSI 27;2;13 ~` and `CSI 27;3;13 ~`."""

_ASK_MODIFIED, _ASK_PLAIN = "\x1b[>4;1m", "\x1b[>4;0m"
_KITTY = re.compile(r"\x1b\[[<>]\d*u")
"""What pushes or pops the flags of the kitty keyboard protocol."""
_KEEP_TITLE, _GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"
_TITLE_CHARACTERS = 80
_FRAME_S, _FRAME_FAR_S = 0.05, 0.1
_PATIENCE = 2.0
"""Seconds a clipboard program may take."""


def register_keys() -> None:
    """Make Textual's parser know the sequences above."""
    table = cast(MutableMapping[str, Any], ANSI_SEQUENCES_KEYS)
    for sequence, key in _SEQUENCES.items():
        table[sequence] = (SimpleNamespace(value=key),)


@runtime_checkable
class OnTerminal(Protocol):
    """An app that minds its terminal."""

    keyboard: Keyboard
    asks_ground: bool

    def hold_frames(self) -> None:
        """The terminal is behind: draw nothing new."""

    def release_frames(self) -> None:
        """It has caught up."""

    def terminal_lost(self) -> None:
        """Nothing can be read or written any more."""


class Terminal(LinuxDriver):
    """The driver of the screen."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._host = app if isinstance(app, OnTerminal) else None
        self._keyboard: Keyboard = self._host.keyboard if self._host is not None else "auto"
        self._writer: Writer | None = None
        self._away = self._lost = False
        self._output = sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
        self._title = ""
        for number, handler in (
            (signal.SIGTSTP, self._sigtstp_application),
            (signal.SIGCONT, self._sigcont_application),
        ):
            # not between any two steps of the program: it might be writing, and what is left for the terminal before
            # it stops would wait for itself
            self._loop.add_signal_handler(number, handler)

    # --- writing

    @property
    def behind(self) -> bool:
        """True while the terminal has not taken the last frames."""
        return self._writer is not None and self._writer.behind

    def write(self, data: str) -> None:
        """Write something; never waits for the terminal."""
        if self._away or (self._keyboard == "legacy" and _KITTY.fullmatch(data)):
            return
        if self._writer is None:
            self._writer = Writer(self._output, self._caught_up, self._gone)
            self._writer.start()
        self._writer.write(data)

    def flush(self) -> None:
        """A frame is complete."""
        if self._writer is not None and self._writer.end_frame() and self._host is not None:
            self._host.hold_frames()

    def close(self) -> None:
        """Write what is left, if the terminal takes it."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.stop()

    def _caught_up(self) -> None:
        if self._host is not None:
            self._later(self._host.release_frames)

    def _gone(self) -> None:
        if not self._lost and self._host is not None:
            self._lost = True
            self._later(self._host.terminal_lost)

    def _later(self, call: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)

    # --- modes

    def start_application_mode(self) -> None:
        """Take the terminal over; also after a suspend."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._writer_thread is None:
            return  # in the background: it is started when it comes to the front
        self._writer_thread.stop()  # it would make the loop wait for the terminal
        self._writer_thread = None
        if self._keyboard != "kitty":
            self.write(_ASK_MODIFIED)
        if self._asks_ground:
            self.write(ASK_GROUND)
        self.write(_KEEP_TITLE)
        self._write_title()
        self.flush()

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was."""
        if self._keyboard != "kitty":
            self.write(_ASK_PLAIN)
        self.write(_GIVE_TITLE_BACK)
        super().stop_application_mode()

    def suspend_application_mode(self) -> None:
        """Give the terminal to somebody else: nothing is written meanwhile."""
        super().suspend_application_mode()
        self._away = True

    def resume_application_mode(self) -> None:
        """Take it back. Whoever was stopped without a word finds modes that are not those of before."""
        if not self._away:
            super().suspend_application_mode()
        self._away = False
        self._must_signal_resume = True
        super().resume_application_mode()

    @property
    def _asks_ground(self) -> bool:
        # the console of Linux would show the question
        return (
            self._host is not None
            and self._host.asks_ground
            and self.input_tty
            and os.environ.get("TERM") not in ("linux", "dumb")
        )

    def set_mouse(self, *, on: bool) -> None:
        """Take the mouse, or leave it to the terminal; it stays so after a suspend."""
        if on:
            self._mouse = True
            self._enable_mouse_support()
            if self._mouse_pixels:
                self._enable_mouse_pixels()
        else:
            self._disable_mouse_support()
            self._mouse = False

    def set_title(self, text: str) -> None:
        """Show a text as the window's title."""
        title = literal.one_line(text, _TITLE_CHARACTERS)
        if title != self._title:
            self._title = title
            self._write_title()

    def _write_title(self) -> None:
        if self._title:
            self.write(f"\x1b]2;{self._title}\x07")

    # --- reading

    def run_input_thread(self) -> None:
        """Read keys until the screen is left or the terminal is gone."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser = Pastes(Parser(self._debug, awaited=self._asks_ground))
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(0.1):
                    try:
                        data = os.read(self.fileno, 4096)
                    except OSError:
                        data = b""
                    if not data:  # a terminal that hangs up is readable for ever
                        self._gone()
                        return
                    for event in parser.feed(decode(data)):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
        with suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass


def behind(app: App[Any]) -> bool:
    """True while the terminal of an app has not taken its last frames: it must not be given ever more of them."""
    driver = app._driver
    return isinstance(driver, Terminal) and driver.behind


def set_mouse(app: App[Any], *, on: bool) -> None:
    """Take the mouse for an app, or leave it to the terminal."""
    driver = app._driver
    if isinstance(driver, Terminal):
        driver.set_mouse(on=on)


def set_title(app: App[Any], text: str) -> None:
    """Show a text as the title of an app's window."""
    driver = app._driver
    if isinstance(driver, Terminal):
        driver.set_title(text)


def frame_seconds() -> float:
    """Seconds between two frames of what moves by itself: fewer of them over ssh."""
    return _FRAME_FAR_S if on_another_machine() else _FRAME_S


def on_another_machine() -> bool:
    """True over ssh: the person's browser and clipboard are elsewhere."""
    return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))


def clipboard_command() -> list[str] | None:
    """The program that fills the clipboard here, or None: then only the terminal can.

    Inside tmux its own buffer is set and passed on (`-w`), because tmux drops the escape sequence in its default
    settings. Over ssh a local program would fill the clipboard of the wrong machine.
    """
    import shutil

    if os.environ.get("TMUX") and shutil.which("tmux"):
        return ["tmux", "load-buffer", "-w", "-"]
    if on_another_machine():
        return None
    if sys.platform == "darwin" and shutil.which("pbcopy"):
        return ["pbcopy"]
    if os.environ.get("WAYLAND_DISPLAY") and shutil.which("wl-copy"):
        return ["wl-copy"]
    if os.environ.get("DISPLAY") and shutil.which("xclip"):
        return ["xclip", "-selection", "clipboard"]
    return None


def copy_with(command: list[str], text: str) -> bool:
    """Give `text` to a clipboard program; True if it took it. Blocks: call it in a thread."""
    import subprocess  # with `shutil` above: not needed before the first frame

    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
