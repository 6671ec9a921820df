"""The cards about memories that are docked. A proposal itself stands in the chat (`transcript/remembered`).

`MemoryCard`: its text is written anew. `a` accepts what was written, `e` goes on writing; Esc or `n` goes back to the
proposal, which keeps it. `ShareCard`: what would change in MEMORY.md, or in what is remembered; `a` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent import literal
from tui_agent.events import Answer, Question
from tui_agent.ui import words
from tui_agent.ui.cards.card import Card
from tui_agent.ui.cards.change import diff_content
from tui_agent.ui.cards.choices import Choice
from tui_agent.ui.cards.compaction import ReviewCard

if TYPE_CHECKING:
    from textual import events

_BACK = "n"
_BODY_ROWS = 4
"""Rows of a change that facts leave free."""


def memory_card(question: Question) -> Card:
    """The card of a question about memories."""
    return ShareCard(question) if question.diff else MemoryCard(question)


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


class ShareCard(Card):
    """What would change, before it is done. It has to be read to its end first."""

    def body(self) -> Content:
        return diff_content(self.question.diff)

    @property
    def body_rows(self) -> int:
        return _BODY_ROWS

    def facts(self) -> Sequence[Content]:
        parts = []
        if self.unseen:
            parts.append(Content.styled(f"{self.unseen:,} more lines below: Space or Down", "$text-warning"))
        if self.question.place:
            place = literal.one_line(words.short_path(self.question.place), 60)
            parts.append(Content.styled(f"in {place}", "$text-muted"))
        return parts

    def choices(self) -> Sequence[Choice]:
        return [Choice("a", "do it"), Choice(_BACK, "leave it as it is")]

    def meant(self, character: str) -> str:
        return _BACK if (letter := super().meant(character)) == "r" else letter

    def choose(self, choice: Choice) -> None:
        if choice.letter == _BACK:
            self.answer(Answer("no"))
        elif self.unseen:
            self.hint("there is more of it: Space or Down, then a")
        else:
            self.answer(Answer("once"))

    def typed(self, text: str) -> None:
        self.hint("a does it, n leaves it as it is")

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.answer(Answer("no"))
        else:
            super().on_key(event)
