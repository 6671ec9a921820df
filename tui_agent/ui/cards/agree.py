"""Yes or no to all that a list says: `y` agrees, `n` does not.

A list longer than the card has to be scrolled to its end before `y` acts.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui_agent import literal
from tui_agent.events import Answer
from tui_agent.ui import words
from tui_agent.ui.cards.card import Card
from tui_agent.ui.cards.choices import Choice


class AgreeCard(Card):
    """Something that a file asks for and a person has to agree to."""

    @property
    def body_rows(self) -> int:
        return 3

    def facts(self) -> Sequence[Content]:
        parts: list[Content] = []
        if self.unseen:
            parts.append(Content.styled(f"{self.unseen:,} more lines below: Space or Down", "$text-warning"))
        if self.question.place:
            place = literal.one_line(words.short_path(self.question.place), 60)
            parts.append(Content.styled(f"from {place}", "$text-muted"))
        return parts

    def choices(self) -> Sequence[Choice]:
        return [Choice("y", "yes, and do not ask again"), Choice("n", "no")]

    def choose(self, choice: Choice) -> None:
        if choice.letter == "y" and self.unseen:
            self.hint(f"{self.unseen:,} more lines below: scroll to the end first (Space or Down)")
            return
        agreed = choice.letter == "y"
        self.answer(Answer("once" if agreed else "no", note="yes" if agreed else "no"))

    def line_given(self, purpose: str, text: str) -> None:
        self.answer(Answer("no", note=text.strip() or "no"))
