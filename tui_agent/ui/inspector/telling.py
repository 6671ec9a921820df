"""What a record says: who wrote it, its first words, all of its words, and whether it holds words that are looked for.

A filter looks at who wrote a record and at every text and number in it, at any depth; the names of JSON fields are not
looked at, nor signatures and the bytes of images. All words must be there, in any case and any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.ui import words

if TYPE_CHECKING:
    from tui_agent.context import Record

FIRST_WORDS = 400
"""Characters of a record's words that a row takes; no screen is wider."""

_META_NAMES = {
    "_system_prompt": "prompt",
    "_restore_elided": "restored",
    "_elide": "elided",
    "_checkpoint": "point",
}
_UNREAD = ("signature", "data")
"""Fields whose value nobody reads."""


def who(record: Record) -> str:
    """Who wrote a record, in a word."""
    if record.damaged:
        return "damaged"
    if record.role.startswith("_"):
        return _META_NAMES.get(record.role, record.role[1:])
    return speaker(record.role, record.origin)


def speaker(role: str, origin: str | None) -> str:
    """Who speaks in a message, in a word."""
    if origin:
        return "result" if origin == "tool" else origin
    return {"user": "you", "assistant": "model"}.get(role, role)


# --- the first words


def first_words(record: Record) -> str:
    """What a record says, shortly."""
    if record.damaged:
        return record.damaged
    body = record.body
    match record.role:
        case "_usage":
            return f"{_count(body.get('token_count'))} tokens, output {_count(body.get('output'))}"
        case "_checkpoint":
            return f"{body.get('id')}" + (" turn" if body.get("turn") else "")
        case "_state":
            return f"{body.get('key')} {_short(body.get('value'))}"
        case "_tools":
            tools = body.get("tools")
            offered = tools if isinstance(tools, list) else []
            return ", ".join(str(tool.get("name")) for tool in offered if isinstance(tool, dict))
        case "_compaction" | "_rewind":
            return f"{body.get('op')}, before: {body.get('backup')}"
        case "_mark" | "_elide" | "_restore_elided":
            return _short({key: value for key, value in body.items() if key not in ("role", "id", "at")})
    return content_words(body.get("content"))


def content_words(content: Any) -> str:
    """What a message's content says, shortly."""
    if isinstance(content, str):
        return content[:FIRST_WORDS]
    blocks = [block for block in content if isinstance(block, Mapping)] if _is_list(content) else []
    return " ".join(filter(None, map(_block_words, blocks)))[:FIRST_WORDS]


def _block_words(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))[:FIRST_WORDS]
        case "tool_use":
            return f"{block.get('name')} {_short(block.get('input'))}"
        case "tool_result":
            return ("error: " if block.get("is_error") else "") + content_words(block.get("content"))
        case kind:
            return f"[{kind}]"


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:FIRST_WORDS]


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


# --- all of it


def whole(block: Mapping[str, Any]) -> str:
    """All that a block says."""
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))
        case "tool_use":
            return f"{block.get('name')} {json.dumps(block.get('input'), ensure_ascii=False, indent=1, default=str)}"
        case "tool_result":
            content = block.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return "\n".join(whole(part) for part in parts if isinstance(part, Mapping))
        case kind:
            return f"[{kind}]"


def _texts(value: Any) -> Iterator[str]:
    """Every text and number in a record, names of fields not."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield f"{value:,}"
        yield str(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _UNREAD:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


# --- what is looked for


def holding(records: Callable[[], Sequence[Record]], looked_for: str) -> Callable[[int], bool] | None:
    """Says for the index of a record whether it holds these words; None if there are none.

    The bytes of a line are looked at first, and only what may hold the words is read: a log of 100 000 records is
    looked through in a few seconds, in slices.
    """
    wanted = looked_for.casefold().split()
    if not wanted:
        return None
    sought = [(word, _in_bytes(word)) for word in wanted]

    def holds(index: int) -> bool:
        record = records()[index]
        raw, name = record.raw, who(record)
        left = [(word, part) for word, part in sought if word not in name]
        if not left:
            return True
        if not _may_hold(raw, [part for _, part in left]):
            return False
        if record.damaged:
            text = f"{record.damaged}\n{raw.decode('utf-8', 'replace')}"
        else:
            text = "\n".join(_texts(record.body))
        text = text.casefold()
        return all(word in text for word, _ in left)

    return holds


def _in_bytes(word: str) -> str:
    """What of a word stands in the line of a record that holds it: "" if that cannot be said."""
    digits = word.replace(",", "")
    if digits.isdecimal():
        return digits
    return "" if any(character in '"\\' or not character.isprintable() for character in word) else word


def _may_hold(raw: bytes, parts: Sequence[str]) -> bool:
    """False if the line surely lacks one of the parts. Escapes may stand for anything."""
    if b"\\u" in raw or b"\\/" in raw:
        return True
    if raw.isascii():
        low = raw.lower()
        return all(part.isascii() and part.encode() in low for part in parts)
    text = raw.decode("utf-8", "replace").casefold()
    return all(part in text for part in parts)


def facts(record: Record) -> list[str]:
    """Where a record lies: line, offset, size, time."""
    said = [f"line {record.line:,}", f"offset {record.offset:,}", words.size(record.length), record.at or ""]
    return [fact for fact in said if fact]
