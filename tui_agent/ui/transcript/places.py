"""Places in the text of a sheet: characters found from rows, words and blocks around them, and where a caret goes.

It looks only at rows near the place it is asked about, and lays them out on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.selection import Edge, Point, end_edge, start_edge, word_at

if TYPE_CHECKING:
    from tui_agent.ui.transcript.layout import Layout
    from tui_agent.ui.transcript.paint import Painter, Row

FAR = 1 << 30
"""A cell or character beyond every row."""
_BLOCK_ROWS = 4000
"""Rows of a block at most, up and down."""

Step = Literal["character", "word", "row", "page", "edge", "all"]
"""How far a caret goes; `edge`: to the end of its row, `all`: of everything."""


class Caret(NamedTuple):
    """Before character `at` of a line of a part of an entry."""

    placed: Placed
    part: int
    line: int
    at: int


class Places:
    """Finds places in a layout whose rows a painter makes."""

    def __init__(self, layout: Layout, painter: Painter) -> None:
        self._layout = layout
        self._painter = painter

    # --- rows

    def row(self, spot: Spot) -> Row | None:
        """The row of a spot; None for the blank one before an entry."""
        if not 0 <= spot.part < len(spot.placed.parts):
            return None
        rows = self._rows(spot.placed, spot.part)
        return rows[spot.row] if 0 <= spot.row < len(rows) else None

    def text_row(self, spot: Spot) -> Row | None:
        """The row of a spot if it can be selected."""
        row = self.row(spot)
        return row if row is not None and row.origin is not None else None

    def _rows(self, placed: Placed, part: int) -> list[Row]:
        return self._painter.rows(placed.parts[part], self._layout.width)

    def rows_from(self, spot: Spot, by: int) -> Iterator[Spot]:
        """The rows from a spot on, up (-1) or down (1); blank ones before entries are left out."""
        placed, part, row = spot
        if by > 0 and part < 0:
            part = row = 0
        while True:
            while 0 <= part < len(placed.parts):
                count = len(self._rows(placed, part))
                row = min(row, count - 1) if by < 0 else row
                while 0 <= row < count:
                    yield Spot(placed, part, row)
                    row += by
                part, row = part + by, 0 if by > 0 else FAR
            beside = self._layout.beside(placed, by)
            if beside is None:
                return
            placed = beside
            part, row = (0, 0) if by > 0 else (len(placed.parts) - 1, FAR)

    # --- points

    def point(self, spot: Spot, first: int, last: int) -> Point | None:
        """A place: what begins there begins with character `first`, what ends there ends with `last`."""
        start, end = self._edge(spot, first, 1), self._edge(spot, last, -1)
        if start is None and end is None:
            return None
        if start is None:
            assert end is not None
            start = end
        return Point(start, end if end is not None else start._replace(inner=start.tight, outer=start.tight))

    def _edge(self, spot: Spot, index: int, by: int) -> Edge | None:
        """The first (1) or last (-1) character from this one on."""
        edge_of: Callable[[Placed, Row, int], Edge | None] = start_edge if by > 0 else end_edge
        for here in self.rows_from(spot, by):
            row = self.row(here)
            edge = edge_of(here.placed, row, index) if row is not None else None
            if edge is not None:
                return edge
            index = -1 if by > 0 else FAR
        return None

    def word(self, spot: Spot, index: int) -> tuple[Point | None, Point | None]:
        """Where the word at a character begins and ends."""
        start, end = word_at(self._line_text(spot), index)
        first, last = self._row_of(spot, start), self._row_of(spot, end)
        return self.point(first, start, start), self.point(last, end, end)

    def _line_text(self, spot: Spot) -> str:
        row, text = self.row(spot), ""
        for other in self._rows(spot.placed, spot.part):
            if row is not None and other.line == row.line:
                text = text.ljust(other.column) + other.text
        return text

    def _row_of(self, spot: Spot, index: int) -> Spot:
        """The row of the same line that shows a character."""
        row = self.row(spot)
        found = self.locate(Caret(spot.placed, spot.part, row.line if row is not None else 0, index))
        return found if found is not None else spot

    def block(self, spot: Spot) -> tuple[Point | None, Point | None]:
        """Where the block around a row begins and ends: at a blank row, or where another section begins."""
        row = self.text_row(spot)
        section = row.origin.section if row is not None and row.origin is not None else 0
        ends: list[Spot] = []
        for by in (-1, 1):
            end = spot
            for count, here in enumerate(self.rows_from(spot, by)):
                found = self.text_row(here)
                origin = found.origin if found is not None else None
                other = here.placed is not spot.placed or origin is None or origin.section != section
                if other or count > _BLOCK_ROWS:
                    break
                end = here
            ends.append(end)
        return self.point(ends[0], -1, -1), self.point(ends[1], FAR, FAR)

    # --- the caret

    def caret(self, spot: Spot, index: int) -> Caret | None:
        """A caret before a character of a row, or at the row's nearest end."""
        row = self.row(spot)
        if row is None:
            return None
        index = max(row.column, min(index, row.column + len(row.text)))
        return Caret(spot.placed, spot.part, row.line, index)

    def locate(self, caret: Caret) -> Spot | None:
        """The row on which a caret stands now; None if its part is no more."""
        placed, part, line, index = caret
        if not 0 <= part < len(placed.parts):
            return None
        spot: Spot | None = None
        for number, row in enumerate(self._rows(placed, part)):
            if row.line <= line and (row.line < line or row.column <= index or spot is None):
                spot = Spot(placed, part, number)
        return spot

    def caret_point(self, caret: Caret) -> Point | None:
        """The place of a caret: between two characters."""
        spot = self.locate(caret)
        return self.point(spot, caret.at, caret.at - 1) if spot is not None else None

    def stepped(self, caret: Caret, step: Step, by: int, page: int) -> Caret:
        """The caret a step farther; where there is no farther, the same one. `page`: rows of a page."""
        spot = self.locate(caret)
        row = self.row(spot) if spot is not None else None
        if spot is None or row is None:
            return caret
        index, start, stop = caret.at, row.column, row.column + len(row.text)
        match step:
            case "all":
                last = self._layout.first() if by < 0 else self._layout.last_page(1)
                return (self.caret(last, by * FAR) if last is not None else None) or caret
            case "edge":
                return caret._replace(at=start if by < 0 else stop)
            case "row" | "page":
                return self._moved(spot, index - start, by * (page if step == "page" else 1)) or caret
            case "word":
                places = [start + place for place in _word_places(row.text)]
                ahead = [place for place in places if (place - index) * by > 0]
                if ahead:
                    return caret._replace(at=min(ahead) if by > 0 else max(ahead))
            case _:
                if start <= index + by <= stop:
                    return caret._replace(at=index + by)
        beside = self._moved(spot, 0 if by > 0 else FAR, by)
        return beside if beside is not None and self.locate(beside) != spot else caret

    def _moved(self, spot: Spot, column: int, by: int) -> Caret | None:
        """That many rows of text up or down, at about the same character."""
        left = abs(by) + 1
        for here in self.rows_from(spot, 1 if by > 0 else -1):
            if self.text_row(here) is not None:
                spot, left = here, left - 1
            if not left:
                break
        row = self.row(spot)
        return self.caret(spot, row.column + column) if row is not None else None


def _word_places(text: str) -> list[int]:
    """Where words begin in a text, and its ends."""
    begins = [at for at in range(1, len(text)) if text[at - 1].isspace() and not text[at].isspace()]
    return [0, *begins, len(text)]
