"""What a killed program left open is closed before anything else is said."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.messages.exchange import open_calls
from tui_agent.messages.lint import repairs

if TYPE_CHECKING:
    from tui_agent.context import Context


async def close_calls(context: Context, model: str) -> list[str]:
    """Close the calls that a killed program left open, with a record that says so. Returns what was done, in words.

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
    await context.append_message({"role": "user", "content": blocks}, origin="repair")
    await context.sync()
    names = ", ".join(sorted({str(call.get("name")) for call in calls}))
    count = f"{len(calls)} tool calls were" if len(calls) > 1 else "a tool call was"
    return [f"{count} cut off when the program stopped ({names}); the model is told"]
