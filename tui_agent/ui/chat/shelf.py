"""The memory sidebar on the chat screen: when it is open, where it stands, and what is asked in it.

Beside the inspector it stands from 148 columns on; in a narrower screen it lies over the chat while the inspector is
open, and of two that would lie over the chat only one is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent import literal
from tui_agent.commands import CommandError
from tui_agent.events import Question
from tui_agent.ui.hosted import heard

if TYPE_CHECKING:
    from tui_agent.events import Answer
    from tui_agent.memory.schema import Memory
    from tui_agent.ui import footer
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.memory.sidebar import Sidebar

_SHARE = "share memory"
"""The id of the question in which a change is shown before it is made."""


class Shelf:
    """The sidebar of one chat screen. `sidebar` is the one that is open."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self.sidebar: Sidebar | None = None
        self._put_away: Sidebar | None = None
        """The one that was closed; it is hidden, since a new one would take longer to show."""
        self._first = False

    # --- when it is open

    async def toggle(self) -> None:
        """Open it, or close it."""
        if self.sidebar is not None:
            await self.close()
        else:
            await self.open()

    async def open(self, *, inbox: bool = False, look_for: str = "") -> None:
        """Open it and give it the focus: at the inbox, or where words are looked for."""
        screen = self._screen
        if not await screen.opened("the memories") or (session := screen.session) is None:
            return
        if self.sidebar is None:
            await screen.uncover()
        if self.sidebar is None:
            self._first = screen.panel is None
        with screen.app.batch_update():  # one frame when all of it is there
            if self.sidebar is None and self._put_away is not None:
                self.sidebar, self._put_away = self._put_away, None
                screen.place()
                self.sidebar.reopen()
            elif self.sidebar is None:
                from tui_agent.ui.memory.sidebar import Sidebar  # not needed before the first frame

                self.sidebar = Sidebar(session.memories, writable=not session.read_only, id="memory")
                screen.place()
                await screen.query_one("#body").mount(self.sidebar, before="#chat")
            if inbox or look_for:
                self.sidebar.show_status("proposed" if inbox else "accepted", look_for=look_for)
            await self.sidebar.entered()

    async def close(self) -> None:
        """Close it."""
        screen = self._screen
        sidebar, self.sidebar = self.sidebar, None
        if sidebar is None:
            return
        self._put_away = sidebar
        with screen.app.batch_update():
            sidebar.display = False
            if screen.focused is not screen.composer:
                screen.set_focus(screen.composer)
                await heard(screen.composer)
            screen.place()
            screen.show_keys()

    @property
    def lies_over(self) -> bool:
        """True while it lies over the chat."""
        return self.sidebar is not None and self.sidebar.has_class("-over")

    @property
    def came_first(self) -> bool:
        """True if it was open before the inspector was."""
        if self._screen.panel is None:
            self._first = True
        return self._first

    def fit(self, columns: int, *, over: bool) -> None:
        """Take so many columns, beside the chat or over it."""
        if self.sidebar is not None:
            self.sidebar.fit(columns, over=over)

    # --- what it hears and says

    def heard(self) -> None:
        """Memories may be others now, perhaps by another program."""
        if self.sidebar is not None:
            self.sidebar.changed()

    @property
    def has_keys(self) -> bool:
        """True while it has the focus."""
        return self.sidebar is not None and self.sidebar.has_focus_within

    def entries(self) -> list[footer.Entry]:
        """What can be pressed in it."""
        return self.sidebar.offered() if self.sidebar is not None else []

    async def act(self, name: str) -> None:
        """An action of it, clicked in the footer."""
        if self.sidebar is not None:
            await self._screen.app.run_action(name, self.sidebar)

    # --- what is asked in it

    async def ask(self, event: Sidebar.Asked) -> None:
        """Carry out commands one after the other, until one cannot be."""
        session, sidebar = self._screen.session, self.sidebar
        if session is None or sidebar is None:
            return
        said = ""
        try:
            for name, *arguments in event.commands:
                said = (await session.perform(name, *arguments)).text
        except CommandError as error:
            sidebar.say(str(error), "error")
            if event.back is not None:
                event.back(str(error))
        else:
            sidebar.say(event.told or said)
        sidebar.changed()

    async def show_source(self, memory: Memory) -> None:
        """Go to the message that proposed a memory."""
        screen, session = self._screen, self._screen.session
        if session is None:
            return
        if memory.source_session != session.id:
            other = literal.one_line(memory.source_session)
            self._say(f"it was proposed in another session: /resume {other}")
        elif not screen.transcript.go_to_message(memory.source_record):
            self._say("the message is no longer in the chat: it was compacted, or gone back from")
        else:
            if self.lies_over:
                await self.close()
            screen.set_focus(screen.transcript)

    def _say(self, text: str) -> None:
        if self.sidebar is not None:
            self.sidebar.say(text, "error")

    async def share(self, what: str) -> None:
        """Show what would change in MEMORY.md, or in what is remembered; do it if the person agrees."""
        screen, session = self._screen, self._screen.session
        if session is None:
            return
        try:
            plan = await session.perform(what)
        except CommandError as error:
            self._say(str(error))
            return
        diff, mark = str(plan.data.get("diff", "")), str(plan.data.get("mark", ""))
        if not diff:
            if self.sidebar is not None:
                self.sidebar.say(plan.text)
            return
        title = str(plan.data.get("title", ""))
        question = Question(_SHARE, "memory", title, diff=diff, place=str(plan.data.get("path", "")))
        if what == "adopt":
            question = Question(_SHARE, "memory", title, diff=diff, warning="it was written by others")

        def done(answer: Answer) -> None:
            if answer.verdict == "once":
                screen.work(self._shared(what, mark), "perform")
            else:
                self._back()

        await screen.offer(question, done)

    async def _shared(self, what: str, mark: str) -> None:
        session = self._screen.session
        try:
            said = (await session.perform(what, mark)).text if session is not None else ""
        except CommandError as error:
            self._say(str(error))
        else:
            if self.sidebar is not None:
                self.sidebar.say(said)
                self.sidebar.changed()
        self._back()

    def _back(self) -> None:
        """The keys go back to where the question came from."""
        if self.sidebar is not None:
            self._screen.set_focus(self.sidebar.rows)
