"""What a card decides about: text that is scrolled by rows, and whether its end was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.content import Content


class Body(VerticalScroll):
    """The body of a card."""

    def __init__(self) -> None:
        text = Static(markup=False)
        super().__init__(text, classes="card-body", can_focus=False)
        self._text = text
        self.lines = 1
        """Lines of the text."""
        self.laid_out = False
        """It is known which rows are seen."""
        self._read = False
        """The end was seen."""

    def show(self, content: Content) -> None:
        """Show another text."""
        self.lines = content.plain.count("\n") + 1
        self._text.update(content)
        self.laid_out = self._read = False

    @property
    def unread(self) -> int:
        """Rows below what is shown."""
        if not self.size.height:
            return self.lines
        return max(0, self.virtual_size.height - self.size.height - round(self.scroll_y))

    @property
    def unseen(self) -> int:
        """Rows below what is shown; 0 once the end was seen."""
        if self.laid_out and not self.unread:
            self._read = True
        return 0 if self._read else max(1, self.unread)

    def turn(self, rows: int) -> None:
        """Scroll by rows, now: the next key may already ask where it stands."""
        self.scroll_to(y=self.scroll_y + rows, animate=False, immediate=True)
