"""A place that lies over the whole chat: help, the session picker, settings.

Esc closes it, and so does the key that opens it. The leader key and every direct key of the table of keys work here
too: they close the place and do in the chat what they say, so that no place is a dead end. It posts `Left` to the app.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from textual import events

    from tui_agent.events import Event
    from tui_agent.ui.bindings import Keys


class Over(ModalScreen[None]):
    """A place over the chat, left by Esc or by a key of the table. `ACTION` is the id of the action that opens it."""

    ACTION: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    @dataclass
    class Left(Message):
        """The place was left by a key of the table: this action is wanted in the chat."""

        action: str

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self.keys = keys

    def leave(self, action: str = "") -> None:
        """Close the place; with an action, have the chat carry it out."""
        if not self.is_current:
            return  # a second Enter was on its way already
        app = self.app
        self.dismiss()
        if action:
            app.post_message(self.Left(action))

    def heard(self, event: Event) -> None:
        """Something happened in the session while the place is open."""

    def action_leave(self) -> None:
        """Close the place."""
        self.leave()

    def on_key(self, event: events.Key) -> None:
        """A direct key of the table that nothing here wanted."""
        for action, keys in self.keys.direct.items():
            if event.key in keys:
                event.stop()
                self.leave("" if action == self.ACTION else action)
                return
