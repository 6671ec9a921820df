"""Cells of a list: what stands in a column, in exactly its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from tui_agent.literal import one_line
from tui_agent.ui.themes import UNICODE

GAP = 2
"""Cells between columns."""
_LONGEST = 2000
"""Characters of a cell that are looked at; no screen is wider."""

Cell = str | Content
"""What stands in a column, on one line. Both are foreign text and shown literally; content keeps its styles."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `width` in cells; 0 takes a share of what the others leave. `style` is for cells that are strings."""

    title: str = ""
    width: int = 0
    align: Literal["left", "right"] = "left"
    style: str = ""


def widths_of(columns: Sequence[Column], room: int) -> list[int]:
    """The width of each column where all of them and the gaps between have `room` cells."""
    fixed = sum(column.width for column in columns) + GAP * (len(columns) - 1)
    shares = sum(1 for column in columns if not column.width)
    return [column.width or max(1, (room - fixed) // shares) for column in columns]


def fitted(cell: Cell, column: Column, width: int, more: str) -> Content:
    """The cell in exactly `width` cells, cut with a sign or padded."""
    if isinstance(cell, str):
        content = Content(one_line(cell[:_LONGEST]))
        if column.style:
            content = content.stylize(column.style)
    else:
        content = cell.first_line[:_LONGEST]
        if (shown := one_line(content.plain)) != content.plain:
            content = Content(shown)
    if content.cell_length > width:
        content = content.truncate(max(0, width - len(more))) + Content(more)
    pad = max(0, width - content.cell_length)
    return content.pad_left(pad) if column.align == "right" else content.pad_right(pad)


def cut(text: Content, width: int) -> Content:
    """The text in at most `width` cells, with a sign at its end if there was more.

    Textual's own sign is two cells wide in some terminals.
    """
    if text.cell_length <= width:
        return text
    return text.truncate(max(0, width - len(UNICODE.more))) + Content(UNICODE.more)
