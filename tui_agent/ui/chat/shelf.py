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
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.memory.sidebar import Sidebar

_SHARE = "share memory"
"""The id of the question in which a change is shown before it is made."""


class Shelf:
    """The sidebar of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._put_away: Sidebar | None = None
        """The one that was closed; it is hidden, since a new one would take longer to show."""
        self._first = False

    # --- when it is open

    async def toggle(self) -> None:
        """Open it, or close it."""
        if self._screen.sidebar is not None:
            await self.close()
        else:
            await self.open()

    async def open(self, *, inbox: bool = False, look_for: str = "") -> None:
        """Open it and give it the focus: at the inbox, or where words are looked for."""
        screen = self._screen
        if not await screen.opened("the memories") or (session := screen.session) is None:
            return
        if screen.sidebar is None:
            await screen.uncover()
            self._first = screen.panel is None
        with screen.app.batch_update():  # one frame when all of it is there
            sidebar = screen.sidebar
            if sidebar is None and self._put_away is not None:
                sidebar = screen.sidebar = self._put_away
                self._put_away = None
                screen.place()
                sidebar.reopen()
            elif sidebar is None:
                from tui_agent.ui.memory.sidebar import Sidebar  # not needed before the first frame

                sidebar = screen.sidebar = Sidebar(
                    session.memories, writable=not session.read_only, id="memory"
                )
                screen.place()
                await screen.query_one("#body").mount(sidebar, before="#chat")
            if inbox or look_for:
                sidebar.show_status("proposed" if inbox else "accepted", look_for=look_for)
            await sidebar.entered()

    async def close(self) -> None:
        """Close it."""
        screen = self._screen
        sidebar, screen.sidebar = screen.sidebar, None
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
    def came_first(self) -> bool:
        """True if it was open before the inspector was."""
        if self._screen.panel is None:
            self._first = True
        return self._first

    @property
    def _lies_over(self) -> bool:
        sidebar = self._screen.sidebar
        return sidebar is not None and sidebar.has_class("-over")

    async def act(self, name: str) -> None:
        """An action of it, clicked in the footer."""
        if self._screen.sidebar is not None:
            await self._screen.app.run_action(name, self._screen.sidebar)

    # --- what is asked in it

    async def ask(self, event: Sidebar.Asked) -> None:
        """Carry out commands one after the other, until one cannot be."""
        session, sidebar = self._screen.session, self._screen.sidebar
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
            if self._lies_over:
                await self.close()
            screen.set_focus(screen.transcript)

    def _say(self, text: str) -> None:
        if self._screen.sidebar is not None:
            self._screen.sidebar.say(text, "error")

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
            if self._screen.sidebar is not None:
                self._screen.sidebar.say(plan.text)
            return
        title = str(plan.data.get("title", ""))
        question = Question(_SHARE, "memory", title, diff=diff, place=str(plan.data.get("path", "")))
        if what == "adopt":
            question = Question(_SHARE, "memory", title, diff=diff, warning="it was written by others")

        covers = self._lies_over
        if covers:
            await self.close()  # the card would not be seen

        def done(answer: Answer) -> None:
            screen.expect(self._shared(what, mark if answer.verdict == "once" else "", covers), "perform")

        await screen.offer(question, done)

    async def _shared(self, what: str, mark: str, covers: bool) -> None:
        """Do it, if there is a mark, and give the keys back to where the question came from."""
        screen, said, trouble = self._screen, "", ""
        try:
            if mark and screen.session is not None:
                said = (await screen.session.perform(what, mark)).text
        except CommandError as error:
            trouble = str(error)
        if covers or self._screen.sidebar is not None:
            await self.open()
        if self._screen.sidebar is not None:
            self._screen.sidebar.say(trouble or said, "error" if trouble else "info")
            self._screen.sidebar.changed()
