"""A history made ready for a request: linted, frozen and encoded; of the one before, what is the same is kept.

Lint is stable from the front, so what is appended changes only the last messages. A history is made anew from its
last *safe place* on: the last answer of the model that the history before has too, with nothing dropped right in front
of it. What stands before that ends with a user's message, so no exchange and no merged message lies across it; what is
counted through (the ids of calls, pictures) is carried over. The outcome is what linting the whole would give.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from tui_agent.messages.drafts import Before, Change
from tui_agent.messages.frozen import FrozenList, freeze
from tui_agent.messages.lint import linted
from tui_agent.messages.rules import ORDER

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Message

_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_NOWHERE = -1


@runtime_checkable
class Lasting(Protocol):
    """A history of which can be told, without reading it, how far it is the same as another."""

    def shared(self, other: object) -> int:
        """How many messages at the beginning are the same there."""

    def __getitem__(self, at: slice) -> Sequence[Message]: ...


class Prepared(Struct, frozen=True):
    """The messages of a request: in API form and frozen, each in canonical JSON, with the records that each and each of
    its blocks came from. The columns behind `changes` are what a longer history is made ready with."""

    model: str
    history: Lasting | None
    messages: Sequence[dict[str, Any]]
    pieces: Sequence[bytes]
    prints: array[int]
    sources: tuple[tuple[str, ...], ...]
    blocks: tuple[tuple[str, ...], ...]
    changes: tuple[Change, ...]
    noted: Sequence[int]
    """For each change the place in the history of the record that it is of."""
    starts: array[int]
    ends: array[int]
    """For each message the places of the first and the last record that it was made from."""
    numbers: Sequence[list[tuple[str, int]]]
    images: array[int]
    crowded: bool


def prepare(history: Iterable[Message], *, model: str, last: Prepared | None = None) -> Prepared:
    """Make a history ready for a model; what is as in `last` is taken from there."""
    if last is not None and last.model == model and isinstance(history, Lasting):
        at = _safe_place(last, history.shared(last.history))
        made = _extended(last, at, history) if at else None
        if made is not None:
            return made
    return _made(history, history, model, 0, None)


def canonical(value: object) -> bytes:
    """The one form in JSON: sorted keys, no spaces, UTF-8."""
    # of little at once: the encoder holds every word that it writes by itself
    return _CANONICAL.encode(value).encode()


def _safe_place(last: Prepared, shared: int) -> int:
    """The number of the message that a history is made anew from; 0: from the beginning.

    The next history has its first `shared` messages in common with the last one.
    """
    for at in range(len(last.messages) - 1, 0, -1):
        if (
            last.messages[at]["role"] == "assistant"
            and 0 < last.starts[at] < shared
            and last.ends[at - 1] == last.starts[at] - 1
        ):
            return at
    return 0


def _extended(last: Prepared, at: int, history: Lasting) -> Prepared | None:
    """The first `at` messages of the last one and what follows them; None where that is not the same as the whole."""
    used: dict[str, int] = {}
    for numbers in islice(last.numbers, at):
        used.update(numbers)
    start = last.starts[at]
    before = Before(used, sum(last.images[:at]))
    rest = _made(history[start:], history, last.model, start, before)
    if rest.crowded != last.crowded or rest.starts[0] != start or rest.messages[0]["role"] != "assistant":
        return None
    changes = [
        (change, place) for change, place in zip(last.changes, last.noted, strict=True) if place < start
    ]
    changes += zip(rest.changes, rest.noted, strict=True)
    changes.sort(key=lambda noted: ORDER[noted[0].rule])
    return Prepared(
        model=last.model,
        history=history,
        messages=FrozenList([*islice(last.messages, at), *rest.messages]),
        pieces=[*islice(last.pieces, at), *rest.pieces],
        prints=last.prints[:at] + rest.prints,
        sources=last.sources[:at] + rest.sources,
        blocks=last.blocks[:at] + rest.blocks,
        changes=tuple(change for change, _ in changes),
        noted=[place for _, place in changes],
        starts=last.starts[:at] + rest.starts,
        ends=last.ends[:at] + rest.ends,
        numbers=[*islice(last.numbers, at), *rest.numbers],
        images=last.images[:at] + rest.images,
        crowded=rest.crowded,
    )


def _made(
    part: Iterable[Message], history: object, model: str, start: int, before: Before | None
) -> Prepared:
    """A part of a history, which begins at the place `start` in it."""
    places: dict[str, int] = {}

    def read() -> Iterable[Message]:
        for place, message in enumerate(part, start):
            places.setdefault(message.id, place)
            yield message

    done = linted(read(), model=model, before=before)
    messages = done.messages
    for at, message in enumerate(messages):  # each in its place: a long context is not there twice
        messages[at] = freeze(_plain(message))
    pieces = [canonical(message) for message in messages]
    held = [[places[name] for name in names if name in places] for names in done.sources]
    return Prepared(
        model=model,
        history=history if isinstance(history, Lasting) else None,
        messages=FrozenList(messages),
        pieces=pieces,
        prints=array("q", map(hash, pieces)),
        sources=tuple(done.sources),
        blocks=tuple(done.blocks),
        changes=tuple(done.changes),
        noted=[places.get(change.record, start) for change in done.changes],
        starts=array("q", (min(found, default=_NOWHERE) for found in held)),
        ends=array("q", (max(found, default=_NOWHERE) for found in held)),
        numbers=done.numbers,
        images=array("q", done.images),
        crowded=done.crowded,
    )


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose blocks carry no cache_control. Data that happens to have a field of that name is left alone."""
    content = [
        {key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]
    ]
    return {**message, "content": content}
