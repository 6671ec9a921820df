"""The history as a text: who said what, which tool was called with what, and what came of it.

For a model that is to summarise what does not fit its window as messages, and for a summary without a model. Only
text: thinking is left out, of media there is a word. Every item begins with a line that no item's text has, so that
nothing in a file or a result can pose as a message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.compaction.handover import summary_of
from tui_agent.literal import clean
from tui_agent.messages.blocks import result_text
from tui_agent.messages.shorten import shorten

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message

Count = Callable[[str], int]
"""The tokens of a text."""

STAYS = "(stays word for word)"
"""What the line before a message says that is not replaced."""

_GIANT = 4
"""An item takes at most this part of the room (1/4), a person's words twice as much, where not everything fits."""
_LEAST_CHARACTERS = 200
_HEAD_COST = 12
"""Tokens of the line an item begins with."""

_ORIGINS: Mapping[str, str] = {
    "summary": "earlier summary",
    "command": "the user ran a command themselves",
    "injection": "note by the program",
    "repair": "note by the program",
    "checkpoint": "note by the program",
    "background": "news of a background task",
    "dmail": "message from a later point of the conversation",
}
_HIDDEN = frozenset({"thinking", "redacted_thinking"})
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class Item(Struct, frozen=True):
    """A piece of the history: who it is from, its text, if it is a person's words, and if it is a summary itself, of
    which nothing may be left out."""

    head: str
    text: str
    words: bool = False
    dense: bool = False


def items(messages: Iterable[Message], *, stays: Container[str] = ()) -> list[Item]:
    """The messages as items, in order; those without any text are left out.

    `stays` are the ids of messages that stay word for word whatever becomes of the others; their items say so.
    """
    called: dict[str, str] = {}
    return [
        replace(item, head=f"{item.head} {STAYS}") if message.id in stays else item
        for message in messages
        for item in _items(message, called)
        if item.text.strip()
    ]


def chunks(found: Sequence[Item], room: int, count: Count) -> list[list[Item]]:
    """The items in as few pieces as fit `room` tokens each.

    If all of it fits, it is one piece and whole. Otherwise giant items are cut to head and tail first, a giant summary
    is parted between lines, and only what is still too much is parted, between items.
    """
    weighed = [(item, _weigh(item, count)) for item in found]
    if sum(weight for _, weight in weighed) <= room:
        return [list(found)] if found else []
    pieces: list[list[Item]] = []
    left = 0
    smaller = (small for item, weight in weighed for small in _smaller(item, weight, room, count))
    for item, weight in smaller:
        if not pieces or weight > left:
            pieces.append([])
            left = room
        pieces[-1].append(item)
        left -= weight
    return pieces


def rendered(found: Sequence[Item], tag: str = "") -> str:
    """The items as one text. `tag` begins the line before each; it must not occur in any text (`tag_of`)."""
    tag = tag or tag_of(found)
    return "\n\n".join(f"{tag} {item.head}\n{item.text}" for item in found)


def tag_of(found: Sequence[Item]) -> str:
    """A mark that none of the texts has, the same for the same texts."""
    digest = hashlib.sha256("\0".join(item.text for item in found).encode()).hexdigest()
    tags = (f"#{digest[at : at + 6]}" for at in range(len(digest) - 6))
    return next((tag for tag in tags if not any(tag in item.text for item in found)), f"#{digest}")


def arguments_text(arguments: object) -> str:
    """A call's arguments to read: one `name: value` a line, long values as they are."""
    if not isinstance(arguments, Mapping):
        return _value(arguments)
    return "\n".join(f"{name}: {_value(value)}" for name, value in arguments.items())


def cut(text: str, tokens: int, count: Count) -> str:
    """`text` in at most about so many tokens: its head and tail, and between them a line that says what is missing."""
    weight = count(text)
    while weight > tokens:
        limit = max(_LEAST_CHARACTERS, len(text) * tokens // weight * 9 // 10)
        shorter = shorten(text, limit)
        if len(shorter) >= len(text) or limit == _LEAST_CHARACTERS:
            return shorter
        text, weight = shorter, count(shorter)
    return text


def _smaller(item: Item, weight: int, room: int, count: Count) -> Iterator[tuple[Item, int]]:
    """The item where it is not giant, else its head and tail, or all of it in parts."""
    most = max(1, room // _GIANT * (2 if item.words else 1) - _HEAD_COST)
    if weight - _HEAD_COST <= most:
        yield item, weight
        return
    for text in _parted(item.text, most, count) if item.dense else [item.text]:
        part = replace(item, text=cut(text, most, count))
        yield part, _weigh(part, count)


def _parted(text: str, most: int, count: Count) -> Iterator[str]:
    """The text in parts of at most about so many tokens: between lines, where one is too long for a part within it."""
    part: list[str] = []
    left = most
    for line in _short_lines(text, most, count):
        weight = count(line) + 1
        if part and weight > left:
            yield "\n".join(part)
            part, left = [], most
        part.append(line)
        left -= weight
    if part:
        yield "\n".join(part)


def _short_lines(text: str, most: int, count: Count) -> Iterator[str]:
    for line in text.splitlines():
        parts = -(-count(line) * 10 // (most * 9)) or 1  # parts of a line weigh differently
        size = -(-len(line) // parts) or 1
        yield from (line[at : at + size] for at in range(0, len(line), size)) if parts > 1 else [line]


def _weigh(item: Item, count: Count) -> int:
    return count(item.text) + _HEAD_COST


def _items(message: Message, called: dict[str, str]) -> Iterator[Item]:
    """The items of a message; `called` holds the tool of each call so far."""
    said: list[str] = []
    for block in message.content:
        kind = block.get("type")
        if kind in _HIDDEN:
            continue
        if kind not in _CALLS and kind != "tool_result":
            said.append(_said(block))
            continue
        if said:
            yield _spoken(message, said)
            said = []
        if kind == "tool_result":
            yield _result(message, block, called)
        else:
            name = str(block.get("name", "a tool"))
            called[str(block.get("id"))] = name
            yield Item(f"assistant calls {name}", arguments_text(block.get("input")) or "(no arguments)")
    if said:
        yield _spoken(message, said)


def _spoken(message: Message, said: Sequence[str]) -> Item:
    text = clean("\n".join(part for part in said if part.strip()))
    if message.role == "assistant":
        return Item("assistant (cut off)" if message.partial else "assistant", text)
    if message.origin is None:
        return Item("user", text, words=True)
    if message.origin == "summary":
        return Item(_ORIGINS["summary"], summary_of(text), dense=True)
    return Item(_ORIGINS.get(message.origin, f"note by the program ({message.origin})"), text)


def _said(block: Block) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else f"[{block.get('type', 'unknown')}]"


def _result(message: Message, block: Block, called: Mapping[str, str]) -> Item:
    tool = called.get(str(block.get("tool_use_id"))) or str(message.meta.get("tool") or "a call")
    notes = []
    if block.get("is_error"):
        outcome = message.meta.get("outcome")
        notes.append(outcome if outcome in ("denied", "cancelled") else "failed")
    if isinstance(code := message.meta.get("exit"), int):
        notes.append(f"exit code {code}")
    head = f"result of {tool}" + (f" ({', '.join(notes)})" if notes else "")
    return Item(head, clean(result_text(block)) or "(no output)")


def _value(value: Any) -> str:
    if isinstance(value, str):
        text = clean(value)
        return f"\n{text}" if "\n" in text else text
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return clean(str(value))
