"""What every tab of the inspector is: a list, and over its lower half the detail of one row when it is open.

Tab
  Rows
  Filter     while rows are filtered
  .detail    one row, opened
  .sum       a line about all of them

PgUp and PgDn belong to the chat; ctrl+u and ctrl+d page what is read here: the opened row, else the list. `y` copies
the text of the opened row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.worker import Worker, WorkerState

from tui_agent import literal
from tui_agent.ui.filter import Filter
from tui_agent.ui.leaf import Leaf
from tui_agent.ui.still import Covered, Down, Text

if TYPE_CHECKING:
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer
    from textual.widget import Widget
    from textual.widgets import Input

    from tui_agent.agent.requests import Requests
    from tui_agent.context import Context
    from tui_agent.ui.rows import Cell, Column, Rows

_ROOMY = 60
"""Columns of a list from which names and times are written out."""
FOLLOW = 0.25
"""Seconds between two repaints while the log grows."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a tab: as shown, its words, and the tab's action."""

    key: str
    words: str
    action: str
    rank: int = 1
    """The highest is given up first where the row is narrow."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a tab knows besides the log.

    `window` is the model's, in tokens, 0 if it is not known, `guessed` if nobody has told it; `micro` and `full` are
    the weights above which old results are shortened next and at which a summary is due, and `still` is why neither
    happens by itself: off, held, or nothing. `lacking` is what the first prompt of a new log adds to
    the figures: system prompt and tools. `trace` is the session's events.jsonl, `requests` are those of the session,
    `refused` the records that the endpoint refused last, each with its words.
    """

    writable: bool = False
    window: int = 0
    guessed: bool = False
    micro: int = 0
    full: int = 0
    still: str = ""
    lacking: int = 0
    trace: Path | None = None
    requests: Requests | None = None
    refused: Mapping[str, str] = field(default_factory=dict)


