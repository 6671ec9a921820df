"""Signs for terminals and fonts that have ASCII alone.

Every line of every widget, Textual's own included, passes `AsciiSigns` on its way to the screen: lines, bars, arrows,
bullets and our own glyphs become ASCII, one cell for one cell. Letters of other scripts stay what they are, and what
is copied is the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter

from tui_agent.ui.themes import ASCII, UNICODE

if TYPE_CHECKING:
    from textual.color import Color

_ALIKE = {
    "-": "─━┄┅┈┉╌╍╴╶╸╺╼╾═‐‑‒–—―−⎯‾▔🬂",
    "|": "│┃┆┇┊┋╎╏╵╷╹╻╽╿║▏▎▍▌▋▊▉▐▕¦⎟⎜",
    "_": "▁",
    "=": "▂▃▄▅▆▇▀≃≈≅≡",
    "#": "█■▓",
    ":": "░▒",
    "+": "▖▗▘▙▚▛▜▝▞▟┼╋╬┌┐└┘├┤┬┴╭╮╯╰╔╗╚╝╠╣╦╩",
    ">": "→⇒►▶▷›»❯⟩",
    "<": "←⇐◄◀◁‹«❮⟨",
    "^": "↑⇑▲△",
    "v": "↓⇓▼▽",
    "*": "•·∙●◉★☆◆◇✱✦",
    "o": "○◦◌◯",
    "x": "×✕✖✗✘",
    "/": "╱",
    "\\": "╲",
    "X": "╳",
    "~": "⋯…",
    "'": "‘’‚‛′",
    '"': "“”„‟″",
    " ": "\u00a0\u2002\u2003\u2009\u202f",
}
_BOXES = (0x2500, 0x257F)
_PICTURES = (0x2400, 0x2426)
_BARS = (0x1FB00, 0x1FB3B)
"""Sextants, with which Textual draws some of its borders."""


def _table() -> dict[int, str]:
    table: dict[int, str] = dict.fromkeys(range(_BOXES[0], _BOXES[1] + 1), "+")
    table |= dict.fromkeys(range(_PICTURES[0], _PICTURES[1] + 1), "^")
    table |= dict.fromkeys(range(_BARS[0], _BARS[1] + 1), "#")
    table |= {ord(sign): plain for plain, signs in _ALIKE.items() for sign in signs}
    table[ord("✓")] = table[ord("✔")] = "y"
    table[ord("🔎")] = "/ "
    return table | dict(_own())


def _own() -> Iterator[tuple[int, str]]:
    for name in UNICODE.__struct_fields__:
        for sign, plain in zip(getattr(UNICODE, name), getattr(ASCII, name), strict=True):
            if not sign.isascii():
                yield ord(sign), plain


TABLE = _table()
"""Code point -> the ASCII that stands for it in as many cells."""


class AsciiSigns(LineFilter):
    """Puts ASCII in the place of signs."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with ASCII signs."""
        return [
            segment if text.isascii() else Segment(text.translate(TABLE), style, control)
            for segment in segments
            for text, style, control in (segment,)
        ]
