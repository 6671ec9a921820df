"""A text of any length to be read and searched, word for word, in the line API.

Lines are broken where the row is full and nowhere else. What takes long (making the text fit to be shown, breaking
it, looking for words) is done in a thread; a row is made when it is seen.
"""

from __future__ import annotations

import asyncio
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual import work
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui_agent import literal
from tui_agent.ui.bar import QuietScroll

if TYPE_CHECKING:
    from rich.style import Style

_PIECE = 2000
"""Characters of a line that are broken at a time."""
_AT_ONCE = 8_000
"""Characters that are broken in a millisecond or two, which needs no thread."""
_SLICE = 100_000
"""Characters that are worked on at a time."""
_MOST_HITS = 10_000
"""Hits that are counted and gone through."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A text broken for a width: where its pieces begin, and the row that each begins in; one more for the end."""

    text: str
    width: int
    starts: array[int]
    rows: array[int]

    @classmethod
    def of(cls, text: str, width: int) -> Broken:
        """Break a text that is fit to be shown."""
        starts, rows, row, start = array("Q"), array("Q"), 0, 0
        while start <= len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            for at in range(start, max(end, start + 1), _PIECE):
                starts.append(at)
                rows.append(row)
                row += len(_cuts(text[at : min(end, at + _PIECE)], width))
            start = end + 1
        starts.append(len(text) + 1)
        rows.append(row)
        return cls(text, width, starts, rows)

    def __len__(self) -> int:
        return self.rows[-1]

    def row(self, number: int) -> tuple[int, str]:
        """What stands in a row, and where in the text that begins."""
        at = bisect_right(self.rows, number) - 1
        start = self.starts[at]
        end = min(self.starts[at + 1], start + _PIECE)
        piece = self.text[start:end].removesuffix("\n")
        cuts = _cuts(piece, self.width)
        place = number - self.rows[at]
        stop = cuts[place + 1] if place + 1 < len(cuts) else len(piece)
        return start + cuts[place], piece[cuts[place] : stop]

    def row_of(self, position: int) -> int:
        """The row in which a character of the text stands."""
        at = bisect_right(self.starts, position) - 1
        start = self.starts[at]
        piece = self.text[start : min(self.starts[at + 1], start + _PIECE)].removesuffix("\n")
        return self.rows[at] + max(0, bisect_right(_cuts(piece, self.width), position - start) - 1)


def _cuts(piece: str, width: int) -> list[int]:
    """Where the rows of a piece of a line begin."""
    if piece.isascii():
        return list(range(0, max(1, len(piece)), width))
    cuts, taken = [0], 0
    for at, character in enumerate(piece):
        cells = get_character_cell_size(character)
        if taken + cells > width and at > cuts[-1]:
            cuts.append(at)
            taken = 0
        taken += cells
    return cuts


def _hits(text: str, words: str) -> array[int]:
    """Where these words stand, in any case; looked for in slices, between which others have their turn."""
    found, pattern, behind = array("Q"), re.compile(re.escape(words), re.IGNORECASE), 0
    for start in range(0, len(text), _SLICE):
        stop = min(len(text), start + _SLICE)
        for match in pattern.finditer(text, max(start, behind), stop + len(words)):
            if match.start() >= stop:
                break
            found.append(match.start())
            behind = match.end()
            if len(found) == _MOST_HITS:
                return found
    return found


