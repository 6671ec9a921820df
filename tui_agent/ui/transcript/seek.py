"""Goes to places of the log: to a hit of a search, to the turn before or after. Marks hits on the rows that are seen.

A place that was not looked at yet is read and laid out; nothing in between is. A hit in something folded opens it, and
what was opened for that is folded again in the end, unless a person touched it or looks at it.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Set
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from tui_agent.ui.transcript.entries import (
    Answer,
    Aside,
    Entry,
    Gap,
    Mark,
    Thinking,
    ToolCall,
    Words,
)
from tui_agent.ui.transcript.history import History, record_name
from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.said import OUTPUT, beginning, plain_text
from tui_agent.ui.transcript.selection import marked
from tui_agent.ui.transcript.sheet import Sheet

if TYPE_CHECKING:
    import re

    from textual.strip import Strip

    from tui_agent.ui.themes import Glyphs
    from tui_agent.ui.transcript.paint import Row
    from tui_agent.ui.transcript.search import Found, Piece

_ABOVE = 3
"""What is gone to stands after one part in so many of the page."""
_KEPT_TEXTS = 64
"""Texts whose hits are kept."""
_TEXT, _WRITTEN = 1, 4
"""Sections of what folds, and of calls."""


class _Place(NamedTuple):
    """A hit on the screen: in which section of an entry it begins where."""

    entry: Entry
    section: int
    start: int


class Seeking(Sheet):
    """A sheet over a history that goes to what is looked for."""

    def __init__(self, *, glyphs: Glyphs, name: str | None, id: str | None, classes: str | None) -> None:
        super().__init__(glyphs=glyphs, name=name, id=id, classes=classes)
        self._history = History((), ())
        self._pattern: re.Pattern[str] | None = None
        self._length = 0
        self._current: _Place | None = None
        self._starts_of: OrderedDict[tuple[Entry, int], tuple[str, array[int]]] = OrderedDict()
        self._opened_for_hits: dict[Entry, None] = {}
        self._more_for_hits: dict[ToolCall, None] = {}
        self._turn: tuple[Entry, Spot] | None = None
        """The turn that was gone to, and the row that stood at the top then."""

    def _read(self, gap: Gap, start: int, stop: int) -> tuple[int, int, list[Entry]]:
        return self._history.read(gap, start, stop)

    def forget_places(self) -> None:
        """Another history is shown."""
        self._current = self._turn = None
        self._starts_of.clear()
        self._opened_for_hits.clear()
        self._more_for_hits.clear()

    def _held(self) -> Iterator[Placed]:
        yield from super()._held()
        entries = [place[0] for place in (self._current, self._turn) if place is not None]
        yield from filter(None, map(self._sheet.find, entries))

    @property
    def opened_for_hits(self) -> Set[Entry]:
        """What no person opened."""
        return self._opened_for_hits.keys()

    def forget_given_back(self) -> None:
        """What was opened for hits and is not here any more is folded when it is read again."""
        for kept in (self._opened_for_hits, self._more_for_hits):
            for entry in [entry for entry in kept if self._sheet.find(entry) is None]:
                del kept[entry]  # type: ignore[arg-type]

    # --- hits

    @property
    def marks_hits(self) -> bool:
        """Is something looked for?"""
        return self._pattern is not None

    def mark(self, pattern: re.Pattern[str] | None, length: int = 0) -> None:
        """Mark what the pattern finds, always `length` characters; None: nothing any more."""
        self._fold_again(frozenset())
        self._pattern, self._length, self._current = pattern, length, None
        self._starts_of.clear()
        self.refresh()

    def leave_hits(self) -> None:
        """Mark nothing any more and fold what was opened for hits, but for what is on the screen."""
        self._fold_again({placed.entry for placed, _ in self._screen_rows})
        self.mark(None)

    def _fold_again(self, seen: Set[Entry]) -> None:
        """Fold what was opened for hits, but for this."""
        if not self._opened_for_hits and not self._more_for_hits:
            return
        for entry in [entry for entry in self._opened_for_hits if entry not in seen]:
            entry.opened = False
            self._sheet.change(entry)
        for call in [call for call in self._more_for_hits if call not in seen]:
            call.written, call.whole = "", False
            self._sheet.change(call)
        self._opened_for_hits.clear()
        self._more_for_hits.clear()
        self.flush()

    def touched(self, entry: Entry) -> None:
        """A person opened or folded it."""
        self._opened_for_hits.pop(entry, None)

    def message_at_top(self) -> int:
        """The message at the top of the screen, by its place in the history; -1 if what is there came later."""
        return next((placed.entry.index for placed, _ in self._screen_rows if placed.entry.record), -1)

    def visit(self, found: Found, index: int) -> bool | None:
        """Go to a hit in the message at that place of the history; returns whether something of it can be seen.

        False: all of it is in what Markdown does not show. None: the screen has nothing that holds it.
        """
        piece = found.pieces[found.piece]
        entry = self._holder(found, index)
        if entry is None:
            return None
        self._match(entry, piece)
        section = self._open(entry, piece, found.start)
        placed = self._sheet.find(entry)
        assert placed is not None
        self._current = _Place(entry, section, found.start)
        spot, seen = self._row_of(placed, section, found.start)
        self._go_to(spot)
        return seen

    def _holder(self, found: Found, index: int) -> Entry | None:
        """The entry that shows a piece of a message."""
        self._sheet.read_message(index)
        name = record_name(found.message, index)
        piece = found.pieces[found.piece]
        held = [
            placed.entry
            for placed in self._sheet
            if placed.entry.record == name
            or (isinstance(placed.entry, ToolCall) and placed.entry.result == name)
        ]
        kinds: dict[str, type[Entry]] = {
            "words": Words,
            "answer": Answer,
            "thinking": Thinking,
            "aside": Aside,
        }
        if piece.kind in ("call", "output"):
            for entry in held:
                own = found.message.origin == "command"  # it is called otherwise while it runs
                if isinstance(entry, ToolCall) and (own or entry.call == piece.call):
                    return entry
            return next((e for e in held if isinstance(e, Aside) and plain_text(e.text) == piece.text), None)
        kind = kinds[piece.kind]
        alike = [entry for entry in held if isinstance(entry, kind)]
        # an answer of blanks alone is not shown
        before = [
            p
            for p in found.pieces[: found.piece]
            if p.kind == piece.kind and (kind is not Answer or p.text.strip())
        ]
        if piece.kind == "aside":
            alike = [e for e in alike if isinstance(e, Aside) and plain_text(e.text) == piece.text]
            before = [p for p in before if p.text == piece.text]
        return alike[len(before)] if len(before) < len(alike) else None

    def _match(self, entry: Entry, piece: Piece) -> None:
        """What was streamed may differ from what the log holds, which is what was searched."""
        match entry:
            case Answer() if entry.body.source != piece.text:
                entry.body = Answer.whole(piece.text).body
            case Words() | Thinking() if plain_text(entry.text) != piece.text:
                entry.text = piece.text
            case ToolCall() if piece.kind == "output" and plain_text(entry.text) != piece.text:
                entry.text, entry.begins = piece.text, 0
            case _:
                return
        self._sheet.change(entry)

    def _open(self, entry: Entry, piece: Piece, start: int) -> int:
        """Open the entry if it would not show the hit; returns the section that holds it."""
        section, opened, more = 0, entry.opened, False
        match entry:
            case ToolCall():
                section, opened = (_WRITTEN if piece.kind == "call" else OUTPUT), True
                before = entry.written, entry.whole
                if piece.kind == "call":
                    entry.written = piece.text
                entry.whole = entry.whole or not entry.shows_text
                more = (entry.written, entry.whole) != before
                if more:
                    self._more_for_hits[entry] = None
            case Thinking() | Aside():
                section, opened = _TEXT, True
            case Words() if entry.foldable:
                shown = "\n".join(plain_text(entry.text).split("\n")[: Words.SHOWN])
                opened = opened or start + self._length > len(shown)
        if opened != entry.opened:
            entry.opened = True
            self._opened_for_hits[entry] = None
        elif not more:
            return section
        self._sheet.change(entry)
        return section

    def _row_of(self, placed: Placed, section: int, start: int) -> tuple[Spot, bool]:
        """The row on which a hit begins, and whether it is seen there; else the nearest row."""
        parts = [number for number, part in enumerate(placed.parts) if part.section == section]
        if not parts:
            return Spot(placed, 0, 0), False
        place = bisect_right([placed.parts[number].stop for number in parts], start)
        place = min(place, len(parts) - 1)
        nearest = Spot(placed, parts[place], 0)
        for number in parts[place : place + 2]:  # the rest of a hit may be all that is seen of it
            for at, row in enumerate(self._painter.rows(placed.parts[number], self._sheet.width)):
                if row.origin is None or row.origin.section != section:
                    continue
                if any(_shown(row, array("Q", [start]), self._length)):
                    return Spot(placed, number, at), True
                if row.origin.start <= start:
                    nearest = Spot(placed, number, at)
        return nearest, False

    def _go_to(self, spot: Spot) -> None:
        """Put a row on the screen, with some before it; if it is there already nothing moves."""
        self.flush()
        sheet, y, page = self._sheet, round(self.scroll_y), self._page
        sheet.measure(spot, 1)
        if not y <= sheet.y(spot) < y + page:
            self._let_go()
            self._spot = sheet.up(spot, page // _ABOVE)
            self.flush()
        self.refresh()

    # --- marks on rows

    def _line(self, y: int, placed: Placed, row: Row) -> Strip:
        strip = super()._line(y, placed, row)
        if self._pattern is None or row.origin is None:
            return strip
        entry, section = placed.entry, row.origin.section
        starts = self._starts(entry, section)
        if not starts:
            return strip
        here = self._current if self._current is not None and self._current[:2] == (entry, section) else None
        for first, end, start in _shown(row, starts, self._length):
            style = "current" if here is not None and here.start == start else "hit"
            begin = row.inset + cell_len(row.text[: first - row.column])
            width = cell_len(row.text[first - row.column : end - row.column])
            looks = self.get_component_rich_style(f"transcript--{style}", partial=True)
            strip = marked(strip, ((begin, begin + width),), looks)
        return strip

    def _starts(self, entry: Entry, section: int) -> array[int]:
        """Where hits begin in a section of an entry."""
        text = _searched(entry, section)
        if text is None or self._pattern is None:
            return _NONE
        kept = self._starts_of.get((entry, section))
        if kept is None or kept[0] is not text:
            found = self._pattern.finditer(text if isinstance(entry, Answer) else plain_text(text))
            first = beginning(entry, section)
            kept = text, array("Q", (first + match.start() for match in found))
            self._starts_of[entry, section] = kept
            if len(self._starts_of) > _KEPT_TEXTS:
                self._starts_of.popitem(last=False)
        return kept[1]

    # --- turns

    async def go_to_turn(self, by: int) -> bool:
        """Put the turn before (-1) or after (1) the row at the top there instead; False if there is none."""
        found = await self._turn_beside(by)
        if found is None:
            return False
        placed = self._sheet.find(found)
        if placed is None:
            return False
        above = self._sheet.beside(placed, -1)
        self._let_go()
        self._spot = Spot(above if above is not None and isinstance(above.entry, Mark) else placed, 0, 0)
        self.flush()
        self._turn = (found, self._spot)
        return True

    async def _turn_beside(self, by: int) -> Words | None:
        sheet, spot = self._sheet, self._spot
        if spot is None:
            return None
        placed = spot.placed
        if self._turn is not None and self._turn[1] == spot:
            # near the end the turn cannot stand at the top
            placed = sheet.find(self._turn[0]) or placed
        elif by < 0 and spot.part >= 0 and (spot.part or spot.row) and isinstance(placed.entry, Words):
            return placed.entry
        elif isinstance(placed.entry, Mark) and (below := sheet.beside(placed, 1)) is not None:
            if isinstance(below.entry, Words):
                if by > 0 and spot.part < 0:
                    return below.entry
                placed = below
        elif by > 0 and spot.part < 0 and isinstance(placed.entry, Words):
            return placed.entry
        index = sheet.index(placed) + by
        while (other := sheet.at(index)) is not None:
            if isinstance(other.entry, Words):
                return other.entry
            if isinstance(other.entry, Gap):
                place = await self._words_in(other.entry, by)
                if sheet.find(other.entry) is None:
                    return None
                if place is not None:
                    sheet.read_message(place)
                    name = record_name(self._history[place], place)
                    held = (p.entry for p in sheet if p.entry.record == name)
                    return next((entry for entry in held if isinstance(entry, Words)), None)
            index += by
        return None

    async def _words_in(self, gap: Gap, by: int) -> int | None:
        """The message of a gap, nearest to its end (-1) or beginning (1), that a person wrote."""
        from tui_agent.ui.transcript.search import SLICE_S  # not needed before the first frame

        until = perf_counter() + SLICE_S
        for place in range(gap.start, gap.stop) if by > 0 else range(gap.stop - 1, gap.start - 1, -1):
            if self._history.is_words(place):
                return place
            if perf_counter() > until:
                await asyncio.sleep(0)
                until = perf_counter() + SLICE_S
        return None


_NONE = array("Q")


def _searched(entry: Entry, section: int) -> str | None:
    """The text of a section of an entry if it is part of the log."""
    match entry, section:
        case Answer(), 0:
            return entry.body.source
        case Words(), 0:
            return entry.text
        case Thinking(), 1:
            return entry.text
        case Aside(), 1 if entry.record:
            return entry.text
        case ToolCall(), 3:
            return entry.text
        case ToolCall(), 4:
            return entry.written
        case _:
            return None


def _shown(row: Row, starts: array[int], length: int) -> Iterator[tuple[int, int, int]]:
    """What a row shows of hits: first character and end in its line, and where the hit begins in the source."""
    assert row.origin is not None
    left, right = row.column, row.column + len(row.text)
    for run in row.origin.runs:
        first, end = max(run.at, left), min(run.at + run.size, right)
        if first >= end:
            continue
        begin, stop = (
            (run.start, run.stop) if run.whole else (run.start + first - run.at, run.start + end - run.at)
        )
        for place in range(bisect_right(starts, begin - length), bisect_left(starts, stop)):
            start = starts[place]
            if run.whole:
                yield first, end, start
            else:
                yield (
                    max(first, run.at + start - run.start),
                    min(end, run.at + start + length - run.start),
                    start,
                )
