"""A line of text that is yet to be wrapped, and foreign text as content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from textual.content import Content

from tui_agent.literal import visible

if TYPE_CHECKING:
    from tui_agent.ui.transcript.origin import Origin

EMPTY = Content("")

PROSE = 100
"""Cells after which prose is wrapped, however wide the screen is."""


class Line(Struct, frozen=True):
    """One line of text before it is wrapped.

    `first` stands before its first row, `rest` before those it is wrapped to; both have the same width. `fold`: broken
    anywhere, as code is, instead of at words. `wide`: uses the whole width and not only that of prose. `ground` is
    the style of the whole row. `sign` stands in the margin beside the first row. `origin` says where the content comes
    from; a line without one has nothing to select.
    """

    content: Content
    first: Content = EMPTY
    rest: Content = EMPTY
    fold: bool = False
    wide: bool = False
    ground: str = ""
    sign: Content = EMPTY
    origin: Origin | None = None


def literal(text: str, style: str = "") -> Content:
    """Foreign text as content: every character shows, none acts."""
    content = Content(visible(text.expandtabs(4) if "\t" in text else text))
    return content.stylize(style) if style else content


def wrapped(content: Content, width: int, *, fold: bool = False) -> list[Content]:
    """The content in rows of at most `width` cells; `fold`: broken anywhere instead of at words."""
    if content.cell_length <= width and "\n" not in content.plain:
        return [content]  # most lines fit, and wrapping them costs ten times as much
    return content.fold(width) if fold else content.wrap(width)
