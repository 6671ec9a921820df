"""The line in which the words to filter a list by are written. It posts `Left` when Esc takes it back."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui.line import Line


class Filter(Line):
    """The words to filter by."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    class Left(Message):
        """No filter any more."""

    def __init__(self) -> None:
        super().__init__(placeholder="words to look for", classes="filter")

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        return not getattr(self.screen, "leading", False) and super().check_consume_key(key, character)

    def action_leave(self) -> None:
        """Take the filter back."""
        self.post_message(self.Left())
