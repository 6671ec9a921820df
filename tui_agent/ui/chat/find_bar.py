"""The words that are looked for, and what was found.

FindBar          one row above the composer, while words are looked for
  FindInput      the words; Enter or Down: the next hit, shift+Enter or Up: the one before; Tab: n and N in the chat
  .said          which hit of how many
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FindInput(Input):
    """The words that are looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "step(1)", show=False),
        Binding("shift+enter,alt+enter,up", "step(-1)", show=False),
        Binding("tab", "screen.focus_chat", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder="words to find", compact=True, id="find-words")
        self.cursor_blink = False

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        return not getattr(self.screen, "leading", False) and super().check_consume_key(key, character)

    def action_step(self, by: int) -> None:
        """Go to the next hit or the one before."""
        self.post_message(FindBar.Stepped(by))


class FindBar(Horizontal):
    """One row: the words, and what was found."""

    @dataclass
    class Edited(Message):
        """Other words are looked for."""

        words: str

    @dataclass
    class Stepped(Message):
        """The next hit (1) or the one before (-1) is wanted."""

        by: int

    def __init__(self) -> None:
        self.words = FindInput()
        self._said = Static(classes="said", markup=False)
        super().__init__(Static("find", classes="label", markup=False), self.words, self._said, id="find")

    def say(self, text: str) -> None:
        """Say what was found."""
        self._said.update(text)

    @property
    def said(self) -> str:
        """What was found, in words."""
        return str(self._said.content)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Edited(event.value))
