"""A sheet whose text can be selected, by mouse and by keys.

A drag selects from character to character; outside the sheet it goes on to the nearest one on the screen and scrolls.
A double click selects a word, a triple one the block. By keys, left and right put a caret into the text, which moves
by characters, words (with ctrl), rows and to the ends of its row; with shift it selects. While something is selected
the sheet holds still, whatever is added below. It posts `SelectionChanged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.selection import (
    Edge,
    Point,
    Range,
    Spans,
    between,
    copied,
    end_edge,
    index_at,
    marked,
    spans,
    start_edge,
    word_at,
)
from tui_agent.ui.transcript.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual import events
    from textual.strip import Strip
    from textual.timer import Timer

    from tui_agent.ui.transcript.entries import Entry
    from tui_agent.ui.transcript.paint import Row

_DRAG_S = 0.05
"""Seconds between two scrolls while the mouse is dragged outside."""
_FASTEST = 6
"""Rows of such a scroll at most."""
_BLOCK_ROWS = 4000
"""Rows a triple click takes at most."""

_FAR = 1 << 30
"""A cell or character beyond every row."""

Step = Literal["character", "word", "row", "page", "edge"]


class Selecting(Sheet):
    """A sheet of which text is selected and copied."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "caret('character', -1)", show=False),
        Binding("right", "caret('character', 1)", show=False),
        Binding("ctrl+left", "caret('word', -1)", show=False),
        Binding("ctrl+right", "caret('word', 1)", show=False),
        Binding("shift+left", "caret('character', -1, True)", show=False),
        Binding("shift+right", "caret('character', 1, True)", show=False),
        Binding("ctrl+shift+left", "caret('word', -1, True)", show=False),
        Binding("ctrl+shift+right", "caret('word', 1, True)", show=False),
        Binding("shift+up", "caret('row', -1, True)", show=False),
        Binding("shift+down", "caret('row', 1, True)", show=False),
        Binding("shift+home", "caret('edge', -1, True)", show=False),
        Binding("shift+end", "caret('edge', 1, True)", show=False),
        Binding("shift+pageup", "caret('page', -1, True)", show=False),
        Binding("shift+pagedown", "caret('page', 1, True)", show=False),
    ]

    class SelectionChanged(Message):
        """Something is selected now, or no longer."""

        def __init__(self, sheet: Selecting, selected: bool) -> None:
            super().__init__()
            self.sheet = sheet
            self.selected = selected

    _anchor: Point | None = None
    """Where the selection was begun."""
    _chosen: Range | None = None
    _pressed: tuple[int, int] | None = None
    """Where the mouse was pressed, until it is released."""
    _mouse = (0, 0)
    _dragged = False
    _drag_timer: Timer | None = None
    _caret: tuple[Spot, int] | None = None
    """The row of the caret, and before which character of its line it stands."""
    _resumes = False
    """Follow the end again when nothing is selected any more."""

    # --- what is selected

    @property
    def has_selection(self) -> bool:
        """Is something selected?"""
        return self._chosen is not None

    async def selected_text(self) -> str:
        """The source of what is selected; long ones let other work have its turn."""
        return await copied(self._sheet, self._chosen, self._read) if self._chosen is not None else ""

    def clear_selection(self) -> None:
        """Select nothing."""
        self._unselect()
        self._resume()

    def _unselect(self) -> None:
        self._anchor = self._caret = None
        self._choose_range(None)

    def _resume(self) -> None:
        """Nothing is held any more: follow the end, if that is what went on before."""
        resumes, self._resumes = self._resumes, False
        if resumes:
            self.follow = True
            self.flush()

    def _select(self, one: Point | None, other: Point | None) -> None:
        """Select what is between two places."""
        if one is None or other is None:
            return
        self._anchor = one
        if self.follow:
            self._let_go()
            self._resumes = True
        self._choose_range(between(self._sheet, one, other))

    def _choose_range(self, chosen: Range | None) -> None:
        if chosen == self._chosen:
            self._repaint()
            return
        before, self._chosen = self._chosen, chosen
        self._repaint()
        if (before is None) != (chosen is None):
            self.post_message(self.SelectionChanged(self, chosen is not None))

    def _holds_still(self) -> bool:
        return self._resumes

    def action_scroll_end(self) -> None:
        """Go to the end and follow it."""
        self._resumes = False
        super().action_scroll_end()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Where the user scrolls to, the view stays; a drag goes on with what comes under the mouse."""
        if not self._placing and round(old_value) != round(new_value):
            self._resumes = False
        super().watch_scroll_y(old_value, new_value)
        if self._dragged and not self._placing:
            self._drag()

    def _forget_selection(self) -> None:
        """What was selected is not there any more."""
        self._stop_drag()
        self._anchor = self._caret = None
        self._resumes = False
        if self._chosen is not None:
            self._chosen = None
            self.post_message(self.SelectionChanged(self, False))

    def drop(self, entry: Entry) -> None:
        """Take an entry out, and with it a selection that begins or ends there."""
        ends = [self._chosen.first, self._chosen.last] if self._chosen is not None else []
        if self._anchor is not None:
            ends += [self._anchor.start.placed, self._anchor.end.placed]
        if self._caret is not None:
            ends.append(self._caret[0].placed)
        if any(placed.entry is entry for placed in ends):
            self._forget_selection()
        super().drop(entry)

    # --- looks

    def _spans_of(self, placed: Placed, row: Row) -> Spans:
        return spans(self._sheet, self._chosen, placed, row) if self._chosen is not None else ()

    def _line(self, y: int, placed: Placed, row: Row) -> Strip:
        strip = super()._line(y, placed, row)
        if cells := self._spans_of(placed, row):
            strip = marked(strip, cells, self.get_component_rich_style("transcript--selected"))
        if self._caret is not None and self.has_focus and row is self._row(self._caret[0]):
            x = row.inset + cell_len(row.text[: self._caret[1] - row.column])
            strip = marked(strip, ((x, x + 1),), self.get_component_rich_style("transcript--cursor"))
        return strip

    # --- rows and places

    def _row(self, spot: Spot) -> Row | None:
        """The row of a spot; None for the blank one before an entry."""
        if not 0 <= spot.part < len(spot.placed.parts):
            return None
        rows = self._painter.rows(spot.placed.parts[spot.part], self._sheet.width)
        return rows[spot.row] if 0 <= spot.row < len(rows) else None

    def _rows_from(self, spot: Spot, by: int) -> Iterator[Spot]:
        """The rows from a spot on, up (-1) or down (1); blank ones before entries are left out."""
        placed, part, row = spot
        while True:
            while 0 <= part < len(placed.parts):
                count = len(self._painter.rows(placed.parts[part], self._sheet.width))
                row = min(row, count - 1) if by < 0 else row
                while 0 <= row < count:
                    yield Spot(placed, part, row)
                    row += by
                part, row = part + by, 0 if by > 0 else _FAR
            if by > 0 and part < 0:
                part, row = 0, 0
                continue
            beside = self._sheet.beside(placed, by)
            if beside is None:
                return
            placed = beside
            part, row = (0, 0) if by > 0 else (len(placed.parts) - 1, _FAR)

    def _find_edge(self, spot: Spot, index: int, by: int) -> Edge | None:
        """The first (1) or last (-1) character from this one on."""
        edge_of: Callable[[Placed, Row, int], Edge | None] = start_edge if by > 0 else end_edge
        for here in self._rows_from(spot, by):
            row = self._row(here)
            edge = edge_of(here.placed, row, index) if row is not None else None
            if edge is not None:
                return edge
            index = -1 if by > 0 else _FAR
        return None

    def _point(self, spot: Spot, first: int, last: int) -> Point | None:
        """A place: what begins there begins with character `first`, what ends there ends with `last`."""
        start, end = self._find_edge(spot, first, 1), self._find_edge(spot, last, -1)
        if start is None and end is None:
            return None
        if start is None:
            assert end is not None
            start = end
        return Point(start, end if end is not None else start._replace(inner=start.tight, outer=start.tight))

    def _spots(self) -> list[Spot]:
        """The spots of the rows on the screen."""
        if self._spot is None:
            return []
        return [
            Spot(placed, part, first + row)
            for placed, part, first, count in self._sheet.parts(self._spot, self._page)
            for row in range(count)
        ]

    def _cell(self, x: int, y: int) -> tuple[Spot, int] | None:
        """The row and the character at a cell of the screen, or of the nearest row of it."""
        spots = self._spots()
        if not spots:
            return None
        if y >= len(spots):
            y, x = (len(spots) - 1, x if len(spots) >= self._page else _FAR)
        spot = spots[max(0, y)]
        row = self._row(spot)
        return spot, index_at(row, x) if row is not None else -1

    def _point_at(self, x: int, y: int) -> Point | None:
        cell = self._cell(x, y)
        return self._point(cell[0], cell[1], cell[1]) if cell is not None else None

    # --- the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A drag may begin."""
        if event.button == 1:
            self._unselect()
            self._pressed, self._dragged = (event.x, event.y), False
            self._anchor = self._point_at(event.x, event.y)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select up to here, if the button is held down."""
        if self._pressed is None:
            return
        if not event.button:  # it was released where nobody told us
            self._stop_drag()
            return
        self._mouse = (event.x, event.y)
        if self._mouse == self._pressed and not self._dragged:
            return
        self._dragged = True
        self._drag()
        outside = not 0 <= event.y < self._page
        if outside and self._drag_timer is None:
            self._drag_timer = self.set_interval(_DRAG_S, self._drag_on)
        elif not outside:
            self._stop_timer()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The drag has ended."""
        self._stop_drag()
        if self._chosen is None and not self.size.region.contains(event.x, event.y):
            self._resume()

    def _clicked(self) -> None:
        """A click was acted upon: only now may what it was meant for move away."""
        if self._chosen is None:
            self._resume()

    def _stop_drag(self) -> None:
        self._stop_timer()
        if self._pressed is not None:
            self._pressed = None
            self.release_mouse()

    def _stop_timer(self) -> None:
        if self._drag_timer is not None:
            self._drag_timer.stop()
            self._drag_timer = None

    def _drag(self) -> None:
        cell = self._cell(*self._mouse) if self._pressed is not None else None
        if cell is not None:
            self._select(self._anchor, self._point(cell[0], cell[1], cell[1]))
            self._caret = self._near(*cell)

    def _drag_on(self) -> None:
        """The mouse is held outside: scroll that way, the faster the farther away it is."""
        y = self._mouse[1]
        beyond = y if y < 0 else y - self._page + 1
        self.scroll_relative(y=max(-_FASTEST, min(_FASTEST, beyond)), animate=False)

    def _select_clicked(self, x: int, y: int, *, block: bool) -> None:
        """Select the word at a cell of the screen, or its block."""
        cell = self._cell(x, y)
        row = self._row(cell[0]) if cell is not None else None
        if cell is None or row is None or row.origin is None:
            return
        if block:
            first, last = self._block(cell[0])
            self._select(self._point(first, -1, -1), self._point(last, _FAR, _FAR))
        else:
            start, end = word_at(self._text_of(cell[0]), cell[1])
            self._select(self._point(cell[0], start, start), self._whole(cell[0], end))

    def _whole(self, spot: Spot, index: int) -> Point | None:
        """The place of a character of a line, whichever of its rows that is on."""
        row = self._row(spot)
        line = row.line if row is not None else -1
        for here in self._rows_from(spot, 1):
            found = self._row(here)
            same = here.placed is spot.placed and here.part == spot.part
            if found is None or not same or found.line != line or found.column > index:
                break
            spot = here
        return self._point(spot, index, index)

    def _text_of(self, spot: Spot) -> str:
        """The text of the line that a row is of."""
        row = self._row(spot)
        text = ""
        for other in self._painter.rows(spot.placed.parts[spot.part], self._sheet.width):
            if row is not None and other.line == row.line:
                text = text.ljust(other.column) + other.text
        return text

    def _block(self, spot: Spot) -> tuple[Spot, Spot]:
        """The first and last row of the block around a row: up to a blank row or another section."""
        ends: list[Spot] = []
        row = self._row(spot)
        section = row.origin.section if row is not None and row.origin is not None else 0
        for by in (-1, 1):
            end = spot
            for count, here in enumerate(self._rows_from(spot, by)):
                found = self._row(here)
                origin = found.origin if found is not None else None
                if here.placed is not spot.placed or origin is None or origin.section != section:
                    break
                if count > _BLOCK_ROWS:
                    break
                end = here
            ends.append(end)
        return ends[0], ends[1]

    # --- the caret

    def action_caret(self, step: Step, by: int, select: bool = False) -> None:
        """Move the caret; `select`: and select what it goes over."""
        if self._caret is None:
            self._caret = self._first_caret(by if select else 1)
            if self._caret is None or not select:
                self._show_caret()
                return
        if select and (self._anchor is None or self._chosen is None):
            self._anchor = self._caret_point()
        if self._chosen is not None and not select:
            anchor_caret = self._caret
            self.clear_selection()
            self._caret = anchor_caret
        self._caret = self._stepped(*self._caret, step, by)
        if select:
            self._select(self._anchor, self._caret_point())
        self._show_caret()

    def _first_caret(self, by: int) -> tuple[Spot, int] | None:
        """Where the caret is put first: at the beginning (1) or the end (-1) of what is seen of a block."""
        text = [spot for spot in self._spots() if self._is_text(spot)]
        home = [spot for spot in text if spot.placed is self._caret_home()] or text
        if not home:
            return None
        spot = home[0 if by > 0 else -1]
        row = self._row(spot)
        assert row is not None
        return spot, row.column if by > 0 else row.column + len(row.text)

    def _near(self, spot: Spot, index: int) -> tuple[Spot, int] | None:
        """The caret behind a character, for keys that go on with what the mouse began."""
        row = self._row(spot)
        return None if row is None else (spot, max(row.column, min(index + 1, row.column + len(row.text))))

    def _caret_home(self) -> Placed | None:
        """The entry in which the caret is put first, if it is on the screen; whoever has a cursor says."""
        return None

    def _is_text(self, spot: Spot) -> bool:
        row = self._row(spot)
        return row is not None and row.origin is not None

    def _caret_point(self) -> Point | None:
        if self._caret is None:
            return None
        spot, index = self._caret
        return self._point(spot, index, index - 1)

    def _stepped(self, spot: Spot, index: int, step: Step, by: int) -> tuple[Spot, int]:
        row = self._row(spot)
        if row is None:
            return spot, index
        start, stop = row.column, row.column + len(row.text)
        match step:
            case "edge":
                return spot, start if by < 0 else stop
            case "row" | "page":
                return self._moved(spot, index - start, by * (1 if step == "row" else max(1, self._page - 1)))
            case "word":
                places = _word_places(row.text)
                ahead = [place + start for place in places if (place + start - index) * by > 0]
                if ahead:
                    return spot, min(ahead) if by > 0 else max(ahead)
            case _:
                if start <= index + by <= stop:
                    return spot, index + by
        beside = self._moved(spot, 0 if by > 0 else _FAR, by)
        return beside if beside[0] != spot else (spot, index)

    def _moved(self, spot: Spot, column: int, by: int) -> tuple[Spot, int]:
        """That many rows of text up or down, at about the same character."""
        left = abs(by) + 1
        for here in self._rows_from(spot, 1 if by > 0 else -1):
            if self._is_text(here):
                spot, left = here, left - 1
            if not left:
                break
        row = self._row(spot)
        assert row is not None
        return spot, row.column + min(column, len(row.text))

    def _show_caret(self) -> None:
        """Scroll until the caret is on the screen."""
        if self._caret is not None:
            spot = self._caret[0]
            self._sheet.measure(spot, 1)
            y, top = self._sheet.y(spot), round(self.scroll_y)
            if not top <= y < top + self._page:
                self.scroll_relative(y=y - top if y < top else y - top - self._page + 1, animate=False)
        self.refresh()


def _word_places(text: str) -> list[int]:
    """Where words begin in a text, and its ends."""
    begins = [at for at in range(1, len(text)) if text[at - 1].isspace() and not text[at].isspace()]
    return [0, *begins, len(text)]
