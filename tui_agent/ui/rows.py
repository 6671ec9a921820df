"""A list with a cursor: records, checkpoints, backups, sessions, settings.

A table (see there) whose cursor moves and stays on its row when the rows change, and which a filter goes through. It
posts `Rows.Moved` when the cursor moves and `Rows.Chosen` on Enter, on a double click and on a click on the row under
the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui.cells import Cell, Column
from tui_agent.ui.sieve import SLICE_S
from tui_agent.ui.table import Model, Table
from tui_agent.ui.themes import UNICODE, Glyphs

if TYPE_CHECKING:
    from textual import events
    from textual.geometry import Size
    from textual.timer import Timer

_NEAR = 500
"""Rows on both sides among which the one under the cursor is looked for when the rows change."""
_FOUND_S = 0.1
"""Seconds between two times that rows found by a filter are laid out; the first are at once."""


class Rows(Table, can_focus=True):
    """A list with a cursor over a model.

    Args:
        model: Gives the cells of a row.
        length: How many rows there are.
        columns: The columns; with a title in any of them the list has a header line.
        key: What a row is, for the cursor to stay on it when the rows change; without it the index is.
        text: What a filter by words looks at; without it the cells' text.
        empty: What an empty list says: what to do to fill it.
        glyphs: The signs to use.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", id="rows.choose", tooltip="Open the row under the cursor"),
        Binding("up", "step(-1)", "Up", show=False),
        Binding("down", "step(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,ctrl+home", "edge(-1)", "First", show=False),
        Binding("end,ctrl+end", "edge(1)", "Last", show=False),
    ]
    ALLOW_SELECT = False

    class Chosen(Message):
        """The row was chosen. `index` is the model's."""

        def __init__(self, rows: Rows, index: int) -> None:
            super().__init__()
            self.rows = rows
            self.index = index

        @property
        def control(self) -> Rows:
            """The list."""
            return self.rows

    class Moved(Chosen):
        """The cursor came to the row. `index` is the model's, -1 if there is none."""

    class Sifted(Message):
        """A filter shows another number of rows, or has looked at the last one."""

    def __init__(
        self,
        model: Model | None = None,
        length: int = 0,
        *,
        columns: Sequence[Column] = (),
        key: Callable[[int], Hashable] | None = None,
        text: Callable[[int], str] | None = None,
        empty: str = "Nothing here yet.",
        glyphs: Glyphs = UNICODE,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            model, length, columns=columns, empty=empty, glyphs=glyphs, name=name, id=id, classes=classes
        )
        self._key = key
        self._text = text
        self._cursor_key: Hashable = None
        self._aim: int | None = None
        """The row that was under the cursor when the filter changed, until the cursor is moved."""
        self._looking: Timer | None = None
        self._found = False
        """A filter has found rows that are not laid out yet."""
        self._laid_out = 0.0

    # --- what is shown

    def show(
        self,
        model: Model,
        length: int,
        *,
        columns: Sequence[Column] | None = None,
        key: Callable[[int], Hashable] | None = None,
        text: Callable[[int], str] | None = None,
    ) -> None:
        """Show other rows. The cursor stays on the row with the same key (or index), the filter stays in force.

        A cursor in view stays in view; rows that were scrolled to, away from it, stay where they are.
        """
        seen = self._seen
        self._model, self._sieve.length = model, length
        self._key, self._text = key or self._key, text or self._text
        if columns is not None:
            self._columns = columns or (Column(),)
        self._strips.clear()
        was = self._cursor if self._cursor_key is None else self._cursor_key
        self._cursor = self._again(self._cursor)
        self._remember()
        self._sift()
        if seen:
            self._keep_visible()
        if was != (self._cursor if self._cursor_key is None else self._cursor_key) and self.is_attached:
            self.post_message(self.Moved(self, self._cursor))

    def grow(self, length: int) -> None:
        """Rows were added at the end: there are `length` now.

        A list shown to its end with the cursor on the last row follows; else cursor and scroll stay.
        """
        had = self._sieve.length
        if length <= had:
            return
        follows = self._cursor in (-1, had - 1) and self.scroll_offset.y >= self.max_scroll_y
        self._sieve.length = length
        if self._sieve.filters:
            self._look_on()
            return
        self._hold()
        if had < int(self.scroll_offset.y) + self._page:
            self.refresh()
        if follows:
            self.move(length - 1 if self._cursor >= 0 else 0)

    def move(self, index: int, *, tell: bool = True) -> None:
        """Put the cursor on the row with that index (the nearest one shown) and bring it into view."""
        position = self._sieve.nearest(index)
        found = self._sieve.index(position) if position >= 0 else -1
        if found != self._cursor:
            self._cursor = found
            self._remember()
            if tell and self.is_attached:
                self.post_message(self.Moved(self, found))
            self.refresh()
        self._keep_visible()

    def filter(self, wanted: str | Callable[[int], bool] | None) -> None:
        """Show only rows that hold every word of `wanted` (any case), or for whose index it is true; None shows all.

        Rows appear as they are found; a long list is looked through in slices, and keys stay quick meanwhile.
        """
        if isinstance(wanted, str):
            words = wanted.casefold().split()
            self._sieve.want((lambda index: self._holds(index, words)) if words else None)
        else:
            self._sieve.want(wanted)
        self._sift()
        self._keep_visible()

    def _holds(self, index: int, words: Sequence[str]) -> bool:
        text = (self._text(index) if self._text else "\n".join(map(str, self._cells(index)))).casefold()
        return all(word in text for word in words)

    def _sift(self) -> None:
        """Look at every row anew; the cursor aims at the row it is on."""
        self._sieve.again()
        self._found, self._laid_out = False, 0.0
        if self._cursor >= 0 or self._aim is None:
            self._aim = self._cursor
        if self._sieve.filters:
            self._look()
        self._relayout()
        self.post_message(self.Sifted())
        if self._cursor < 0 and not self._sieve.filters:
            self.move(self._aim)

    def _look(self) -> None:
        """Look at rows for a slice of time."""
        self._found = self._sieve.look() or self._found
        now = perf_counter()
        if self._found and (now - self._laid_out > _FOUND_S or not self._sieve.busy):
            self._found, self._laid_out = False, now
            self._relayout()
            self.post_message(self.Sifted())
            if self._aim is not None:
                self.move(self._aim)
        elif not self._sieve.busy and not len(self):
            self.move(-1)
        self._look_on()

    def _look_on(self) -> None:
        """Go on looking while there are rows left, and only then."""
        if self._sieve.busy and self.is_attached:
            if self._looking is None:
                self._looking = self.set_interval(SLICE_S * 2, self._look)
        elif self._looking is not None:
            self._looking.stop()
            self._looking = None
            self.post_message(self.Sifted())

    # --- the cursor

    def _remember(self) -> None:
        self._cursor_key = (
            self._key(self._cursor) if self._key and 0 <= self._cursor < self._sieve.length else None
        )

    def _again(self, index: int) -> int:
        """Where the row that was at `index` is now: looked for outwards from there, not very far."""
        length = self._sieve.length
        if not length:
            return -1
        index = max(0, min(index, length - 1))
        if self._key is None or self._cursor_key is None:
            return index
        for candidate in _outwards(index, length):
            if self._key(candidate) == self._cursor_key:
                return candidate
        return index

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self._sieve.position(self._cursor) >= 0:
            self.post_message(self.Chosen(self, self._cursor))

    def action_step(self, by: int) -> None:
        """Move the cursor by rows."""
        if len(self):
            position = self._sieve.nearest(self._cursor) + by
            self._aim = None
            self.move(self._sieve.index(max(0, min(position, len(self) - 1))))

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.action_step(by * max(1, self._page - 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last row."""
        self.action_step(side * len(self))

    async def _on_click(self, event: events.Click) -> None:
        index = self.at(event.y)
        if index < 0:
            return
        event.stop()
        self._aim = None
        if index == self._cursor or event.chain > 1:
            self.move(index)
            self.action_choose()
        else:
            self.move(index)

    # --- rows on the screen

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """The cursor is in view when the list is drawn with its size, not only in the frame after that."""
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self._hold()
            self._keep_visible()
        return changed

    @property
    def _seen(self) -> bool:
        """True if the cursor is in view, or nowhere."""
        below = self._sieve.position(self._cursor) - int(self.scroll_offset.y)
        return self._cursor < 0 or 0 <= below < self._page

    def _keep_visible(self) -> None:
        position = self._sieve.position(self._cursor)
        if position < 0 or not self.size:
            return
        top = int(self.scroll_offset.y)
        if position < top:
            self.scroll_to(y=position, animate=False)
        elif position >= top + self._page:
            self.scroll_to(y=position - self._page + 1, animate=False)

    def on_mount(self) -> None:
        """Begin with what is to be shown."""
        self._remember()
        self._look_on()


def _outwards(start: int, length: int) -> Iterator[int]:
    """`start`, then its neighbours on both sides, ever farther."""
    yield start
    for distance in range(1, min(length, _NEAR)):
        if start + distance < length:
            yield start + distance
        if start - distance >= 0:
            yield start - distance


__all__ = ["Cell", "Column", "Rows"]
