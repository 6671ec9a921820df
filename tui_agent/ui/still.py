"""Widgets whose own size asks for no layout.

When a layout gives a widget of Textual's another size, the widget asks for a layout of the whole screen once more, and
is drawn twice. The size of these follows from the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import containers, widgets
from textual.geometry import Region
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.strip import Strip

_FRAME = 2
"""Columns of a panel's border and of the space beside it."""


class Still(Widget):
    """A widget that takes the size that it is given. It does not scroll.

    As a base it comes last: styles are those of the first.
    """

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class Across(containers.Horizontal, Still):
    """Widgets beside each other."""


class Down(containers.Vertical, Still):
    """Widgets below each other."""


class Covered(containers.Container, Still):
    """Widgets below or over each other that leave nothing of it free: it draws nothing of its own.

    Where they leave something free all the same, what is behind it shows.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        return []


class Beside(Down):
    """A panel beside the chat, or over it where there is no room. What is in it leaves nothing free but its border."""

    _width = 0
    """Columns inside; 0 while they are not known."""

    def fit(self, columns: int, *, over: bool) -> None:
        """Take so many columns, beside the chat or over it."""
        self.set_class(over, "-over")
        self.styles.width = columns
        if not self._width:
            self._width = columns - _FRAME

    def render_lines(self, crop: Region) -> list[Strip]:
        # but for its border it is covered: each row is as the first
        return super().render_lines(Region(crop.x, crop.y, crop.width, 1)) * crop.height


class Text(widgets.Static, Still):
    """A text."""
