"""What a terminal answers when it is asked for the colour of its ground (OSC 11), kept apart from what a person types.

Textual's parser would take such an answer for keys. `Parser` takes it out of the stream first, whole or in pieces, at
any time: an answer may come late, or to a question of the program before.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass

from textual._xterm_parser import XTermParser
from textual.message import Message

ASK_GROUND = "\x1b]11;?\x1b\\"
"""Asks for the colour of the ground."""

_ANSWER = re.compile(r"\x1b\]11;([^\x07\x1b]{0,64})(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,64}\x1b?)?)?)?\Z")
_COLOUR = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_PATIENCE = 0.2
"""Seconds that the rest of an answer may take."""
_AWAITED = 2.0
"""Seconds after the start in which an Esc at the end of what was read may be the beginning of an answer."""


@dataclass
class GroundTold(Message):
    """The terminal told the colour of its ground."""

    dark: bool


class Parser(XTermParser):
    """Textual's parser, which also hears the terminal's answers. `awaited`: one was asked for."""

    def __init__(self, debug: bool = False, *, awaited: bool = False) -> None:
        super().__init__(debug)
        self._until = time.monotonic() + _AWAITED if awaited else 0.0
        self._held = ""
        self._since = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """Take what was read; give the messages that it makes."""
        if not data:
            yield from super().feed(data)
            return
        data, self._held = self._held + data, ""
        at = 0
        for answer in _ANSWER.finditer(data):
            if before := data[at : answer.start()]:
                yield from super().feed(before)
            at, self._until = answer.end(), 0.0
            if (dark := is_dark(answer[1])) is not None:
                yield GroundTold(dark)
        rest = data[at:]
        if begun := _BEGUN.search(rest):
            rest, self._held = rest[: begun.start()], begun[0]
        elif rest.endswith("\x1b") and time.monotonic() < self._until:
            rest, self._held = rest[:-1], "\x1b"
        self._since = time.monotonic()
        if rest:
            yield from super().feed(rest)

    def tick(self) -> Iterable[Message]:
        """Time has passed: what was held back and did not become an answer was typed."""
        if self._held and time.monotonic() - self._since > _PATIENCE:
            held, self._held = self._held, ""
            yield from super().feed(held)
        yield from super().tick()


def is_dark(colour: str) -> bool | None:
    """Whether an X11 colour (`rgb:1e1e/1e1e/2e2e`) is dark, or None if it is none."""
    found = _COLOUR.match(colour)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def guess(variable: str | None) -> bool | None:
    """Whether COLORFGBG (`15;0`, `0;default;15`) says that the ground is dark, or None if it does not tell."""
    ground = (variable or "").rpartition(";")[2]
    return int(ground) in (*range(7), 8) if ground.isdigit() and int(ground) < 16 else None
