"""The memory sidebar: what is remembered and what waits to be, with everything that can be done about it.

    Sidebar
      .tabs      the states, each with how many there are; Left and Right, or a click, change it
      Rows       the memories under their scopes
      Filter     while words are looked for
      .detail    one memory, opened: its text, where it came from, its history
      Editor     while one is written
      .sum       what was done last, else what can be said of all of them

It posts `Asked` (commands of the session, in order), `SourceWanted`, `ShareWanted`, `CopyWanted` and `KeysChanged`.
Memories are read in a thread: when it is opened or has the focus again, and when something says that they changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.ui import footer
from tui_agent.ui.filter import Filter
from tui_agent.ui.hosted import heard
from tui_agent.ui.leaf import Leaf
from tui_agent.ui.memory import doing, telling, tree
from tui_agent.ui.memory.editor import Draft, Editor
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.still import Beside, Covered, Text

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.widgets import Input

    from tui_agent.agent.recall import Recall
    from tui_agent.memory.schema import Change, Memory, Status

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


class Sidebar(Beside):
    """The sidebar over the memories of one session. Without `writable` it only shows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", show=False),
        Binding("right", "turn(1)", show=False),
        Binding("slash", "filter", show=False),
        Binding("escape", "close_detail", show=False),
        Binding("ctrl+u", "read(-1)", show=False),
        Binding("ctrl+d", "read(1)", show=False),
        *(Binding(key, f"own('{key}')", show=False) for key in doing.LETTERS),
    ]

    @dataclass
    class Asked(Message):
        """Commands of the session, one after the other; `told` is said in the place of what they say."""

        commands: tuple[doing.Command, ...]
        told: str = ""
        back: Callable[[str], None] | None = None
        """Called with what is wrong if one of them cannot be carried out."""

    @dataclass
    class SourceWanted(Message):
        """Show the message that proposed this memory."""

        memory: Memory

    @dataclass
    class ShareWanted(Message):
        """Write the workspace's memories into its MEMORY.md, or read back what is there."""

        what: Literal["share", "adopt"]

    @dataclass
    class CopyWanted(Message):
        """Put this text on the clipboard."""

        text: str

    class KeysChanged(Message):
        """What can be pressed is different now."""

    def __init__(self, recall: Recall, *, writable: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self._recall = recall
        self._writable = writable
        self._stock = tree.Stock()
        self._status: Status = "accepted"
        self._items: list[tree.Heading | Memory] = []
        self._folded: set[str] = set()
        self._past: Sequence[Change] = ()
        """The history of the memory that is open."""
        self._gone = ""
        """The memory that was just deleted: undo brings it back."""
        self._saved: Draft | None = None
        """What was just written."""
        self._drawn = False
        self._known = asyncio.Event()
        """Set once memories were read."""
        self.rows = Rows(self._cells, key=self._key, empty=_EMPTY["accepted"])
        self.editor = Editor()
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
        yield self.editor
        yield self._sum

    def on_mount(self) -> None:
        self._drawn = True
        self._filter.display = self._detail.display = self.editor.display = self._sum.display = False
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

    # --- keys

    def offered(self) -> list[footer.Entry]:
        """What can be pressed while the sidebar has the focus."""
        if self.editor.display:
            return [_entry("Enter", "save", "save", 0), _entry("Tab", "next part", "next_part", 2)]
        made = [_entry(key, said, f"own('{key}')", rank) for rank, (key, said) in enumerate(self._letters())]
        if self.current is not None:
            opened = "close" if self._detail.display else "open"
            made.insert(0, _entry("Enter", opened, "choose", 2))
        return [*made, _entry("Left Right", "tab", "turn(1)", 20), _entry("/", "search", "filter", 12)]

    def _letters(self) -> Iterator[tuple[str, str]]:
        """The letters that mean something now, the most useful first."""
        memory = self.current
        if self._writable:
            free = len(self._stock.free()) if self._status == "proposed" else 0
            yield from doing.letters(memory, free=free, gone=bool(self._gone))
        if memory is not None and memory.source_record:
            yield "m", "message"
        if self._detail.display:
            yield "y", "copy"
        if self._writable and self._status == "accepted":
            yield "w", "write MEMORY.md"
            yield "i", "read MEMORY.md"

    def _idle(self, letter: str) -> bool:
        return all(key != letter for key, _ in self._letters())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A letter that means nothing here is a letter as any other."""
        if action == "own":
            writes = self.editor.display or self._filter.has_focus
            return not writes and not self._idle(str(parameters[0]))
        return not (self.editor.display and action in ("turn", "filter", "read", "close_detail"))

    def action_own(self, key: str) -> None:
        """Carry out a letter."""
        memory = self.current
        match key:
            case "n":
                self._write(None)
            case "A":
                self._accept_free()
            case "w":
                self.post_message(self.ShareWanted("share"))
            case "i":
                self.post_message(self.ShareWanted("adopt"))
            case "u":
                self._undo(memory)
            case "y":
                self.post_message(self.CopyWanted(memory.body if memory is not None else self._leaf.text))
            case _ if memory is not None:
                self._do(key, memory)

    def _do(self, key: str, memory: Memory) -> None:
        if key == "m":
            self.post_message(self.SourceWanted(memory))
        elif key == "e":
            self._write(memory)
        elif key == "a" and not self._detail.display and self._hides(memory):
            self._detail.display = True
            self._open()
            self.post_message(self.KeysChanged())
            self.say("all of it is shown now: a again accepts")
        else:
            self._gone = memory.id if key == "d" else ""
            command, told = doing.command(key, memory)
            self.post_message(self.Asked((command,), told))

    def _hides(self, memory: Memory) -> bool:
        """Does its row not say all that one would agree to?"""
        return self._stock.is_change(memory) or telling.is_cut(memory, self._width)

    def _undo(self, memory: Memory | None) -> None:
        """Bring back what was just deleted, else take back the last change of the memory under the cursor."""
        gone, self._gone = self._gone, ""
        if gone or memory is not None:
            self.post_message(self.Asked((("unmemory", gone or (memory.id if memory is not None else "")),)))

    def _accept_free(self) -> None:
        commands, told = doing.accept_all(self._stock)
        self.post_message(self.Asked(commands, told))

    def action_choose(self) -> None:
        """Enter on the row under the cursor."""
        self.rows.action_choose()

    def action_turn(self, step: int) -> None:
        """Show the state before or after."""
        statuses = list(tree.SHELVES)
        self.show_status(statuses[(statuses.index(self._status) + step) % len(statuses)])
        self.screen.set_focus(self.rows)

    def on_click(self, event: events.Click) -> None:
        wanted = event.style.meta.get("status")
        for status in tree.SHELVES:
            if status == wanted:
                self.show_status(status)
                self.screen.set_focus(self.rows)

    def action_close_detail(self) -> None:
        """Close what is open, then the search; else leave it to the screen."""
        if self._detail.display:
            self._detail.display = False
            self.post_message(self.KeysChanged())
        elif self._filter.display:
            self._unfilter()
        else:
            from textual.actions import SkipAction

            raise SkipAction()

    def action_read(self, by: int) -> None:
        """Page what is read: the opened memory, else the list."""
        if not self._detail.display:
            self.rows.action_page(by)
        elif by < 0:
            self._leaf.scroll_page_up(animate=False)
        else:
            self._leaf.scroll_page_down(animate=False)

    # --- the search

    def action_filter(self) -> None:
        """Look for words."""
        self._filter.display = True
        self.screen.set_focus(self._filter)

    def on_key(self, event: events.Key) -> None:
        """`/` opens the search here, ahead of bindings: keys right behind it are words and no actions."""
        if self.editor.display:
            return
        if event.key == "slash" and self.screen.focused is not self._filter:
            event.stop()
            self.action_filter()
        elif self.screen.focused is self._filter and event.key in ("up", "down"):
            event.stop()
            self.rows.action_step(1 if event.key == "down" else -1)
        elif self.screen.focused is self._filter and event.is_printable and event.character:
            event.stop()
            self._filter.insert_text_at_cursor(event.character)
        elif self.has_class("-over") and event.character in doing.LETTERS and self._idle(event.character):
            # the composer, which would take it, is not seen
            event.stop()
            self.say(f"{event.character} does nothing here")

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

    # --- writing

    def _write(self, memory: Memory | None) -> None:
        self._detail.display = False
        self.say("")
        self.editor.open(memory)
        self.post_message(self.KeysChanged())

    def action_save(self) -> None:
        """Store what is written, by a click."""
        self.editor.save()

    def action_next_part(self) -> None:
        """The next part of what is written, by a click."""
        self.editor.action_next(1)

    def on_editor_left(self, event: Editor.Left) -> None:
        event.stop()
        self._written()

    def _written(self) -> None:
        self.screen.set_focus(self.rows)
        self.post_message(self.KeysChanged())

    def on_editor_saved(self, event: Editor.Saved) -> None:
        event.stop()
        commands = tuple(doing.stored(event.memory, event.draft))
        self.editor.close()
        self._written()
        self._saved = event.draft
        if commands:
            self.post_message(self.Asked(commands, f"saved: {event.draft.key}", self._refused))

    def _refused(self, trouble: str) -> None:
        """What was written could not be stored: it is not lost."""
        self.editor.refused(trouble)
        self.post_message(self.KeysChanged())

    def on_descendant_focus(self) -> None:
        self.post_message(self.KeysChanged())


def _entry(key: str, said: str, action: str, rank: int) -> footer.Entry:
    return footer.Entry(key, said, f"screen.in_memory({action!r})", rank=rank)
