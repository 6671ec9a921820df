"""What of a history breaks a rule of the Messages API, and is mended when it is sent: by rule, with the records."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_agent.literal import one_line
from tui_agent.messages.lint import Change, lint
from tui_agent.messages.rules import Broken, broken

if TYPE_CHECKING:
    from tui_agent.context import Context

_NUMBERS = 8
"""So many records of a rule are named."""


def mended(changes: Iterable[Change], context: Context) -> list[Broken]:
    """The rules that took changes. That a history ends with the model's answer is no fault: words follow it."""
    last = context.history[-1].id if len(context.history) else ""
    return broken(change for change in changes if (change.rule, change.record) != ("ends", last))


def told(found: Broken, context: Context) -> str:
    """A rule that does not hold, in words: how often, what is done about it, at which records (by their numbers).

    Of a single change all is said.
    """
    numbers = [f"{context.record(name).line}" for name in found.records]
    more = len(numbers) - _NUMBERS
    where = ", ".join(numbers[:_NUMBERS]) + (f" and {more} more" if more > 0 else "")
    records = "record" if len(numbers) == 1 else "records"
    said = f"{found.words} ({records} {where})" if numbers else found.words
    return f"{said}: {one_line(found.changes[0].text)}" if len(found.changes) == 1 else said


async def taken_in(context: Context, model: str) -> list[str]:
    """What is mended of a log that came from elsewhere, in words; nothing if it is sound.

    Where it is not known yet which model is asked (""), nothing is said of what only its own model can read.
    """
    _, changes = await asyncio.to_thread(lint, context.history, model=model)
    found = [entry for entry in mended(changes, context) if model or entry.rule.name != "other_model"]
    if not found:
        return []
    rules = "a rule" if len(found) == 1 else f"{len(found)} rules"
    head = f"the log that was taken in breaks {rules} of the Messages API; it is mended when it is sent"
    return [head, *(told(entry, context) for entry in found)]
