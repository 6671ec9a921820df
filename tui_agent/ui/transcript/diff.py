"""A unified diff as lines: number, sign, text; added and removed lines are told by the sign and by colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from tui_agent.ui.transcript.lines import EMPTY, Line, literal

Kind = Literal["added", "removed", "same", "hunk", "file", "note"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_GROUNDS = {"added": ".transcript--added", "removed": ".transcript--removed"}
_SIGNS = {"added": "+", "removed": "-", "same": " "}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff. `number` is its number in the file: the old one if it was removed, else the new one."""

    kind: Kind
    text: str
    number: int | None = None


def read(diff: str) -> list[DiffLine]:
    """The lines of a unified diff. What is no diff comes out as notes, in order."""
    return list(_read(diff.replace("\r\n", "\n").removesuffix("\n").split("\n"))) if diff else []


def _read(lines: Sequence[str]) -> Iterator[DiffLine]:
    old = new = 0
    left_old = left_new = 0
    before = ""
    for line in lines:
        sign = line[:1]
        if sign == "-" and left_old > 0:
            yield DiffLine("removed", line[1:], old)
            old, left_old = old + 1, left_old - 1
        elif sign == "+" and left_new > 0:
            yield DiffLine("added", line[1:], new)
            new, left_new = new + 1, left_new - 1
        elif sign in (" ", "") and left_old > 0 and left_new > 0:
            yield DiffLine("same", line[1:], new)
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
            yield DiffLine("hunk", hunk[5])
        elif line.startswith("+++ "):
            after = _path(line[4:])
            yield DiffLine("file", f"{before} (deleted)" if after == "/dev/null" else after)
        elif line.startswith("--- "):
            before = _path(line[4:])
        elif not line.startswith(("diff --git ", "index ")):
            # the middle of a long diff was left out: what follows has no numbers until the next hunk
            left_old = left_new = 0
            yield DiffLine("note", line)


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
        return Line(literal(line.text), first, rest, fold=True, wide=True, ground=ground)
    if line.kind == "hunk":
        return Line(
            literal(f"@@ {line.text}".rstrip(), ".transcript--dim"), EMPTY, EMPTY, fold=True, wide=True
        )
    style = "bold" if line.kind == "file" else ".transcript--dim"
    return Line(literal(line.text, style), EMPTY, EMPTY, fold=True, wide=True)
