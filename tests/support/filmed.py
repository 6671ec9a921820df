"""The installed command on a pseudo-terminal, read as a person sees it and drawn as SVG.

`Filmed` types into the program and waits for what it shows; `svg` draws the screen cell by cell, with times, durations
and ids masked, so that the same program always gives the same picture.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PATIENCE = 60.0
"""Seconds after which a state that does not come is a failure."""
QUIET = 0.35
"""Seconds without a byte after which the screen is taken to be at rest."""
_UNKNOWN = re.compile(
    rb"\x1b\[[<>=?][0-9;]*u|\x1b\[\?[0-9;]*\$p|\x1b\[>[0-9;]*[qm]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;]*t"
)
"""Sequences that the emulator would print."""
_MASKS: Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = (
    (re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}"), "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0" * 64),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "12:04:05"),
    (re.compile(r"\b\d\d:\d\d\b"), "12:04"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "2026-03-05"),
    (re.compile(r"(?<= )\d+\.\d+ s\b"), lambda found: "0.1 s".rjust(len(found[0]))),
    (re.compile(r"(?<= )\d+ s\b"), lambda found: "1 s".rjust(len(found[0]))),
    (re.compile(r"(?<= )\d+ ms\b"), lambda found: "9 ms".rjust(len(found[0]))),
)
_BASIC = "000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5"
_BRIGHT = "666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db ffffff"


def _rgb(text: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


_THEME = TerminalTheme(
    _rgb("101317"),
    _rgb("d8dee4"),
    [_rgb(text) for text in _BASIC.split()],
    [_rgb(text) for text in _BRIGHT.split()],
)
_NAMES = {"brown": "yellow", "brightbrown": "bright_yellow"}


class Filmed:
    """A program on a terminal of so many columns and rows."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._held = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    # --- in and out

    def press(self, keys: str) -> None:
        """Send keys as the terminal would."""
        os.write(self._master, keys.encode())

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False
        # a sequence that is not whole yet waits for its end
        data = self._held + data
        cut = data.rfind(b"\x1b", max(0, len(data) - 64))
        self._held = data[cut:] if cut >= 0 and not _whole(data[cut:]) else b""
        self._stream.feed(_UNKNOWN.sub(b"", data[: len(data) - len(self._held)]))
        return True

    @property
    def lines(self) -> list[str]:
        """The rows of the screen."""
        rows, columns = (self._screen.buffer[row] for row in range(self._screen.lines)), self._screen.columns
        # not `display`, which fails while the first half of a wide character is drawn over and the second is not
        return ["".join(row[column].data for column in range(columns)).rstrip() for row in rows]

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(self.lines)

    def until(self, *signs: str, gone: bool = False) -> None:
        """Read until all of these are shown (or, `gone`, none of them is).

        Raises:
            AssertionError: that state does not come.
        """
        end = time.monotonic() + PATIENCE
        while any((sign in self.text) == gone for sign in signs):
            if not self._read(0.1) and (time.monotonic() > end or self._process.poll() is not None):
                raise AssertionError(f"{signs} {'still' if gone else 'never'} shown:\n{self.text}")

    def rest(self) -> None:
        """Read until nothing is written for a moment."""
        last = time.monotonic()
        while time.monotonic() - last < QUIET:
            if self._read(0.05):
                last = time.monotonic()

    def svg(self, title: str) -> str:
        """The screen as it stands."""
        console = Console(
            record=True, width=self._screen.columns, file=io.StringIO(), force_terminal=True,
            color_system="truecolor", legacy_windows=False, highlight=False, markup=False,
        )  # fmt: skip
        for row in range(self._screen.lines):
            console.print(self._row(row), soft_wrap=True, end="\n")
        return console.export_svg(title=title, theme=_THEME, unique_id="screen")

    def _row(self, row: int) -> Text:
        cells = [self._screen.buffer[row][column] for column in range(self._screen.columns)]
        plain = _masked("".join(cell.data or "\0" for cell in cells))
        text = Text(no_wrap=True, end="")
        for cell, character in zip(cells, plain, strict=True):
            if character != "\0":
                text.append(character, _style(cell))
        return text


def _whole(sequence: bytes) -> bool:
    """Is this escape sequence complete, with whatever follows it?"""
    return (
        re.match(rb"\x1b(\[[0-9;?<>=:]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[^\[\]])", sequence)
        is not None
    )


def _masked(line: str) -> str:
    """The line with what changes from run to run replaced, its length kept."""
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line


def _style(cell: pyte.screens.Char) -> Style:
    return Style(
        color=_colour(cell.fg), bgcolor=_colour(cell.bg), bold=cell.bold, italic=cell.italics,
        underline=cell.underscore, strike=cell.strikethrough, reverse=cell.reverse,
    )  # fmt: skip


def _colour(name: str) -> Color | None:
    if name == "default":
        return None
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return Color.parse(f"#{name}")
    name = _NAMES.get(name, name.replace("bright", "bright_"))
    return Color.parse(name)
