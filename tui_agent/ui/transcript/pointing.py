"""A sheet with a cursor on one of its blocks, which moves with up, down, `[` and `]` and is seen with the focus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.strip import Strip

from tui_agent.ui.themes import UNICODE, Glyphs
from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.paint import MARGIN
from tui_agent.ui.transcript.selecting import Selecting

if TYPE_CHECKING:
    from tui_agent.ui.transcript.entries import Entry
    from tui_agent.ui.transcript.paint import Row


class Pointing(Selecting):
    """A sheet of which one block is under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Block up", show=False),
        Binding("down", "step(1)", "Block down", show=False),
        Binding("left_square_bracket", "block(-1)", "Block up", id="transcript.previous", show=False),
        Binding("right_square_bracket", "block(1)", "Block down", id="transcript.next", show=False),
    ]

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(glyphs=glyphs, name=name, id=id, classes=classes)
        self._cursor: Placed | None = None

    def _held(self) -> Iterator[Placed]:
        yield from super()._held()
        if self._cursor is not None:
            yield self._cursor

    def drop(self, entry: Entry) -> None:
        """Take an entry out."""
        if self._cursor is not None and self._cursor.entry is entry:
            self._cursor = None
        super().drop(entry)

    def on_focus(self) -> None:
        """The cursor shows with the focus."""
        if self._cursor is None:
            self._cursor = self._at_edge(1)
        self.refresh()

    def on_blur(self) -> None:
        """The cursor hides without it."""
        self.refresh()

    def _at_edge(self, side: int) -> Placed | None:
        """The first (-1) or last (1) entry on the screen."""
        rows = self._screen_rows
        return rows[0 if side < 0 else -1][0] if rows else None

    def action_block(self, by: int) -> None:
        """Put the cursor on the next block, up (-1) or down (1)."""
        self._caret = None
        if self._cursor is None or all(placed is not self._cursor for placed, _ in self._screen_rows):
            self._cursor = self._at_edge(-by)
        else:
            self._cursor = self._sheet.beside(self._cursor, by) or self._cursor
        self._reveal()
        self.refresh()

    def action_step(self, by: int) -> None:
        """Go a block up or down, or a row while the block's end in that direction is not on the screen.

        A caret goes a row up or down.
        """
        if self._caret is not None:
            self.action_caret("row", by)
            return
        placed, top = self._cursor, round(self.scroll_y)
        if placed is not None and any(other is placed for other, _ in self._screen_rows):
            above = self._sheet.top(placed) < top
            below = self._sheet.bottom(placed) > top + self._page
            if above if by < 0 else below:
                self.scroll_relative(y=by, animate=False)
                return
        self.action_block(by)

    def _reveal(self) -> None:
        """Scroll until the block under the cursor begins on the screen, and ends there if it can."""
        placed, sheet, page = self._cursor, self._sheet, self._page
        if placed is None:
            return
        sheet.measure(Spot(placed, -1, 0), page)
        y, top, bottom = round(self.scroll_y), sheet.top(placed), sheet.bottom(placed)
        if top < y or (bottom > y + page and bottom - top >= page):
            self._let_go()
            self._spot = Spot(placed, 0, 0)
        elif bottom > y + page:
            self._let_go()
            self._spot = sheet.up(sheet.end_of(placed), page - 1)
        self.flush()

    def _caret_home(self) -> Placed | None:
        return self._cursor

    def _first_row(self, y: int) -> bool:
        """Is this the first row of its entry?"""
        placed = self._screen_rows[y][0]
        return self._sheet.top(placed) == round(self.scroll_y) + y

    def _line(self, y: int, placed: Placed, row: Row) -> Strip:
        strip = super()._line(y, placed, row)
        if placed is not self._cursor or not self.has_focus or row.line < 0:
            return strip
        sign = self._glyphs.cursor if self._first_row(y) or y == 0 else " "
        style = self.get_component_rich_style("transcript--cursor")
        _, rest = strip.divide([MARGIN, strip.cell_length])
        return Strip([Segment(sign.ljust(MARGIN), style), *rest], strip.cell_length)
