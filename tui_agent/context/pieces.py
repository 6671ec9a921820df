"""What a rewrite copies: the bytes of good lines of a file, in its order, damaged ones left out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.context.records import Record
from tui_agent.context.source import Source

if TYPE_CHECKING:
    from tui_agent.context.projection import Projection

Piece = tuple[Source, int, int] | bytes
"""Bytes of a file (the file, offset, length), or bytes."""

TARGETED = frozenset({"_elide", "_restore_elided", "_mark"})
"""Roles of records that say something of others."""
USAGES = frozenset({"_usage"})
HISTORY = USAGES | {"_compaction", "_rewind"}
"""Roles of records that tell of the file they were written to: figures of requests, and what rewrites did."""


def first_behind(projection: Projection, offset: int) -> int:
    """The index of the first line that does not end before the offset."""
    return bisect_left(
        range(len(projection)), offset, key=lambda i: projection.starts[i] + projection.lengths[i]
    )


def first_at(projection: Projection, offset: int) -> int:
    """The index of the first line that begins at the offset or behind it."""
    return bisect_left(projection.starts, offset)


def good_lines(projection: Projection, first: int, last: int) -> list[Piece]:
    """The undamaged lines from `first` to before `last`, a missing last newline added."""
    source = projection.source
    if source is None:
        return []
    pieces: list[Piece] = []
    for offset, length in _ranges(projection, first, last):
        over = offset + length - projection.size
        pieces.append((source, offset, length - max(over, 0)))
        if over > 0:
            pieces.append(b"\n")
    return pieces


def every_byte(projection: Projection) -> list[Piece]:
    """Every byte of a file, a missing last newline added."""
    source = projection.source
    if source is None or not projection.size:
        return []
    return [(source, 0, projection.size), *([b"\n"] if projection.torn else [])]


def names_in(projection: Projection, cut: int, new: Sequence[Record | Mapping[str, Any]]) -> set[str]:
    """The ids that the new file has in front of its tail."""
    names = {name for name in projection.ids[:cut] if name is not None}
    for item in new:
        name = item.id if isinstance(item, Record) else item.get("id")
        if isinstance(name, str):
            names.add(name)
    return names


def tail_of(
    projection: Projection, first: int, names: set[str], *, without: Collection[str] = frozenset()
) -> tuple[list[Piece], int]:
    """The lines from `first` on, without elisions and marks all of whose targets are gone; and how many those are.

    Records of the roles in `without` are left out too.
    """
    last = len(projection)
    if not first:
        return good_lines(projection, first, last), 0
    left_out, gone = list[int](), 0
    for index in range(first, last):
        role = projection.role(index)
        if role in TARGETED and not aims_at(projection.body(index), names):
            left_out.append(index)
            gone += 1
        elif role in without:
            left_out.append(index)
        elif (name := projection.ids[index]) is not None:
            names.add(name)
    kept: list[Piece] = []
    for index in [*left_out, last]:
        kept += good_lines(projection, first, index)
        first = index + 1
    return kept, gone


def aims_at(body: Mapping[str, Any], names: Container[str]) -> bool:
    """True if an elision, what brings one back, or a mark names something of these ids."""
    targets = [body.get("record"), body.get("elide")]
    items = body.get("items")
    if body.get("role") == "_elide" and isinstance(items, list):
        targets = [item.get("record") for item in items if isinstance(item, dict)]
    return any(isinstance(target, str) and target in names for target in targets)


def _ranges(projection: Projection, first: int, last: int) -> list[tuple[int, int]]:
    """Where the undamaged lines from index `first` to before `last` lie, with their newlines: (offset, length)."""
    if first >= last:
        return []
    if projection.is_compact:
        start = projection.starts[first]
        return [(start, projection.starts[last - 1] + projection.lengths[last - 1] + 1 - start)]
    found: list[tuple[int, int]] = []
    for index in range(first, last):
        if index in projection.damage:
            continue
        start, length = projection.starts[index], projection.lengths[index] + 1
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + length)
        else:
            found.append((start, length))
    return found
