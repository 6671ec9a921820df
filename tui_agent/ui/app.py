"""The app: the first frame, then the session; its end, whatever ends it.

Nothing of the engine is imported before the first frame is on the terminal, and what is typed meanwhile is kept. The
session is opened by a worker; if that fails the screen says why and what can be done. On the way out the draft is
written, the session is closed, and the shell shows how to go on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace
from textual import events
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.ui.attention import Attention, title
from tui_agent.ui.chat.answering import WAYS_OUT, Answering
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.looks import style_sheets
from tui_agent.ui.over import Over, Place
from tui_agent.ui.switching import BACK, Switching, Wanted
from tui_agent.ui.terminal import register_keys, set_title

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.screen import Screen
    from textual.timer import Timer

    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.permission import Mode
    from tui_agent.ui.chat.ladders import Ladders
    from tui_agent.ui.farewell import Totals
    from tui_agent.ui.garbage import Garbage

_HANGUP_S = 1.5
"""Seconds for closing the session after the terminal is gone."""
_FRAME_S = 0.1
"""Seconds that a frame may take when the history is shown."""
_LEAVE_S = 0.4
"""Seconds for giving the terminal back after that."""
_FIRST_STYLES = ("app", "chat", "transcript")
"""Style sheets of what the first frame shows."""
_TITLE = 40
"""Characters of a session's name in the window's title."""


class Opener(Protocol):
    """Opens a session; `listen` hears its events from the first one on."""

    def __call__(self, wanted: Wanted, listen: Callable[[Event], None]) -> Awaitable[Session]: ...


def _first(sheet: str | PurePath) -> bool:
    return PurePath(sheet).stem in _FIRST_STYLES


class TuiAgent(Switching):
    """The program on a terminal. It returns an exit code."""

    ENABLE_COMMAND_PALETTE = False
    """The table of keys says what opens the palette, which is ours."""

    def __init__(self, wanted: Wanted, settings: Settings, *, opener: Opener | None = None) -> None:
        sheets = style_sheets()
        later = [PurePath(sheet) for sheet in sheets if not _first(sheet)]
        super().__init__(list(filter(_first, sheets)), settings, wanted, later_styles=later)
        self._opener = opener or self._open_with_engine
        self._places: dict[str, Callable[[], Awaitable[None] | None]] = {
            "commands": self._show_palette,
            "help": self._show_help,
            "keys": self._show_every_key,
            "queue": self._show_queue,
            "settings": self.show_settings,
            "theme": self.show_themes,
            "model": self.show_models,
            "connect": self.show_connect,
        }
        self._frame = asyncio.Event()
        """Set by a frame."""
        self.farewell = ""
        self._began = time.monotonic()
        self._begun = self._ending = False
        self._prices = settings.prices
        self._attention = Attention(time.monotonic)
        self._bell_timer: Timer | None = None
        self._garbage: Garbage | None = None
        self._unmounted = False
        self._touched = self._began
        """When a key or a button was pressed last."""

    # --- the first frame, then the session

    def on_mount(self) -> None:
        self.set_keymap(self.keys.keymap)
        self._watch_hangup()
        self._begin_hearing()
        self.call_after_refresh(self._begin)
        for notice in (*self.keys.problems, *self.looks.problems, *self.settings.notices):
            self._chat.say(notice, "warning")

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if renderable is not None:
            self._frame.set()
        if renderable is not None and not self._begun:
            # not only after the refresh, for which the loop waits idle until its next tick
            self.call_later(self._begin)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._open()

    def _open(self) -> None:
        # what is said while the session opens is heard once its history is shown, which would wipe it away
        self._listening.clear()
        self.run_worker(self._opening(), name="open", group="open", exit_on_error=False)

    async def _opening(self) -> None:
        from tui_agent.ui.engine import collect_again, give_back  # not needed before the first frame

        try:
            self.session = await self._opener(self.wanted, self._listen)
        finally:
            collect_again()
            self._spare_keys()
            self.read_later_styles()  # a card may come next
        await self._chat.attach(self.session)
        tour, self.wanted = self.wanted.tour, replace(self.wanted, mode=None, tour=False)
        if tour:
            from tui_agent.ui.tour import WORDS, Tour  # not needed before the first frame

            await self._chat.begin_tour(Tour(self._chat), Prompt(WORDS))
        self._settled = True
        self._listening.set()
        self._tell_terminal()
        await asyncio.to_thread(give_back)

    async def _open_with_engine(self, wanted: Wanted, listen: Callable[[Event], None]) -> Session:
        from tui_agent.ui import engine  # not needed before the first frame

        log = await engine.read(wanted, self.settings, listen)
        if len(log.context.history):
            await self._shown(partial(self._chat.preview, log.context))
        return await engine.open_session(wanted, self.settings, listen, log)

    async def _shown(self, show: Callable[[], None]) -> None:
        """Show something, and wait for the frame with it: what is imported next would hold it up."""
        self._frame.clear()
        show()
        with suppress(TimeoutError):  # a terminal that is behind gets no frame
            await asyncio.wait_for(self._frame.wait(), _FRAME_S)

    @cached_property
    def _totals(self) -> Totals:
        """What the session used, from its first event on."""
        from tui_agent.ui.farewell import Totals

        return Totals(self._prices)

    def _begin_hearing(self) -> None:
        self.run_worker(self._hear(), name="hear", group="hear", exit_on_error=False)

    async def _hear(self) -> None:
        while True:
            event = await self._events.get()
            await self._listening.wait()
            self._attention.hear(event)
            self._totals.hear(event)
            await self._chat.hear(event)
            if isinstance(self.screen, Over):
                self.screen.heard(event)
            self._tell_terminal()
            await asyncio.sleep(0)

    async def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What a worker raised is shown, never raised."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        if event.worker.name == "open":
            await self._chat.open_failed(error, (*self.more_ways_out, *WAYS_OUT))
            self._settled = True
            self._listening.set()
        else:
            self._chat.say(f"{type(error).__name__}: {error}", "error")
            if event.worker.name == "hear":
                self._begin_hearing()

    async def on_answering_way_out(self, event: Answering.WayOut) -> None:
        _, new, demo, leave = WAYS_OUT
        if event.choice == leave:
            await self.action_quit()
            return
        if event.choice == BACK:
            self.go_back()
            return
        if event.choice == new:
            self.wanted = replace(self.wanted, resume=None)
        elif event.choice == demo:
            self.wanted = replace(self.wanted, demo=True)
        self._chat.status.tell(trouble="")
        self._chat.status.rest("starting")
        self._settled = False
        self._chat.opening = True
        self._open()

    # --- somebody who looks elsewhere

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, (events.Key, events.Paste, events.MouseDown)):
            self._touched = time.monotonic()
            self._attention.key()
            self._tell_terminal()
        await super().on_event(event)

    def _tell_terminal(self) -> None:
        """Show the state in the window's title, and ring when it is time."""
        name = (self.session.title if self.session is not None else "") or self.wanted.workspace.name
        set_title(self, title(literal.one_line(name, _TITLE), self._attention.words))
        if self._bell_timer is not None:
            self._bell_timer.stop()
            self._bell_timer = None
        wait = self._attention.wait() if self.settings.terminal.bell else None
        if wait == 0:
            self._attention.rang()
            self.bell()
        elif wait is not None:
            self._bell_timer = self.set_timer(wait, self._tell_terminal)

    # --- other screens

    async def on_ladders_screen_wanted(self, event: Ladders.ScreenWanted) -> None:
        if isinstance(self.screen, Place) and event.name == self.screen.ACTION:
            self.screen.leave()  # its key was pressed twice, faster than it could open
            return
        done = self._places[event.name]()
        if done is not None:
            await done

    def act(self, action: str) -> None:
        """Carry out an action of the table in the chat."""
        self._chat.act(action)

    def write(self, text: str) -> None:
        """Put a text into the composer."""
        self._chat.composer.add(text)

    def copy_from(self, screen: Screen[None]) -> bool:
        """Copy what is selected on a screen; False if nothing is."""
        return self._chat.copy_from(screen)

    def stop_turn(self) -> bool:
        """Stop what runs; False if nothing does."""
        return self._chat.stop_turn()

    def keys_changed(self) -> None:
        self._chat.keys = self.keys
        self._chat.show_keys()

    def performed(self, text: str) -> None:
        self._chat.performed(text)

    def _show_palette(self) -> None:
        from tui_agent.ui.palette import Finder  # not needed before the first frame

        self.push_screen(Finder())

    def _show_queue(self) -> None:
        from tui_agent.ui.waiting import Waiting  # not needed before the first frame

        if self.session is not None:
            self.push_screen(Waiting(self.keys, self.session, self._chat.take_back))

    def _show_help(self, at: str = "") -> None:
        from tui_agent.ui.chat.here import here
        from tui_agent.ui.commands import listed
        from tui_agent.ui.help import HelpScreen  # not needed before the first frame
        from tui_agent.ui.listing import Listing

        commands = listed(self.session.commands if self.session is not None else ())
        place = self.screen.here() if isinstance(self.screen, Listing) else here(self._chat)
        screen = self.kept_screen(HelpScreen)
        if screen is None:
            screen = HelpScreen(self.keys)
            self.keep_screen(screen)
        screen.tell(self.keys, commands, self.keys.problems, here=place, at=at)
        self.push_screen(screen)

    def _show_every_key(self) -> None:
        from tui_agent.ui.help import EVERY_KEY

        self._show_help(EVERY_KEY)

    async def on_ladders_quit_wanted(self) -> None:
        await self.action_quit()

    # --- the end

    async def action_quit(self) -> None:
        """Write the draft, close the session, leave."""
        self.workers.cancel_group(self, "switch")
        await self._close()
        self.exit(0)

    def _spare_keys(self) -> None:
        from tui_agent.ui.garbage import Garbage

        if self._unmounted:
            return  # the opening was cancelled by the end
        self._garbage = self._garbage or Garbage(lambda s: time.monotonic() - self._touched >= s)
        self._garbage.begin()

    def on_unmount(self) -> None:
        self._unmounted = True
        if self._garbage is not None:
            self._garbage.end()

    async def _close(self) -> None:
        async with self._door:
            await self._chat.keep()
            session, self.session = self.session, None
            if session is not None:
                from tui_agent.ui.farewell import farewell

                self.farewell = farewell(session, self._totals.line(time.monotonic() - self._began))
                await session.close()

    def forget_state(self) -> None:
        self._attention = Attention(time.monotonic)
        self._tell_terminal()

    def _watch_hangup(self) -> None:
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGHUP, signal.SIGTERM):
                loop.add_signal_handler(number, self._hangup, number)

    def terminal_lost(self) -> None:
        self._hangup(signal.SIGHUP)

    def _hangup(self, number: int) -> None:
        if self._ending:
            return
        self._ending = True
        # whatever hangs, a child, a disk, a terminal that takes nothing: the program does not outlive this
        limit = threading.Timer(_HANGUP_S + _LEAVE_S, _die, (128 + number,))
        limit.daemon = True
        limit.start()
        self.run_worker(self._end(number), name="hangup", group="hangup", exit_on_error=False)

    async def _end(self, number: int) -> None:
        """The terminal is gone, or somebody ends the program: close the session and go, with or without a terminal."""
        try:
            await asyncio.wait_for(self._close(), _HANGUP_S)
        finally:
            if number == signal.SIGHUP:
                # nothing can be written to the terminal any more, so its modes are not given back
                _die(128 + number)
            self.exit(128 + number)


def _die(code: int) -> None:
    """End at once, with all that was started: what would not end in time is not left behind."""
    process = sys.modules.get("tui_agent.process")
    if process is not None:  # else nothing was started
        process.kill_all()
    os._exit(code)


def run(
    *,
    workspace: Path,
    settings: Settings,
    resume: str | None = None,
    profile: str | None = None,
    demo: bool = False,
    append_system: str = "",
    mode: Mode | None = None,
    tour: bool = False,
) -> int:
    """Run the screen until it is left; returns the exit code. On the way out the resume command is printed."""
    register_keys()
    app = TuiAgent(
        Wanted(workspace, resume, profile, demo=demo, append_system=append_system, mode=mode, tour=tour),
        settings,
    )
    code = app.run()
    if app.farewell and not tour:
        sys.stdout.write(app.farewell)
    return code if code is not None else (app.return_code or 0)
