"""A place that lies over the whole chat: help, the session picker, settings, the palette.

Esc closes it, and so does the key that opens it. Every other key of the table works here too: it closes the place and
does in the chat what it says, so that no place is a dead end; the leader key closes it and the letters are listed over
the chat. All of that is done before the next key is looked at, however fast it comes. Redraw and suspend leave the
place open, and help lies over it. `ctrl+c` copies what is selected, else stops what runs, else closes the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from tui_agent.ui.bindings import place_bindings

if TYPE_CHECKING:
    from textual import events

    from tui_agent.events import Event
    from tui_agent.ui.bindings import Keys

PLACE_KEYS: list[BindingType] = [
    *place_bindings(),
    Binding("ctrl+c,super+c", "stop", "Stop", show=False, priority=True),
]
"""What is bound in every place over the chat."""
_STAYING = frozenset(("help", "redraw", "suspend"))
"""Actions that leave the place open."""


class Host(Protocol):
    """The app under a place: it hands on what is wanted in the chat."""

    def act(self, action: str) -> None:
        """Carry out an action of the table in the chat."""
        ...

    def write(self, text: str) -> None:
        """Put a text into the composer."""
        ...

    def copy_from(self, screen: Screen[None]) -> bool:
        """Copy what is selected on a screen; False if nothing is."""
        ...

    def stop_turn(self) -> bool:
        """Stop what runs; False if nothing does."""
        ...


class Place(Screen[None]):
    """A screen over the chat that is left by the keys of the table. `ACTION` is the id of the action that opens it."""

    ACTION: ClassVar[str] = ""

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        # every widget was styled when it was mounted, and a change of theme reaches all of them
        event.refresh_styles = False

    def leave(self, action: str = "") -> None:
        """Close the place, and what lies under it down to the chat if that is to carry out an action."""
        if not self.is_current:
            return  # a second Enter was on its way already
        app = self.app
        self.close()
        if not action:
            return
        if isinstance(app.screen, Place):
            app.screen.away(action)
        else:
            cast(Host, app).act(action)

    def close(self) -> None:
        """Take the screen away."""
        self.dismiss()

    def away(self, action: str) -> None:
        """An action of the table is wanted."""
        if action == self.ACTION:
            self.leave()
        elif action in _STAYING:
            cast(Host, self.app).act(action)
        else:
            self.leave(action)

    def action_away(self, action: str) -> None:
        """A key of the table was pressed."""
        self.away(action)

    def action_stop(self) -> None:
        """Copy what is selected; else stop what runs; else close the place."""
        host = cast(Host, self.app)
        if not host.copy_from(self) and not host.stop_turn():
            self.stop()

    def stop(self) -> None:
        """Close the place, `ctrl+c` had nothing nearer to do."""
        self.leave()


class Over(ModalScreen[None], Place):
    """A place of our own over the chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PLACE_KEYS,
        Binding("escape", "leave", "Close", show=False),
    ]

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self.keys = keys

    def heard(self, event: Event) -> None:
        """Something happened in the session while the place is open."""

    def action_leave(self) -> None:
        """Close the place."""
        self.leave()
