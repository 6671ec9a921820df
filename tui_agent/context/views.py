"""What a log is looked at through: lazy sequences of messages, records and checkpoints.

They hold numbers, not bodies: an item is decoded when it is asked for. A view shows the log as it was when the view
was made, also after more was appended or another file took the log's name.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import Struct

from tui_agent.messages.blocks import Message, Role

if TYPE_CHECKING:
    from tui_agent.context.elisions import Elision
    from tui_agent.context.projection import Projection
    from tui_agent.context.records import Record

T = TypeVar("T")

_WORDS_CHARACTERS = 200
"""So much of a person's words stands in a list."""


class View(Sequence[T]):
    """A sequence whose items are made when they are looked at."""

    __slots__ = ("_item", "_items")

    def __init__(self, items: Sequence[int], item: Callable[[int], T]) -> None:
        self._items = items
        self._item = item

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> View[T]: ...
    def __getitem__(self, at: int | slice) -> T | View[T]:
        if isinstance(at, slice):
            return View(self._items[at], self._item)
        return self._item(self._items[at])

    def __iter__(self) -> Iterator[T]:
        return map(self._item, self._items)

    def __reversed__(self) -> Iterator[T]:
        return map(self._item, reversed(self._items))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} items>"


class _First(Sequence[int]):
    """The first `count` numbers of an array that may grow at its end."""

    __slots__ = ("_count", "_numbers")

    def __init__(self, numbers: array[int], count: int) -> None:
        self._numbers = numbers
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return self._numbers[: self._count][at]
        if at < 0:
            at += self._count
        if not 0 <= at < self._count:
            raise IndexError(at)
        return self._numbers[at]


class Messages(View[Message]):
    """Messages of a log, which can be told apart without being decoded."""

    __slots__ = ("_elided", "_projection")

    def __init__(
        self,
        projection: Projection,
        items: Sequence[int],
        item: Callable[[int], Message],
        elided: Mapping[int, tuple[Elision, ...]],
    ) -> None:
        super().__init__(items, item)
        self._projection = projection
        self._elided = elided

    def names(self) -> list[str]:
        """The ids of all, in order."""
        return [self._projection.id(index) for index in self._items]

    def begins_as(self, other: object, count: int) -> bool:
        """True if the first `count` stand on the same lines of the same log there."""
        return (
            isinstance(other, Messages)
            and other._projection is self._projection
            and other._items[:count] == self._items[:count]
        )

    def shared(self, other: object) -> int:
        """How many messages at the beginning are the same there, as they are sent; none is decoded."""
        if not isinstance(other, Messages) or other._projection.source is not self._projection.source:
            return 0
        most = min(len(self), len(other))
        if self._items[:most] != other._items[:most]:
            most = bisect_left(
                range(most), True, key=lambda at: self._items[: at + 1] != other._items[: at + 1]
            )
        if self._elided is not other._elided:
            changed = (
                index
                for index in self._elided.keys() | other._elided.keys()
                if self._elided.get(index, ()) != other._elided.get(index, ())
            )
            if (first := min(changed, default=None)) is not None:
                most = min(most, bisect_left(self._items, first, 0, most))
        return most


def history(projection: Projection, clean: Callable[[str], str] | None = None) -> Messages:
    """The messages in order, elisions applied, without those that have nothing left.

    `clean` is put to the text of answers.
    """
    elided = projection.elisions.in_force

    def message(index: int) -> Message:
        content = projection.content(index, elided.get(index, ()))
        if clean is not None and projection.role(index) == "assistant":
            content = [_cleaned(block, clean) for block in content]
        return message_at(projection, index, content)

    return Messages(projection, _First(projection.visible, len(projection.visible)), message, elided)


def _cleaned(block: dict[str, Any], clean: Callable[[str], str]) -> dict[str, Any]:
    text = block.get("text") if block.get("type") == "text" else None
    return {**block, "text": clean(text)} if isinstance(text, str) else block


def message_at(projection: Projection, index: int, content: Sequence[dict[str, Any]]) -> Message:
    """The message of a record, with the content given."""
    body = projection.body(index)
    role: Role = "assistant" if projection.role(index) == "assistant" else "user"
    meta = body.get("meta")
    return Message(
        role=role,
        content=content,
        id=projection.id(index),
        origin=projection.origin(index),
        model=_text(body.get("model")),
        at=_text(body.get("at")),
        stop_reason=_text(body.get("stop_reason")),
        partial=body.get("partial") is True,
        meta=meta if isinstance(meta, dict) else {},
    )


