"""A long text to read, in the line API: laid out at once whatever its length, and only drawn where it is seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from tui_agent import literal
from tui_agent.ui.bar import QuietScroll

if TYPE_CHECKING:
    from rich.style import Style

_BACK = 20
"""Characters that a row gives up to end at a space."""

Said = tuple[str, str]
"""A text, foreign ones too, and its style in Textual's words."""


class Leaf(QuietScroll, can_focus=True):
    """The text. Lines are broken at spaces where one is near, else anywhere."""

    DEFAULT_CSS = """
    Leaf { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    """
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._said: list[Said] = []
        self._rows: list[Said] = []
        self._width = 0

    @property
    def text(self) -> str:
        """What it shows, in whole lines."""
        return "\n".join(line for line, _ in self._said)

    def show(self, said: Iterable[Said], *, top: bool = True) -> None:
        """Show texts, each from a line of its own on; from the top, or where one was reading."""
        self._said = [(line, style) for text, style in said for line in literal.visible(text).split("\n")]
        self._lay_out()
        if top:
            self.scroll_home(animate=False)

    def _lay_out(self) -> None:
        self._width = self.scrollable_content_region.width
        if self._width <= 0:
            return  # not on the screen yet: laid out when it is
        self._rows = [
            (row, style) for line, style in self._said for row in broken(line.expandtabs(4), self._width)
        ]
        self.hold(Size(self._width, len(self._rows)))
        self.refresh()

    def on_resize(self) -> None:
        """Break the lines anew."""
        if self.scrollable_content_region.width != self._width:
            self._lay_out()

    def watch_hover_style(self, previous_hover_style: Style, hover_style: Style) -> None:
        """Nothing: a repaint at each move of the mouse would show nothing new."""

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, base = self.scrollable_content_region.width, self.visual_style.rich_style
        at = int(self.scroll_offset.y) + y
        if at >= len(self._rows):
            return Strip.blank(width, base)
        text, style = self._rows[at]
        shown = base + self.app.stylesheet.parse_style(style).rich_style if style else base
        return Strip([Segment(text, shown)]).adjust_cell_length(width, base)


def broken(line: str, width: int) -> Iterator[str]:
    """A line in rows of at most `width` cells."""
    if line.isascii():
        while len(line) > width:
            cut = line.rfind(" ", max(1, width - _BACK), width + 1) + 1 or width
            cut = min(cut, width)
            yield line[:cut]
            line = line[cut:]
        yield line
        return
    start = taken = 0
    if cell_len(line) > width:
        for at, character in enumerate(line):
            cells = get_character_cell_size(character)
            if taken + cells > width and at > start:
                yield line[start:at]
                start, taken = at, 0
            taken += cells
    yield line[start:]
