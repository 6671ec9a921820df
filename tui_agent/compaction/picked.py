"""What a person picks out by hand: a record of which a few words are sent, nothing, other words, or all of it again.

Each is an elision in the log: the record stays as it is on disk, and can be sent again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.compaction.placeholders import is_nothing, shortened
from tui_agent.messages.blocks import result_text
from tui_agent.messages.wellformed import SIGNED, is_blank

if TYPE_CHECKING:
    from tui_agent.context import Context, Record
    from tui_agent.context.elisions import Elision
    from tui_agent.messages.blocks import Block

_LONG = 5_000
"""Characters of a result of which the first and last lines stay."""
_EDITED = "edit"
"""The reason of an elision that puts a person's text in the place of a record's."""


async def shorten(context: Context, record: str) -> tuple[Record, int]:
    """Send a few words in the place of each block of a record: what it was, how long, and where it is whole.

    Returns the `_elide` record, and about how many tokens that frees.

    Raises:
        ValueError: the record is no message, or holds nothing that words could stand for.
    """
    items = list(_items(_message(context, record)))
    if not items:
        raise ValueError("That record holds nothing that a few words could stand for; it can be dropped.")
    return await _elide(context, items)


def can_shorten(context: Context, record: str) -> bool:
    """True if `shorten` has something to do with that record."""
    return any(_items(context.record(record)))


def saves(context: Context, record: str) -> int:
    """About how many tokens `shorten` would free; 0 or less where it would not.

    Raises:
        ValueError: there is no such record.
    """
    also = {item["block"]: item["as"] for item in _items(context.record(record))}
    return context.estimated(record) - context.estimated(record, also) if also else 0


async def drop(context: Context, record: str) -> tuple[Record, int]:
    """Send nothing of a record, nor anything in its place. Returns as `shorten` does.

    Raises:
        ValueError: the record is no message, or has no content.
    """
    return await _elide(context, [{"record": _message(context, record).id, "as": None}])


def editable(context: Context, record: str) -> str:
    """The text of a record that can be written anew, as it is sent now.

    Raises:
        ValueError: it cannot be, and why.
    """
    kind = _editable(context, record)[0]
    message = context.message(record)
    return "\n\n".join(map(_text, message.blocks(kind))) if message is not None else ""


async def edit(context: Context, record: str, text: str) -> tuple[Record, int]:
    """Send another text in the place of a record's: of a prompt's words, or of a tool's result.

    What it was stays on disk. Returns the `_elide` record, and about how many tokens that frees.

    Raises:
        ValueError: the text is blank, or that record's text cannot be written anew; says why.
    """
    _, places = _editable(context, record)
    if is_blank(text):
        raise ValueError("The new text is blank; to send nothing of the record, drop it.")
    items = [
        {"record": record, "block": place, "as": text if place == places[0] else None} for place in places
    ]
    return await _elide(context, items, _EDITED)


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


def _message(context: Context, name: str) -> Record:
    record = context.record(name)
    if record.role not in ("user", "assistant"):
        raise ValueError("That record is no message: it can be neither shortened nor dropped.")
    return record


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


async def _elide(context: Context, items: list[dict[str, Any]], reason: str = "drop") -> tuple[Record, int]:
    before = context.token_count_with_pending
    made = await context.elide(items, by="user", reason=reason)
    return made, before - context.token_count_with_pending


def _editable(context: Context, name: str) -> tuple[str, list[int]]:
    """The type of the blocks whose text can be written anew, and their places, at least one.

    Raises:
        ValueError: there are none, and why.
    """
    record = context.record(name)
    if record.role == "assistant":
        raise ValueError(
            "That is the model's answer: it is sent as the model gave it, shortened or dropped. The model takes its "
            "thinking and its calls back unchanged or not at all."
        )
    if record.role != "user":
        raise ValueError("That record is no message: there is no text in it that could be written anew.")
    if any(elision.block is None for elision in context.elided(name)):
        raise ValueError("That record is not sent: bring it back first (/unelide).")
    kinds = [block.get("type") if isinstance(block, Mapping) else None for block in _blocks(record)]
    if kinds.count("tool_result") > 1:
        raise ValueError("That record holds several results: it can be shortened or dropped.")
    kind = "tool_result" if "tool_result" in kinds else "text"
    if kind not in kinds:
        raise ValueError("That record holds no text that could be written anew; it can be dropped.")
    return kind, [place for place, found in enumerate(kinds) if found == kind]


def _text(block: Mapping[str, Any]) -> str:
    return result_text(block) if block.get("type") == "tool_result" else str(block.get("text", ""))


def _blocks(record: Record) -> list[Any]:
    content = record.body.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _items(record: Record) -> Iterator[dict[str, Any]]:
    for place, block in enumerate(_blocks(record)):
        if isinstance(block, Mapping) and (words := _instead(record, dict(block))):
            yield {"record": record.id, "block": place, "as": words}


def _instead(record: Record, block: Block) -> str:
    """The words for a block; "" where it is to be sent as it is."""
    kind = block.get("type")
    if kind in SIGNED or is_nothing(block):
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
