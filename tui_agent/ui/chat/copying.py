"""What is copied, and whose the mouse is.

A selection in the transcript (or in the preview over it), in the composer or in a card is copied by ctrl+c. There is
only one at a time: whoever selects in the transcript selects nothing elsewhere. "copied" is said only of what a
clipboard program took; what went to the terminal may have been dropped by it. Control characters go as the signs that
are shown for them, since a shell would obey them where they are pasted; that is said too.
"""

from __future__ import annotations

import asyncio
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.widgets import Input, TextArea
from textual.widgets.input import Selection as InputSelection
from textual.widgets.text_area import Selection

from tui_agent import literal
from tui_agent.ui.chat.asking import Asking
from tui_agent.ui.terminal import clipboard_command, copy_with, set_mouse

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen
    from textual.widget import Widget

    from tui_agent.events import Emit
    from tui_agent.ui import bindings
    from tui_agent.ui.transcript.selecting import Selecting

SAID_S = 2.0
"""Seconds for which it is said what became of a copy."""
_MISSED_S = 5.0
"""Seconds for which a person may not have seen that a selection went away."""
_EXPLAINED_S = 6.0
"""Seconds for which it is said whose the mouse is."""


class Copying(Asking):
    """A screen of which text is copied."""

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__(keys, tell)
        self._selected: Selecting | None = None
        self._lost = -inf
        """When what was selected went away by itself."""
        self._mouse_away = False
        self.acts |= {"copy": self._copy_answer, "mouse": self._switch_mouse}

    # --- a selection

    @property
    def selected(self) -> Selecting | None:
        """The transcript in which something is selected."""
        view = self._selected
        return view if view is not None and view.is_attached and view.has_selection else None

    def on_selecting_selection_changed(self, event: Selecting.SelectionChanged) -> None:
        event.stop()
        self._lost = monotonic() if event.lost else -inf
        if event.selected:
            if self._selected is not None and self._selected is not event.sheet:
                self._selected.clear_selection()
            self._selected = event.sheet
            self.clear_selection()
            _deselect(self.focused)
            _deselect(self.composer)
        self.show_keys()

    def copy_selected(self) -> bool:
        """Copy what is selected, and select nothing; False if nothing is.

        Just after a selection went away by itself that is said: the key was not meant to stop or clear anything.
        """
        view = self.selected
        if self.copy_from(self):
            return True
        if view is not None:
            self.work(self._copy_from(view), "copy")
            return True
        missed, self._lost = monotonic() - self._lost < _MISSED_S, -inf
        if missed:
            self.notify("what was selected is not there any more", markup=False, timeout=SAID_S)
        return missed

    def copy_from(self, screen: Screen[None]) -> bool:
        """Copy what is selected in a field of a screen or in its texts, and select nothing; False if nothing is."""
        text = _taken(screen.focused)
        if not text and screen is self:
            text = _taken(self.composer)
        if not text:
            text = screen.get_selected_text() or ""
            screen.clear_selection()
        if text:
            self.copy(text)
        return bool(text)

    async def _copy_from(self, view: Selecting) -> None:
        text = await view.selected_text()
        view.clear_selection()
        if text:
            await self._copied(text)

    # --- the clipboard

    def copy(self, text: str) -> None:
        """Put a text on the clipboard and say how far it got."""
        self.work(self._copied(text), "copy")

    async def _copied(self, text: str) -> None:
        self.notify(await clip(self.app, text), markup=False, timeout=SAID_S)

    def _copy_answer(self) -> None:
        history = self.session.context.shown if self.session is not None else ()
        for index in range(len(history) - 1, -1, -1):
            message = history[index]
            if message.role == "assistant" and message.text.strip():
                self.copy(message.text)
                return
        self.say("there is no answer to copy yet")

    # --- the mouse

    def _switch_mouse(self) -> None:
        """Give the mouse to the terminal, so that it selects in its own way, or take it back."""
        self._mouse_away = not self._mouse_away
        set_mouse(self.app, on=not self._mouse_away)
        key = self.keys.shown("mouse")
        said = (
            f"the terminal has the mouse now; {key} takes it back"
            if self._mouse_away
            else "the mouse is back"
        )
        self.notify(said, markup=False, timeout=_EXPLAINED_S if self._mouse_away else SAID_S)


async def clip(app: App[Any], text: str) -> str:
    """Put a text on the clipboard; says how far it got."""
    safe = await asyncio.to_thread(literal.inert, text)
    command = clipboard_command()
    if command is not None and await asyncio.to_thread(copy_with, command, safe):
        how = "copied"
    else:
        app.copy_to_clipboard(safe)
        how = "sent to the terminal"
    signs = "" if safe == text.replace("\r\n", "\n") else ", control characters as signs"
    return f"{how}: {_measured(safe)}{signs}"


def _taken(field: Widget | None) -> str:
    """What is selected in a field to write in, where nothing is selected afterwards. A secret is not copied."""
    secret = isinstance(field, Input) and field.password
    text = field.selected_text if isinstance(field, (Input, TextArea)) and not secret else ""
    _deselect(field)
    return text


def _deselect(field: Widget | None) -> None:
    if isinstance(field, TextArea) and field.selected_text:
        field.selection = Selection.cursor(field.cursor_location)
    elif isinstance(field, Input) and field.selected_text:
        field.selection = InputSelection.cursor(field.cursor_position)


def _measured(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} character{'s' if len(text) > 1 else ''}"
