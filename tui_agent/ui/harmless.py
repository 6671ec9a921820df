"""The last border before the terminal: every line of every widget, Textual's own included, passes `Harmless`.

Our widgets make foreign text visible themselves, where there is room for signs. What reaches a line all the same (words
in an input as they were typed, a widget of Textual's own) is made harmless here, in as many cells as it took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.filter import LineFilter

from tui_agent import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.color import Color


class Row(LineFilter):
    """Filters one after the other: of each line one filtered line is made, not one for each of them."""

    def __init__(self, filters: Sequence[LineFilter]) -> None:
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, as the last filter leaves them."""
        for each in self.filters:
            segments = each.apply(segments, background)
        return segments


class Harmless(LineFilter):
    """Makes what would act, hide or shift what stands beside it harmless."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, of which none acts."""
        if all(literal.visible(segment.text) is segment.text for segment in segments):
            return segments
        return [Segment(_shown(text), style, control) for text, style, control in segments]


def _shown(text: str) -> str:
    shown = literal.visible(text)
    if shown is text:
        return text
    # whoever laid out the line has counted its cells: signs that need room of their own would push its end away
    cells = cell_len(text)
    if cell_len(shown) > cells:
        shown = "".join(c for c in text if literal.visible(c) is c)
    return set_cell_size(shown, cells)
