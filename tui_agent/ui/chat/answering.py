"""The cards: what the session, or a person's own command, needs to know, and where the answers go.

It takes the dock's `Chosen` and `Changed` and the transcript's `AnswerChosen`; it posts `WayOut` to the app. Results in
the transcript that wait are gone to as cards are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from textual.message import Message

from tui_agent.events import Question
from tui_agent.ui.cards.dock import Dock
from tui_agent.ui.chat.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tui_agent.events import Answer, Emit
    from tui_agent.ui import bindings
    from tui_agent.ui.chat.results import Results
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.transcript.view import Transcript

_IDLE = 1.0
"""Seconds without a key after which a card may take the focus from an empty composer."""
WAYS_OUT = ("Try again", "Begin a new session", "Use the demo model", "Quit")
"""What can be done when a session cannot be opened."""
_OPENING = "opening"


class Answering(Writing):
    """A screen on which questions wait for an answer, docked or in the transcript."""

    @dataclass
    class WayOut(Message):
        """The session could not be opened; this is what to do (one of `WAYS_OUT`)."""

        choice: str

    def __init__(self, keys: bindings.Keys, workspace: Path, tell: Emit) -> None:
        super().__init__(keys, workspace, tell)
        self.dock = Dock(id="dock")
        self.dock.leave = self._leave_card
        self._own: dict[str, Callable[[Answer], None]] = {}
        self.acts |= {
            "card": lambda: self.expect(self._next_card(), "act-card"),
            "editor": self._edit_somewhere,
        }

    @cached_property
    def results(self) -> Results:
        """The results in the transcript."""
        from tui_agent.ui.chat.results import Results  # not needed before the first frame

        return Results(cast("ChatScreen", self))

    async def open_failed(self, error: BaseException, ways: Sequence[str] = WAYS_OUT) -> None:
        """The session could not be opened: say why, and offer the ways out."""
        self.status.rest("not open")
        self.not_opened()
        self.status.tell(trouble="no session")
        self.say(f"The session could not be opened. {error}", "error")
        title = "no session is open; what now?"
        await self.ask(Question(_OPENING, "choice", title, body=str(error), choices=tuple(ways)))

    async def ask(self, question: Question) -> None:
        """A question waits: its card takes the focus only from an idle, empty composer."""
        composer = self.composer
        async with self.dock.hold():  # what was pressed before it is in the draft
            free = (
                self.focused is composer and composer.is_blank and composer.idle(_IDLE) and not self.leading
            )
            await self.dock.ask(question, take_focus=free)

    async def offer(
        self, question: Question, done: Callable[[Answer], None], *, at_once: bool = True
    ) -> None:
        """Ask what a person's own command needs to know: `at_once`, before what waits. `done` gets the answer."""
        self._own[question.id] = done
        if not at_once:
            await self.ask(question)
            return
        await self.dock.ask(question, take_focus=True)
        for _ in range(2 * len(self.dock.waiting)):
            if self.dock.waiting[0].id == question.id:
                break
            await self.dock.next()

    async def withdraw(self, question: str) -> None:
        """Ask no more what a person's own command needed to know: what it was about is gone."""
        if self._own.pop(question, None) is not None:
            await self.dock.settle(question)

    def on_dock_chosen(self, event: Dock.Chosen) -> None:
        event.stop()
        if event.question.id == _OPENING and event.answer.note not in event.question.choices:
            self.composer.append(event.answer.note)
            self.work(self._ask_again(event.question), "cards")
        elif event.question.id == _OPENING:
            self.work(self.dock.settle(_OPENING), "cards")
            self.tell_app(self.WayOut(event.answer.note))
        elif (done := self._own.pop(event.question.id, None)) is not None:
            self.work(self._own_answer(event, done), "cards")
        elif self.session is not None:
            self.work(self.session.answer(event.question.id, event.answer), "answer")

    async def _own_answer(self, event: Dock.Chosen, done: Callable[[Answer], None]) -> None:
        """Keys wait until it is known where they go after the answer."""
        async with self.dock.hold():
            await self.dock.settle(event.question.id)
            done(event.answer)

    async def _ask_again(self, question: Question) -> None:
        """What was typed is none of the answers: it is in the composer, and the question still waits."""
        await self.dock.settle(question.id)
        await self.ask(question)

    def _leave_card(self, words: str) -> None:
        if words:
            self.composer.add(words)
        self.set_focus(self.composer)

    def on_dock_changed(self, event: Dock.Changed) -> None:
        event.stop()
        self.status.tell(waiting=len(self.dock.waiting))
        self.tell_cards()

    def tell_cards(self) -> None:
        """Other cards wait now, docked or in the transcript."""
        self.composer.cards_wait = bool(self.dock.waiting) or self.transcript.waiting is not None
        self.status.tell(asking=self.results.questions)
        self.show_keys()

    async def _next_card(self) -> None:
        docked = len(self.dock.waiting)
        passes = not docked or (docked == 1 and self.dock.has_keys)
        if passes and self.results.next(around=not docked):
            return
        if not await self.dock.next():
            self.say("no card waits for an answer")

    def _go_on(self) -> None:
        """From the chat to the next card that waits, from the last one to the composer."""
        if self.results.next(around=False):
            return
        if self.dock.waiting:
            self.act("card")
        else:
            self.set_focus(self.composer)

    async def _edit_somewhere(self) -> None:
        card = self.dock.card if self.dock.has_keys else None
        if card is not None and card.writes:
            await self.results.edit_outside(card)
        else:
            await self._edit_outside()

    def on_transcript_answer_chosen(self, event: Transcript.AnswerChosen) -> None:
        event.stop()
        self.results.clicked(event.result, event.letter)

    def action_result(self, letter: str) -> None:
        """What can be done about the result under the cursor, clicked in the footer."""
        if (result := self.results.current) is not None:
            self.results.choose(result, letter)
