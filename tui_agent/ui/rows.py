"""A list in the line API: records, checkpoints, backups, sessions, settings, anything with a cursor.

The list holds no rows. It asks a model (`index -> cells`) for those on the screen, so 100 000 rows open as fast as
ten. Indexes are always the model's own, filtered or not. It posts `Rows.Moved` when the cursor moves and
`Rows.Chosen` on Enter, on a double click and on a click on the row under the cursor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.literal import one_line
from tui_agent.ui.themes import UNICODE, Glyphs

if TYPE_CHECKING:
    from rich.style import Style as RichStyle
    from textual import events
    from textual.timer import Timer

Cell = str | Content
"""What stands in a column, on one line. Both are foreign text and shown literally; content keeps its styles."""

Model = Callable[[int], Cell | Sequence[Cell]]
"""Gives the cells of the row with that index; asked for rows on the screen only."""

_GAP = 2
"""Cells between columns."""
_SLICE_S = 0.005
"""Seconds a filter works before it lets others run."""
_LONGEST = 2000
"""Characters of a cell that are looked at; no screen is wider."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `width` in cells; 0 takes a share of what the others leave. `style` is for cells that are strings."""

    title: str = ""
    width: int = 0
    align: Literal["left", "right"] = "left"
    style: str = ""


class Rows(ScrollView, can_focus=True):
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

    DEFAULT_CSS = """
    Rows {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        color: $foreground;
    }
    Rows .rows--header { color: $text-muted; text-style: bold; }
    Rows .rows--empty { color: $text-muted; }
    Rows .rows--cursor {
        background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
    }
    Rows:focus .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--header", "rows--empty", "rows--cursor"}
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
        super().__init__(name=name, id=id, classes=classes)
        self.empty = empty
        self._glyphs = glyphs
        self._columns: Sequence[Column] = columns or (Column(),)
        self._model: Model = model or (lambda index: "")
        self._length = length
        self._key = key
        self._text = text
        self._cursor = 0 if length else -1
        self._cursor_key: Hashable = None
        self._wanted: Callable[[int], bool] | None = None
        self._found: list[int] = []
        self._scanned = 0
        self._scan: Timer | None = None
        self._strips: LRUCache[int, Strip] = LRUCache(512)
        self._width = 0

    # --- what is shown

    def __len__(self) -> int:
        """How many rows are shown: all, or those a filter has found so far."""
        return self._length if self._wanted is None else len(self._found)

    def __bool__(self) -> bool:
        return True

    @property
    def cursor(self) -> int:
        """The index of the row under the cursor, -1 if there is none."""
        return self._cursor

    @property
    def filtering(self) -> bool:
        """True while a filter has not looked at every row yet."""
        return self._wanted is not None and self._scanned < self._length

    def show(
        self,
        model: Model,
        length: int,
        *,
        columns: Sequence[Column] | None = None,
        key: Callable[[int], Hashable] | None = None,
        text: Callable[[int], str] | None = None,
    ) -> None:
        """Show other rows. The cursor stays on the row with the same key (or index), the filter stays in force."""
        self._model, self._length = model, length
        self._key, self._text = key or self._key, text or self._text
        if columns is not None:
            self._columns = columns or (Column(),)
        self._strips.clear()
        was, was_key = self._cursor, self._cursor_key
        self._cursor = self._again(was)
        self._remember()
        self._rescan()
        self._relayout()
        self._keep_visible()
        if self.is_attached and (was_key, was if was_key is None else 0) != (
            self._cursor_key,
            self._cursor if was_key is None else 0,
        ):
            self.post_message(self.Moved(self, self._cursor))

    def grow(self, length: int) -> None:
        """Rows were added at the end: there are `length` now.

        A list shown to its end with the cursor on the last row follows; else cursor and scroll stay.
        """
        if length <= self._length:
            return
        follows = self._cursor in (-1, self._length - 1) and self.scroll_offset.y >= self.max_scroll_y
        self._length = length
        if self._wanted is not None:
            self._start_scan()
            return
        self._relayout()
        if follows:
            self.move(length - 1 if self._cursor >= 0 else 0)

    def redraw(self, index: int | None = None) -> None:
        """The cells of one row, or of every row, are not what they were."""
        if index is None:
            self._strips.clear()
        else:
            self._strips.discard(index)
        self.refresh()

    def move(self, index: int, *, tell: bool = True) -> None:
        """Put the cursor on the row with that index (the nearest one shown) and bring it into view."""
        position = self._position(index)
        found = self._index(position) if position >= 0 else -1
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
            self._wanted = (lambda index: self._holds(index, words)) if words else None
        else:
            self._wanted = wanted
        self._rescan()
        self._relayout()
        self._keep_visible()
        self.refresh()

    # --- the filter

    def _holds(self, index: int, words: Sequence[str]) -> bool:
        text = (self._text(index) if self._text else "\n".join(map(str, self._cells(index)))).casefold()
        return all(word in text for word in words)

    def _cells(self, index: int) -> Sequence[Cell]:
        cells = self._model(index)
        return (cells,) if isinstance(cells, str | Content) else cells

    def _rescan(self) -> None:
        self._found, self._scanned = [], 0
        if self._wanted is None:
            self._stop_scan()
            return
        self._scan_slice()

    def _start_scan(self) -> None:
        if self._scan is None and self.filtering:
            self._scan = self.set_interval(_SLICE_S * 2, self._scan_slice)

    def _stop_scan(self) -> None:
        if self._scan is not None:
            self._scan.stop()
            self._scan = None

    def _scan_slice(self) -> None:
        wanted, until = self._wanted, perf_counter() + _SLICE_S
        had = len(self._found)
        while wanted is not None and self._scanned < self._length:
            if wanted(self._scanned):
                self._found.append(self._scanned)
            self._scanned += 1
            if perf_counter() > until:
                break
        if len(self._found) != had:
            self._relayout()
            if had == 0 or self._position(self._cursor, exact=True) < 0:
                self.move(self._cursor)
        if self.filtering and self.is_attached:
            self._start_scan()
        else:
            self._stop_scan()
            if not self._found and self._wanted is not None:
                self.move(-1)

    # --- the cursor

    def _index(self, position: int) -> int:
        return position if self._wanted is None else self._found[position]

    def _position(self, index: int, *, exact: bool = False) -> int:
        """Where the row stands among those shown, -1 if none is; the nearest one unless it must be exact."""
        shown = len(self)
        if not shown:
            return -1
        if self._wanted is None:
            return max(0, min(index, shown - 1)) if not exact or 0 <= index < shown else -1
        position = bisect_left(self._found, index)
        if exact:
            return position if position < shown and self._found[position] == index else -1
        if position and (
            position == shown or self._found[position] - index > index - self._found[position - 1]
        ):
            position -= 1
        return position

    def _remember(self) -> None:
        self._cursor_key = self._key(self._cursor) if self._key and 0 <= self._cursor < self._length else None

    def _again(self, index: int) -> int:
        """Where the row that was at `index` is now: looked for outwards from there."""
        if not self._length:
            return -1
        index = max(0, min(index, self._length - 1))
        if self._key is None or self._cursor_key is None:
            return index
        for candidate in _outwards(index, self._length):
            if self._key(candidate) == self._cursor_key:
                return candidate
        return index

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self._position(self._cursor, exact=True) >= 0:
            self.post_message(self.Chosen(self, self._cursor))

    def action_step(self, by: int) -> None:
        """Move the cursor by rows."""
        if len(self):
            self.move(self._index(max(0, min(self._position(self._cursor) + by, len(self) - 1))))

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.action_step(by * max(1, self._page - 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last row."""
        self.action_step(side * len(self))

    async def _on_click(self, event: events.Click) -> None:
        position = int(self.scroll_offset.y) + event.y - self._header
        if event.y < self._header or not 0 <= position < len(self):
            return
        event.stop()
        index = self._index(position)
        if index == self._cursor or event.chain > 1:
            self.move(index)
            self.action_choose()
        else:
            self.move(index)

    # --- rows on the screen

    @property
    def _header(self) -> int:
        return 1 if any(column.title for column in self._columns) else 0

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - self._header)

    def _relayout(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self) + self._header)
        self.refresh()

    def _keep_visible(self) -> None:
        position = self._position(self._cursor, exact=True)
        if position < 0 or not self.size:
            return
        top = int(self.scroll_offset.y)
        if position < top:
            self.scroll_to(y=position, animate=False)
        elif position >= top + self._page:
            self.scroll_to(y=position - self._page + 1, animate=False)

    def on_mount(self) -> None:
        """Bring the cursor into view once there is a size."""
        self._remember()
        self._rescan()
        self.call_after_refresh(self._keep_visible)

    def on_resize(self) -> None:
        """Lay the columns out anew."""
        self._strips.clear()
        self._relayout()
        self._keep_visible()

    def on_focus(self) -> None:
        """The cursor looks otherwise with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks otherwise with the focus."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Other colours: draw every row again."""
        self._strips.clear()
        super().notify_style_update()

    def watch_hover_style(self, previous_hover_style: RichStyle, hover_style: RichStyle) -> None:
        """Nothing: a repaint at each move of the mouse would show nothing new."""

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        if width != self._width:
            self._strips.clear()
            self._width = width
        base = self.rich_style
        if y < self._header:
            style = self.get_component_rich_style("rows--header")
            return self._line([column.title for column in self._columns], style, mark="")
        if not len(self):
            text = one_line(self._said_when_empty if y == self._header else "")
            style = self.get_component_rich_style("rows--empty")
            return Strip([Segment(text, style)]).adjust_cell_length(width, base)
        position = int(self.scroll_offset.y) + y - self._header
        if position >= len(self):
            return Strip.blank(width, base)
        index = self._index(position)
        if index == self._cursor:
            style = self.get_component_rich_style("rows--cursor")
            return self._line(self._cells(index), style, mark=self._glyphs.here)
        strip = self._strips.get(index)
        if strip is None:
            strip = self._strips[index] = self._line(self._cells(index), base, mark="")
        return strip

    @property
    def _said_when_empty(self) -> str:
        if self.filtering:
            return "Looking ..."
        return "No row holds these words." if self._wanted is not None and self._length else self.empty

    def _line(self, cells: Sequence[Cell], style: RichStyle, *, mark: str) -> Strip:
        """Cells laid out in the columns, after the cursor's mark."""
        segments = [Segment(mark.ljust(_GAP), style)]
        base = self.visual_style
        for number, (column, width) in enumerate(zip(self._columns, self._widths(), strict=True)):
            cell = _fitted(cells[number] if number < len(cells) else "", column, width, self._glyphs.more)
            for text, part in cell.render(base, end="", parse_style=self.app.stylesheet.parse_style):
                # the row's own style gives the ground; on the cursor's row it gives the colour of the text too
                segments.append(
                    Segment(text, style if mark or part == base else style + (base + part).rich_style)
                )
            if number < len(self._columns) - 1:
                segments.append(Segment(" " * _GAP, style))
        return Strip(segments).adjust_cell_length(self._width, style)

    def _widths(self) -> list[int]:
        fixed = sum(column.width for column in self._columns) + _GAP * (len(self._columns) - 1)
        shares = sum(1 for column in self._columns if not column.width)
        left = max(0, self._width - _GAP - fixed)
        return [column.width or max(1, left // shares) for column in self._columns]


def _fitted(cell: Cell, column: Column, width: int, more: str) -> Content:
    """The cell in exactly `width` cells, cut with a sign or padded."""
    if isinstance(cell, str):
        content = Content(one_line(cell[:_LONGEST]))
        if column.style:
            content = content.stylize(column.style)
    else:
        content = cell.first_line[:_LONGEST]
        if (shown := one_line(content.plain)) != content.plain:
            content = Content(shown)
    if content.cell_length > width:
        content = content.truncate(max(0, width - len(more))) + Content(more)
    pad = max(0, width - content.cell_length)
    return content.pad_left(pad) if column.align == "right" else content.pad_right(pad)


def _outwards(start: int, length: int) -> Iterator[int]:
    """`start`, then its neighbours on both sides, ever farther."""
    yield start
    for distance in range(1, length):
        if start + distance < length:
            yield start + distance
        if start - distance >= 0:
            yield start - distance
