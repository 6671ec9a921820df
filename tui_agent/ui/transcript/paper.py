"""The whole transcript as plain text, for a pager: everything the log holds, nothing in it acts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

from tui_agent.literal import one_line, visible
from tui_agent.ui.transcript.history import ORIGINS
from tui_agent.ui.transcript.search import pieces

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Message
    from tui_agent.ui.transcript.search import Piece

_RULE = 60
_LABELS = {"thinking": "thinking", "call": "call", "output": "output"}


def write(messages: Iterable[Message], file: IO[str]) -> None:
    """Write them to a file and go back to its start; blocks (call it in a thread)."""
    for message in messages:
        file.writelines(_lines(message))
    file.seek(0)


def _lines(message: Message) -> Iterator[str]:
    who = "model" if message.role == "assistant" else "you"
    if message.origin is not None:
        who = ORIGINS.get(message.origin, message.origin)
    words = "  ".join(one_line(word) for word in (who, message.at or "") if word)
    yield f"--- {words} ".ljust(_RULE, "-") + "\n"
    for piece in pieces(message):
        if piece.text.strip():
            yield from _piece(piece)
    yield "\n"


def _piece(piece: Piece) -> Iterator[str]:
    label = _LABELS.get(piece.kind)
    if label is not None:
        yield f"[{label}]\n"
    yield visible(piece.text) + "\n"