class Exact(QuietScroll, can_focus=True):
    """The text. `look_for` goes to the first hit from what is seen on, `step` to the next or the one before."""

    DEFAULT_CSS = """
    Exact { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    Exact .exact--hit { background: $warning-muted; color: $text-warning; text-style: underline; }
    Exact .exact--current { background: $background; color: $text-warning; text-style: bold reverse; }
    Exact:ansi .exact--hit { background: ansi_default; }
    Exact:ansi .exact--current { background: ansi_default; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"exact--hit", "exact--current"}
    ALLOW_SELECT = False

    class Looked(Message):
        """The text was looked through, or another hit is the current one."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        """What it shows, as it is."""
        self._shown = ""
        self._broken = Broken.of("", 1)
        self._words = ""
        self._hits: array[int] = array("Q")
        self._current = -1

    @property
    def said(self) -> str:
        """How the search stands, in words; nothing without one."""
        if not self._words:
            return ""
        if not len(self._hits):
            return "no hit"
        more = "+" if len(self._hits) == _MOST_HITS else ""
        return f"hit {self._current + 1:,} of {len(self._hits):,}{more}"

    def show(self, make: Callable[[], str], *, top: bool = True) -> None:
        """Show what `make`, called in a thread, gives; from the top, or where one was reading."""
        self._lay_out(make, top=top)

    @work(group="lay out", exclusive=True, exit_on_error=False)
    async def _lay_out(self, make: Callable[[], str], *, top: bool) -> None:
        self.text, self._shown = await asyncio.to_thread(_made, make)
        await self._break()
        if top:
            self.scroll_home(animate=False)
        if self._words:
            await self._look(move=False)

    async def _break(self) -> None:
        """Break the text for the width that there is; before it is on the screen there is none."""
        while (width := self.scrollable_content_region.width) > 0:
            shown = self._shown
            at_once = len(shown) <= _AT_ONCE
            broken = Broken.of(shown, width) if at_once else await asyncio.to_thread(Broken.of, shown, width)
            if shown is self._shown and width == self.scrollable_content_region.width:
                self._broken = broken
                self.hold(Size(width, len(broken)))
                self.refresh()
                return

    def on_resize(self) -> None:
        """Break the lines anew."""
        self._look_again()

    def on_show(self) -> None:
        """Show what came while there was no place for it."""
        self._look_again()

    def _look_again(self) -> None:
        if (self.scrollable_content_region.width, self._shown) != (self._broken.width, self._broken.text):
            self._break_anew()

    @work(group="break", exclusive=True, exit_on_error=False)
    async def _break_anew(self) -> None:
        await self._break()

    # --- looking for words

    def look_for(self, words: str) -> None:
        """Mark where these words stand, and go to the first from here on; "" marks nothing any more."""
        self._words = words
        self._looking()

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _looking(self) -> None:
        await self._look(move=True)

    async def _look(self, *, move: bool) -> None:
        broken, words = self._broken, literal.visible(self._words)
        self._hits = await asyncio.to_thread(_hits, broken.text, words) if words else array("Q")
        self._current = -1
        if len(self._hits) and len(broken):
            seen = broken.row(min(int(self.scroll_offset.y), len(broken) - 1))[0]
            self._current = bisect_left(self._hits, seen) % len(self._hits)
            if move:
                self._reveal()
        self.refresh()
        self.post_message(self.Looked())

    def step(self, by: int) -> None:
        """Go to the next hit, or the one before; behind the last comes the first."""
        if len(self._hits):
            self._current = (self._current + by) % len(self._hits)
            self._reveal()
            self.refresh()
            self.post_message(self.Looked())

    def _reveal(self) -> None:
        row, top = self._broken.row_of(self._hits[self._current]), int(self.scroll_offset.y)
        height = self.scrollable_content_region.height
        if not top <= row < top + height:
            self.scroll_to(y=max(0, row - height // 3), animate=False)

    # --- how it looks

    def watch_hover_style(self, previous_hover_style: Style, hover_style: Style) -> None:
        """Nothing: a repaint at each move of the mouse would show nothing new."""

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, base = self.scrollable_content_region.width, self.visual_style.rich_style
        at = int(self.scroll_offset.y) + y
        if at >= len(self._broken):
            return Strip.blank(width, base)
        start, text = self._broken.row(at)
        return Strip(self._segments(start, text, base)).adjust_cell_length(width, base)

    def _segments(self, start: int, text: str, base: Style) -> list[Segment]:
        """A row with its hits marked; one may begin in a row above it."""
        length = len(literal.visible(self._words))
        segments, done = [], 0
        place = bisect_right(self._hits, start - length)
        while length and place < len(self._hits) and self._hits[place] < start + len(text):
            first, last = (
                max(0, self._hits[place] - start),
                min(len(text), self._hits[place] - start + length),
            )
            name = "exact--current" if place == self._current else "exact--hit"
            if last > max(first, done):
                segments.append(Segment(text[done : max(first, done)], base))
                segments.append(Segment(text[max(first, done) : last], self.get_component_rich_style(name)))
                done = last
            place += 1
        return [*segments, Segment(text[done:], base)]


def _made(make: Callable[[], str]) -> tuple[str, str]:
    """The text, and the same fit to be shown; made so in slices, between which others have their turn."""
    text = make()
    return text, "".join(literal.visible(part).expandtabs(4) for part in _slices(text))


def _slices(text: str) -> Iterator[str]:
    """The text in parts that end with a line, or with a word where a line is very long."""
    start = 0
    while start < len(text):
        stop = start + _SLICE
        end = text.find("\n", stop, stop + _SLICE) + 1 or text.find(" ", stop, stop + _SLICE) + 1 or stop
        yield text[start:end]
        start = end
