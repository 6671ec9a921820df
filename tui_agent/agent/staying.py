"""What of a request that does not fit the program never leaves out by itself, and why.

By the rules of the last step before a refusal; everything else may be left out to make room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.compaction.budget import Room, cut
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.priority import CRITICAL, Priorities
from tui_agent.settings.schema import Compaction as Keys

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.messages.blocks import Message

_ORIGINS = {"summary": "a summary", "injection": "a reminder"}


def staying(context: Context) -> dict[str, str]:
    """The records of the history that are never left out, each with the reason in two words.

    Reads the whole history: call it in a thread.
    """
    total = context.weigh().total
    every = cut(context, Policy(Keys()), total=total, room=Room(0, total))
    goes = {item.record for item in every.items}
    newest = next((message.id for message in reversed(context.history) if message.is_words), "")
    found, behind = dict[str, str](), False
    for message in context.history:
        if message.id not in goes:
            place = "newest words" if message.id == newest else "newest turn" if behind else "with others"
            found[message.id] = _own(context, message) or place
        behind = behind or message.id == newest
    return found


def _own(context: Context, message: Message) -> str:
    """What a record is itself that it stays; "" if it stays for the place where it stands."""
    marks = context.marks(message.id)
    if marks.get("pinned") is True:
        return "pinned"
    if origin := _ORIGINS.get(message.origin or ""):
        return origin
    if context.brought_back(message.id):
        return "brought back"
    priority = Priorities(Keys().priorities).priority_of(context.record(message.id).body, marks)
    return "critical" if priority >= CRITICAL or marks.get("compressible") is False else ""
