"""How a session looks in the list: its row, and what is said about it below."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.cells import Cell, Column, cut

if TYPE_CHECKING:
    from tui_agent.sessions.catalog import Census
    from tui_agent.sessions.entry import Entry

_ROOMY, _WIDE = 96, 116
"""Columns from which the model, and from which the last words have a column."""


def columns(width: int, *, places: bool) -> Sequence[Column]:
    """The columns that a screen of that width has room for; `places`: with the workspace."""
    made = [Column("title"), Column("used", 6), Column("tokens", 9, "right"), Column("size", 6, "right")]
    if width >= _ROOMY:
        made.insert(1, Column("model", 18))
    if width >= _WIDE:
        made.insert(1, Column("last words"))
    if places and width >= _ROOMY:
        made.append(Column("workspace", 16))
    return [*made, Column("", 8)]


def cells(entry: Entry, width: int, *, places: bool, current: bool, said: str) -> Sequence[Cell]:
    """The cells for `columns`; `said` are words that were searched, and stand for the last words."""
    made: list[Cell] = [entry.title, age(entry.at), _tokens(entry), words.size(entry.bytes)]
    if width >= _ROOMY:
        made.insert(1, entry.model)
    if width >= _WIDE:
        made.insert(1, Content.styled(_flat(said or entry.last), "$text-muted"))
    if places and width >= _ROOMY:
        made.append(entry.workspace.rstrip("/").rpartition("/")[2])
    return [*made, _state(entry, current=current)]


def searched(entry: Entry) -> str:
    """What a filter by words looks at."""
    return "\n".join(
        (entry.title, entry.first, entry.last, entry.model, entry.id, entry.workspace, entry.damaged)
    )


def detail(
    entry: Entry, room: int, *, place: bool, current: bool, said: str, counted: Census | None
) -> Content:
    """More about a session, in lines of `room` cells."""
    lines = [("said", said), ("first", entry.first), ("last", entry.last), ("damaged", entry.damaged)]
    if entry.in_use and not current:
        lines.append(("in use", f"{entry.in_use} writes it; here it can be read"))
    lines.append(("files", words.short_path(str(entry.path))))
    figures = [words.clock(entry.at), entry.model, words.size(entry.bytes)]
    if counted is not None:
        figures += [_count(counted.records, "record"), _count(counted.checkpoints, "checkpoint")]
    if place:
        figures.insert(0, words.short_path(entry.workspace))
    lines.append(("", ", ".join(filter(None, figures))))
    return Content("\n").join([cut(Content(f"{name:<8}{_flat(text)}"), room) for name, text in lines if text])


def age(at: str, now: datetime | None = None) -> str:
    """How long ago a time was: `now`, `5 min`, `3 h`, `12 d`, `4 mo`, `2 y`."""
    try:
        seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return ""
    for limit, unit, name in (
        (60, 0, "now"),
        (3600, 60, "min"),
        (86_400, 3600, "h"),
        (60 * 86_400, 86_400, "d"),
        (730 * 86_400, 30 * 86_400, "mo"),
    ):
        if seconds < limit:
            return f"{int(seconds // unit)} {name}" if unit else name
    return f"{int(seconds // (365 * 86_400))} y"


def _tokens(entry: Entry) -> str:
    mark = "exact" if entry.exact else "estimated"
    return words.number(entry.tokens, mark) if entry.tokens is not None else ""


def _state(entry: Entry, *, current: bool) -> Cell:
    if current:
        return Content.styled("open", "bold $text-accent")
    if entry.damaged:
        return Content.styled("damaged", "$text-error")
    return Content.styled("in use", "$text-warning") if entry.in_use else ""


def _flat(text: str) -> str:
    return literal.one_line(" ".join(text.split()))


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
