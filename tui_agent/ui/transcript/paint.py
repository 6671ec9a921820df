"""A part as rows of the screen: wrapped, coloured, kept while it is near."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from textual.strip import Strip
from textual.style import Style

from tui_agent.ui.transcript.lines import EMPTY, PROSE, Line, wrapped

if TYPE_CHECKING:
    from textual.content import Content
    from textual.widget import Widget

    from tui_agent.ui.transcript.origin import Origin

MARGIN = 2
"""Cells left of every row: signs, and the cursor."""
KEPT_ROWS = 4000
"""Rows the painter keeps."""
_KEPT_BEFORE = 400
"""Rows that it keeps for the width before, which comes again when what stands beside the chat is closed."""
SHORT_LINE = 40
"""Characters of a line that are taken to fit in one row when a height is guessed."""
_LEAST_ROOM = 4


def beyond(lines: Iterable[str]) -> int:
    """Characters that lines have beyond the first `SHORT_LINE`."""
    return sum(len(line) - SHORT_LINE for line in lines if len(line) > SHORT_LINE)


class Part:
    """What is laid out at once.

    `make` gives its lines for a width in cells. `beyond` (characters that its lines have beyond the first
    `SHORT_LINE`) and `breaks` (newlines) are for a guess of its height. `section` is the section of its entry's source
    that it shows, up to character `stop`.
    """

    __slots__ = ("beyond", "breaks", "make", "section", "stop")

    def __init__(
        self,
        make: Callable[[int], list[Line]],
        beyond: int = 0,
        breaks: int = 0,
        section: int | None = None,
        stop: int = 0,
    ) -> None:
        self.make = make
        self.beyond = beyond
        self.breaks = breaks
        self.section = section
        self.stop = stop

    def guess(self, width: int) -> int:
        """About how many rows it takes at that width."""
        return 1 + self.breaks + self.beyond // max(1, width)


class Row(NamedTuple):
    """A row of the screen. It begins at character `column` of line `line` of its part; line -1 is between entries.

    `text` is what it shows of that line, `inset` cells after its left end; `origin` is the line's.
    """

    strip: Strip
    line: int
    column: int
    text: str = ""
    inset: int = 0
    origin: Origin | None = None


class Painter:
    """Lays parts out as rows for a widget, and keeps the newest of them."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._kept: OrderedDict[Part, list[Row]] = OrderedDict()
        self._rows = 0
        self._width = 0
        self._before: tuple[int, OrderedDict[Part, list[Row]], int] = (0, OrderedDict(), 0)
        """Another width, what is kept for it, and how many rows that is."""
        self._styles: dict[str | Style, Style] = {}

    def clear(self) -> None:
        """Forget everything: the colours have changed."""
        self._kept.clear()
        self._rows = 0
        self._before = (0, OrderedDict(), 0)
        self._styles.clear()

    def rows(self, part: Part, width: int) -> list[Row]:
        """The rows of a part in a transcript `width` cells wide."""
        if width != self._width:
            self._turn(width)
        rows = self._kept.get(part)
        if rows is None:
            rows = self._kept[part] = self._paint(part, width)
            self._rows += len(rows)
            self._keep(KEPT_ROWS)
        else:
            self._kept.move_to_end(part)
        return rows

    def _keep(self, most: int) -> None:
        while self._rows > most and len(self._kept) > 1:
            self._rows -= len(self._kept.popitem(last=False)[1])

    def _turn(self, width: int) -> None:
        """Go to another width; if that is the one before, with what was painted for it."""
        self._keep(_KEPT_BEFORE)
        now, before = (self._width, self._kept, self._rows), self._before
        self._before = now
        self._width, self._kept, self._rows = (
            before if before[0] == width else (width, OrderedDict[Part, list[Row]](), 0)
        )

    def blank(self, width: int) -> Row:
        """The row between two entries."""
        return Row(Strip.blank(width, self._widget.visual_style.rich_style), -1, 0)

    def style(self, style: str | Style) -> Style:
        """A style by its name: a component of the widget if it begins with a dot, else Textual's words for one."""
        found = self._styles.get(style)
        if found is None:
            if isinstance(style, Style):
                found = style
            elif style.startswith("."):
                found = self._component(style[1:])
            else:
                found = self._widget.app.stylesheet.parse_style(style)
            self._styles[style] = found
        return found

    def _component(self, name: str) -> Style:
        found = self._widget.get_visual_style(name, partial=True)
        styles = self._widget.get_component_styles(name)
        # a partial style leaves an opaque background out
        return found + Style(background=styles.background) if styles.has_rule("background") else found

    def _paint(self, part: Part, width: int) -> list[Row]:
        inner = max(_LEAST_ROOM, width - MARGIN)
        rows: list[Row] = []
        for number, line in enumerate(part.make(inner)):
            rows += self._wrap(line, number, inner, width)
        return rows

    def _wrap(self, line: Line, number: int, inner: int, width: int) -> Iterator[Row]:
        limit = inner if line.wide else min(inner, PROSE)
        room = max(_LEAST_ROOM, limit - line.first.cell_length)
        base = self._widget.visual_style
        if line.ground:
            base += self.style(line.ground)
        plain, column = line.content.plain, 0
        for row, content in enumerate(wrapped(line.content, room, fold=line.fold)):
            if row and not line.fold:
                while column < len(plain) and plain[column] == " ":
                    column += 1
            sign = EMPTY if row else line.sign
            margin = " " * (MARGIN - sign.cell_length)
            segments = [
                *self._segments(sign, base),
                Segment(margin, base.rich_style),
                *self._segments(line.rest if row else line.first, base),
                *self._segments(content, base),
            ]
            strip = Strip(segments).adjust_cell_length(width, base.rich_style)
            inset = MARGIN + line.first.cell_length
            yield Row(strip, number, column, content.plain, inset, line.origin)
            column += len(content)

    def _segments(self, content: Content, base: Style) -> Iterator[Segment]:
        for text, style in content.render(base, end="", parse_style=self.style):
            if text:
                yield Segment(text, style.rich_style)
