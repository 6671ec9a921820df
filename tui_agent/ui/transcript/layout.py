"""Where everything stands: entries one below the other, by rows, without laying out what nobody sees.

The height of a part is a guess until it comes near the screen, and exact from then on. A place in the transcript is
a `Spot` (entry, part, row), which stays right when heights above it change; its row number is worked out from it.
Moves by a page or less measure every part on the way, so that no row is skipped and none is seen twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.ui.transcript.entries import Answer, Entry, Failure, Gap, Mark, Words

if TYPE_CHECKING:
    from tui_agent.ui.transcript.history import Moves
    from tui_agent.ui.transcript.paint import Part

READ = 24
"""Messages of a gap that are read at once."""
_MESSAGE_ROWS = 6.0
"""Rows of a message nobody has looked at, before any was seen."""
_LEAD = -1
"""The part number of the blank row before an entry."""

Read = Callable[[Gap, int, int], tuple[int, int, list[Entry]]]
"""Gives the entries of messages of a gap: first, end, entries."""


class Placed:
    """An entry in its place: its parts, their heights in rows, and which of these are exact.

    `stays`: the log, as far as it was asked, does not give this entry again.
    """

    __slots__ = ("entry", "exact", "heights", "lead", "parts", "place", "stays")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.parts: list[Part] = []
        self.heights: list[int] = []
        self.exact: list[bool] = []
        self.lead = 0
        self.place = 0
        self.stays = False

    @property
    def height(self) -> int:
        """Its rows, with the blank one before it."""
        return self.lead + sum(self.heights)


class Spot(NamedTuple):
    """A row: `row` of part number `part` of an entry; part -1 is the blank row before it."""

    placed: Placed
    part: int
    row: int


class Layout:
    """Entries and where they stand.

    Args:
        parts: Of which parts an entry consists now.
        measure: The exact height of a part at the layout's width, in rows.
        read: Reads messages of a gap.
    """

    def __init__(
        self, parts: Callable[[Entry], list[Part]], measure: Callable[[Part], int], read: Read
    ) -> None:
        self._parts = parts
        self._measure = measure
        self._read = read
        self._items: list[Placed] = []
        self._placed: dict[Entry, Placed] = {}
        self._tops = [0]
        self._dirty = 0
        self._message_rows = _MESSAGE_ROWS
        self._seen = (0, 0)
        self.width = 0

    # --- what there is

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Placed]:
        return iter(self._items)

    def find(self, entry: Entry) -> Placed | None:
        """Where an entry was placed."""
        return self._placed.get(entry)

    def at(self, index: int) -> Placed | None:
        """The entry with that number, counted from the first, or None."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def span(self, first: Placed, last: Placed) -> list[Entry]:
        """The entries from one to another, gaps among them."""
        return [placed.entry for placed in self._items[self.index(first) : self.index(last) + 1]]

    def newest(self, count: int) -> Sequence[Placed]:
        """That many entries from the end, the last one first."""
        return self._items[: -count - 1 : -1]

    def beside(self, placed: Placed, by: int) -> Placed | None:
        """The entry before (-1) or after (1) another; messages there that were not read are."""
        if by < 0:
            self._read_above(placed)
        while (other := self.at(self.index(placed) + by)) is not None and isinstance(gap := other.entry, Gap):
            self._resolve(self.index(other), gap.start, gap.start + READ)
        return other

    def read_message(self, message: int) -> None:
        """Read the message with that number, if it was not read."""
        for index, placed in enumerate(self._items):
            if isinstance(gap := placed.entry, Gap) and gap.start <= message < gap.stop:
                self._resolve(index, message - READ // 2, message + READ // 2)
                return

    def first(self) -> Spot | None:
        """The first row of all; None if there is nothing."""
        while self._items and isinstance(gap := self._items[0].entry, Gap):
            self._resolve(0, gap.start, gap.start + READ)
        return Spot(self._items[0], 0, 0) if self._items else None

    def load(self, entries: Sequence[Entry]) -> None:
        """Begin anew with these entries."""
        self._items, self._placed = [], {}
        self._tops, self._dirty = [0], 0
        self._message_rows, self._seen = _MESSAGE_ROWS, (0, 0)
        self._insert(0, entries)

    def add(self, entry: Entry) -> None:
        """Put an entry at the end."""
        self._insert(len(self._items), [entry])

    def remove(self, entry: Entry) -> None:
        """Take an entry out."""
        placed = self._placed.pop(entry, None)
        if placed is not None:
            index = self.index(placed)
            del self._items[index]
            self._dirty = min(self._dirty, index)
            self._set_lead(index)

    def change(self, entry: Entry) -> None:
        """The entry is not what it was; parts that are still the same keep their heights."""
        placed = self._placed.get(entry)
        if placed is None:
            return
        parts = self._parts(entry)
        same = 0
        for old, new in zip(placed.parts, parts, strict=False):
            if old is not new:
                break
            same += 1
        fresh = [part.guess(self.width) for part in parts[same:]]
        placed.parts = parts
        placed.heights[same:] = fresh
        placed.exact[same:] = [False] * len(fresh)
        placed.stays = False
        self._dirty = min(self._dirty, self.index(placed))

    def resize(self, width: int) -> None:
        """Every height is a guess again, at another width in cells."""
        self.width = width
        for placed in self._items:
            self._guess(placed)
        self._dirty = 0

    def _insert(self, index: int, entries: Sequence[Entry]) -> None:
        fresh = [Placed(entry) for entry in entries]
        for placed in fresh:
            placed.parts = self._parts(placed.entry)
            self._guess(placed)
            self._placed[placed.entry] = placed
        self._items[index:index] = fresh
        for place in range(index, index + len(fresh) + 1):
            self._set_lead(place)
        self._dirty = min(self._dirty, index)

    def _guess(self, placed: Placed) -> None:
        if isinstance(gap := placed.entry, Gap):
            rows = gap.rows or max(1, round((gap.stop - gap.start) * self._message_rows))
            placed.heights, placed.exact = [rows], [True]
        else:
            placed.heights = [part.guess(self.width) for part in placed.parts]
            placed.exact = [False] * len(placed.heights)

    def _set_lead(self, index: int) -> None:
        if index >= len(self._items):
            return
        placed = self._items[index]
        before = self._items[index - 1].entry if index else None
        rows = 0 if before is None else lead(before, placed.entry)
        if rows != placed.lead:
            placed.lead = rows
            self._dirty = min(self._dirty, index)

    # --- rows

    def index(self, placed: Placed) -> int:
        """The number of an entry, counted from the first."""
        items = self._items
        if placed.place >= len(items) or items[placed.place] is not placed:
            placed.place = items.index(placed)
        return placed.place

    @property
    def total(self) -> int:
        """Rows of everything, as far as it is known."""
        return self._settled()[-1]

    def _settled(self) -> list[int]:
        """The first row of each entry, and the end."""
        if self._dirty < len(self._items) or len(self._tops) != len(self._items) + 1:
            start = min(self._dirty, len(self._tops) - 1)
            heights = (placed.height for placed in self._items[start:])
            self._tops[start:] = accumulate(heights, initial=self._tops[start])
        self._dirty = len(self._items)
        return self._tops

    def y(self, spot: Spot) -> int:
        """The row number of a spot."""
        placed, part, row = self._clamped(spot)
        top = self._settled()[self.index(placed)]
        return top if part < 0 else top + placed.lead + sum(placed.heights[:part]) + row

    def top(self, placed: Placed) -> int:
        """The first row of an entry, after the blank one."""
        return self._settled()[self.index(placed)] + placed.lead

    def end_of(self, placed: Placed) -> Spot:
        """The last row of an entry."""
        part = max(0, len(placed.heights) - 1)
        return Spot(placed, part, self._exact(placed, part) - 1 if placed.parts else 0)

    def bottom(self, placed: Placed) -> int:
        """The row after an entry's last."""
        return self._settled()[self.index(placed) + 1]

    def spot(self, y: int) -> Spot | None:
        """The spot of a row number; messages there that were not read are. None if there is nothing at all."""
        tops = self._settled()
        if not self._items:
            return None
        index = max(0, min(bisect_right(tops, y) - 1, len(self._items) - 1))
        placed = self._items[index]
        if isinstance(placed.entry, Gap):
            gap = placed.entry
            share = (y - tops[index]) / max(1, placed.height)
            first = gap.start + int(share * (gap.stop - gap.start))
            index = self._resolve(index, first, first + READ)
            return self.spot(y) if index >= len(self._items) else Spot(self._items[index], _LEAD, 0)
        row = y - tops[index] - placed.lead
        if row < 0:
            return Spot(placed, _LEAD, 0)
        for part, height in enumerate(placed.heights):
            if row < height:
                return Spot(placed, part, row)
            row -= height
        return Spot(placed, max(0, len(placed.heights) - 1), 0)

    def _clamped(self, spot: Spot) -> Spot:
        """The spot, or the nearest one there still is of its entry."""
        placed, part, row = spot
        if part < 0:
            return Spot(placed, _LEAD, 0) if placed.lead else Spot(placed, 0, 0)
        if part >= len(placed.heights):
            part = len(placed.heights) - 1
            if part < 0:
                return Spot(placed, 0, 0)
            row = placed.heights[part] - 1
        return Spot(placed, part, max(0, min(row, placed.heights[part] - 1)))

    # --- moves that measure

    def _exact(self, placed: Placed, part: int) -> int:
        """The exact height of a part."""
        if part < 0:
            return placed.lead
        if not placed.exact[part]:
            height = self._measure(placed.parts[part])
            placed.exact[part] = True
            if height != placed.heights[part]:
                placed.heights[part] = height
                self._dirty = min(self._dirty, self.index(placed))
        return placed.heights[part]

    def measure(self, spot: Spot, rows: int) -> None:
        """Measure what stands on `rows` rows from the spot on, and read what was not read there."""
        for _ in self.parts(spot, rows):
            pass

    def parts(self, spot: Spot, rows: int) -> Iterator[tuple[Placed, int, int, int]]:
        """What stands on `rows` rows from the spot on: entry, part, first row, rows of it; measured on the way."""
        placed, part, row = self._clamped(spot)
        index = self.index(placed)
        while rows > 0 and index < len(self._items):
            placed = self._items[index]
            if isinstance(placed.entry, Gap):
                index = self._resolve(index, placed.entry.start, placed.entry.start + READ)
                part, row = _LEAD, 0
                continue
            while rows > 0 and part < len(placed.parts):
                shown = min(rows, self._exact(placed, part) - row)
                if shown > 0:
                    yield placed, part, row, shown
                    rows -= shown
                part, row = part + 1, 0
            index, part, row = index + 1, _LEAD, 0

    def up(self, spot: Spot, rows: int) -> Spot:
        """The spot that many rows above, or the first one."""
        placed, part, row = self._clamped(spot)
        return self._up(self.index(placed), part, row, rows)

    def _up(self, index: int, part: int, row: int, rows: int) -> Spot:
        placed = self._items[index]
        row -= rows
        while row < 0:
            part -= 1
            if part == _LEAD:
                # whether a blank row stands before an entry depends on what is above it: that is read first
                self._read_above(placed)
            if part >= _LEAD:
                row += self._exact(placed, part)
                continue
            index = self.index(placed) - 1
            if index < 0:
                return Spot(placed, 0, 0)
            placed = self._items[index]
            part = len(placed.parts)
        return Spot(placed, part, row)

    def _read_above(self, placed: Placed) -> None:
        while (index := self.index(placed)) and isinstance(gap := self._items[index - 1].entry, Gap):
            self._resolve(index - 1, gap.stop - READ, gap.stop)

    def down(self, spot: Spot, rows: int) -> Spot:
        """The spot that many rows below, or the last one."""
        last = spot
        for placed, part, row, shown in self.parts(spot, rows + 1):
            last = Spot(placed, part, row + shown - 1)
        return last

    def last_page(self, rows: int) -> Spot | None:
        """The spot from which on the last rows fill a page; None if there is nothing."""
        while self._items and isinstance(gap := self._items[-1].entry, Gap):
            self._resolve(len(self._items) - 1, gap.stop - READ, gap.stop)
        if not self._items:
            return None
        last = len(self._items) - 1
        return self._up(last, len(self._items[last].parts), 0, rows)

    # --- gaps

    def _resolve(self, index: int, start: int, stop: int) -> int:
        """Read messages `start` to `stop` of the gap at `index`; returns the index of the first entry they gave."""
        gap = self._items[index].entry
        assert isinstance(gap, Gap)
        first, end, entries = self._read(gap, start, stop)
        if end <= first:  # the history is shorter than it was
            first, end, entries = gap.start, gap.stop, []
        del self._items[index]
        del self._placed[gap]
        around: list[Entry] = []
        if first > gap.start:
            around.append(gap.part(gap.start, first))
        around += entries
        if end < gap.stop:
            around.append(gap.part(end, gap.stop))
        self._insert(index, around)
        self._learn(end - first, entries)
        return index + (first > gap.start)

    def give_back(self, first: int, stop: int, gap: Gap) -> int:
        """Let a gap stand for the entries from one number to another (exclusive), and as high as they are.

        Gaps that it goes on with become one with it; returns its number.
        """
        items = self._items
        before = items[first - 1].entry if first else None
        if isinstance(before, Gap) and before.stop == gap.start:
            gap.start, first = before.start, first - 1
        after = items[stop].entry if stop < len(items) else None
        if isinstance(after, Gap) and after.start == gap.stop:
            gap.stop, stop = after.stop, stop + 1
        rows = sum(placed.height for placed in items[first : stop + 1])
        for placed in items[first:stop]:
            del self._placed[placed.entry]
        del items[first:stop]
        self._insert(first, [gap])
        # what stands below stays on its rows
        gap.rows = max(
            1, rows - sum(placed.height for placed in items[first : first + 2]) + items[first].heights[0]
        )
        self._guess(items[first])
        return first

    def move(self, moves: Moves) -> None:
        """The messages stand elsewhere in the history now; what is shown stays where it is."""
        for placed in self._items:
            entry = placed.entry
            if isinstance(entry, Gap):
                entry.start, entry.stop = moves.before(entry.start), moves.before(entry.stop)
            elif entry.index >= 0:
                entry.index = moves.places.get(entry.index, -1)

    def _learn(self, messages: int, entries: Sequence[Entry]) -> None:
        """What a message takes on the average, from those read so far; settled before the user can scroll."""
        count, rows = self._seen
        if count < READ * 2:
            rows += sum(self._placed[entry].height for entry in entries)
            self._seen = count + messages, rows
            self._message_rows = max(1.0, rows / max(1, count + messages))
            for index, placed in enumerate(self._items):
                if isinstance(placed.entry, Gap):
                    self._guess(placed)
                    self._dirty = min(self._dirty, index)


def lead(before: Entry, entry: Entry) -> int:
    """Blank rows between two entries: lines stand together, what is read stands apart."""
    if isinstance(before, Mark):
        return 0
    apart = (Words, Answer, Failure, Mark)
    return int(isinstance(before, apart) or isinstance(entry, apart))
