"""A list whose rows have a sign in front that folds what is below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_agent.ui.rows import Rows

if TYPE_CHECKING:
    from textual import events


class Folding(Rows):
    """The list. A click within its first columns, where the signs are, folds wherever the cursor is.

    Args:
        signs: How many columns those are.
        options: As for `Rows`.
    """

    class Folded(Rows.Moved):
        """The sign of the row was clicked."""

    def __init__(self, *, signs: int, **options: Any) -> None:
        super().__init__(**options)
        self._signs = signs

    async def _on_click(self, event: events.Click) -> None:
        index = self.at(event.y)
        if index >= 0 and event.x < self._signs:
            event.stop()
            event.prevent_default()
            self.move(index)
            self.post_message(self.Folded(self, index))
