"""The last line: what can be pressed now, at most six entries, never a cut word.

After the leader key it lists the letters instead, on as many rows as they need (five at most).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.content import Content
from textual.style import Style

from tui_agent.ui.still import Still

if TYPE_CHECKING:
    from textual.app import RenderResult
    from textual.geometry import Size

MOST = 6
_GAP = "  "


class Entry(Struct, frozen=True):
    """A key, its words, and the screen's action when it is clicked. `right` entries stand at the right edge.

    Entries with a lower `rank` stay longer when the row is narrow.
    """

    key: str
    words: str
    action: str
    right: bool = False
    rank: int = 1

    @property
    def cells(self) -> int:
        """The width of the entry."""
        return Content(f"{self.key} {self.words}").cell_length


def fitting(entries: Sequence[Entry], width: int) -> list[Entry]:
    """The entries that fit into `width` cells: at most six, the highest ranks given up first, the last first."""
    kept = list(entries)
    while kept and (len(kept) > MOST or _width(kept) > width):
        worst = max(range(len(kept)), key=lambda index: (kept[index].rank, index))
        del kept[worst]
    return kept


def _width(entries: Sequence[Entry]) -> int:
    return sum(entry.cells for entry in entries) + len(_GAP) * (len(entries) - 1) + 2


def rows(entries: Sequence[Entry], width: int) -> list[list[Entry]]:
    """The entries broken into rows of `width` cells, never inside an entry."""
    made: list[list[Entry]] = [[]]
    for entry in entries:
        if made[-1] and _width([*made[-1], entry]) > width:
            made.append([])
        made[-1].append(entry)
    return made


def _entry(entry: Entry) -> Content:
    text = Content.assemble((entry.key, "bold $text-accent"), " ", (entry.words, "$text-muted"))
    return text.stylize(Style.from_meta({"@click": entry.action}))


def line(entries: Sequence[Entry], width: int) -> Content:
    """One row: entries from the left, those at the right edge flush right."""
    kept = fitting(entries, width)
    left = [entry for entry in kept if not entry.right]
    right = [entry for entry in kept if entry.right]
    gap = max(len(_GAP), width - 2 - sum(entry.cells for entry in kept) - len(_GAP) * (len(kept) - 2))
    parts: list[Content] = [Content(" ")]
    for group in (left, right):
        if group is right and right:
            parts.append(Content(" " * (gap if left else max(0, width - 1 - _width(right)))))
        parts.append(Content(_GAP).join([_entry(entry) for entry in group]))
    return Content("").join(parts)


class KeyLine(Still):
    """The footer. `show` takes what can be pressed; `many` allows more rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        # an entry is a key and its words, not a link that is underlined
        self.auto_links = False
        self._entries: tuple[Entry, ...] = ()
        self._many = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is offered, whether it fits or not."""
        return self._entries

    def show(self, entries: Sequence[Entry], *, many: bool = False) -> None:
        """Offer these entries."""
        if (tuple(entries), many) != (self._entries, self._many):
            # one row stays one row, whatever it says; a layout would draw the whole screen
            other_rows = many or self._many
            self._entries, self._many = tuple(entries), many
            self.refresh(layout=other_rows)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # of the width to come: what is drawn now is as wide as the row was, and would be broken in a narrower one
        return len(rows(self._entries, width)) if self._many else 1

    def render(self) -> RenderResult:
        width = self.size.width
        if not self._many:
            return line(self._entries, width)
        parts = [
            Content(" ") + Content(_GAP).join([_entry(entry) for entry in row])
            for row in rows(self._entries, width)
        ]
        return Content("\n").join(parts)
