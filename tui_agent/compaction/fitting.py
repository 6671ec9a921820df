"""What stays word for word is made to fit: results that are too large are cut, reminders that are out of date go.

It is chosen, and nothing is changed: what comes of it are the items of an elision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.compaction.priority import renewed_by, sources_of
from tui_agent.messages.blocks import result_text
from tui_agent.messages.shorten import shorten
from tui_agent.messages.tokens import Estimator

if TYPE_CHECKING:
    from tui_agent.compaction.retention import Reason
    from tui_agent.context import Context
    from tui_agent.messages.blocks import Block, Message

Items = tuple[Mapping[str, Any], ...]
"""Those of an elision."""

_AS_IT_IS = ("pinned", "fixed")
"""What stays for these reasons is not shortened."""
_OUTDATED = "[an earlier reminder: a newer one says how it stands now]"
_LEAST_CHARACTERS, _UTMOST_CHARACTERS = 2_000, 200
"""A result that has to be cut keeps at least so much of its head and tail; the latter where nothing fits otherwise."""


def cut_words(items: Items) -> tuple[str, ...]:
    """What was cut of that which stays, for a person to read."""
    blocks = [item["block"] for item in items]
    old = blocks.count(None)
    results = len(blocks) - old
    found = []
    if results:
        one = "1 long result cut to its head and tail"
        found.append(one if results == 1 else f"{results} long results cut to head and tail")
    if old:
        found.append("1 older reminder shortened" if old == 1 else f"{old} older reminders shortened")
    return tuple(found)


def fitted(
    context: Context,
    kept: Sequence[Message],
    reasons: Mapping[str, Reason],
    room: int | None,
    utmost: int | None,
    *,
    again: bool = False,
) -> tuple[Items, int]:
    """Items that shorten what stays until it fits; and what it weighs then. Reminders out of date go first, then the
    largest results.

    Args:
        kept: what stays, in order; `reasons` say why, by id.
        room: tokens that it may have together.
        utmost: tokens beyond which nothing could be sent any more: then results are cut to next to nothing.
        again: also what a person brought back may be shortened: they ask for it.
    """
    free = {
        message.id
        for message in kept
        if reasons[message.id] not in _AS_IT_IS and (again or not context.brought_back(message.id))
    }
    stays = sum(context.tokens(message.id).count for message in kept)
    count = Estimator(context.model, factor=context.factor).count
    items: dict[tuple[str, int], Mapping[str, Any]] = {}
    for most, least in ((room, _LEAST_CHARACTERS), (utmost, _UTMOST_CHARACTERS)):
        if most is None or stays <= most:
            continue
        stays = sum(context.tokens(message.id).count for message in kept)
        items.clear()
        for message in _outdated(context, kept, free):
            saved = context.tokens(message.id).count - context.estimated(message.id, {None: _OUTDATED})
            if saved > 0:
                stays -= saved
                items[message.id, 0] = {"record": message.id, "block": None, "as": _OUTDATED}
        for weight, message, place in _results(kept, free, count):
            over = stays - most
            if over <= 0:
                break
            block = message.content[place]
            text = result_text(block)
            limit = max(least, len(text) * max(weight - over, 0) // max(weight, 1))
            short = shorten(text, limit)
            saved = weight - count({**block, "content": short})
            if saved > 0:
                stays -= saved
                at = _place(context, message, block)
                items[message.id, at] = {"record": message.id, "block": at, "as": short}
    return tuple(items.values()), stays


def _outdated(context: Context, kept: Sequence[Message], free: Collection[str]) -> Iterator[Message]:
    """Reminders all of whose sources told something newer that stays: a goal of which the words were changed."""
    newer: frozenset[str] = frozenset()
    for message in reversed(kept):
        if message.origin == "injection":
            body = context.record(message.id).body
            sources = sources_of(body)
            if sources and sources <= newer and message.id in free:
                yield message
            newer |= renewed_by(body)


def _results(kept: Sequence[Message], free: Collection[str], count: Any) -> list[tuple[int, Message, int]]:
    """The results that may be cut: weight, message and place in it; the heaviest first."""
    found = [
        (count(block), message, place)
        for message in kept
        if message.id in free
        for place, block in enumerate(message.content)
        if block.get("type") == "tool_result"
    ]
    return sorted(found, key=lambda item: -item[0])


def _place(context: Context, message: Message, block: Block) -> int:
    """The place of a result among the blocks of its record, of which elisions may have left some out."""
    stored = context.record(message.id).body.get("content")
    blocks = stored if isinstance(stored, list) else []
    return next(
        at
        for at, other in enumerate(blocks)
        if other.get("type") == "tool_result" and other.get("tool_use_id") == block.get("tool_use_id")
    )
