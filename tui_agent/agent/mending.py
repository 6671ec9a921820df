"""Calls without a result are closed before anything else is said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.messages.exchange import open_calls
from tui_agent.messages.lint import repairs

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.messages.blocks import Block


async def close_calls(context: Context, model: str) -> list[str]:
    """Close the calls that have no result, with a record that says so. Returns what was done, in words.

    A killed program left them open, or a person left their results out.

    Raises:
        ContextError: it could not be written.
    """
    history = context.history
    calls = open_calls(history)
    if not calls:
        return []
    blocks = await asyncio.to_thread(repairs, history, model=model)
    if not blocks:
        return []
    dropped = await asyncio.to_thread(_left_out, context)
    await context.append_message({"role": "user", "content": blocks}, origin="repair")
    await context.sync()
    told = (
        ("cut off when the program stopped", [call for call in calls if call.get("id") not in dropped]),
        ("left without the result that you left out", [call for call in calls if call.get("id") in dropped]),
    )
    return [_words(some, what) for what, some in told if some]


def _left_out(context: Context) -> set[object]:
    """The calls whose results are in the log and not sent."""
    bodies = (context.record(record).body for record, _, _ in context.elisions())
    contents = (body.get("content") for body in bodies if body.get("origin") == "tool")
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return {block.get("tool_use_id") for block in blocks if isinstance(block, dict)}


def _words(calls: Sequence[Block], what: str) -> str:
    names = ", ".join(sorted({str(call.get("name")) for call in calls}))
    count = f"{len(calls)} tool calls were" if len(calls) > 1 else "a tool call was"
    return f"{count} {what} ({names}); the model is told"
