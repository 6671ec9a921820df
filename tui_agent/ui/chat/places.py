"""What stands beside the chat or lies over it: the inspector, the memory sidebar and the card that goes back."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from tui_agent import literal
from tui_agent.ui import footer
from tui_agent.ui.chat import layout
from tui_agent.ui.chat.copying import Copying
from tui_agent.ui.hosted import heard

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from textual.notifications import SeverityLevel

    from tui_agent.events import Emit, Level
    from tui_agent.ui import bindings
    from tui_agent.ui.cards.jump import Jump
    from tui_agent.ui.chat.screen import ChatScreen
    from tui_agent.ui.chat.shelf import Shelf
    from tui_agent.ui.chat.status import StatusLine
    from tui_agent.ui.hosted import HostedApp
    from tui_agent.ui.inspector.panel import Panel
    from tui_agent.ui.memory.browser import Browser
    from tui_agent.ui.memory.sidebar import Sidebar
    from tui_agent.ui.order import Hold
    from tui_agent.ui.transcript.view import Transcript


_DIGITS = 10
"""Digits from which on a number is that of no request."""


class Places(Copying):
    """A screen with an inspector and a jump card in its `#body`."""

    status: StatusLine

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__(keys, tell)
        self.panel: Panel | None = None
        """The inspector, while it is open."""
        self._put_away: Panel | None = None
        """The inspector that was closed; it is hidden, since a new one would take much longer to show."""
        self.sidebar: Sidebar | None = None
        """The memory sidebar, while it is open."""
        self.jump: Jump | None = None
        self.acts |= {
            "jump": self._want_jump,
            "inspect": self._want_panel,
            "request": self._want_request,
            "memory": self._want_memory,
            "next_place": self._next_place,
        }
        self.spoken |= {
            "elide": lambda words: self._mend("elide", *words.split()),
            "drop": lambda words: self._mend("drop", *words.split()),
            "record": lambda words: cast("ChatScreen", self).results.refusing.look(words),
            "edit": lambda words: cast("ChatScreen", self).results.refusing.edit(words),
        }
        self.spoken["request"] = lambda words: self.expect(self._open_request(words), "act-request")
        self.spoken["memory"] = lambda words: self.expect(self.shelf.open(look_for=words), "act-memory")

    def performed(self, text: str, level: Level = "info") -> None:
        super().performed(text, level)
        if self.panel is not None:
            self.panel.changed()
        if text and self.covered:
            # the chat, where it is said, is not seen
            severity: SeverityLevel = "information" if level == "info" else level
            self.notify(literal.visible(text), severity=severity, markup=False)

    @property
    def covered(self) -> bool:
        """True while the inspector or the memory sidebar lies over the chat."""
        return any(part is not None and part.has_class("-over") for part in (self.panel, self.sidebar))

    async def uncover(self) -> None:
        """Close what lies over the chat."""
        if self.sidebar is not None and self.sidebar.has_class("-over"):
            await self.shelf.close()
        if self.panel is not None and self.panel.has_class("-over"):
            await self.close_panel()

    def place(self) -> None:
        """Give the panel and the card the columns that this screen leaves them."""
        width = self.size.width
        memory = self.sidebar is not None
        sides = layout.sides(
            width,
            inspector=self.panel is not None,
            memory=memory,
            memory_first=memory and self.shelf.came_first,
        )
        if self.panel is not None:
            self.panel.fit(sides.inspector or layout.overlay_columns(width), over=sides.inspector is None)
        if self.sidebar is not None:
            self.sidebar.fit(sides.memory or layout.overlay_columns(width), over=sides.memory is None)

    # --- what was pressed behind the key that opens a place is meant for the place

    def _want_panel(self) -> None:
        self.expect(self.toggle_panel(), "act-inspect")

    def _want_request(self) -> None:
        self.expect(self.toggle_request(), "act-request")

    def _want_memory(self) -> None:
        self.expect(self.shelf.toggle(), "act-memory")

    def _want_jump(self) -> None:
        self.expect(self.open_jump(), "act-jump")

    def expect(self, opening: Coroutine[Any, Any, None], group: str) -> None:
        """Keep keys from now on until the place is open; then what has the focus takes them."""
        self.work(self._opened(cast("HostedApp", self.app).hold_keys(), opening), group)

    async def _opened(self, hold: Hold, opening: Coroutine[Any, Any, None]) -> None:
        async with hold:
            await opening

    # --- the inspector

    async def toggle_panel(self) -> None:
        """Open the inspector, or close it."""
        if not await self.opened("the inspector") or self.session is None:
            return
        if self.panel is None:
            await self.uncover()
        if self.panel is not None:
            await self.close_panel()
        elif self._put_away is not None:
            self.panel, self._put_away = self._put_away, None
            self.place()
            with self.app.batch_update():
                self.panel.reopen()
                await self.panel.entered()
        else:
            from tui_agent.ui.inspector.panel import Panel  # not needed before the first frame
            from tui_agent.ui.inspector.tab import Around

            session, status = self.session, self.status

            def around() -> Around:
                context, shown = session.context, status.facts.total or 0
                new = context.system_prompt is None and not len(context.history)
                shrinking = session.shrinking
                micro, full = shrinking.due
                return Around(
                    writable=not session.read_only,
                    window=session.window,
                    guessed=session.guessed,
                    micro=micro,
                    full=full,
                    still=""
                    if shrinking.keys.auto and not shrinking.held
                    else "held"
                    if shrinking.held
                    else "off",
                    lacking=max(0, shown - context.weigh().total) if new else 0,
                    trace=session.folder.events_path,
                    requests=session.requests,
                    refused=cast("ChatScreen", self).results.refusing.refused,
                )

            self.panel = Panel(session.context, around, id="panel")
            self.place()
            with self.app.batch_update():  # one frame when all of it is there, not one for each part
                await self.query_one("#body").mount(self.panel)
                await self.panel.entered()

    async def toggle_request(self) -> None:
        """Open the inspector where it shows the request, or close it if it does so."""
        if self.panel is not None and self.panel.shows_request:
            await self.close_panel()
            return
        if self.panel is None:
            await self.toggle_panel()
        if self.panel is not None:
            await self.panel.show_request()

    async def _open_request(self, words: str) -> None:
        """`/request 3`, `/request next`: open the inspector at that request."""
        if not await self.opened("/request") or self.session is None:
            return
        sent = await self.session.requests.follow()
        place = int(words) - 1 if words.isascii() and words.isdecimal() and len(words) < _DIGITS else -1
        if words != "next" and not 0 <= place < sent:
            self.say(f"there is no request {words}: {sent:,} were sent, and there is next", "warning")
            return
        if self.panel is None:
            await self.toggle_panel()
        if self.panel is not None:
            await self.panel.show_request(None if words == "next" else place)

    async def show_record(self, record: str) -> None:
        """Open the inspector at the record of that id."""
        if self.panel is None:
            await self.toggle_panel()
        if self.panel is not None:
            await self.panel.show_record(record)

    async def close_panel(self) -> None:
        """Close the inspector."""
        panel, self.panel = self.panel, None
        if panel is not None:
            self._put_away = panel
            with self.app.batch_update():
                panel.display = False
                self.place()
                if self.focused is not self.composer:
                    self.set_focus(self.composer)
                    await heard(self.composer)
                self.show_keys()

    def on_panel_asked(self, event: Panel.Asked) -> None:
        event.stop()
        if event.name in self.spoken:
            self.spoken[event.name](" ".join(event.arguments))
        else:
            self._mend(event.name, *event.arguments)

    def _mend(self, name: str, *arguments: str) -> None:
        self.work(cast("ChatScreen", self).results.refusing.mend(name, *arguments), "perform")

    def on_panel_copy_wanted(self, event: Panel.CopyWanted) -> None:
        event.stop()
        self.copy(event.text)

    def on_panel_keys_changed(self, event: Panel.KeysChanged) -> None:
        event.stop()
        self.show_keys()

    async def on_panel_jump_wanted(self, event: Panel.JumpWanted) -> None:
        event.stop()
        await self.open_jump(event.checkpoint)

    async def action_in_panel(self, name: str) -> None:
        """An action of the inspector, clicked in the footer."""
        if self.panel is not None:
            await self.app.run_action(name, self.panel if name.startswith("turn") else self.panel.tab)

    def panel_entries(self) -> list[footer.Entry]:
        """What can be pressed in the inspector."""
        if self.panel is None:
            return []
        keys = self.panel.offered()
        return [
            footer.Entry(key.key, key.words, f"screen.in_panel('{key.action}')", rank=key.rank)
            for key in keys
        ]

    # --- the memory sidebar

    @cached_property
    def shelf(self) -> Shelf:
        """The memory sidebar and what is asked in it."""
        from tui_agent.ui.chat.shelf import Shelf  # not needed before the first frame

        return Shelf(cast("ChatScreen", self))

    def on_sidebar_asked(self, event: Sidebar.Asked) -> None:
        event.stop()
        self.work(self.shelf.ask(event), "perform")

    def on_sidebar_source_wanted(self, event: Sidebar.SourceWanted) -> None:
        event.stop()
        self.work(self.shelf.show_source(event.memory), "perform")

    def on_sidebar_share_wanted(self, event: Sidebar.ShareWanted) -> None:
        event.stop()
        self.work(self.shelf.share(event.what), "perform")

    def on_sidebar_copy_wanted(self, event: Sidebar.CopyWanted) -> None:
        event.stop()
        self.copy(event.text)

    def on_browser_keys_changed(self, event: Browser.KeysChanged) -> None:
        event.stop()
        self.show_keys()

    async def action_in_memory(self, name: str) -> None:
        """An action of the memory sidebar, clicked in the footer."""
        await self.shelf.act(name)

    # --- the jump card

    def on_transcript_checkpoint_chosen(self, event: Transcript.CheckpointChosen) -> None:
        event.stop()
        self.expect(self.open_jump(event.id), "act-jump")

    async def open_jump(self, checkpoint: int | None = None) -> None:
        """Open the card that goes back, at a checkpoint or at the newest turn."""
        if not await self.opened("going back") or self.session is None or self.jump is not None:
            return
        if checkpoint is None and not any(point.turn for point in self.session.context.checkpoints()):
            self.say("there is no checkpoint yet: each prompt makes one")
            return
        from tui_agent.ui.cards.jump import Jump  # not needed before the first frame

        session = self.session
        self.jump = Jump(session.context, checkpoint, running=lambda: session.active, id="jump")
        await self.query_one("#body").mount(self.jump)
        self.jump.enter()
        self.show_keys()

    async def on_jump_chosen(self, event: Jump.Chosen) -> None:
        event.stop()
        await self.close_jump()
        self.work(self.perform("revert", str(event.checkpoint)), "perform")

    async def on_jump_left(self, event: Jump.Left) -> None:
        event.stop()
        await self.close_jump()

    async def close_jump(self) -> None:
        """Close the card."""
        jump, self.jump = self.jump, None
        if jump is not None:
            self.set_focus(self.composer)
            await jump.remove()
            self.show_keys()

    def action_in_jump(self) -> None:
        """Go back to the chosen checkpoint, clicked in the footer."""
        if self.jump is not None:
            self.jump.rows.action_choose()

    def _next_place(self) -> None:
        self.focus_next()
