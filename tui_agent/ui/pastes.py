"""Pastes, taken out of what the terminal sends before it is read as keys.

Textual's parser gives up on a paste in which an escape character stands and reads the rest of it as keys: a pasted log
with colours would press them, a prepared text any key it likes. Here a paste is one message whatever it holds, and what
could act in it is a sign that can be read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from textual import events

if TYPE_CHECKING:
    from textual.message import Message

_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_FULL = 1_024
"""Characters of one reading after which an escape character at its end may begin a paste; else it is the Esc key."""
_PATIENCE_S = 0.1
"""Seconds that the rest of such a beginning may take."""
_ACTS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Reader(Protocol):
    """What makes messages of keys."""

    def feed(self, data: str) -> Iterable[Message]: ...
    def tick(self) -> Iterable[Message]: ...


class Pastes:
    """Reads what is pasted itself, and gives the rest to `keys`."""

    def __init__(self, keys: Reader) -> None:
        self._keys = keys
        self._held = ""
        """What may be the beginning of a mark."""
        self._since = 0.0
        self._paste: list[str] | None = None

    def feed(self, data: str) -> Iterable[Message]:
        """Take what was read; give the messages that it makes. Nothing is the end of the stream."""
        if not data:
            yield from self._keys.feed("")
            return
        data, self._held = self._held + data, ""
        while data:
            mark = _BEGIN if self._paste is None else _END
            before, found, data = data.partition(mark)
            if not found:
                cut = _beginning(
                    before, mark, least=1 if self._paste is not None or len(before) > _FULL else 2
                )
                before, self._held = before[:cut], before[cut:]
                self._since = time.monotonic()
            if self._paste is None:
                if before:
                    yield from self._keys.feed(before)
                self._paste = [] if found else None
            else:
                self._paste.append(before)
                if found:
                    text, self._paste = "".join(self._paste), None
                    yield events.Paste(_ACTS.sub(_sign, text))

    def tick(self) -> Iterable[Message]:
        """Time has passed: what was held back and began no paste was typed."""
        if self._held and self._paste is None and time.monotonic() - self._since > _PATIENCE_S:
            held, self._held = self._held, ""
            yield from self._keys.feed(held)
        yield from self._keys.tick()


def _beginning(text: str, mark: str, *, least: int) -> int:
    """Where at the end of `text` the mark begins and is cut off; its length if nowhere."""
    for size in range(min(len(mark) - 1, len(text)), least - 1, -1):
        if text.endswith(mark[:size]):
            return len(text) - size
    return len(text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>" if code < 0xA0 else "\ufffd"
