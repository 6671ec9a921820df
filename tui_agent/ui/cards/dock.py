"""The place above the composer where one card at a time waits: which one, which is armed, who has the focus.

Posts `Chosen` with the answer. `leave` is called when the focus should go back to the composer. Which card takes the
focus when it comes is the screen's to say (`ask(..., take_focus=...)`): only it knows whether somebody is writing.
While cards change, keys wait: none is given to a card that goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from textual.containers import Vertical
from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.events import Answer, Question
    from tui_agent.ui.cards.card import Card
    from tui_agent.ui.hosted import HostedApp
    from tui_agent.ui.order import Hold


def card_for(question: Question) -> Card:
    """The card of a question."""
    # cards are not needed before the first frame
    from tui_agent.ui.cards.agree import AgreeCard
    from tui_agent.ui.cards.approval import ApprovalCard
    from tui_agent.ui.cards.compaction import ReviewCard
    from tui_agent.ui.cards.memory import memory_card
    from tui_agent.ui.cards.plain import ChoiceCard, TextCard, WaysCard
    from tui_agent.ui.cards.plan import PlanCard

    kinds: dict[str, Callable[[Question], Card]] = {
        "agree": AgreeCard,
        "approval": ApprovalCard,
        "choice": ChoiceCard,
        "memory": memory_card,
        "plan": PlanCard,
        "review": ReviewCard,
        "text": TextCard,
        "ways": WaysCard,
    }
    # a kind that is not known here is still a question: with answers to choose from, or a free one
    other = ChoiceCard if question.choices else TextCard
    return kinds.get(question.kind, other)(question)


class Dock(Vertical):
    """Cards that wait, the front one shown."""

    @dataclass
    class Chosen(Message):
        """A person answered."""

        question: Question
        answer: Answer

    class Changed(Message):
        """How many cards wait, which one is shown or what it offers is different now."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._waiting: list[Question] = []
        self._order: list[str] = []
        """Every question since none waited, in the order they came."""
        self._passed = False
        """The front card was left for later."""
        self._rows = 10
        self._unsaid: dict[str, dict[str, str]] = {}
        """Question -> words that were begun on its card, which is not shown now."""
        self._card: Card | None = None
        self.leave: Callable[[str], None] = lambda words: None
        """Gives the focus back to the composer, with words that were being written in a card that is gone."""
        self.display = False

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that wait, the front one first."""
        return tuple(self._waiting)

    @property
    def card(self) -> Card | None:
        """The card that is shown."""
        return self._card

    @property
    def has_keys(self) -> bool:
        """True while the card or its reply line has the focus."""
        return self._card is not None and self._card.has_focus_within

    def fit(self, rows: int) -> None:
        """The card that is shown may take so many rows."""
        self._rows = rows
        if self._card is not None:
            self._card.fit(rows)

    @property
    def _app(self) -> HostedApp:
        return cast("HostedApp", self.app)

    def hold(self) -> Hold:
        """Let keys wait while cards change."""
        return self._app.hold_keys()

    async def ask(self, question: Question, *, take_focus: bool) -> None:
        """Add a question; if none was shown it comes to the front, and takes the focus if it may."""
        if any(question.id == waiting.id for waiting in self._waiting):
            return
        if not self._waiting:
            self._order = []
        self._waiting.append(question)
        self._order = [*(known for known in self._order if known != question.id), question.id]
        if self._card is None:
            async with self.hold():
                await self._bring(take_focus=take_focus, unasked=True)
        else:
            self._count()
        self.post_message(self.Changed())

    async def settle(self, identity: str) -> None:
        """A question is settled, here or elsewhere: its card goes, the next comes to the front."""
        if not any(question.id == identity for question in self._waiting):
            return
        if self._waiting[0].id == identity:
            async with self.hold():
                self._waiting.pop(0)
                await self._replace()
        else:
            self._waiting = [question for question in self._waiting if question.id != identity]
            self._count()
        self.post_message(self.Changed())

    async def _replace(self) -> None:
        """Take the front card away, and lose neither what was written in it nor what was pressed behind the answer."""
        gone, focused = self._card, self.has_keys
        words, late = (gone.lost, gone.late) if gone is not None else ("", [])
        await self._bring(take_focus=focused, unasked=False)
        self._unsaid.pop(gone.question.id if gone is not None else "", None)
        if (focused and self._card is None) or words:
            self.leave(words)
        self._app.press_first(late)

    async def clear(self) -> None:
        """No question waits any more."""
        for question in self.waiting:
            await self.settle(question.id)

    async def next(self) -> bool:
        """Give the front card the focus; if it had it already, bring the next one. False if no card waits."""
        if self._card is None:
            return False
        if len(self._waiting) > 1 and (self.has_keys or self._passed):
            async with self.hold():
                self._waiting.append(self._waiting.pop(0))
                await self._bring(take_focus=True, unasked=False)
        else:
            self._card.take_focus(unasked=False)
        self.post_message(self.Changed())
        return True

    async def _bring(self, *, take_focus: bool, unasked: bool) -> None:
        if self._card is not None:
            self._unsaid[self._card.question.id] = self._card.unsaid
            await self._card.remove()
            self._card = None
        self._passed = False
        self.display = bool(self._waiting)
        if self._waiting:
            card = card_for(self._waiting[0])
            card.unsaid = self._unsaid.pop(card.question.id, {})
            self._card = card
            card.fit(self._rows)
            self._count()
            await self.mount(card)
            if take_focus:
                card.take_focus(unasked=unasked)

    def _count(self) -> None:
        if self._card is not None:
            self._card.place(self._order.index(self._waiting[0].id) + 1, len(self._order))

    def on_card_answered(self, event: Card.Answered) -> None:
        event.stop()
        self.post_message(self.Chosen(event.question, event.answer))

    def on_card_later(self, event: Card.Later) -> None:
        event.stop()
        self._passed = True
        self.leave("")

    def on_card_stray(self, event: Card.Stray) -> None:
        event.stop()
        self.leave("")
        self._app.press_first([event.key])

    def on_card_changed(self, event: Card.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())
