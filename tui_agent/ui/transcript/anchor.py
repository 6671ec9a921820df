"""The row at the top of the screen, found again in a history that was rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui_agent.ui.transcript.history import entry_key, entry_names
from tui_agent.ui.transcript.layout import Spot

if TYPE_CHECKING:
    from tui_agent.ui.transcript.layout import Layout


class Anchor(NamedTuple):
    """An entry that the log gives again, the message it begins with, and how many rows below its first the top is."""

    key: tuple[object, ...]
    message: str
    rows: int

    @classmethod
    def at(cls, layout: Layout, spot: Spot) -> Anchor | None:
        """That of the first entry from a spot on that is in the log."""
        index = layout.index(spot.placed)
        while (placed := layout.at(index)) is not None:
            for message in entry_names(placed.entry):
                rows = layout.y(spot) - layout.y(Spot(placed, 0, 0))
                return cls(entry_key(placed.entry), message, rows)
            index += 1
        return None

    def find(self, layout: Layout) -> Spot | None:
        """Where the row is now, once its message was read."""
        placed = next((placed for placed in layout if entry_key(placed.entry) == self.key), None)
        if placed is None:
            return None
        first = Spot(placed, 0, 0)
        if self.rows < 0:
            return layout.up(first, -self.rows)
        layout.measure(first, placed.height)
        return layout.down(first, min(self.rows, sum(placed.heights) - 1))
