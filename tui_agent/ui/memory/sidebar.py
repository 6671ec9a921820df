"""The memory sidebar: what is remembered and what waits to be, with everything that can be done about it.

    Sidebar      a Browser, in which Left and Right, or a click, change the state that is shown
      ...
      KeyLine    under a memory that is opened: all that can be done about it, to be clicked
      Editor     while a memory is written, above what was done last

It posts `Asked` (commands of the session, in order), `SourceWanted`, `ShareWanted`, `CopyWanted` and the browser's
`KeysChanged`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui import footer
from tui_agent.ui.memory import doing, telling, tree
from tui_agent.ui.memory.browser import Browser
from tui_agent.ui.memory.editor import Editor

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui_agent.agent.recall import Recall
    from tui_agent.memory.schema import Memory


class Sidebar(Browser):
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

    def __init__(self, recall: Recall, *, writable: bool, id: str | None = None) -> None:
        super().__init__(recall, id=id)
        self._writable = writable
        self._gone = ""
        """The memory that was just deleted: undo brings it back."""
        self._letter_line = footer.KeyLine()
        self.editor = Editor()

    def compose(self) -> ComposeResult:
        *listed, told = super().compose()
        yield from listed
        yield self._letter_line
        yield self.editor
        yield told

    def on_mount(self) -> None:
        self.editor.display = self._letter_line.display = False

    # --- keys

    def on_browser_keys_changed(self) -> None:
        """The footer has room for some of the letters; where a memory is open, each has a place to be clicked."""
        self._letter_line.display = self._detail.display and not self.editor.display
        if self._letter_line.display:
            self._letter_line.show(self._own_entries(), many=True)

    def offered(self) -> list[footer.Entry]:
        """What can be pressed while the sidebar has the focus."""
        if self.editor.display:
            return [_entry("Enter", "save", "save", 0), _entry("Tab", "next part", "next_part", 2)]
        made = self._own_entries()
        if self.current is not None:
            opened = "close" if self._detail.display else "open"
            made.insert(0, _entry("Enter", opened, "choose", 2))
        return [*made, _entry("Left Right", "tab", "turn(1)", 20), _entry("/", "search", "filter", 12)]

    def _own_entries(self) -> list[footer.Entry]:
        return [_entry(key, said, f"own('{key}')", rank) for rank, (key, said) in enumerate(self._letters())]

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


def _entry(key: str, said: str, action: str, rank: int) -> footer.Entry:
    return footer.Entry(key, said, f"screen.in_memory({action!r})", rank=rank)