def records(projection: Projection) -> View[Record]:
    """Every line that is not blank, damaged ones in their place."""
    return View(range(len(projection)), projection.record)


class Checkpoint(Struct, frozen=True):
    """A bookmark in the log.

    `id` is its number in this file, `uid` its name for ever. `turn` says that a person's words follow; `words` are the
    first of them on one line. `tokens` is the last exact size of the context before it, 0 if there was none.
    """

    id: int
    uid: str
    at: str
    turn: bool
    line: int
    words: str
    tokens: int


def newest_of(projection: Projection, origin: str) -> Iterator[Record]:
    """The records of messages of that origin, the newest first."""
    for index in range(len(projection) - 1, -1, -1):
        if projection.origin(index) == origin:
            yield projection.record(index)


def checkpoints(projection: Projection) -> View[Checkpoint]:
    """The bookmarks in order."""

    def checkpoint(place: int) -> Checkpoint:
        return checkpoint_at(projection, place)

    return View(range(len(projection.checkpoints)), checkpoint)


def checkpoint_at(projection: Projection, place: int) -> Checkpoint:
    """The bookmark at `place` in `projection.checkpoints`."""
    index = projection.checkpoints[place]
    body = projection.body(index)
    turn = is_turn(projection, place)
    usage = projection.usages.before(index)
    return Checkpoint(
        id=projection.numbers[place],
        uid=projection.id(index),
        at=_text(body.get("at")) or "",
        turn=turn,
        line=projection.lines[index],
        words=" ".join(words_after(projection, place)[: 4 * _WORDS_CHARACTERS].split())[:_WORDS_CHARACTERS],
        tokens=projection.usages[usage - 1].count if usage else 0,
    )


def find_checkpoint(projection: Projection, which: int | str) -> int:
    """The place in `projection.checkpoints` of the one with that id (the newest, if several have it) or uid.

    Raises:
        ValueError: there is none; the message names the valid ids.
    """
    if isinstance(which, int) and not isinstance(which, bool):
        for place in range(len(projection.numbers) - 1, -1, -1):
            if projection.numbers[place] == which:
                return place
    elif isinstance(which, str):
        for place in range(len(projection.checkpoints) - 1, -1, -1):
            if projection.id(projection.checkpoints[place]) == which:
                return place
    raise ValueError(f"There is no checkpoint {which!r} in this context. {_valid_checkpoints(projection)}")


def _valid_checkpoints(projection: Projection) -> str:
    if not projection.numbers:
        return "It has none."
    there = set(projection.numbers)
    low, high = min(there), max(there)
    missing = high - low + 1 - len(there)
    gaps = f", without {missing} that are gone or damaged" if missing else ""
    return f"Valid ids: {low} to {high}{gaps}."


def is_turn(projection: Projection, place: int) -> bool:
    """True if a person's words follow the bookmark: it says so, or the next message before the next bookmark is one."""
    turn = projection.body(projection.checkpoints[place]).get("turn")
    if isinstance(turn, bool):
        return turn
    return _words_before(projection, place, place + 1) is not None


def words_after(projection: Projection, place: int) -> str:
    """The person's words of the turn that begins at the bookmark; "" if none does."""
    said = said_after(projection, place)
    return "" if said is None else said.text


def said_after(projection: Projection, place: int) -> Message | None:
    """What a person said in the turn that begins at the bookmark; None if none does."""
    if not is_turn(projection, place):
        return None
    end = place + 1
    while end < len(projection.checkpoints) and not is_turn(projection, end):
        end += 1
    index = _words_before(projection, place, end)
    return None if index is None else message_at(projection, index, projection.content(index))


def _words_before(projection: Projection, place: int, end: int) -> int | None:
    """The first record of a person's words between two bookmarks."""
    start = projection.checkpoints[place]
    stop = projection.checkpoints[end] if end < len(projection.checkpoints) else len(projection)
    messages = projection.messages
    for at in range(bisect_right(messages, start), len(messages)):
        index = messages[at]
        if index >= stop:
            return None
        if projection.blocks[index] and projection.is_words(index):
            return index
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
