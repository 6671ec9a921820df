"""The inspector: what is on disk, where one can go back to, what every rewrite left, what it weighs, what happened.

    Panel
      .tabs       names of the tabs; Left and Right, or a click, change it
      Records | Checkpoints | Backups | Tokens | Request | Events     each made when it is first shown

It posts `Asked` (a command of the session), `JumpWanted`, `CopyWanted`, `KeysChanged`. `grew`, `changed` and `heard`
tell it what happened; only the tab that is shown looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.style import Style

from tui_agent.ui.hosted import heard
from tui_agent.ui.inspector.backups import Backups
from tui_agent.ui.inspector.checkpoints import Checkpoints
from tui_agent.ui.inspector.events import Events
from tui_agent.ui.inspector.records import Records
from tui_agent.ui.inspector.request import RequestTab
from tui_agent.ui.inspector.tab import Around, Key, Tab
from tui_agent.ui.inspector.tokens import TokenFigures
from tui_agent.ui.still import Beside, Text

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.context import Context

_KINDS = (Records, Checkpoints, Backups, TokenFigures, RequestTab, Events)
_WHOLE = sum(len(kind.NAME) + 1 for kind in _KINDS)
_SPREAD = _WHOLE + 2 * len(_KINDS)
"""Columns from which the names of the tabs are written out, and from which they stand apart."""


class Panel(Beside):
    """The inspector over one log. `around` says what is known besides it; without `writable` it only shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", show=False),
        Binding("right", "turn(1)", show=False),
    ]

    @dataclass
    class Asked(Message):
        """A command of the session: its name and arguments."""

        name: str
        arguments: tuple[str, ...] = ()

    @dataclass
    class JumpWanted(Message):
        """Open the card that goes back to this checkpoint."""

        checkpoint: int

    @dataclass
    class CopyWanted(Message):
        """Put this text on the clipboard."""

        text: str

    class KeysChanged(Message):
        """What can be pressed is different now."""

    def __init__(self, context: Context, around: Callable[[], Around], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source = context
        self._around = around
        self._at = 0
        self._came_from: int | None = None
        """The tab that led to the record that is shown."""
        self._tabs: dict[int, Tab] = {}
        self._names = Text(classes="tabs", markup=False)
        """Columns inside, as far as they are known."""

    @property
    def tab(self) -> Tab:
        """The tab that is shown."""
        return self._tabs[self._at]

    def compose(self) -> ComposeResult:
        yield self._names
        yield self._made(0)

    def _made(self, at: int) -> Tab:
        tab = self._tabs[at] = _KINDS[at](self._source, self._around)
        if self._width:
            tab.expect(self._width)
        return tab

    def on_mount(self) -> None:
        self._show_names()

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._width = self.size.width
            self._show_names()

    def reopen(self) -> None:
        """Show it again, as it was left, with what has changed meanwhile."""
        self.display = True
        if self._tabs:
            self.tab.again()

    def _show_names(self) -> None:
        pad = " " if self._width >= _SPREAD else ""
        is_short = 0 < self._width < _WHOLE - 1
        parts = []
        for index, kind in enumerate(_KINDS):
            shown = index == self._at
            name = (is_short and kind.SHORT) or kind.NAME
            text = Content.styled(f"{pad}{name}{pad}", "bold reverse" if shown else "$text-muted")
            parts.append(text.stylize(Style.from_meta({"tab": index})))
        self._names.update(Content(" ").join(parts), layout=False)

    async def show(self, at: int) -> None:
        """Show a tab by its number from 0 and give its list the focus."""
        if at == self._at:
            self.enter()
            return
        with self.app.batch_update():  # one frame, with the focus
            self.tab.display = False
            self._at = at
            if at in self._tabs:
                self.tab.display = True
                self.tab.again()
            else:
                await self.mount(self._made(at))
            self._show_names()
            await self.entered()

    @property
    def shows_request(self) -> bool:
        """True while the tab of the request is shown."""
        return isinstance(self.tab, RequestTab)

    async def show_request(self, place: int | None = None) -> None:
        """Show the request at that place, counted from the oldest (None: what the next prompt would send), whatever
        was looked at in that tab before."""
        await self.show(_KINDS.index(RequestTab))
        assert isinstance(self.tab, RequestTab)
        self.tab.show_at(place)

    @property
    def closes(self) -> bool:
        """True where Esc closes something in the tab before it leaves the panel."""
        return bool(self._tabs) and self.tab.closes

    async def show_record(self, record: str) -> None:
        """Show the record of that id, opened."""
        await self.show(_KINDS.index(Records))
        assert isinstance(self.tab, Records)
        self.tab.reveal(record)

    def enter(self) -> None:
        """Give the list the focus."""
        self.screen.set_focus(self.tab.rows)

    async def entered(self) -> None:
        """Give the list the focus, and wait until it has heard of it."""
        self.enter()
        await heard(self.tab.rows)

    async def action_turn(self, step: int) -> None:
        """Show the tab before or after."""
        await self.show((self._at + step) % len(_KINDS))

    async def on_click(self, event: object) -> None:
        style = getattr(event, "style", None)
        index = style.meta.get("tab") if style is not None else None
        if isinstance(index, int):
            await self.show(index)

    def grew(self) -> None:
        """A record was appended."""
        if self._tabs:
            self.tab.grew()

    def changed(self) -> None:
        """The history was rewritten, or marks changed."""
        if self._tabs:
            self.tab.changed()

    def heard(self) -> None:
        """The session said something."""
        if self._tabs:
            self.tab.heard()

    def offered(self) -> list[Key]:
        """What can be pressed while the panel has the focus."""
        if not self._tabs:
            return []
        return [*self.tab.keys(), Key("Left Right", "tab", "turn(1)", rank=3)]

    def on_tab_asked(self, event: Tab.Asked) -> None:
        event.stop()
        self.post_message(self.Asked(event.name, event.arguments))

    def on_tab_jump_wanted(self, event: Tab.JumpWanted) -> None:
        event.stop()
        self.post_message(self.JumpWanted(event.checkpoint))

    def on_tab_copy_wanted(self, event: Tab.CopyWanted) -> None:
        event.stop()
        self.post_message(self.CopyWanted(event.text))

    async def on_tab_record_wanted(self, event: Tab.RecordWanted) -> None:
        event.stop()
        came_from = self._at
        await self.show(0)
        records = self.tab
        assert isinstance(records, Records)
        self._came_from = came_from
        records.came_from = _KINDS[came_from].NAME
        records.reveal(event.record)

    async def on_tab_back_wanted(self, event: Tab.BackWanted) -> None:
        event.stop()
        if self._came_from is not None:
            back, self._came_from = self._came_from, None
            await self.show(back)

    def on_tab_keys_changed(self, event: Tab.KeysChanged) -> None:
        event.stop()
        self.post_message(self.KeysChanged())

    def on_descendant_focus(self) -> None:
        self.post_message(self.KeysChanged())
