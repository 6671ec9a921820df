"""What is selected: two places in the sources of entries, and the text between them.

A place is not a row of the screen but a character of an entry's source (`said.sections`). So a selection stays what it
is while the text is wrapped anew, grows or is scrolled, reaches over messages that were never laid out, and costs the
same at any length: a move of the mouse looks at the rows of the screen only.

What is copied is the source between the two places. Where more than one line is taken, the marks around the words
(list marks, number signs, a fence's lines) go along with the first and the last line; inside one line, and inside
one block of code, only what stands between the places. Entries are parted as they are on the screen: by a blank line,
or none between lines that stand together.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from tui_agent.ui.transcript.entries import Entry, Gap
from tui_agent.ui.transcript.layout import READ, Read, lead
from tui_agent.ui.transcript.said import beginning, copied_sections, sections

if TYPE_CHECKING:
    from rich.style import Style

    from tui_agent.ui.transcript.layout import Layout, Placed
    from tui_agent.ui.transcript.paint import Row

_SLICE_S = 0.008
"""Seconds for which a long text is put together before other work has its turn."""
_WORD = re.compile(r"[\w~@./+-]*\w/?|\S")

Spans = tuple[tuple[int, int], ...]
"""Cells of a row that are selected: from, to."""


class Edge(NamedTuple):
    """One side of a character: where the text that is taken begins, or ends.

    `tight` is the character itself; at the `edge` of its line, `inner` has the markup of the words too, and `outer` all
    marks around the line. `left` is where the line's words begin.
    """

    placed: Placed
    section: int
    tight: int
    inner: int
    outer: int
    edge: bool
    unit: int
    left: int
    code: bool


class Point(NamedTuple):
    """A place as a selection may begin at it, and as it may end at it."""

    start: Edge
    end: Edge


class Range(NamedTuple):
    """The text from a character of one entry to a character of another. `margin`: cut off before each further line."""

    first: Placed
    begin: tuple[int, int]
    last: Placed
    end: tuple[int, int]
    margin: int = 0


# --- characters and cells ------------------------------------------------------------------------------------------


def index_at(row: Row, x: int) -> int:
    """The character of the row's line at a cell of the screen; before its first one -1, after its last one the end."""
    if x < row.inset:
        return row.column - 1
    at, cells = 0, row.inset
    for at, character in enumerate(row.text):
        width = cell_len(character)
        if width and cells <= x < cells + width:
            return row.column + at
        cells += width
    return row.column + len(row.text)


def start_edge(placed: Placed, row: Row, index: int) -> Edge | None:
    """Where a selection begins that begins at this character of the line, or at the next one of the row."""
    origin = row.origin
    if origin is None:
        return None
    if not origin.runs:
        return _edge(placed, row, origin.left, origin.first, origin.start, edge=True)
    stop = row.column + len(row.text)
    for run in origin.runs:
        at = max(run.at, index, row.column)
        if at < min(run.at + run.size, stop):
            tight = run.source(at)[0]
            edge = at == origin.runs[0].at
            if edge and index < at:
                tight = origin.left
            return _edge(
                placed, row, tight, *((origin.first, origin.start) if edge else (tight, tight)), edge=edge
            )
    return None


def end_edge(placed: Placed, row: Row, index: int) -> Edge | None:
    """Where a selection ends that ends with this character of the line, or with the one before it in the row."""
    origin = row.origin
    if origin is None:
        return None
    if not origin.runs:
        return _edge(placed, row, origin.last, origin.last, origin.stop, edge=True)
    stop = row.column + len(row.text)
    while row.column <= index < stop - 1 and not cell_len(row.text[index + 1 - row.column]):
        index += 1  # marks that stand over the character
    final = origin.runs[-1]
    for run in reversed(origin.runs):
        at = min(run.at + run.size - 1, index, stop - 1)
        if at >= max(run.at, row.column):
            tight = run.source(at)[1]
            edge = at == final.at + final.size - 1
            if edge and index > at:
                tight = origin.last
            return _edge(
                placed, row, tight, *((origin.last, origin.stop) if edge else (tight, tight)), edge=edge
            )
    return None


def _edge(placed: Placed, row: Row, tight: int, inner: int, outer: int, *, edge: bool) -> Edge:
    origin = row.origin
    assert origin is not None
    return Edge(placed, origin.section, tight, inner, outer, edge, origin.unit, origin.left, origin.code)


def word_at(text: str, index: int) -> tuple[int, int]:
    """The word at a character of a line: its first and its last one."""
    for match in _WORD.finditer(text):
        if match.start() <= index < match.end():
            return match.start(), match.end() - 1
    return index, index


# --- between two places --------------------------------------------------------------------------------------------


