"""A sheet whose text can be selected, by mouse and by keys.

A drag selects from character to character; outside the sheet it goes on to the nearest one on the screen and scrolls.
A double click selects a word, a triple one the block; a click with shift moves the end of what is selected there. By
keys, left and right put a caret into the text, which moves by characters, words (with ctrl), rows and to the ends of
its row; with shift it selects. While something is selected the sheet holds still, whatever is added below. It posts
`SelectionChanged`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui.themes import UNICODE, Glyphs
from tui_agent.ui.transcript.entries import ToolCall
from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.places import FAR, Caret, Places, Step
from tui_agent.ui.transcript.said import OUTPUT, beginning
from tui_agent.ui.transcript.selection import Point, Range, Spans, between, copied, index_at, marked, spans
from tui_agent.ui.transcript.sheet import Sheet

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip
    from textual.timer import Timer

    from tui_agent.ui.transcript.entries import Entry
    from tui_agent.ui.transcript.paint import Row

_DRAG_S = 0.05
"""Seconds between two scrolls while the mouse is dragged outside."""
_FASTEST = 6
"""Rows of such a scroll at most."""


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
        Binding("ctrl+shift+home", "caret('all', -1, True)", show=False),
        Binding("ctrl+shift+end", "caret('all', 1, True)", show=False),
        Binding("shift+pageup", "caret('page', -1, True)", show=False),
        Binding("shift+pagedown", "caret('page', 1, True)", show=False),
    ]

    class SelectionChanged(Message):
        """Something is selected now, or no longer; `lost`: not because a person wanted it so."""

        def __init__(self, sheet: Selecting, selected: bool, *, lost: bool = False) -> None:
            super().__init__()
            self.sheet = sheet
            self.selected = selected
            self.lost = lost

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(glyphs=glyphs, name=name, id=id, classes=classes)
        self._places = Places(self._sheet, self._painter)
        self._anchor: Point | None = None
        """Where the selection was begun."""
        self._chosen: Range | None = None
        self._pressed: tuple[int, int] | None = None
        """Where the mouse was pressed, until it is released."""
        self._mouse = (0, 0)
        self._dragged = False
        self._drag_timer: Timer | None = None
        self._caret: Caret | None = None
        self._resumes = False
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

    def _let_go(self) -> None:
        self._resumes = False
        super()._let_go()

    def action_scroll_end(self) -> None:
        """Go to the end and follow it."""
        self._resumes = False
        super().action_scroll_end()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """A drag goes on with what comes under the mouse."""
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
            self.post_message(self.SelectionChanged(self, False, lost=True))

    def changed(self, entry: Entry) -> None:
        """The entry is not what it was; of a selection that was cut off with the front of an output nothing is left."""
        chosen = self._chosen
        if (
            chosen is not None
            and chosen.last.entry is entry
            and chosen.end[1] <= beginning(entry, chosen.end[0])
            and chosen.end[1] > 0
        ):
            self._forget_selection()
        super().changed(entry)

    def retold(self, call: ToolCall, place: int) -> None:
        """A call's output reads otherwise from that place on: what was selected there is not there any more."""
        chosen = self._chosen
        if chosen is not None and any(
            placed.entry is call and section == OUTPUT and at > place
            for placed, (section, at) in ((chosen.first, chosen.begin), (chosen.last, chosen.end))
        ):
            self._forget_selection()

    def drop(self, entry: Entry) -> None:
        """Take an entry out, and with it a selection that begins or ends there."""
        if any(placed.entry is entry for placed in self._ends()):
            self._forget_selection()
        super().drop(entry)

    def _ends(self) -> Iterator[Placed]:
        """The entries in which a selection begins, ends or goes on."""
        if self._chosen is not None:
            yield from (self._chosen.first, self._chosen.last)
        if self._anchor is not None:
            yield from (self._anchor.start.placed, self._anchor.end.placed)
        if self._caret is not None:
            yield self._caret.placed

    def _held(self) -> Iterator[Placed]:
        yield from super()._held()
        yield from self._ends()

    # --- what stands where it stood

    def _take_changes(self) -> None:
        """The row at the top stays there when the beginning of a running call's output is let go."""
        rows = self._output_row(self._spot), self._output_row(self._seen)
        super()._take_changes()
        self._spot = self._found_again(self._spot, rows[0])
        self._seen = self._found_again(self._seen, rows[1])

    def _output_row(self, spot: Spot | None) -> Row | None:
        """The row of a spot, if it is output of a call that has changed."""
        if self.follow or spot is None or spot.placed.entry not in self._dirty_entries:
            return None
        row = self._places.text_row(spot) if isinstance(spot.placed.entry, ToolCall) else None
        return row if row is not None and row.origin is not None and row.origin.section == OUTPUT else None

    def _found_again(self, spot: Spot | None, row: Row | None) -> Spot | None:
        """Where a row of output stands now; if it is not kept any more, where the output begins."""
        if spot is None or row is None or row.origin is None:
            return spot
        place = row.origin.start, row.column
        if self._output_place(spot) == place:
            return spot
        parts = enumerate(spot.placed.parts)
        after = (number for number, part in parts if part.section == OUTPUT and part.stop > place[0])
        first = Spot(spot.placed, next(after, spot.part), 0)
        rows = takewhile(lambda here: here.placed is spot.placed, self._places.rows_from(first, 1))
        return next((here for here in rows if self._output_place(here) >= place), spot)

    def _output_place(self, spot: Spot) -> tuple[int, int]:
        row = self._places.text_row(spot)
        return (row.origin.start, row.column) if row is not None and row.origin is not None else (-1, 0)

    # --- looks

    def _spans_of(self, placed: Placed, row: Row) -> Spans:
        return spans(self._sheet, self._chosen, placed, row) if self._chosen is not None else ()

    def _line(self, y: int, placed: Placed, row: Row) -> Strip:
        strip = super()._line(y, placed, row)
        if cells := self._spans_of(placed, row):
            strip = marked(strip, cells, self.get_component_rich_style("transcript--selected"))
        caret = self._caret if self.has_focus else None
        if caret is not None and caret.placed is placed and self._caret_row(caret) is row:
            x = row.inset + cell_len(row.text[: max(0, caret.at - row.column)])
            strip = marked(strip, ((x, x + 1),), self.get_component_rich_style("transcript--cursor"))
        return strip

    def _caret_row(self, caret: Caret) -> Row | None:
        spot = self._places.locate(caret)
        return self._places.row(spot) if spot is not None else None

    # --- the mouse

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
            y, x = (len(spots) - 1, x if len(spots) >= self._page else FAR)
        spot = spots[max(0, y)]
        row = self._places.row(spot)
        return spot, index_at(row, x) if row is not None else -1

    def _point_at(self, x: int, y: int) -> Point | None:
        cell = self._cell(x, y)
        return self._places.point(cell[0], cell[1], cell[1]) if cell is not None else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A drag may begin, or with shift the one before goes on."""
        if event.button != 1:
            return
        self._pressed = self._mouse = (event.x, event.y)
        self._dragged = event.shift and self._anchor is not None
        if self._dragged:
            self._drag()
        else:
            self._unselect()
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
            self._select(self._anchor, self._places.point(cell[0], cell[1], cell[1]))
            self._caret = self._places.caret(cell[0], cell[1] + 1)

    def _drag_on(self) -> None:
        """The mouse is held outside: scroll that way, the faster the farther away it is."""
        y = self._mouse[1]
        beyond = y if y < 0 else y - self._page + 1
        self.scroll_relative(y=max(-_FASTEST, min(_FASTEST, beyond)), animate=False)

    def _select_clicked(self, x: int, y: int, *, block: bool) -> None:
        """Select the word at a cell of the screen, or its block."""
        cell = self._cell(x, y)
        if cell is not None and self._places.text_row(cell[0]) is not None:
            self._select(*(self._places.block(cell[0]) if block else self._places.word(*cell)))

    # --- the caret

    def action_caret(self, step: Step, by: int, select: bool = False) -> None:
        """Move the caret; `select`: and select what it goes over."""
        caret = self._caret
        if caret is None or (self._chosen is None and not self._sees(caret)):
            caret = self._caret = self._first_caret(by if select else 1)
            if caret is None or not select:
                self._show_caret()
                return
        if not select:
            self.clear_selection()
        elif self._anchor is None or self._chosen is None:
            self._anchor = self._places.caret_point(caret)
        self._caret = caret = self._places.stepped(caret, step, by, max(1, self._page - 1))
        if select:
            self._select(self._anchor, self._places.caret_point(caret))
        self._show_caret()

    def _sees(self, caret: Caret) -> bool:
        """Is the caret on the screen, or was it scrolled away?"""
        return self._places.locate(caret) in self._spots()

    def _first_caret(self, by: int) -> Caret | None:
        """Where the caret is put first: at the beginning (1) or the end (-1) of what is seen of a block."""
        text = [spot for spot in self._spots() if self._places.text_row(spot) is not None]
        home = [spot for spot in text if spot.placed is self._caret_home()] or text
        if not home:
            return None
        return self._places.caret(home[0], 0) if by > 0 else self._places.caret(home[-1], FAR)

    def _caret_home(self) -> Placed | None:
        """The entry in which the caret is put first, if it is on the screen; whoever has a cursor says."""
        return None

    def _show_caret(self) -> None:
        """Scroll until the caret is on the screen."""
        spot = self._places.locate(self._caret) if self._caret is not None else None
        if spot is not None:
            self._sheet.measure(spot, 1)
            y, top = self._sheet.y(spot), round(self.scroll_y)
            if not top <= y < top + self._page:
                self.scroll_relative(y=y - top if y < top else y - top - self._page + 1, animate=False)
        self.refresh()
