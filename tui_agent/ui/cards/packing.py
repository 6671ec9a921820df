"""Short texts side by side in rows: nothing is cut in the middle while there is room for it on a row of its own."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

_MORE = " ..."


def packed(parts: Sequence[Content], width: int, gap: str) -> list[tuple[Content, int]]:
    """The parts in rows of at most `width` cells, each row with the number of its first part."""
    rows: list[tuple[Content, int]] = []
    for number, part in enumerate(parts):
        if rows and part.cell_length + len(gap) + rows[-1][0].cell_length <= width:
            rows[-1] = (Content.assemble(rows[-1][0], gap, part), rows[-1][1])
        elif part.cell_length <= width:
            rows.append((part, number))
        else:
            rows += [(row, number) for row in part.wrap(max(1, width))]
    return rows


def window(rows: Sequence[tuple[Content, int]], limit: int, width: int, *, at: int = 0) -> Content:
    """At most `limit` of the rows, among them the one that part `at` stands in; an end that is cut off says so."""
    if limit <= 0:
        return Content("")
    holding = max((place for place, (_, first) in enumerate(rows) if first <= at), default=0)
    start = max(0, min(holding - limit + 1, len(rows) - limit)) if holding >= limit else 0
    shown = [row for row, _ in rows[start : start + limit]]
    if start + limit < len(rows):
        shown[-1] = shown[-1].truncate(max(1, width - len(_MORE))).rstrip() + Content(_MORE)
    return Content("\n").join(shown)
