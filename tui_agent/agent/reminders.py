"""What the model is told at the end of a person's message: what changed since the prompt in front was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.agent.building import limits_of, total_of
from tui_agent.events import LeftOut, Reminded, Reminder
from tui_agent.messages.tokens import Tokens
from tui_agent.prompt.injections import Collected, Injections, Moment
from tui_agent.prompt.manifest import Item

if TYPE_CHECKING:
    from tui_agent.agent.session import Session


class Reminders:
    """The reminders of one session. `look` gives the moment at which some words stand in the log."""

    def __init__(self, injections: Injections, look: Callable[[str], Moment]) -> None:
        self._injections = injections
        self._look = look
        self.last = Collected()
        """What came of reminding last: also what was left out, and why."""

    async def remind(self, words: str = "") -> Reminded | None:
        """Append what the model does not know yet, beside the words said since the last time; None if that is nothing.

        What is left out turn after turn is said once.

        Raises:
            ContextError: it could not be written.
        """
        before = {one.name for one in self.last.left}
        self.last = last = await self._injections.collect(self._look(words))
        told = tuple(Reminder(put.name, put.record, put.short, put.text, put.tokens) for put in last.told)
        left = tuple(
            LeftOut(one.name, one.why, one.tokens)
            for one in last.left
            if not one.twin and one.name not in before
        )
        return Reminded(told, left) if told or left else None

    def unsent(self) -> list[Item]:
        """What was due and left out the last time, as the manifest lists it."""
        return [
            Item(
                "messages",
                "injection",
                one.name,
                Tokens(one.tokens, "estimated"),
                source=one.name,
                kept=False,
                reason=one.why,
            )
            for one in self.last.left
        ]


def moment(session: Session, words: str) -> Moment:
    """The moment of a session as its log stands now."""
    limits, total = limits_of(session.provider, session.thinking), total_of(session.context)
    room = max(0, limits.budget - total.count) if limits.window > 0 else None
    return Moment(session.context, words, total, limits.window, session.shrinking.due[1], room)
