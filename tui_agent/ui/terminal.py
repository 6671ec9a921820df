"""The terminal itself: keys it sends that Textual does not know, the clipboard, and its end.

`Terminal` is Textual's Linux driver that also asks for modified keys (`CSI > 4 ; 1 m`, xterm's modifyOtherKeys), so
that shift+enter arrives as itself where the kitty protocol is not spoken.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.drivers.linux_driver import LinuxDriver

_SEQUENCES = {
    "\x1b\r": "alt+enter",
    "\x1b\n": "alt+enter",
}
"""What terminals send for Enter with a modifier. Without the first, alt+enter in tmux is Esc, then Enter: it sends."""

NEW_LINE_KEYS = frozenset({"ctrl+j", "alt+enter", "shift+enter", "shift+\r", "\r"})
"""Keys that break a line. The last two are what Textual makes of xterm's `CSI 27;2;13 ~` and `CSI 27;3;13 ~`."""

_ASK_MODIFIED, _ASK_PLAIN = "\x1b[>4;1m", "\x1b[>4;0m"
_PATIENCE = 2.0
"""Seconds a clipboard program may take."""


def register_keys() -> None:
    """Make Textual's parser know the sequences above."""
    table = cast(MutableMapping[str, Any], ANSI_SEQUENCES_KEYS)
    for sequence, key in _SEQUENCES.items():
        table[sequence] = (SimpleNamespace(value=key),)


class Terminal(LinuxDriver):
    """The driver of the screen."""

    def start_application_mode(self) -> None:
        """Take the terminal over; also after a suspend."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(_ASK_MODIFIED)
        self.flush()

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was."""
        self.write(_ASK_PLAIN)
        super().stop_application_mode()


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
