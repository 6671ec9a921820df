"""A scroll view over a layout of entries: places them, follows the end, paints the rows that changed.

Nothing is laid out before it comes near the screen. A page is exact before it is painted, and the row at its top
stays in place when heights above it change. At most 20 frames a second are made, fewer if a frame takes long, and
none while the terminal has not taken the last ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from textual.geometry import Region, Size
from textual.strip import Strip

from tui_agent.ui.bar import QuietScroll
from tui_agent.ui.terminal import behind, frame_seconds
from tui_agent.ui.themes import UNICODE, Glyphs
from tui_agent.ui.transcript.layout import Layout, Placed, Spot
from tui_agent.ui.transcript.paint import Painter, Part, Row

if TYPE_CHECKING:
    from rich.style import Style as RichStyle
    from textual.style import Style
    from textual.timer import Timer

    from tui_agent.ui.transcript.entries import Entry, Gap
    from tui_agent.ui.transcript.render import Parts
    from tui_agent.ui.transcript.selection import Spans

FRAME_S = frame_seconds()
"""Seconds between two repaints at least."""
_SHARE = 4
"""A repaint that takes t seconds is not repeated before this many t have passed."""
_WALK_PAGES = 2
"""A scroll by no more than so many pages goes row by row."""


class Sheet(QuietScroll, can_focus=True):
    """Entries one below the other. `follow`: the end stays on the screen; `new_lines`: rows below never seen."""

    ALLOW_SELECT = False

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.follow = True
        self.new_lines = 0
        self._glyphs = glyphs
        self._painter = Painter(self)
        self._sheet = Layout(self._part_of, self._height_of, self._read)
        self._spot: Spot | None = None
        """The row at the top of the screen."""
        self._seen: Spot | None = None
        """The lowest row that was on the screen, while the end is not followed."""
        self._dirty_entries: dict[Entry, None] = {}
        self._stale = True
        self._placed_in: tuple[int, int] | None = None
        """Columns and rows for which it was worked out what stands on the screen."""
        self._placing = False
        self._screen_rows: list[tuple[Placed, Row]] = []
        self._screen_spans: list[Spans] = []
        self._look: tuple[str, Style] | None = None
        self._next_frame = 0.0
        self._frame: Timer | None = None

    # --- entries

    @cached_property
    def _parts(self) -> Parts:
        from tui_agent.ui.transcript.render import Parts  # not needed before the first frame

        return Parts(self._glyphs, monotonic)

    def _part_of(self, entry: Entry) -> list[Part]:
        return self._parts.of(entry)

    def _read(self, gap: Gap, start: int, stop: int) -> tuple[int, int, list[Entry]]:
        """The entries of messages of a gap; whoever puts gaps in overrides it."""
        return gap.start, gap.stop, []

    def _load(self, entries: Sequence[Entry]) -> None:
        """Begin anew with these entries, at their end."""
        self._dirty_entries.clear()
        self._sheet.load(entries)
        self._spot = self._seen = None
        self.follow = True
        self.flush()

    def put(self, entry: Entry) -> None:
        """Show an entry at the end."""
        self._sheet.add(entry)
        self._soon()

    def changed(self, entry: Entry) -> None:
        """The entry is not what it was."""
        self._dirty_entries[entry] = None
        self._soon()

    def drop(self, entry: Entry) -> None:
        """Take an entry out; what stood on it stands on the next one."""
        self._dirty_entries.pop(entry, None)
        placed = self._sheet.find(entry)
        if placed is None:
            return
        index = self._sheet.index(placed)
        self._sheet.remove(entry)
        heir = self._sheet.at(min(index, len(self._sheet) - 1))
        instead = Spot(heir, 0, 0) if heir is not None else None
        self._spot = instead if self._spot and self._spot.placed is placed else self._spot
        self._seen = instead if self._seen and self._seen.placed is placed else self._seen
        self._soon()

    def _held(self) -> Iterator[Placed]:
        """Entries that something points at; whoever points at some adds them."""
        yield from (placed for placed, _ in self._screen_rows)
        yield from filter(None, map(self._sheet.find, self._dirty_entries))

    # --- frames

    def flush(self) -> None:
        """Bring the screen up to date now."""
        if self._frame is not None:
            self._frame.stop()
            self._frame = None
        if not self.is_attached or not self._room:
            self._stale = True
            return
        began = perf_counter()
        self._place()
        self._repaint()
        ended = perf_counter()
        self._next_frame = ended + max(FRAME_S, (ended - began) * _SHARE)

    def _soon(self) -> None:
        if self._frame is None and self.is_attached:
            self._frame = self.set_timer(max(0.001, self._next_frame - perf_counter()), self._frame_due)

    def _frame_due(self) -> None:
        self._frame = None
        if behind(self.app):
            self._next_frame = perf_counter() + FRAME_S
            self._soon()
        else:
            self.flush()

    def _take_changes(self) -> None:
        dirty, self._dirty_entries = self._dirty_entries, {}
        for entry in dirty:
            self._sheet.change(entry)

    # --- places

    @property
    def _room(self) -> int:
        """The width of the rows, in cells."""
        return self.scrollable_content_region.width

    @property
    def _page(self) -> int:
        """The height of the screen, in rows."""
        return max(1, self.scrollable_content_region.height)

    def _height_of(self, part: Part) -> int:
        return len(self._painter.rows(part, self._sheet.width))

    def _place(self) -> None:
        """Work out what stands on the screen, exactly, and tell the scroll bar."""
        self._take_changes()
        sheet, page = self._sheet, self._page
        if sheet.width != self._room:
            sheet.resize(self._room)
        if self._spot is None or self.follow:
            self._spot = sheet.last_page(page)
        if self._spot is not None:
            sheet.measure(self._spot, page)
            if sheet.y(self._spot) + page > sheet.total:
                self._spot = sheet.last_page(page)
        if self._seen is not None and not self.follow:
            sheet.measure(self._seen, page * _WALK_PAGES)  # so that what is new is counted and not guessed
        y = sheet.y(self._spot) if self._spot is not None else 0
        with self._own_scroll():
            self.hold(Size(self._room, sheet.total))
            self.scroll_target_y = self.scroll_y = float(y)
        self._stale = False
        self._placed_in = (self._room, page)
        self._count_new(y + page)

    def _count_new(self, bottom: int) -> None:
        sheet, count = self._sheet, 0
        self.follow = bottom >= sheet.total and not self._holds_still()
        if self.follow:
            self._seen = None
        elif self._seen is None or sheet.y(self._seen) < bottom - 1:
            self._seen = sheet.spot(bottom - 1)
        if self._seen is not None:
            count = sheet.total - 1 - sheet.y(self._seen)
        if count != self.new_lines:
            self.new_lines = count
            self._new_lines_changed(count)

    def _new_lines_changed(self, count: int) -> None:
        """The rows below that were never seen are so many now; whoever tells of them overrides it."""

    def _holds_still(self) -> bool:
        """Is the end not followed, although it is on the screen? Whoever holds something there says so."""
        return False

    def _let_go(self) -> None:
        """Follow the end no more; all that is there now counts as seen."""
        if self.follow:
            self._seen = self._sheet.spot(self._sheet.total - 1)
        self.follow = False

    @contextmanager
    def _own_scroll(self) -> Iterator[None]:
        """Inside it, a change of the scroll position is ours."""
        placing, self._placing = self._placing, True
        try:
            yield
        finally:
            self._placing = placing

    def _scroll_to(self, *args: Any, **kwargs: Any) -> bool:
        """Never animated: the rows on the way would all have to be laid out."""
        kwargs["animate"] = False
        return super()._scroll_to(*args, **kwargs)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The user scrolled: a page or two row by row, farther by the guess."""
        super().watch_scroll_y(old_value, new_value)
        y, by = round(new_value), round(new_value) - round(old_value)
        if self._placing or self._spot is None or not by:
            return
        sheet = self._sheet
        self._let_go()
        if abs(by) <= self._page * _WALK_PAGES:
            self._spot = sheet.up(self._spot, -by) if by < 0 else sheet.down(self._spot, by)
        elif y >= self.max_scroll_y:
            self.follow = True
        else:
            self._spot = sheet.spot(y) if y > 0 else sheet.first()
        self.flush()

    def action_scroll_home(self) -> None:
        """Go to the beginning."""
        self._let_go()
        self._spot = self._sheet.first()
        self.flush()

    def action_scroll_end(self) -> None:
        """Go to the end and follow it."""
        self.follow = True
        self.flush()

    def on_resize(self) -> None:
        """Laid out with the next frame, not before it; a change of height alone makes none by itself."""
        if self._placed_in == (self._room, self._page):
            return  # a frame came before this
        self._stale = True
        if self._spot is not None:
            self._soon()

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # a new size moves the scroll position; whoever followed the end has not scrolled up by that
        with self._own_scroll():
            return super()._size_updated(size, virtual_size, container_size, layout)

    # --- rows

    def notify_style_update(self) -> None:
        """Other colours: paint everything again. The focus comes this way too, and changes none."""
        super().notify_style_update()
        if self.is_attached and (look := (self.app.theme, self.visual_style)) != self._look:
            self._look = look
            self._forget_rows()

    def _forget_rows(self) -> None:
        self._painter.clear()
        self._screen_rows = []
        self.refresh()

    def watch_hover_style(self, previous_hover_style: RichStyle, hover_style: RichStyle) -> None:
        """Nothing: a repaint at each move of the mouse would show nothing new."""

    def _rows_now(self) -> list[tuple[Placed, Row]]:
        """The rows of the screen and whose they are."""
        rows: list[tuple[Placed, Row]] = []
        if self._spot is None:
            return rows
        width = self._sheet.width
        for placed, part, first, count in self._sheet.parts(self._spot, self._page):
            if part < 0:
                rows.append((placed, self._painter.blank(width)))
            else:
                painted = self._painter.rows(placed.parts[part], width)
                rows += [(placed, row) for row in painted[first : first + count]]
        return rows

    def _repaint(self) -> None:
        """Ask for the rows that are not what they were."""
        old, self._screen_rows = self._screen_rows, self._rows_now()
        new, height = self._screen_rows, max(len(old), len(self._screen_rows))
        spans, self._screen_spans = self._screen_spans, [self._spans_of(*row) for row in new]
        dirty = [
            y
            for y in range(height)
            if y >= len(old)
            or y >= len(new)
            or old[y][0] is not new[y][0]
            or old[y][1].strip != new[y][1].strip
            or y >= len(spans)
            or spans[y] != self._screen_spans[y]
        ]
        if dirty:
            self.refresh(Region(0, dirty[0], self.size.width, dirty[-1] - dirty[0] + 1))

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        room = self.scrollable_content_region
        # a frame may come before it is told of a new size, also of a new height: the end must be in it
        if self._stale or self._placed_in != (room.width, max(1, room.height)):
            self._place()
            self._screen_rows = []
        if not self._screen_rows:
            self._screen_rows = self._rows_now()
        if y >= len(self._screen_rows):
            return Strip.blank(self._sheet.width, self.visual_style.rich_style)
        return self._line(y, *self._screen_rows[y])

    def _spans_of(self, placed: Placed, row: Row) -> Spans:
        """The cells of a row that are marked; whoever marks some says so."""
        return ()

    def _line(self, y: int, placed: Placed, row: Row) -> Strip:
        """A row as it is shown; whoever marks rows overrides it."""
        return row.strip
