"""The answers of a card, each a letter and words to click; Up and Down mark one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.cards.packing import packed
from tui_agent.ui.themes import UNICODE


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its letter (`""`: only by Up / Down and Enter, or the mouse) and its words."""

    letter: str
    words: str


class Choices(Static):
    """Where the answers stand. A click on one has its number as `choice` in its style."""

    def __init__(self) -> None:
        super().__init__(classes="card-choices", markup=False)
        self.marked: int | None = None
        """The number of the answer that Enter gives."""

    def rows(self, choices: Sequence[Choice], width: int) -> list[tuple[Content, int]]:
        """The answers in rows of at most `width` cells, each row with the number of its first answer."""
        parts = []
        for index, choice in enumerate(choices):
            key = f"[{choice.letter}] " if choice.letter else f"{UNICODE.bullets[0]} "
            text = Content.assemble((key, "bold $text-accent"), literal.one_line(choice.words, 60))
            text = text.stylize("reverse" if index == self.marked else "")
            parts.append(text.stylize(Style.from_meta({"choice": index})))
        return packed(parts, width, "  ")

    def step(self, by: int, count: int) -> None:
        """Mark the next of `count` answers (1) or the one before (-1); before the first one there is none."""
        if by < 0 and self.marked == 0:
            self.marked = None
        elif count:
            self.marked = 0 if self.marked is None else min(count - 1, self.marked + by)
