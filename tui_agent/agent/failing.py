"""A request that the endpoint refused, as it is told: which records its error means, and what can be done about each.

The ways out name commands that work as they stand (`/drop 17`). Foreign words, those of the endpoint and of records,
are in the message alone, so that none of them is taken for a way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent.compaction import picked
from tui_agent.events import RequestFailed
from tui_agent.literal import one_line
from tui_agent.messages.blocks import result_text
from tui_agent.messages.named import named

if TYPE_CHECKING:
    from tui_agent.context import Context, Record
    from tui_agent.llm.provider import ProviderError
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.request import Request

RETRY = "send the request again (/retry)"

_SHOWN = 3
"""So many of the named records are told, the first ones."""
_WORDS = 80
"""Characters of a record's first words."""


def failure(error: ProviderError, request: Request, context: Context) -> RequestFailed:
    """What is told of an error: its words, the records that they name, and the ways out."""
    text = str(error)
    records = tuple(_records(text, request, context)) if error.kind == "invalid" else ()
    if not records:
        return RequestFailed(error.kind, text, error.ways)
    found = [context.record(name) for name in records[:_SHOWN]]
    tools = [
        str(request.tools[p.index]["name"])
        for p in named(text)
        if p.part == "tools" and p.index < len(request.tools)
    ]
    told = [f"Record {record.line} is meant: {_is(record, context, tools)}" for record in found]
    if len(records) > _SHOWN:
        told.append(f"{len(records) - _SHOWN} more records are meant.")
    ways = [way for record in found for way in _ways(record, context)]
    rest = [way for way in error.ways if "(/retry)" not in way]
    return RequestFailed(error.kind, "\n".join([text, *told]), (*ways, RETRY, *rest), records)


def _records(text: str, request: Request, context: Context) -> Iterator[str]:
    """The ids of the records an error names: of messages, and of the prompt and the tools in force."""
    yield from request.records_named(text)
    parts = {place.part for place in named(text)}
    for part, role in (("system", "_system_prompt"), ("tools", "_tools")):
        newest = next((record.id for record in reversed(context.records) if record.role == role), "")
        if part in parts and newest:
            yield newest


def _is(record: Record, context: Context, tools: Sequence[str]) -> str:
    """Who wrote a record, and its first words; of the tools those that are meant."""
    if record.role == "_system_prompt":
        return "the system prompt"
    if record.role == "_tools":
        return "the tools that are offered" + (f", {one_line(', '.join(tools), _WORDS)}" if tools else "")
    message = context.message(record.id)
    words = one_line(" ".join(map(_words, message.content)) if message is not None else "", _WORDS)
    return f"{_who(record)}{f', {words}' if words else ''}"


def _who(record: Record) -> str:
    if record.role == "assistant":
        return "the model's answer"
    match record.origin:
        case None:
            return "your words"
        case "tool":
            tool = (record.body.get("meta") or {}).get("tool")
            return f"the result of {one_line(str(tool), _WORDS)}" if tool else "the result of a tool"
        case "injection":
            return "what the model was told"
        case "summary":
            return "a summary"
        case origin:
            return one_line(origin, _WORDS)


def _words(block: Block) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))[:_WORDS]
        case "tool_use":
            return str(block.get("name"))[:_WORDS]
        case "tool_result":
            return result_text(block)[:_WORDS]
        case kind:
            return f"[{kind}]"[:_WORDS]


def _ways(record: Record, context: Context) -> Iterator[str]:
    """What can be done about a record that the endpoint refuses."""
    number = record.line
    yield f"look at record {number} (/record {number})"
    if record.role == "_system_prompt":
        yield "mend the instructions, then put them in force (/refresh)"
    elif record.role == "_tools":
        yield "turn off what offers that tool, then put the tools of now in force (/refresh)"
    if record.role not in ("user", "assistant"):
        return
    if picked.can_shorten(context, record.id):
        yield f"shorten record {number} to a few words (/elide {number})"
    yield f"leave out record {number} (/drop {number})"
    try:
        picked.editable(context, record.id)
    except ValueError:
        return
    yield f"send another text in place of record {number} (/edit {number})"