def between(layout: Layout, one: Point, other: Point) -> Range | None:
    """The text between two places, whichever comes first; None if there is nothing."""

    def order(edge: Edge) -> tuple[int, int, int]:
        return layout.index(edge.placed), edge.section, edge.tight

    first, last = sorted((one, other), key=lambda point: order(point.start))
    start, end = first.start, last.end
    same = start.placed is end.placed and start.section == end.section
    begin, stop = start.tight, end.tight
    together = same and start.unit == end.unit
    if together and stop < begin and one.start.unit == other.start.unit:
        # cells of a table stand beside each other on the screen and one after the other in the source
        begin, stop = min(one.start.tight, other.start.tight), max(one.end.tight, other.end.tight)
    elif together and start.edge and end.edge:
        begin, stop = min(begin, start.inner), max(stop, end.inner)
    elif not together:
        begin, stop = min(begin, start.outer), max(stop, end.outer)
    if (layout.index(end.placed), end.section, stop) <= (layout.index(start.placed), start.section, begin):
        return None
    margin = 0
    if together and start.code:
        source = sections(start.placed.entry)[start.section]
        margin = start.left - source.rfind("\n", 0, start.left) - 1
    return Range(start.placed, (start.section, begin), end.placed, (end.section, stop), margin)


def spans(layout: Layout, chosen: Range, placed: Placed, row: Row) -> Spans:
    """Which cells of a row are selected."""
    origin, index = row.origin, layout.index(placed)
    if origin is None or not layout.index(chosen.first) <= index <= layout.index(chosen.last):
        return ()
    begin = (origin.section, -1) if placed is not chosen.first else chosen.begin
    end = (origin.section + 1, 0) if placed is not chosen.last else chosen.end
    if not origin.runs:  # an empty line: one cell says that it is taken
        x = row.inset + len(row.text)
        return ((x, x + 1),) if begin <= (origin.section, origin.first) < end else ()
    found: list[tuple[int, int]] = []
    joined = False
    for run in origin.runs:
        at, stop = run.at, run.at + run.size
        if begin >= (origin.section, run.stop) or end <= (origin.section, run.start):
            joined = False
            continue
        if not run.whole:
            at += max(0, begin[1] - run.start) if begin[0] == origin.section else 0
            stop -= max(0, run.stop - end[1]) if end[0] == origin.section else 0
        if found and joined and at == run.at:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((at, stop))
        joined = stop == run.at + run.size
    return tuple(_cells(row, found))


def _cells(row: Row, found: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for at, stop in found:
        at, stop = max(at - row.column, 0), min(stop - row.column, len(row.text))
        if at < stop:
            start = row.inset + cell_len(row.text[:at])
            yield start, start + max(1, cell_len(row.text[at:stop]))


def marked(strip: Strip, cells: Spans, style: Style) -> Strip:
    """The strip with these cells in that style."""
    cuts = sorted({cut for span in cells for cut in span if 0 < cut < strip.cell_length})
    parts: list[Segment] = []
    at = 0
    for part in strip.divide([*cuts, strip.cell_length]):
        chosen = any(start <= at < stop for start, stop in cells)
        parts += (
            (Segment(text, (own + style) if own is not None else style) for text, own, _ in part)
            if chosen
            else part
        )
        at += part.cell_length
    return Strip(parts, strip.cell_length)


# --- the text --------------------------------------------------------------------------------------------------------


async def copied(layout: Layout, chosen: Range, read: Read) -> str:
    """The text of a selection. `read` gives the entries of messages that were not near the screen yet."""
    texts: list[str] = []
    before: Entry | None = None
    gap = 0
    turn = perf_counter() + _SLICE_S
    for entry in _entries(layout.span(chosen.first, chosen.last), read):
        gap = max(gap, 1 + lead(before, entry) if before is not None else 0)
        before = entry
        text = _text(entry, chosen)
        if text:
            texts += ["\n" * gap if texts else "", text]
            gap = 0
        if perf_counter() > turn:
            await asyncio.sleep(0)
            turn = perf_counter() + _SLICE_S
    return "".join(texts)


def _entries(entries: Sequence[Entry], read: Read) -> Iterator[Entry]:
    for entry in entries:
        if not isinstance(entry, Gap):
            yield entry
            continue
        start = entry.start
        while start < entry.stop:
            first, end, found = read(Gap(start, entry.stop), start, start + READ)
            if end <= first:
                break
            yield from found
            start = end


def _text(entry: Entry, chosen: Range) -> str:
    first, last = entry is chosen.first.entry, entry is chosen.last.entry
    whole = copied_sections(entry)
    texts: list[str] = []
    for section, text in enumerate(sections(entry)):
        begins, ends = first and section == chosen.begin[0], last and section == chosen.end[0]
        if (first and section < chosen.begin[0]) or (last and section > chosen.end[0]):
            continue
        if section in whole or begins or ends:
            first_place = beginning(entry, section)
            stop = max(0, chosen.end[1] - first_place) if ends else len(text.rstrip("\n"))
            taken = text[max(0, chosen.begin[1] - first_place) if begins else 0 : stop]
            texts.append(taken if begins else taken.lstrip("\n"))
    text = "\n".join(texts)
    return _without_margin(text, chosen.margin) if chosen.margin else text


def _without_margin(text: str, margin: int) -> str:
    """Code without what stands before each of its lines in the source: the indent of a list, the signs of a quote."""
    return re.sub(rf"\n[ >\t]{{0,{margin}}}", "\n", text)
