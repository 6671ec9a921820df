"""What a person picks out by hand: a record of which only a few words are sent, nothing at all, or all of it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.compaction.placeholders import is_nothing, shortened

if TYPE_CHECKING:
    from tui_agent.context import Context, Record
    from tui_agent.context.elisions import Elision
    from tui_agent.messages.blocks import Block

_LONG = 5_000
"""Characters of a result of which the first and last lines stay."""
_SIGNED = ("thinking", "redacted_thinking")
"""Blocks that are sent as they are or not at all."""


async def shorten(context: Context, record: str) -> tuple[Record, int]:
    """Send a few words in the place of each block of a record: what it was, how long, and where it is whole.

    Returns the `_elide` record, and about how many tokens that frees.

    Raises:
        ValueError: the record holds nothing that words could stand for.
    """
    items = list(_items(context.record(record)))
    if not items:
        raise ValueError("That record holds nothing that a few words could stand for; it can be dropped.")
    return await _elide(context, items)


async def drop(context: Context, record: str) -> tuple[Record, int]:
    """Send nothing of a record, nor anything in its place. Returns as `shorten` does.

    Raises:
        ValueError: the record has no content.
    """
    return await _elide(context, [{"record": record, "as": None}])


async def bring_back(context: Context, record: str) -> int:
    """Send a record again as it is; of an `_elide` record everything that it names. Returns how many items came back.

    A call and a result that went together come back together: alone neither could be sent as it is.

    Raises:
        ValueError: nothing of it is left out.
    """
    found = context.record(record)
    if found.role == "_elide":
        places = sorted(_in_force(context, found))
        if places:
            await context.restore_elided(record, places)
        count = len(places)
    else:
        back: dict[str, set[int]] = {}
        for elision in context.elided(record):
            back.setdefault(elision.elide, set()).update({elision.item}, _partners(context, elision))
        for elide, items in back.items():
            await context.restore_elided(elide, sorted(items))
        count = sum(map(len, back.values()))
    if not count:
        raise ValueError("That record is not left out.")
    return count


def _in_force(context: Context, batch: Record) -> dict[int, tuple[Record, Elision]]:
    """The items of an `_elide` record that are in force, by their place in it."""
    found = {}
    for place, item in enumerate(batch.body.get("items", ())):
        try:
            record = context.record(str(item.get("record")) if isinstance(item, Mapping) else "")
        except ValueError:  # a compaction has taken it
            continue
        for elision in context.elided(record.id):
            if (elision.elide, elision.item) == (batch.id, place):
                found[place] = (record, elision)
    return found


def _partners(context: Context, elision: Elision) -> set[int]:
    """The items of the same batch that went whole with this one: the calls of its results, the results of its calls."""
    batch = _in_force(context, context.record(elision.elide))
    gone = {
        place: _ids(record)
        for place, (record, other) in batch.items()
        if other.block is None and other.placeholder is None
    }
    found, wanted = {elision.item}, gone.get(elision.item, set())
    while more := {place for place, ids in gone.items() if ids & wanted} - found:
        found |= more
        wanted = wanted.union(*(gone[place] for place in more))
    return found


def _ids(record: Record) -> set[str]:
    """The calls that a record makes or answers."""
    content = record.body.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    names = (block.get("id" if block.get("type") == "tool_use" else "tool_use_id") for block in blocks)
    return {name for name in names if isinstance(name, str)}


async def _elide(context: Context, items: list[dict[str, Any]]) -> tuple[Record, int]:
    before = context.token_count_with_pending
    made = await context.elide(items, by="user", reason="drop")
    return made, before - context.token_count_with_pending


def _items(record: Record) -> Iterator[dict[str, Any]]:
    content = record.body.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, Mapping) and (words := _instead(record, dict(block))):
            yield {"record": record.id, "block": place, "as": words}


def _instead(record: Record, block: Block) -> str:
    """The words for a block; "" where it is to be sent as it is."""
    kind = block.get("type")
    if kind in _SIGNED or is_nothing(block):
        return ""
    way = f"(in full: record {record.id})"
    match kind:
        case "tool_result":
            meta = record.body.get("meta")
            tool = str(meta.get("tool") or "") if isinstance(meta, Mapping) else ""
            return shortened(tool or "tool", block, _LONG, record.id)
        case "tool_use":
            return f"[left out: the arguments of {block.get('name')}] {way}"
        case "text":
            return f"[left out: text, {len(str(block.get('text')))} chars] {way}"
        case _:
            return f"[left out: {kind}] {way}"
