"""One line to a request, a profile, and an answer heard to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_agent.llm.provider import Delta, Provider, Reply, Text, Thinking
from tui_agent.messages.blocks import Block, Message, text_block
from tui_agent.messages.request import Request
from tui_agent.settings.schema import Profile

TOOLS = tuple(
    {"name": name, "description": name, "input_schema": {"type": "object", "properties": {}}}
    for name in ("read_file", "write_file", "edit_file", "glob", "grep", "bash", "todo")
)


def request(
    *history: str | Message,
    model: str = "scripted-1",
    max_tokens: int = 1_000,
    tools: Sequence[Mapping[str, Any]] = TOOLS,
    system: Sequence[Block] = (),
) -> Request:
    """A request; bare texts in the history are a person's words."""
    messages = [Message("user", [text_block(m)]) if isinstance(m, str) else m for m in history or ("hello",)]
    return Request.make(model=model, system=system, history=messages, max_tokens=max_tokens, tools=tools)


def profile(url: str, **fields: Any) -> Profile:
    """A profile for a scripted server."""
    return Profile(name="scripted", base_url=url, **({"auth": "none", "model": "scripted-1"} | fields))


async def hear(provider: Provider, asked: Request | None = None) -> tuple[list[Delta], Reply]:
    """All deltas but the last, and the Reply."""
    deltas = [delta async for delta in provider.stream(asked or request())]
    reply = deltas.pop()
    assert isinstance(reply, Reply)
    return deltas, reply


def text_of(deltas: Sequence[Delta]) -> str:
    """The text that was streamed."""
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def thinking_of(deltas: Sequence[Delta]) -> str:
    """The thinking that was streamed."""
    return "".join(delta.text for delta in deltas if isinstance(delta, Thinking))
