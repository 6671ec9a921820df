"""Records, messages and checkpoints in a few words, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tui_agent.messages.blocks import Block, result_text

if TYPE_CHECKING:
    from tui_agent.context import Context, Record
    from tui_agent.messages.blocks import Message
    from tui_agent.messages.lint import Change

_CHARACTERS = 300
"""Of a text so much is looked at: a line of a table shows less."""


def who(role: str, origin: str | None) -> str:
    """Who a record is from: a person, the model, a tool, or what kind of meta record it is."""
    return origin if role == "user" and origin else role


def words_of(content: Iterable[Block]) -> str:
    """A message's first words on one line; calls, results and media by name."""
    parts: list[str] = []
    for block in content:
        match block.get("type"):
            case "text":
                parts.append(str(block.get("text", ""))[:_CHARACTERS])
            case "tool_use":
                parts.append(f"{block.get('name')}({_arguments(block.get('input'))})")
            case "tool_result":
                error = "error: " if block.get("is_error") else ""
                parts.append(error + result_text(block)[:_CHARACTERS])
            case "thinking":
                parts.append(f"(thinking) {str(block.get('thinking', ''))[:_CHARACTERS]}")
            case kind:
                parts.append(f"[{kind}]")
        if sum(map(len, parts)) >= _CHARACTERS:
            break
    return " ".join(" ".join(parts).split())[:_CHARACTERS]


def record_words(record: Record) -> str:
    """A record's first words, or what a meta record says."""
    if record.damaged is not None:
        return record.raw[:_CHARACTERS].decode(errors="replace")
    body = record.body
    match record.role:
        case "_system_prompt":
            return " ".join(str(body.get("content", ""))[:_CHARACTERS].split())
        case "_tools":
            names = [str(tool.get("name")) for tool in body.get("tools") or () if isinstance(tool, Mapping)]
            return ", ".join(names)
        case "_checkpoint":
            return f"checkpoint {body.get('id')}" + (" (turn)" if body.get("turn") else "")
        case "_usage":
            return f"{body.get('token_count')} tokens" + ("" if body.get("exact", True) else " (not exact)")
        case "_elide":
            return f"{len(body.get('items') or ())} items, {body.get('reason', '')}, by {body.get('by', '')}"
        case "_state":
            return str(body.get("key", ""))
        case "_mark":
            changes = {key: value for key, value in body.items() if key not in ("role", "record", "by", "id")}
            return ", ".join(f"{key} {value}" for key, value in changes.items())
        case "_rewind" | "_compaction":
            return f"{body.get('op')}; before: {body.get('backup')}"
        case role if role.startswith("_"):
            return ""
    content = body.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return (
        words_of([block for block in blocks if isinstance(block, dict)]) if isinstance(blocks, list) else ""
    )


def record_json(context: Context, record: Record) -> dict[str, Any]:
    """A record as a line of a report."""
    is_message = record.damaged is None and not record.role.startswith("_")
    weighed = record.damaged is None and (is_message or record.role in ("_system_prompt", "_tools"))
    weight = context.tokens_of(record) if weighed else None
    return {
        "line": record.line,
        "id": record.id,
        "role": record.role,
        "origin": record.origin,
        "who": "damaged" if record.damaged is not None else who(record.role, record.origin),
        "at": record.at,
        "offset": record.offset,
        "bytes": record.length,
        "damaged": record.damaged,
        "tokens": weight.count if weight is not None else None,
        "mark": weight.mark if weight is not None else "exact",
        "pinned": is_message and bool(context.marks(record.id).get("pinned")),
        "elided": is_message and bool(context.elided(record.id)),
        "words": record_words(record),
    }


def message_json(context: Context, message: Message) -> dict[str, Any]:
    """A message of the history with what is sent of it."""
    weight = context.tokens(message.id)
    return {
        "line": context.record(message.id).line,
        "id": message.id,
        "role": message.role,
        "origin": message.origin,
        "at": message.at,
        "model": message.model,
        "tokens": weight.count,
        "mark": weight.mark,
        "pinned": bool(context.marks(message.id).get("pinned")),
        "elided": bool(context.elided(message.id)),
        "content": list(message.content),
    }


def checkpoints_of(context: Context) -> list[dict[str, Any]]:
    """The checkpoints, the oldest first."""
    return [asdict(checkpoint) for checkpoint in context.checkpoints()]


def items_of(context: Context) -> list[dict[str, Any]]:
    """What the next request is made of, in its order, with what each weighs."""
    latest = {
        record.role: record for record in context.records if record.role in ("_tools", "_system_prompt")
    }
    in_force = [latest[role] for role in ("_tools", "_system_prompt") if role in latest]
    items = [_item(context, record, record_words(record)) for record in in_force]
    return items + [_item(context, context.record(m.id), words_of(m.content)) for m in context.history]


def repairs_of(changes: Iterable[Change], context: Context) -> list[str]:
    """What had to be mended to make a request valid, in words: by rule, with the numbers of the records."""
    from tui_agent.agent.checking import mended, told  # of the engine, which not every report needs

    return [told(found, context) for found in mended(changes, context)]


def _item(context: Context, record: Record, words: str) -> dict[str, Any]:
    weight = context.tokens_of(record)
    return {
        "line": record.line,
        "id": record.id,
        "who": who(record.role, record.origin),
        "tokens": weight.count,
        "mark": weight.mark,
        "words": words,
    }


def _arguments(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return ", ".join(str(item)[:_CHARACTERS] for item in value.values())
