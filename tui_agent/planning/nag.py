"""Reminds the model of its todo list: where the list is not in what it is sent any more, and where it is not kept.

Nothing is counted beside the log: how long ago the list was changed is how many answers and turns stand behind the
call that changed it. While items are open it is told once for every `REPLIES` answers or `TURNS` turns, at most `MOST`
times, and the first time after `STALE` turns that left an item active.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.messages.blocks import result_text
from tui_agent.planning import todo
from tui_agent.planning.reminder import inert, reminder
from tui_agent.prompt.injections import Told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.context.reading import Shown
    from tui_agent.messages.blocks import Message
    from tui_agent.prompt.injections import Moment

REPLIES = 20
"""So many answers of the model without a change of the list are worth a reminder."""
TURNS = 5
"""So many turns are."""
STALE = 2
"""So many turns are where an item is still active: nobody works on it between two turns."""
MOST = 5
"""So often it is reminded of a list that it does not change."""

_LIST = "This is your todo list as it stands."
_NAG = (
    "You have not changed it for a while, and it has open items. Send it with `todo` as the work stands now: mark what "
    "is done, take out what is not wanted any more. If nothing of it is wanted, send an empty list. Say nothing of "
    "this to the person."
)


class TodoSource:
    """Tells the todo list where the model may not know it, or seems to have forgotten it."""

    name = todo.STATE_KEY
    priority = 45

    def generate(self, moment: Moment) -> Told | None:
        """The list; None where the model sees it and keeps it, or nothing of it is open."""
        items = todo.read(moment.context)
        if all(item.status == "done" for item in items):
            return None
        shown, late = _seen(moment.context, items)
        if shown and not late:
            return None
        said = [_LIST, _NAG] if late else [_LIST]
        text = reminder(*said, inert(todo.text_of(items)))
        return Told(text, version=str(late or ""), short="the todo list")

    def on_compacted(self) -> None:
        """Nothing is kept here."""


def _seen(context: Shown, items: Sequence[todo.Item]) -> tuple[bool, int]:
    """Whether the call that changed the list last is sent whole, and how many reminders are due since."""
    replies = turns = 0
    history = context.history
    for at in range(len(history) - 1, -1, -1):
        message = history[at]
        if _changes(message):
            stale = turns >= STALE and any(item.status == "active" for item in items)
            return _tells(message, items), max(_due(replies, turns), int(stale))
        replies += message.role == "assistant"
        turns += message.is_words
        if _due(replies, turns) == MOST:
            return True, MOST
    return False, _due(replies, turns)


def _due(replies: int, turns: int) -> int:
    return min(MOST, max(replies // REPLIES, turns // TURNS))


def _changes(message: Message) -> bool:
    """True for the result of a call that changed the list."""
    if message.origin != "tool" or message.meta.get("outcome") != "ok":
        return False
    return message.meta.get("tool") == todo.TOOL or message.meta.get("plan") == "accepted"


def _tells(message: Message, items: Sequence[todo.Item]) -> bool:
    """True if the result is sent as it was: not shortened since."""
    text = "\n".join(map(result_text, message.blocks("tool_result")))
    return (
        text == todo.text_of(items) if message.meta.get("tool") == todo.TOOL else text.startswith("accepted")
    )
