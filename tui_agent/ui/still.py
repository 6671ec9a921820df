"""Widgets whose own size asks for no layout.

When a layout gives a widget of Textual's another size, the widget asks for a layout of the whole screen once more, and
is drawn twice. The size of these follows from the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import containers, widgets
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.geometry import Region, Size
    from textual.strip import Strip


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


class Text(widgets.Static, Still):
    """A text."""
