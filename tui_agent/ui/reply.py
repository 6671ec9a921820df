"""The line of words that an answer may need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widgets import TextArea

from tui_agent import literal
from tui_agent.ui.terminal import NEW_LINE_KEYS

if TYPE_CHECKING:
    from textual import events


class ReplyLine(TextArea):
    """Words that belong to an answer. Enter gives them, Esc takes the line back, Tab leaves it as it is."""

    @dataclass
    class Given(Message):
        """The words are done."""

        text: str

    class Dropped(Message):
        """The line was left with Esc."""

    class Left(Message):
        """The focus is wanted elsewhere; the words stay."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self.cursor_blink = False

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        if getattr(self.screen, "leading", False):
            return False
        return super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self.post_message(self.Given(self.text))
        elif event.key == "escape":
            self.post_message(self.Dropped())
        elif event.key in ("tab", "shift+tab"):
            self.post_message(self.Left())
        elif event.key in NEW_LINE_KEYS:
            self.insert("\n")
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert(literal.visible(event.text.replace("\r\n", "\n").replace("\r", "\n")))
