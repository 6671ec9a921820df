"""The memories of one session on the screen: listed under their scopes, state by state, looked for, one of them opened.

    Browser
      .tabs      the states, each with how many there are
      Rows       the memories under their scopes
      Filter     while words are looked for
      .detail    one memory, opened: its text, where it came from, its history
      .sum       what was done last

It changes nothing. It posts `KeysChanged`. Memories are read in a thread: when it is opened or has the focus again, and
when something says that they changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from textual import work
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.ui.filter import Filter
from tui_agent.ui.hosted import heard
from tui_agent.ui.leaf import Leaf
from tui_agent.ui.memory import telling, tree
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.still import Beside, Covered, Text

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widgets import Input

    from tui_agent.agent.recall import Recall
    from tui_agent.memory.schema import Change, Memory, Status
    from tui_agent.ui.memory.editor import Draft

_COUNTED = 40
"""Columns from which every tab says how many there are; the inbox always does."""
_READ_S = 0.2
"""Seconds for which keys wait for the first memories."""
_EMPTY: dict[Status, str] = {
    "accepted": "Nothing is remembered yet: n writes a memory, /remember TEXT does too.",
    "proposed": "Nothing waits for you. What the model wants to remember is asked in the chat and here.",
    "rejected": "You have refused nothing.",
    "suspended": "No turn that was undone had proposed anything.",
}


class Browser(Beside):
    """A panel over the memories of one session."""

    class KeysChanged(Message):
        """What can be pressed is different now."""

    def __init__(self, recall: Recall, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._recall = recall
        self._stock = tree.Stock()
        self._status: Status = "accepted"
        self._items: list[tree.Heading | Memory] = []
        self._folded: set[str] = set()
        self._past: Sequence[Change] = ()
        """The history of the memory that is open."""
        self._saved: Draft | None = None
        """What was just written."""
        self._drawn = False
        self._known = asyncio.Event()
        """Set once memories were read."""
        self.rows = Rows(self._cells, key=self._key, empty=_EMPTY["accepted"])
        self._names = Text(classes="tabs", markup=False)
        self._filter = Filter()
        self._leaf = Leaf()
        self._detail = Covered(self._leaf, classes="detail")
        self._sum = Text(classes="sum", markup=False)

    def compose(self) -> ComposeResult:
        yield self._names
        yield self.rows
        yield self._filter
        yield self._detail
        yield self._sum

    def on_mount(self) -> None:
        self._drawn = True
        self._filter.display = self._detail.display = self._sum.display = False
        self.rows.show(self._cells, 0, columns=self._columns())
        self._show_names()
        self.changed()

    # --- its place on the screen

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._width = self.size.width
            self._show_names()
            self.rows.show(self._cells, len(self._items), columns=self._columns())

    def reopen(self) -> None:
        """Show it again, as it was left, with what has changed meanwhile."""
        self.display = True
        self.changed()

    async def entered(self) -> None:
        """Give the list the focus, and wait until it has heard of it."""
        self.screen.set_focus(self.rows)
        await heard(self.rows)
        with suppress(TimeoutError):  # another program keeps the memories busy
            await asyncio.wait_for(self._known.wait(), _READ_S)

    # --- what it shows

    def changed(self) -> None:
        """Something became of memories: read them anew."""
        if self._drawn:
            self._read()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        known = self._stock
        try:
            self._stock = await asyncio.to_thread(tree.read, self._recall, known)
        finally:
            self._known.set()
        if self._stock is known:
            return
        if not known.memories and self._status == "accepted" and not self._stock.count("accepted"):
            self._status = "proposed" if self._stock.count("proposed") else "accepted"
        self._list(anew=not known.memories)
        self._show_names()
        if self._detail.display:
            self._open()

    def _list(self, *, anew: bool = False) -> None:
        """Show what there is to show; `anew`: from the first memory on. What was just written has the cursor."""
        anew = anew or not self._items
        self._items = tree.rows(self._stock, self._status, self._filter.value, self._folded)
        wanted = self._filter.value.strip()
        self.rows.empty = f"No memory here says {wanted!r}." if wanted else _EMPTY[self._status]
        self.rows.show(self._cells, len(self._items), columns=self._columns())
        saved = [place for place, item in enumerate(self._items) if self._is_saved(item)]
        if saved:
            self._saved = None
            self.rows.move(saved[0])
        elif anew and self._items:
            self.rows.move(1)
        self.post_message(self.KeysChanged())

    def _is_saved(self, item: tree.Heading | Memory) -> bool:
        saved = self._saved
        if saved is None or isinstance(item, tree.Heading):
            return False
        return (item.scope, item.key, item.body) == (saved.scope, saved.key, saved.body)

    def show_status(self, status: Status, *, look_for: str = "") -> None:
        """Show the memories of a state; those with these words, if there are any."""
        self.say("")
        self._status = status
        self._detail.display = False
        self._filter.value = look_for
        self._filter.display = bool(look_for)
        self._list(anew=True)
        self._show_names()

    def _show_names(self) -> None:
        parts = []
        for status, name in tree.SHELVES.items():
            count = self._stock.count(status)
            told = self._width >= _COUNTED or status == "proposed"
            said = f"{name} {count:,}" if count and told else name
            text = Content.styled(said, "bold reverse" if status == self._status else "$text-muted")
            parts.append(text.stylize(Style.from_meta({"status": status})))
        self._names.update(Content(" ").join(parts), layout=False)

    def _columns(self) -> Sequence[Column]:
        return telling.columns(self._width)

    def _key(self, index: int) -> str:
        item = self._items[index]
        return item.scope if isinstance(item, tree.Heading) else item.id

    def _cells(self, index: int) -> Sequence[Cell]:
        item = self._items[index]
        if isinstance(item, tree.Heading):
            return telling.heading(item)
        return telling.row(item, noise=self._stock.is_noise(item), width=self._width)

    @property
    def current(self) -> Memory | None:
        """The memory under the cursor."""
        index = self.rows.cursor
        item = self._items[index] if 0 <= index < len(self._items) else None
        return None if isinstance(item, tree.Heading) else item

    def say(self, text: str, level: Literal["info", "error"] = "info") -> None:
        """Say what was done, or why it could not be."""
        style = "$text-error" if level == "error" else "$text-success"
        self._sum.update(Content.styled(literal.visible(text), style))
        self._sum.display = bool(text)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.say(f"memories cannot be read: {event.worker.error}", "error")

    # --- one of them, opened

    def _open(self) -> None:
        memory = self.current
        self._past = ()
        if memory is not None:
            self._tell(memory)
            self._look_back(memory)

    @work(group="history", exclusive=True, exit_on_error=False)
    async def _look_back(self, memory: Memory) -> None:
        past = await asyncio.to_thread(self._recall.history, memory.id)
        if (here := self.current) is not None and here.id == memory.id:
            self._past = past
            self._tell(memory, top=False)

    def _tell(self, memory: Memory, *, top: bool = True) -> None:
        told = self._stock.told.get(memory.id)
        self._leaf.show(telling.said(memory, told, self._past, session=self._recall.session), top=top)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        item = self._items[event.index]
        if isinstance(item, tree.Heading):
            self._folded ^= {item.scope}
            self._list()
            return
        self._detail.display = not self._detail.display
        if self._detail.display:
            self._open()
        self.post_message(self.KeysChanged())

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        if self._detail.display:
            if self.current is None:
                self._detail.display = False
            else:
                self._open()
        self.post_message(self.KeysChanged())

    def on_rows_sifted(self, event: Rows.Sifted) -> None:
        event.stop()

    # --- the search

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.rows)

    def on_filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self._unfilter()

    def _unfilter(self) -> None:
        self._filter.clear()
        self._filter.display = False
        self._list()
        self.screen.set_focus(self.rows)

    def on_descendant_focus(self) -> None:
        self.post_message(self.KeysChanged())