class Tab(Covered):
    """A tab. `NAME` stands in the panel's first line; `grew` and `changed` say what happened to the log."""

    NAME = ""
    SHORT = ""
    """The name where there is little room; "" is the same."""
    OF_LOG: ClassVar[bool] = False
    """All that it shows follows from the log and from what is `around`: else it is read anew when it is shown again."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", show=False),
        Binding("escape", "close_detail", show=False),
        Binding("y", "copy", show=False),
        Binding("ctrl+u", "read(-1)", show=False),
        Binding("ctrl+d", "read(1)", show=False),
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
    class RecordWanted(Message):
        """Show the record of this id."""

        record: str

    @dataclass
    class CopyWanted(Message):
        """Put this text on the clipboard."""

        text: str

    class BackWanted(Message):
        """Show the tab again that led to a record."""

    class KeysChanged(Message):
        """What can be pressed is different now."""

    def __init__(self, context: Context, rows: Rows, around: Callable[[], Around]) -> None:
        super().__init__(classes="tab")
        self.context = context
        self.rows = rows
        self._around = around
        self._filter = Filter()
        self._sum = Text(classes="sum", markup=False)
        self._due: Timer | None = None
        self._drawn = False
        self.narrow = False
        self._as_read: object = None
        """What the log and what is around it were like when they were read last."""

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self._filter
        with Down(classes="detail"):
            yield self.detail()
        yield self._sum

    def on_mount(self) -> None:
        self._drawn = True
        self.rows.show(self.cells, 0, columns=self.columns())
        self._filter.display = False
        self.query_one(".detail").display = False
        self.changed()

    @property
    def around(self) -> Around:
        """What is known besides the log, now."""
        return self._around()

    @property
    def writable(self) -> bool:
        """True if something may be changed."""
        return self.around.writable

    # --- what a tab says

    def columns(self) -> Sequence[Column]:
        """The columns that there is room for."""
        raise NotImplementedError

    def detail(self) -> Widget:
        """The widget that shows one row."""
        raise NotImplementedError

    def load(self) -> None:
        """Read everything anew."""
        raise NotImplementedError

    def follow(self) -> None:
        """The log grew."""
        self.load()

    def heard(self) -> None:
        """The session said something."""

    def open(self, index: int) -> None:
        """Show the row with that index in the detail."""
        raise NotImplementedError

    def keys(self) -> Sequence[Key]:
        """The keys of the row under the cursor."""
        return ()

    def reading_keys(self) -> Sequence[Key]:
        """The keys of a row that opens as a text."""
        if not self.detail_open:
            return [Key("Enter", "open", "choose", rank=2)]
        return [Key("Enter", "close", "choose", rank=2), Key("y", "copy", "copy")]

    def cells(self, index: int) -> Sequence[Cell]:
        """The cells of a row."""
        raise NotImplementedError

    def sifted(self, words: str) -> str | Callable[[int], bool] | None:
        """What a filter by these words lets through, as `Rows.filter` takes it."""
        return words or None

    def expect(self, width: int) -> None:
        """It will have so many columns: what is shown first is made for them."""
        self.narrow = width < _ROOMY

    def on_resize(self) -> None:
        narrow = self.size.width < _ROOMY
        if narrow != self.narrow:
            self.narrow = narrow
            self.rows.show(self.cells, len(self), columns=self.columns())

    def __len__(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return True

    # --- how it follows

    def changed(self) -> None:
        """The history was rewritten or marks changed."""
        if self._drawn:
            self._as_read = self._state
            self.load()
            if self.detail_open and self.rows.cursor >= 0:
                self.open(self.rows.cursor)

    def again(self) -> None:
        """It is shown again: read what may have changed meanwhile."""
        if not self.OF_LOG or self._as_read != self._state:
            self.changed()

    @property
    def _state(self) -> object:
        context = self.context
        return context.generation, len(context.records), context.weigh(), self.around

    def grew(self) -> None:
        """A record was appended; the tab follows at most four times a second."""
        self.soon(self._follow)

    def soon(self, follow: Callable[[], None]) -> None:
        """Follow, but not more often than four times a second."""
        if self._due is None and self._drawn:
            self._due = self.set_timer(FOLLOW, follow)

    def _follow(self) -> None:
        self.followed()
        self._as_read = self._state
        self.follow()

    def followed(self) -> None:
        """What `soon` was asked for is being done; the next may be asked for."""
        self._due = None

    def say(self, text: Content) -> None:
        """The line under the list; what it sums up has just been read."""
        self.post_message(self.KeysChanged())
        self._sum.update(text)
        self._sum.display = bool(text.plain)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.failed(event.worker.error, event.worker.group)

    def failed(self, error: BaseException, group: str) -> None:
        """What was done beside the keys, in a group of workers, went wrong: say so."""
        self.say(Content.styled(literal.one_line(f"{type(error).__name__}: {error}"), "$text-error"))

    # --- the detail and the filter

    @property
    def detail_open(self) -> bool:
        """True while a row is open."""
        return self._drawn and bool(self.query_one(".detail").display)

    @property
    def closes(self) -> bool:
        """True where Esc closes something here: the row that is open, the filter."""
        return self.detail_open or (self._drawn and bool(self._filter.display))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.chosen(event.index)

    def chosen(self, index: int) -> None:
        """Enter on a row: open it, or close it again."""
        detail = self.query_one(".detail")
        detail.display = not detail.display
        if detail.display:
            self.open(index)
        self.post_message(self.KeysChanged())

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        self.post_message(self.KeysChanged())
        if self.detail_open and event.index >= 0:
            self.open(event.index)

    def action_choose(self) -> None:
        """Enter on the row under the cursor."""
        self.rows.action_choose()

    def action_close_detail(self) -> None:
        """Close what is open, then the filter; else leave it to the screen."""
        if self.detail_open:
            self.query_one(".detail").display = False
            self.post_message(self.KeysChanged())
        elif self._filter.display:
            self.unfilter()
        else:
            from textual.actions import SkipAction

            raise SkipAction()

    def action_read(self, by: int) -> None:
        """Page what is read: the opened row, else the list."""
        page = next(iter(self.query_one(".detail").query(ScrollView)), None) if self.detail_open else None
        if page is None:
            self.rows.action_page(by)
        elif by < 0:
            page.scroll_page_up(animate=False)
        else:
            page.scroll_page_down(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`y` is a letter as any other while no text is open."""
        return action != "copy" or (self.detail_open and bool(self.query(Leaf)))

    def action_copy(self) -> None:
        """Copy the text of the row that is open."""
        self.post_message(self.CopyWanted(self.query_one(Leaf).text))

    def action_filter(self) -> None:
        """Filter the rows by words."""
        self._filter.display = True
        self.screen.set_focus(self._filter)

    def on_key(self, event: events.Key) -> None:
        """`/` opens the filter here, ahead of bindings: keys right behind it are words and no actions."""
        if event.key == "slash" and self.screen.focused is not self._filter:
            event.stop()
            self.action_filter()
        elif self.screen.focused is self._filter and event.is_printable and event.character:
            event.stop()
            self._filter.insert_text_at_cursor(event.character)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.looked_for(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.entered()

    def looked_for(self, words: str) -> None:
        """The line of the filter holds these words now."""
        self.rows.filter(self.sifted(words))

    def entered(self) -> None:
        """Enter in the line of the filter."""
        self.screen.set_focus(self.rows)

    def on_filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self.unfilter()

    def unfilter(self) -> None:
        """Show all rows."""
        self._filter.clear()
        self._filter.display = False
        self.rows.filter(None)
        self.screen.set_focus(self.rows)
