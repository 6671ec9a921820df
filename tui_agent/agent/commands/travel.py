"""What follows a change of history, whichever command made it: backups pruned, the event, the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.changes import Rotated
from tui_agent.commands import Outcome
from tui_agent.planning import goal, mode, plan, todo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.agent.session import Session
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.timeline.timeline import Travelled


COMPACTIONS = ("compaction", "edit")
"""What the changes of history are called that put a summary in force."""
STAYS = (mode.STATE_KEY,)
"""The state that is kept where a history is cleared: no part of the conversation."""
_GOES = {goal.STATE_KEY: "the goal", plan.STATE_KEY: "the accepted plan", todo.STATE_KEY: "the todo list"}


def said_since(context: Context) -> int:
    """How many messages follow the last change of history."""
    change, count = context.change, 0
    for message in reversed(context.history):
        if change is None or context.record(message.id).index < change.index:
            return count
        count += 1
    return count


def taken_back(context: Context, since: int, *, later: bool, command: str = "/") -> str:
    """What an undo of the last change will have done to it and to the messages since, so many; ask before it is done.

    `later`: they stay, behind the history that comes back. `command` is what commands begin with.
    """
    messages = f"{since:,} messages" if since != 1 else "message"
    if later:
        kept = f", with the {messages} since behind it" if since else ""
        return f"the history before the compaction is back{kept}"
    change, gone = context.change, ""
    if since:
        gone = f", without the {messages} since"
        if change is not None and change.op in COMPACTIONS:
            gone += f" ({command}redo, then {command}undo later keeps them)"
    return f"the last change of history is undone{gone}"


async def arrived(session: Session, travelled: Travelled, text: str) -> Outcome:
    """Tell of a travel, and how to take it back."""
    records = len(session.context.records)
    await session.shrinking.prune()
    session.emit(Rotated(travelled.op, travelled.backup, records, travelled.words, travelled.images))
    way = "" if travelled.op in ("undo", "redo") else " (/undo brings it back)"
    return Outcome(
        f"{text}; what was before is {travelled.backup}{way}",
        {"op": travelled.op, "backup": travelled.backup, "records": records, "words": travelled.words},
    )


def left_behind(context: Shown) -> list[str]:
    """What goes with a history that is cleared, in words."""
    state = context.state
    return [name for key, name in _GOES.items() if state.get(key)]


def emptied(gone: Sequence[str], stays: str) -> str:
    """How it is after a clear: what went with the history, and the mode that `stays` (""; nothing to say), in words."""
    went = f"; with it went {' and '.join(gone)}" if gone else ""
    return f"the history is empty{went}" + (f"; the mode is still {stays}" if stays else "")
