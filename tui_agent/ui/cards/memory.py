"""The card on which a person writes what is to be remembered in other words.

The proposal itself stands in the chat (`transcript/remembered`, `chat/remembering`); this card is docked while its text
is written. `a` accepts what was written, `e` goes on writing; Esc or `n` goes back to the proposal, which keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.events import Answer, Question
from tui_agent.ui.cards.card import Choice
from tui_agent.ui.cards.compaction import ReviewCard

if TYPE_CHECKING:
    from textual import events

_BACK = "n"


class MemoryCard(ReviewCard):
    """A text to remember, as the person wants it. The answer's `edited` is what was written, also where it is `no`."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self._edited = question.editable

    def choices(self) -> Sequence[Choice]:
        return [Choice("a", "accept"), Choice("e", "edit"), Choice(_BACK, "back to the proposal")]

    def meant(self, character: str) -> str:
        return _BACK if (letter := super().meant(character)) == "r" else letter

    def choose(self, choice: Choice) -> None:
        if choice.letter == _BACK:
            self._go_back()
        else:
            super().choose(choice)

    def _go_back(self) -> None:
        self.answer(Answer("no", edited=self._edited))

    def edit(self) -> None:
        self.open_line("edit", self._text, "what to remember")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.screen.focused is self:
            event.stop()
            event.prevent_default()
            self._go_back()
        else:
            super().on_key(event)
