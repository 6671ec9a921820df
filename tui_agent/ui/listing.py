"""A place that is one list: sessions, settings, themes, models, connections.

    Listing
      .title     what is listed, and what the filter holds
      Rows
      Filter     while rows are filtered
      .note      what has just happened
      EntryLine  while a value is typed
      .detail    more about the row under the cursor
      KeyLine    what can be pressed

A subclass says what its rows are (`load`), what Enter does (`choose`), what a row's detail is (`about`) and which
letters do what (`offered`: each names an `action_...` of the subclass). `ask` asks for a value in one line, `note` says
what has happened. `/` filters, Up and Down move, Enter chooses, Esc takes the filter back and then closes, ctrl+c
closes. Letters act as on the inspector's tabs, and each can be clicked below. All keys keep their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.ui import footer
from tui_agent.ui.actions import BY_ID
from tui_agent.ui.commands import Here
from tui_agent.ui.entry import Check, EntryLine
from tui_agent.ui.filter import Filter
from tui_agent.ui.line import STOP
from tui_agent.ui.over import Over
from tui_agent.ui.rows import Rows

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.ui.bindings import Keys
    from tui_agent.ui.hosted import HostedApp
    from tui_agent.ui.inspector.tab import Key
    from tui_agent.ui.line import Press

_MOVES = {"up": "step(-1)", "down": "step(1)", "pageup": "page(-1)", "pagedown": "page(1)"}
"""Keys that move the cursor of the list from within the filter."""


class Listing(Over):
    """A list over the chat. `title` stands in its first line, `empty` where there are no rows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "filter", "Filter", show=False)]
    FILTER_RANK: ClassVar[int] = 9
    """How soon the filter's key is given up in a narrow footer."""

    ENTER: ClassVar[str] = ""
    """What Enter does on a row, in a word, for the footer."""

    def __init__(self, keys: Keys, title: str, *, empty: str) -> None:
        super().__init__(keys)
        self.rows = Rows(empty=empty, id="rows")
        self.words = Filter()
        self.entry = EntryLine()
        self._title = title
        self._head = Static(classes="title", markup=False)
        # what can be clicked there is a key and its words, not a link that is underlined
        self._head.auto_links = False
        self._note = Static(classes="note", markup=False)
        self._detail = Static(classes="detail", markup=False)
        self._entered: Callable[[str], None] = lambda text: None
        self._line = footer.KeyLine(id="keys")
        self._pressed: deque[Press] = deque()
        """Keys that wait for their turn."""
        self.words.give = self.entry.line.give = self._before_others
        self.words.stop = self.entry.line.stop = self.leave

    def compose(self) -> ComposeResult:
        with Vertical(id="listing"):
            yield self._head
            yield self.rows
            yield self.words
            yield self._note
            yield self.entry
            yield self._detail
            yield self._line

    def on_mount(self) -> None:
        self.words.display = self.entry.display = self._note.display = False
        self.headline()
        self.load()
        self.refresh_keys()
        self.set_focus(self.rows)

    # --- what a place says

    def load(self) -> None:
        """Fill `rows`, now or when a worker has read them."""
        raise NotImplementedError

    def choose(self, index: int) -> None:
        """Enter, or a double click, on a row."""
        raise NotImplementedError

    def moved(self, index: int) -> None:
        """The cursor came to a row (-1: there is none)."""

    def about(self, index: int) -> Content:
        """More about a row, below the list; empty for nothing."""
        return Content("")

    def offered(self) -> Sequence[Key]:
        """The letters of the row under the cursor; the first ones stay longest when it is narrow."""
        return ()

    def here(self) -> Here:
        """What can be pressed here, for the help."""
        if self.entry.display:
            return Here(self._title, (("Enter", "take what was typed"), ("Esc", "leave the line")))
        if self.focused is self.words:
            return Here(self._title, (("Enter", "into the list"), ("Up Down", "row"), ("Esc", "no filter")))
        enter = ((key, self.ENTER) for key in ("Enter",) if self.ENTER)
        letters = ((key.key, key.words) for key in self.offered())
        moves = (("Up Down", "from row to row"), ("/", "filter the rows"), ("Esc", self.esc))
        return Here(self._title, (*enter, *letters, *moves))

    # --- its looks

    def headline(self, more: str | Content = "") -> None:
        """The first line: the title and, dim, what is said about it."""
        parts = [Content.styled(f" {self._title} ", "bold $text-primary")]
        if more:
            parts.append(Content.styled(f" {more}", "$text-muted") if isinstance(more, str) else more)
        self._head.update(Content("").join(parts))

    def note(self, text: str, style: str = "$text-success") -> None:
        """Say what has just happened, or is happening, under the list; empty says nothing any more."""
        self._note.update(Content.styled(literal.visible(text), style))
        self._note.display = bool(text)

    def refresh_keys(self) -> None:
        """Show the keys and the detail of the row under the cursor."""
        back = footer.Entry(
            self.keys.shown("jump"), BY_ID["jump"].words, "screen.away('jump')", right=True, rank=0
        )
        leave = footer.Entry("Esc", self.esc, "screen.leave", right=True, rank=0)
        self._line.show([*self._entries(), back, leave])
        detail = self.about(self.rows.cursor) if self.rows.cursor >= 0 else Content("")
        self._detail.update(detail)
        self._detail.display = bool(detail.plain)

    @property
    def esc(self) -> str:
        """What Esc does, in a word."""
        return "leave it" if self.entry.display else "close"

    def _entries(self) -> list[footer.Entry]:
        if self.entry.display:
            return [footer.Entry("Enter", "take it", "screen.enter", rank=0)]
        entries = [
            footer.Entry(key.key, key.words, f"screen.{key.action}", rank=rank)
            for rank, key in enumerate(self.offered(), start=1)
        ]
        if self.ENTER:
            entries.insert(0, footer.Entry("Enter", self.ENTER, "screen.choose_here", rank=0))
        return [*entries, footer.Entry("/", "filter", "screen.filter", rank=self.FILTER_RANK)]

    # --- what happens

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """What goes wrong beside the keys is said here."""
        if event.state is WorkerState.ERROR:
            self.note(f"{type(event.worker.error).__name__}: {event.worker.error}", "$text-error")

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        self.moved(event.index)
        self.refresh_keys()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.choose(event.index)

    def action_choose_here(self) -> None:
        """Choose the row under the cursor, by a click below."""
        self.rows.action_choose()

    def action_filter(self) -> None:
        """Filter the rows by words."""
        self.words.display = True
        self.set_focus(self.words)

    def ask(
        self,
        label: str,
        value: str,
        done: Callable[[str], None],
        *,
        check: Check | None = None,
        secret: bool = False,
    ) -> None:
        """Ask for a value in a line below the list; `done` gets it once `check` finds nothing wrong with it."""
        self._entered = done
        self.note("")
        self.entry.ask(label, value, check=check, secret=secret)
        self.refresh_keys()

    def on_entry_line_entered(self, event: EntryLine.Entered) -> None:
        event.stop()
        self._stop_asking()
        self._entered(event.text)

    def on_entry_line_left(self, event: EntryLine.Left) -> None:
        event.stop()
        self._stop_asking()

    def _stop_asking(self) -> None:
        self.entry.close()
        self.set_focus(self.rows)
        self.refresh_keys()

    async def action_enter(self) -> None:
        """Take what was typed."""
        await self.entry.line.action_submit()

    def action_leave(self) -> None:
        """Leave the line that is asked for, else take the filter back; else close."""
        if self.entry.display:
            self._stop_asking()
        elif self.words.display:
            self._unfilter()
        else:
            self.leave()

    def stop(self) -> None:
        # what was pressed before it may still be on its way to the rows or a line
        (self.focused or self).post_message(events.Key(STOP, None))

    def _stop(self) -> None:
        if isinstance(self.focused, Input):
            self.stop()
        else:
            self.leave()

    def _unfilter(self) -> None:
        self.words.clear()
        self.words.display = False
        self.filtered("")
        self.set_focus(self.rows)

    def filtered(self, words: str) -> None:
        """The filter holds these words now."""
        self.rows.filter(words or None)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.filtered(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.set_focus(self.rows)

    def on_filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self._unfilter()

    def on_key(self, event: events.Key) -> None:
        """Enter, letters, `/`, `?` and ctrl+c; what `Over` does with other keys comes after this."""
        if self.focused is self.words and event.key in _MOVES:
            event.stop()
            self.call_later(self.rows.run_action, _MOVES[event.key])
        elif self._is_ours(event):
            event.stop()
            self._pressed.append((event.key, event.character))
            # by way of the app, where the keys pressed before it are still on their way as bindings
            self.app.call_later(self._next_key)

    def _is_ours(self, event: events.Key) -> bool:
        if event.key == STOP:
            return True
        if event.key == "enter":
            return bool(self._pressed) or self.focused is self.rows
        if not event.is_printable:
            return False
        # a field to write in has the focus: the letter was on its way here when the one before it opened that
        opened = self._pressed or isinstance(self.focused, Input)
        return bool(opened) or event.character in ("?", "/", *self._letters())

    def _before_others(self, keys: Sequence[Press]) -> None:
        """What a line kept is older than what waits here."""
        self._pressed.extendleft(reversed(keys))
        for _ in self._pressed:
            self.app.call_later(self._next_key)

    def _letters(self) -> dict[str, str]:
        return {key.key: key.action for key in self.offered()}

    async def _next_key(self) -> None:
        """A key's turn has come: it acts here, or goes where the one before it led."""
        if not self._pressed or self.words.keeping or self.entry.line.keeping:
            return
        key, character = self._pressed.popleft()
        if key == STOP and self.is_current:
            self._stop()
        elif not self.is_current or isinstance(self.focused, Input):
            await cast("HostedApp", self.app).press_now(events.Key(key, character))
        elif key == "enter":
            if self.rows.cursor >= 0:
                self.choose(self.rows.cursor)
        elif character == "?":
            self.away("help")
        elif character == "/":
            self.action_filter()
        elif action := self._letters().get(character or ""):
            await self.run_action(action)
        elif not character:
            await cast("HostedApp", self.app).press_now(events.Key(key, character))
