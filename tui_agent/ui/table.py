"""A table in the line API: rows of cells under a header line, drawn when they come on the screen.

The table holds no rows. It asks a model (`index -> cells`) for those on the screen, so 100 000 rows open as fast as
ten. Indexes are always the model's own, filtered or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip

from tui_agent.literal import one_line
from tui_agent.ui.bar import QuietScroll
from tui_agent.ui.cells import GAP, Cell, Column, fitted, widths_of
from tui_agent.ui.sieve import Sieve
from tui_agent.ui.themes import UNICODE, Glyphs

if TYPE_CHECKING:
    from rich.style import Style as RichStyle

Model = Callable[[int], Cell | Sequence[Cell]]
"""Gives the cells of the row with that index; asked for rows on the screen only."""


class Table(QuietScroll):
    """Rows over a model, one of them under a cursor.

    Args:
        model: Gives the cells of a row.
        length: How many rows there are.
        columns: The columns; with a title in any of them the table has a header line.
        empty: What an empty table says: what to do to fill it.
        glyphs: The signs to use.
    """

    DEFAULT_CSS = """
    Table {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        color: $foreground;
    }
    Table .rows--header { color: $text-muted; text-style: bold; }
    Table .rows--empty { color: $text-muted; }
    Table .rows--cursor {
        background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground;
    }
    Table:focus .rows--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--header", "rows--empty", "rows--cursor"}

    def __init__(
        self,
        model: Model | None = None,
        length: int = 0,
        *,
        columns: Sequence[Column] = (),
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
        self._cursor = 0 if length else -1
        self._sieve = Sieve(length)
        self._strips: LRUCache[int, Strip] = LRUCache(512)
        self._width = 0
        self._colours: object = None

    def __len__(self) -> int:
        """How many rows are shown: all, or those a filter has found so far."""
        return len(self._sieve)

    def __bool__(self) -> bool:
        return True

    @property
    def cursor(self) -> int:
        """The index of the row under the cursor, -1 if there is none."""
        return self._cursor

    @property
    def filtering(self) -> bool:
        """True while a filter has not looked at every row yet."""
        return self._sieve.busy

    def redraw(self, index: int | None = None) -> None:
        """The cells of one row, or of every row, are not what they were."""
        if index is None:
            self._strips.clear()
        else:
            self._strips.discard(index)
        self.refresh()

    def at(self, y: int) -> int:
        """The index of what stands in a row of the screen, -1 if nothing does."""
        position = int(self.scroll_offset.y) + y - self._header
        return self._sieve.index(position) if y >= self._header and position < len(self) else -1

    def _cells(self, index: int) -> Sequence[Cell]:
        cells = self._model(index)
        return (cells,) if isinstance(cells, str | Content) else cells

    @property
    def _header(self) -> int:
        return 1 if any(column.title for column in self._columns) else 0

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - self._header)

    def _relayout(self) -> None:
        self._hold()
        self.refresh()

    def _hold(self) -> None:
        self.hold(Size(self.scrollable_content_region.width, len(self) + self._header))

    def on_focus(self) -> None:
        """The cursor looks otherwise with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks otherwise with the focus."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Other colours: draw every row again. The focus comes this way too, and changes the cursor's row alone."""
        super().notify_style_update()
        if self.is_attached and (colours := (self.app.theme, self.visual_style)) != self._colours:
            self._colours = colours
            self._strips.clear()

    def watch_hover_style(self, previous_hover_style: RichStyle, hover_style: RichStyle) -> None:
        """Nothing: a repaint at each move of the mouse would show nothing new."""

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        if width != self._width:
            self._strips.clear()
            self._width = width
        base = self.visual_style.rich_style
        if y < self._header:
            style = self.get_component_rich_style("rows--header")
            return self._line([column.title for column in self._columns], style, mark="")
        if not len(self):
            words = wrap(one_line(self._said_when_empty), max(1, width))[y - self._header :]
            style = self.get_component_rich_style("rows--empty")
            return Strip([Segment(words[0] if words else "", style)]).adjust_cell_length(width, base)
        position = int(self.scroll_offset.y) + y - self._header
        if position >= len(self):
            return Strip.blank(width, base)
        index = self._sieve.index(position)
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
        return "No row holds these words." if self._sieve.filters and self._sieve.length else self.empty

    def _line(self, cells: Sequence[Cell], style: RichStyle, *, mark: str) -> Strip:
        """Cells laid out in the columns, after the cursor's mark."""
        segments = [Segment(mark.ljust(GAP), style)]
        base = self.visual_style
        for number, (column, width) in enumerate(
            zip(self._columns, widths_of(self._columns, self._width - GAP), strict=True)
        ):
            cell = fitted(cells[number] if number < len(cells) else "", column, width, self._glyphs.more)
            for text, part in cell.render(base, end="", parse_style=self.app.stylesheet.parse_style):
                # the row's own style gives the ground; on the cursor's row it gives the colour of the text too
                segments.append(
                    Segment(text, style if mark or part == base else style + (base + part).rich_style)
                )
            if number < len(self._columns) - 1:
                segments.append(Segment(" " * GAP, style))
        return Strip(segments).adjust_cell_length(self._width, style)
