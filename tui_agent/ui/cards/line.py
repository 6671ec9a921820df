"""The line of words of a card: what they are for, and what was begun and left with Esc, to be offered there again."""

from __future__ import annotations

from tui_agent import literal
from tui_agent.ui.reply import ReplyLine

_GIVEN = ("edit", "rule")
"""Purposes whose line begins with a text of the card's."""


class AnswerLine(ReplyLine):
    """The line, not to be seen until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self.purpose = ""
        """What the words are for."""
        self.left: dict[str, str] = {}
        """Words that were left with Esc, by what they were for."""

    @property
    def is_open(self) -> bool:
        """True while words are asked for."""
        return bool(self.display)

    @property
    def own_left(self) -> list[str]:
        """Words that were left and are a person's own: no text of the card's that they had before them."""
        return [words for purpose, words in self.left.items() if purpose not in _GIVEN]

    @property
    def unsaid(self) -> dict[str, str]:
        """Words that were begun and not given, by what they are for."""
        return self.left | ({self.purpose: self.text} if self.is_open else {})

    def open(self, purpose: str, text: str, typed: str) -> None:
        """Ask for words: what was begun for this purpose is there, else `text`, and behind it `typed`."""
        begun = self.left.pop(purpose, text)
        gap = " " if begun and typed and not begun[-1].isspace() else ""
        self.purpose = purpose
        self.display = True
        self.put(f"{begun}{gap}{typed}")

    def put(self, text: str) -> None:
        """Put other words there, and take the focus."""
        self.text = literal.visible(text)
        self.move_cursor(self.document.end)
        # not `focus()`, which waits for its turn: the next key must already be the line's
        self.screen.set_focus(self)

    def leave(self) -> None:
        """Keep what was begun."""
        if self.text.strip():
            self.left[self.purpose] = self.text

    def shut(self) -> None:
        """Nothing is asked for any more."""
        self.display = False
        self.clear()
