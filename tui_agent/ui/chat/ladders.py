"""What ctrl+c and Esc mean, step by step, and how the chat is scrolled from everywhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from textual import events
from textual.message import Message

from tui_agent.ui.chat.composer import STOP
from tui_agent.ui.chat.finding import Finding
from tui_agent.ui.chat.status import StatusLine

if TYPE_CHECKING:
    from tui_agent.events import Emit
    from tui_agent.ui import bindings
    from tui_agent.ui.hosted import HostedApp

_AGAIN = 3.0
"""Seconds within which a second ctrl+c quits."""
_TWICE = 0.8
"""Seconds within which a second Esc goes back."""
_NEVER = (float("-inf"), 0)


class Ladders(Finding):
    """A screen on which one key does the nearest thing first."""

    @dataclass
    class ScreenWanted(Message):
        """Open the place of that name over the chat."""

        name: str

    class QuitWanted(Message):
        """End the program."""

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.status = StatusLine(id="status")
        self.composer.stop = self.stop_writing
        self._stopped = self._escaped = _NEVER
        self.acts |= {
            "commands": lambda: self.tell_app(self.ScreenWanted("commands")),
            "help": lambda: self.tell_app(self.ScreenWanted("help")),
            "settings": lambda: self.tell_app(self.ScreenWanted("settings")),
            "theme": lambda: self.tell_app(self.ScreenWanted("theme")),
            "model": lambda: self.tell_app(self.ScreenWanted("model")),
            "connect": lambda: self.tell_app(self.ScreenWanted("connect")),
            "quit": lambda: self.tell_app(self.QuitWanted()),
            "bottom": lambda: self.action_scroll_chat("edge", 1),
        }
        self.spoken["keys"] = lambda words: self.tell_app(self.ScreenWanted("keys"))

    def tell_app(self, message: Message) -> None:
        """Post a message to the app."""
        self.app.post_message(message)

    def action_stop(self) -> None:
        """Copy a selection; else stop what runs; else clear the draft; else, again, quit."""
        if self.leading:
            self.lead(False)
        if not self.copy_selected() and not self.stop_turn():
            # what was pressed before it may not have come to the composer yet
            self.composer.post_message(events.Key(STOP, None))

    def stop_writing(self) -> None:
        """Leave the search; else clear the draft; else, again, quit."""
        if self.composer.searching:
            self.composer.leave_search()
        elif not self.composer.is_blank:
            self.composer.take()
            self.set_focus(self.composer)
        elif self._again(self._stopped, _AGAIN):
            self.tell_app(self.QuitWanted())
        else:
            self._stopped = self._now
            self.notify("again to quit", markup=False, timeout=_AGAIN)

    async def action_leave(self) -> None:
        """Close what is on top; else stop what runs; else, twice, go back to a checkpoint."""
        if self.composer.searching:
            self.composer.leave_search()
        elif self.completion.is_open:
            self.completion.close()
            self.show_keys()
        elif self.jump is not None:
            self.jump.action_leave()
        elif self.find_bar is not None:
            await self.close_find()
        elif self.panel is not None and self.panel.has_class("-over"):
            await self.close_panel()
        elif self.sidebar is not None and self.sidebar.has_class("-over"):
            await self.shelf.close()
        elif self.transcript.result is not None and self.transcript.result.waits:
            self.set_focus(self.composer)
        elif self.stop_turn():
            pass
        elif self.selected is not None:
            self.selected.clear_selection()
        elif self.focused is not self.composer:
            self.set_focus(self.composer)
        elif self._again(self._escaped, _TWICE):
            self._escaped = _NEVER
            self._want_jump()
        else:
            self._escaped = self._now

    @property
    def _now(self) -> tuple[float, int]:
        return time.monotonic(), cast("HostedApp", self.app).streak

    def _again(self, before: tuple[float, int], seconds: float) -> bool:
        """Is a key pressed again soon? Not if something else was in between: then each was meant for itself."""
        (then, streak), (now, this) = before, self._now
        return now - then < seconds and streak == this

    def stop_turn(self) -> bool:
        """Stop what runs; False if nothing does."""
        runs = self.session is not None and self.session.active
        if runs:
            self.work(self._cancel(), "cancel")
        return runs

    async def _cancel(self) -> None:
        if self.session is not None:
            self.status.begin("stopping")
            await self.session.cancel()
            self.status.rest()
            self.show_keys()

    def action_scroll_chat(self, how: Literal["page", "edge"], step: int) -> None:
        """Scroll the chat, or the preview that lies over it."""
        view = self.jump.preview if self.jump is not None else self.transcript
        match how, step:
            case "page", -1:
                view.scroll_page_up(animate=False)
            case "page", _:
                view.scroll_page_down(animate=False)
            case _, -1:
                view.action_scroll_home()
            case _:
                view.action_scroll_end()
