"""A unified diff as lines: number, sign, text; added and removed lines are told by the sign and by colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from textual.content import Content

from tui_agent.ui.transcript.lines import EMPTY, Line, literal
from tui_agent.ui.transcript.origin import Origin, line_origin, whole_origin

Kind = Literal["added", "removed", "same", "hunk", "file", "note"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_GROUNDS = {"added": ".transcript--added", "removed": ".transcript--removed"}
SECTION = 2
"""The section of a call's source that is its diff."""
_SIGNS = {"added": "+", "removed": "-", "same": " "}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff. `number` is its number in the file: the old one if it was removed, else the new one.

    `source` is the line as it is written, `at` where in the diff it begins.
    """

    kind: Kind
    text: str
    number: int | None = None
    source: str = field(default="", compare=False)
    at: int = field(default=0, compare=False)


def read(diff: str) -> list[DiffLine]:
    """The lines of a unified diff. What is no diff comes out as notes, in order."""
    return list(_read(diff.replace("\r\n", "\n").removesuffix("\n").split("\n"))) if diff else []


def _read(lines: Sequence[str]) -> Iterator[DiffLine]:
    old = new = 0
    left_old = left_new = 0
    before = ""
    at = end = 0
    for line in lines:
        sign, at, end = line[:1], end, end + len(line) + 1
        if sign == "-" and left_old > 0:
            yield DiffLine("removed", line[1:], old, line, at)
            old, left_old = old + 1, left_old - 1
        elif sign == "+" and left_new > 0:
            yield DiffLine("added", line[1:], new, line, at)
            new, left_new = new + 1, left_new - 1
        elif sign in (" ", "") and left_old > 0 and left_new > 0:
            yield DiffLine("same", line[1:], new, line, at)
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
            yield DiffLine("hunk", hunk[5], None, line, at)
        elif line.startswith("+++ "):
            after = _path(line[4:])
            shown = f"{before} (deleted)" if after == "/dev/null" else after
            yield DiffLine("file", shown, None, line, at)
        elif line.startswith("--- "):
            before = _path(line[4:])
        elif not line.startswith(("diff --git ", "index ")):
            # the middle of a long diff was left out: what follows has no numbers until the next hunk
            left_old = left_new = 0
            yield DiffLine("note", line, None, line, at)


def _path(name: str) -> str:
    return name.partition("\t")[0].removeprefix("a/").removeprefix("b/")


def lines(diff: Sequence[DiffLine], *, digits: int) -> list[Line]:
    """Lines of a diff laid out; `digits` is the width of the numbers, in cells."""
    return [_line(line, digits) for line in diff]


def digits(diff: Sequence[DiffLine]) -> int:
    """The width of the largest line number, in cells."""
    return len(str(max((line.number or 0 for line in diff), default=0)))


def _line(line: DiffLine, width: int) -> Line:
    if line.kind in _SIGNS:
        number = f"{line.number if line.number is not None else '':>{width}} "
        ground = _GROUNDS.get(line.kind, "")
        first = Content.styled(number, ".transcript--dim") + Content(f"{_SIGNS[line.kind]} ")
        rest = Content(" " * first.cell_length)
        content = literal(line.text)
        return Line(content, first, rest, True, True, ground, origin=_changed(line, content.plain))
    style = "bold" if line.kind == "file" else ".transcript--dim"
    content = literal(f"@@ {line.text}".rstrip() if line.kind == "hunk" else line.text, style)
    origin = whole_origin(SECTION, line.at, line.at + len(line.source), len(content))
    return Line(content, EMPTY, EMPTY, fold=True, wide=True, origin=origin)


def _changed(line: DiffLine, shown: str) -> Origin:
    """Where a line of the file comes from: its sign goes along when more than this line is taken."""
    sign = len(line.source) - len(line.text)
    origin = line_origin(SECTION, line.at + sign, line.text, shown)
    return origin._replace(start=line.at, left=line.at, unit=line.at)
