"""Figures as a person reads them (sizes, times, token counts), and long lists made in short slices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from tui_agent.context import Checkpoint

T = TypeVar("T")

SIGNS = {"exact": "", "estimated": "~", "reconciled": "≃"}
"""How sure a count is: exact bare, estimated, or an exact difference shared out by estimate."""


class Counted(Protocol):
    """A count of tokens and how sure it is."""

    @property
    def count(self) -> int: ...
    @property
    def mark(self) -> str: ...


def number(count: int, mark: str = "exact") -> str:
    """A count of tokens with its mark: exact `18,734`, estimated `~1,204`, reconciled `≃690`."""
    return f"{SIGNS.get(mark, '~')}{count:,}"


GUESSED = "a guess: context_window sets it"
"""Said beside a window that is marked so."""


def window(count: int, *, guessed: bool) -> str:
    """A model's window, marked as an estimate where nobody has told it: `~32,768`."""
    return number(count, "estimated" if guessed else "exact")


def tokens(value: Counted | int | None) -> str:
    """A count as `number` writes it; nothing where it is not known. A bare count is an exact one."""
    if value is None:
        return ""
    return number(value) if isinstance(value, int) else number(value.count, value.mark)


def checkpoint_widths(points: Sequence[Checkpoint]) -> tuple[int, int]:
    """Columns for the numbers of these checkpoints and for their tokens: the newest has the widest."""
    newest = points[-1] if points else None
    if newest is None:
        return 4, 8
    return max(4, len(str(newest.id))), max(8, len(tokens(newest.tokens or None)))


def said_at(words: str) -> str:
    """What was said where a turn began; in a turn of the goal nobody spoke."""
    return words or "(a turn of the goal)"


def size(count: int) -> str:
    """Bytes, in the unit that leaves up to four digits: `812 B`, `2.1 KB`, `18 MB`."""
    if count < 1000:
        return f"{count} B"
    value, units = count / 1000, ["KB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f} {units[0]}" if value < 10 else f"{value:.0f} {units[0]}"


def clock(at: str | None, *, short: bool = False, now: datetime | None = None) -> str:
    """A time in ISO 8601 as local time: `12:04` today, `29 Nov 12:04` on another day, there `short` is `29 Nov`."""
    if not at:
        return ""
    try:
        moment = datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        return ""
    today = now or datetime.now().astimezone()
    if moment.date() == today.date():
        return moment.strftime("%H:%M")
    return f"{moment.day} {moment:%b}" if short else f"{moment.day} {moment:%b %H:%M}"


def clock_seconds(at: object) -> str:
    """A time in ISO 8601 as local time of day: `12:04:09`."""
    try:
        return datetime.fromisoformat(str(at)).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


def short_path(path: str) -> str:
    """A path with the home folder as `~`."""
    home = str(Path.home()).rstrip("/")
    return f"~{path[len(home) :]}" if home and (path == home or path.startswith(f"{home}/")) else path


_SLICE_S = 0.003
"""Seconds of work between two chances for others."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, with a chance for keys and frames every few milliseconds: for what takes long to make."""
    until = perf_counter() + _SLICE_S
    for item in items:
        yield item
        if perf_counter() > until:
            await asyncio.sleep(0)
            until = perf_counter() + _SLICE_S
