"""Find: which messages of the log hold some words, how often, and which hit comes next.

What is searched is the decoded text of the projected history, whether it was looked at or not, in pieces: a person's
words (media by their label), an answer as it was written in Markdown, thinking, the name and the arguments of a call
as a person reads them, what a call gave, and whatever else stands between them. A hit lies in one piece; hits do not
overlap. Small letters find large ones too, a large letter finds only itself. What the program says by itself, such as
notices, is not in the log and not found.

`Search` goes through the history a slice at a time, from where the reader is to the end and then back to the
beginning. It keeps two numbers for each message that has a hit, and no text.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from tui_agent.ui.transcript.entries import plain
from tui_agent.ui.transcript.history import gives_results, output_text, own_command
from tui_agent.ui.transcript.said import plain_text

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message

SLICE_S = 0.005
"""Seconds a search works before it lets others run."""

Kind = Literal["words", "answer", "thinking", "call", "output", "aside"]


class Piece(NamedTuple):
    """A text of a message. `call` is the id of the call it belongs to."""

    kind: Kind
    text: str
    call: str = ""


class Hit(NamedTuple):
    """The hit with that number (from 0) in the message with that index."""

    message: int
    number: int


class Found(NamedTuple):
    """Where a hit is: the message, its pieces, which of them, and where in its text."""

    message: Message
    pieces: Sequence[Piece]
    piece: int
    start: int


def pieces(message: Message) -> Iterator[Piece]:
    """The texts of a message that are searched."""
    if message.role == "assistant":
        yield from map(_said, message.content)
    elif gives_results(message):
        yield from _given(message)
    elif message.origin == "command":
        asked, output = own_command(message)
        yield Piece("call", asked, message.id)
        yield Piece("output", plain_text(output), message.id)
    else:
        yield Piece("words" if message.origin is None else "aside", plain_text(plain(message.content)))


def _said(block: Block) -> Piece:
    match block.get("type"):
        case "text":
            return Piece("answer", str(block.get("text", "")))
        case "thinking":
            return Piece("thinking", plain_text(str(block.get("thinking", ""))))
        case "redacted_thinking":
            return Piece("thinking", "")
        case "tool_use":
            return Piece("call", call_text(block), str(block.get("id", "")))
        case _:
            return Piece("aside", plain_text(plain([block])))


def _given(message: Message) -> Iterator[Piece]:
    rest = []
    for block in message.content:
        if block.get("type") == "tool_result":
            yield Piece("output", plain_text(output_text(block)), str(block.get("tool_use_id", "")))
        else:
            rest.append(block)
    if rest:
        yield Piece("aside", plain_text(plain(rest)))


def call_text(block: Mapping[str, Any]) -> str:
    """A call as a person reads it: its name, then each argument on a line (or more); texts as they are, not as JSON."""
    arguments = block.get("input")
    lines = [str(block.get("name", ""))]
    for name, value in arguments.items() if isinstance(arguments, Mapping) else ():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        lines.append(f"{name}: {said}")
    return plain_text("\n".join(lines))


def compiled(words: str) -> re.Pattern[str] | None:
    """What finds these words; None if there is nothing to look for."""
    if not words.strip():
        return None
    return re.compile(re.escape(words), 0 if any(map(str.isupper, words)) else re.IGNORECASE)


class _Counts:
    """How many hits messages have: their indices, and the sums of the counts up to each."""

    def __init__(self) -> None:
        self.messages = array("I")
        self.sums = array("Q")

    def add(self, message: int, count: int) -> None:
        self.messages.append(message)
        self.sums.append(self.total + count)

    @property
    def total(self) -> int:
        return self.sums[-1] if self.sums else 0

    def count(self, place: int) -> int:
        return self.sums[place] - (self.sums[place - 1] if place else 0)


class Search(Sequence[int]):
    """Looks for words in a history; as a sequence, the messages with hits found so far, in order.

    Args:
        words: What to look for.
        history: The messages.
        start: Where the reader is; the first hit is the next one from there.
    """

    def __init__(self, words: str, history: Sequence[Message], start: int = 0) -> None:
        self.words = words
        self.pattern = compiled(words)
        self._history = history
        self._start = max(0, min(start, len(history)))
        self._late, self._early = _Counts(), _Counts()
        self._next, self._before = self._start, self._start

    @property
    def ignores_case(self) -> bool:
        """Do small letters find large ones too?"""
        return self.pattern is not None and bool(self.pattern.flags & re.IGNORECASE)

    # --- looking

    @property
    def busy(self) -> bool:
        """True while there are messages nobody looked at."""
        return self.pattern is not None and (self._next < len(self._history) or self._before > 0)

    @property
    def share(self) -> float:
        """How much of the history was looked at."""
        looked = self._next - self._before
        return looked / len(self._history) if len(self._history) else 1.0

    def grow(self, history: Sequence[Message]) -> None:
        """The history has more messages at its end."""
        self._history = history

    def look(self) -> None:
        """Look at messages for a slice of time."""
        until = perf_counter() + SLICE_S
        while self.busy:
            if self._next < len(self._history):
                self._look_at(self._next, self._late)
                self._next += 1
            else:
                self._before -= 1
                self._look_at(self._before, self._early)
            if perf_counter() > until:
                break

    def _look_at(self, index: int, counts: _Counts) -> None:
        count = sum(self._count_in(piece.text) for piece in pieces(self._history[index]))
        if count:
            counts.add(index, count)

    def _count_in(self, text: str) -> int:
        assert self.pattern is not None
        if not self.ignores_case:
            return text.count(self.words)
        if text.isascii() and self.words.isascii():  # three times as fast
            return text.lower().count(self.words)
        return len(self.pattern.findall(text))

    # --- hits

    @property
    def total(self) -> int:
        """Hits found so far."""
        return self._early.total + self._late.total

    def __len__(self) -> int:
        return len(self._early.messages) + len(self._late.messages)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        counts, at = self._counts(place)
        return counts.messages[at]

    def _counts(self, place: int) -> tuple[_Counts, int]:
        early = len(self._early.messages)
        return (self._late, place - early) if place >= early else (self._early, early - 1 - place)

    def _count(self, place: int) -> int:
        counts, at = self._counts(place)
        return counts.count(at)

    def first(self) -> Hit | None:
        """The first hit from the start on, else the last one before it; None while there is none."""
        if self._late.messages:
            return Hit(self._late.messages[0], 0)
        if self._next < len(self._history) or not self._early.messages:
            return None
        return Hit(self._early.messages[0], self._early.count(0) - 1)

    def beside(self, hit: Hit, by: int) -> Hit:
        """The hit after (1) or before (-1) another; after the last one comes the first."""
        place = bisect_left(self, hit.message)
        if 0 <= hit.number + by < self._count(place):
            return Hit(hit.message, hit.number + by)
        place = (place + by) % len(self)
        return Hit(self[place], 0 if by > 0 else self._count(place) - 1)

    def number(self, hit: Hit) -> int:
        """Which hit it is, counted from 1 and from the beginning of the history."""
        counts, at = self._counts(bisect_left(self, hit.message))
        if counts is self._early:
            return self._early.total - counts.sums[at] + hit.number + 1
        return self._early.total + counts.sums[at] - counts.count(at) + hit.number + 1

    def find(self, hit: Hit) -> Found | None:
        """Where a hit is; None if the message has changed since."""
        if self.pattern is None or hit.message >= len(self._history):
            return None
        message, left = self._history[hit.message], hit.number
        found = tuple(pieces(message))
        for number, piece in enumerate(found):
            for match in self.pattern.finditer(piece.text):
                if not left:
                    return Found(message, found, number, match.start())
                left -= 1
        return None
