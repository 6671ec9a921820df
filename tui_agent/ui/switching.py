"""The part of the app that goes from one session to another.

A session has a chat screen of its own, and so has the next one: nothing of the old one's cards, search, inspector or
queue is left. What is not sent stays with the session it was written for. A turn that runs is never lost silently: a
card asks whether it is to be finished first. The next session is opened as at the start; if that fails, the way back
to the one that was open is among the ways out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui_agent import literal
from tui_agent.changes import LogFailed
from tui_agent.events import Question, TurnEnded
from tui_agent.ui.chat.screen import ChatScreen
from tui_agent.ui.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.sessions.catalog import Catalog
    from tui_agent.sessions.entry import Entry
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.permission import Mode
    from tui_agent.ui.sessions import SessionList, Shelf

BACK = "Back to the session that was open"
"""A way out when another session could not be opened."""

FINISH, STOP, STAY = "When it is done", "Now: stop it", "No: stay here"
_BUSY = "switch"
_NEW = "a new session"


class Wanted(Struct, frozen=True):
    """Which session to open."""

    workspace: Path
    resume: str | None = None
    profile: str | None = None
    model: str = ""
    demo: bool = False
    append_system: str = ""
    mode: Mode | None = None
    """Of this session alone: leave to write is given each time."""
    tour: bool = False


class Step(Struct, frozen=True):
    """From here to another session: which, how it is called, and what is done once the old one is closed.

    `then` runs in a thread and gives back what to say.
    """

    wanted: Wanted
    name: str
    then: Callable[[], str] | None = None


class Switching(Desk):
    """An app with one session at a time. Each has a mode of its own, Textual's word for a stack of screens."""

    DEFAULT_MODE = "session 1"

    def __init__(
        self,
        css_path: list[str | PurePath],
        settings: Settings,
        wanted: Wanted,
        *,
        later_styles: Sequence[PurePath] = (),
    ) -> None:
        super().__init__(css_path, settings, later_styles=later_styles)
        self.wanted = wanted
        self._door = asyncio.Lock()
        """Held while a session is being closed."""
        self._before: Wanted | None = None
        """How to get the session back that was open before."""
        self._settled = False
        """True once the session is open, or could not be opened."""
        self._step: Step | None = None
        """What waits for an answer about the running turn, or for its end."""
        self._shelf: Shelf | None = None
        self._sessions = 1
        self._chat = self._new_chat()

    def get_default_screen(self) -> ChatScreen:
        return self._chat

    def on_mount(self) -> None:
        # not before the first chat is shown: the screen of a known mode has every style sheet read once more
        self.add_mode(self.DEFAULT_MODE, self.get_default_screen)

    def _open(self) -> None:
        """Open the session that is wanted."""
        raise NotImplementedError

    def _begin_hearing(self) -> None:
        """Hear the events of the session from now on."""
        raise NotImplementedError

    def _new_chat(self) -> ChatScreen:
        events: asyncio.Queue[Event] = asyncio.Queue()
        self._events = events
        self._listening = asyncio.Event()
        chat = ChatScreen(self.keys, self.wanted.workspace, events.put_nowait)

        def listen(event: Event) -> None:
            if isinstance(event, TurnEnded):
                chat.ended = event.reason
            events.put_nowait(event)

        self._listen = listen
        chat.acts |= {"sessions": self.show_sessions, "new": self.begin_new}
        chat.spoken |= {"resume": self.resume, "sessions": self.resume, "delete": self._delete_open}
        return chat

    # --- what is asked for

    def show_sessions(self, typed: str = "") -> None:
        """Open the list of sessions."""
        from tui_agent.ui.sessions import SessionList, Shelf  # not needed before the first frame

        self._shelf = self._shelf or Shelf()
        here = self.wanted.workspace
        current = self.session.id if self.session is not None else ""
        self.push_screen(
            SessionList(
                self.keys, _catalog(), workspace=here, current=current, shelf=self._shelf, typed=typed
            )
        )

    def begin_new(self) -> None:
        """Begin a new session in this workspace."""
        self._go(Step(self._another, _NEW))

    @property
    def _another(self) -> Wanted:
        """A new session in this workspace, with the model that a person chose here."""
        wanted = replace(self.wanted, resume=None)
        picked = self.session.picked if self.session is not None else None
        return wanted if picked is None else replace(wanted, profile=picked[0], model=picked[1], demo=False)

    def resume(self, typed: str) -> None:
        """Open the session with that id, path or words; show the list if there is not exactly one."""
        if typed:
            self.run_worker(self._resume(typed), group="find", exclusive=True, exit_on_error=False)
        else:
            self.show_sessions()

    async def _resume(self, typed: str) -> None:
        path = Path(typed).expanduser()
        if "/" in typed and await asyncio.to_thread(path.exists):
            self._go(Step(replace(self.wanted, resume=str(path)), typed))
            return
        found = await asyncio.to_thread(_find, typed, self.wanted.workspace)
        if len(found) == 1:
            await self._open_entry(found[0])
        else:
            self.show_sessions(typed)

    async def on_session_list_wanted(self, event: SessionList.Wanted) -> None:
        await self._open_entry(event.entry)

    async def _open_entry(self, entry: Entry) -> None:
        if self.session is not None and entry.id == self.session.id:
            self._chat.say("this session is open")
            return
        workspace = Path(entry.workspace)
        if entry.workspace and not await asyncio.to_thread(workspace.is_dir):
            self._chat.say(
                f"its folder {literal.one_line(entry.workspace)} is gone. To go on in another one, start there: "
                f"tui-agent --resume {entry.id}",
                "error",
            )
            return
        wanted = replace(
            self.wanted, resume=entry.id, workspace=workspace if entry.workspace else self.wanted.workspace
        )
        self._go(Step(wanted, f'"{literal.one_line(entry.title, 40)}"'))

    def on_session_list_renamed(self, event: SessionList.Renamed) -> None:
        self._chat.work(self._chat.perform("rename", event.title), "perform")

    def on_session_list_delete_wanted(self) -> None:
        self._delete_open()

    def _delete_open(self, _: str = "") -> None:
        """Move the open session into the trash and begin a new one."""
        session = self.session
        if session is not None and session.read_only:
            self._chat.say(
                "nothing is deleted: another program has this session open; close it there", "warning"
            )
        elif session is not None:
            then = partial(self._delete, session.id)
            self._go(Step(self._another, _NEW, then))

    def _delete(self, session: str) -> str:
        from tui_agent.sessions.folder import SessionError
        from tui_agent.ui.sessions import Shelf

        catalog = _catalog()
        try:
            title = catalog.delete(session).title
        except SessionError as error:
            # a session in which nothing was said is gone already
            return str(error) if session in {entry.id for entry in catalog.each(archived=None)} else ""
        self._shelf = self._shelf or Shelf()
        self._shelf.undo.append(("deleting", partial(catalog.undelete, session)))
        back = f"{self.keys.shown('sessions')} and then u brings it back"
        return f'"{literal.one_line(title, 40)}" is deleted; {back}'

    # --- from one to the other

    def _go(self, step: Step) -> None:
        """Go to another session; ask first if something runs."""
        if self.session is None and not self._settled and step.wanted == self.wanted:
            return  # it is being opened
        self.workers.cancel_group(self, "switch")
        self.run_worker(self._gone(step), name="switch", group="switch", exit_on_error=False)

    async def opened(self, what: str) -> bool:
        return await self._chat.opened(what)

    async def _gone(self, step: Step) -> None:
        if self.session is None and not self._settled and not await self.opened(step.name):
            return
        session = self.session
        if session is not None and session.active:
            self._step = step
            await self._chat.dock.settle(_BUSY)
            at = " on the goal" if _pursues(session) else ""
            title = f"the model is still working{at}; open {step.name}?"
            await self._chat.offer(
                Question(_BUSY, "choice", title, choices=(FINISH, STOP, STAY)),
                lambda answer: self._busy_answered(answer.note),
            )
        else:
            await asyncio.shield(self._change(step))

    def _busy_answered(self, choice: str) -> None:
        step, self._step = self._step, None
        if choice not in (FINISH, STOP, STAY):
            self._chat.composer.append(choice)
        if step is None or choice not in (FINISH, STOP):
            return
        going = asyncio.shield(self._change(step)) if choice == STOP else self._after_turn(step)
        self.run_worker(going, name="switch", group="switch", exit_on_error=False)

    async def _after_turn(self, step: Step) -> None:
        """Wait for the end of the turn, of what is queued behind it and of the work on the goal; stay if it did not end
        well.
        """
        session = self.session
        if session is None:
            return
        pursued = _pursues(session)
        self._chat.say(f"{step.name} is opened when this is finished")
        await session.until_idle()
        goal = session.goal.now
        unreached = pursued and goal is not None and goal.status != "complete"
        if unreached or session.paused or self._chat.ended in ("cancelled", "failed"):
            self._chat.say(f"this did not come to its end: {step.name} was not opened", "warning")
        else:
            await asyncio.shield(self._change(step))

    async def _change(self, step: Step) -> None:
        async with self._door:
            old, session, early = self._chat, self.session, self._events
            await old.keep()
            self.session, self._settled, self.farewell = None, False, ""
            self.wanted, before = step.wanted, self.wanted
            self.workers.cancel_group(self, "hear")
            self._chat = chat = self._new_chat()
            await self._show(chat)
            self.forget_state()
            self._begin_hearing()
            try:
                await self._leave(session, old, early, before, step.then)
            finally:
                self._open()

    async def _leave(
        self,
        session: Session | None,
        chat: ChatScreen,
        events: asyncio.Queue[Event],
        wanted: Wanted,
        then: Callable[[], str] | None,
    ) -> None:
        """Close the session that was open, remember the way back to it, and do what is to be done then."""
        if session is not None:
            self._before = None
            await self._close_old(session, chat, events)
            if then is None and await asyncio.to_thread(session.folder.path.exists):
                self._before = replace(wanted, resume=session.id)
        if then is not None and (said := await asyncio.to_thread(then)):
            self._chat.say(said)

    async def _show(self, chat: ChatScreen) -> None:
        """Put this chat onto the screen; the old one goes with all that lies over it."""
        old = self.current_mode
        self._sessions += 1
        mode = f"session {self._sessions}"
        self.add_mode(mode, lambda: chat)
        await self.switch_mode(mode)
        await self.remove_mode(old)

    async def _close_old(self, session: Session, chat: ChatScreen, events: asyncio.Queue[Event]) -> None:
        """Stop what runs, keep what was not sent with the session, close it, and say what could not be saved."""
        await session.cancel()
        chat.queue_line.show(session.queue)
        await chat.keep()
        await session.close()
        while not events.empty():
            event = events.get_nowait()
            if isinstance(event, LogFailed):
                self._chat.say(event.message, "error")

    def forget_state(self) -> None:
        """Another session is on the screen: what was known of the old one's turn is void."""

    def go_back(self) -> None:
        """Open the session again that was open before."""
        if self._before is not None:
            self._go(Step(self._before, "the session that was open"))

    @property
    def more_ways_out(self) -> tuple[str, ...]:
        """Ways out beside the usual ones when a session cannot be opened."""
        return (BACK,) if self._before is not None else ()


def _pursues(session: Session) -> bool:
    """True while a goal is worked on."""
    goal = session.goal.now
    return goal is not None and goal.status == "active"


def _catalog() -> Catalog:
    from tui_agent.wiring import catalog

    return catalog()


def _find(typed: str, workspace: Path) -> list[Entry]:
    """The session with that id, or those of the workspace whose title or words hold what was typed."""
    from tui_agent.sessions.folder import SessionError

    catalog = _catalog()
    try:
        return [catalog.find(typed)]
    except SessionError:
        wanted = typed.casefold().split()
    return [
        entry
        for entry in catalog.each(workspace, archived=None)
        if all(word in f"{entry.title}\n{entry.first}\n{entry.last}".casefold() for word in wanted)
    ]
