"""A unified diff as lines: number, sign, text; changes are told by sign and colour, changed words are underlined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import Literal

from textual.content import Content

from tui_agent.ui.transcript.lines import EMPTY, Line, literal
from tui_agent.ui.transcript.origin import Origin, line_origin, whole_origin

Kind = Literal["added", "removed", "same", "hunk", "file", "note"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 400
"""Characters of a line whose words are compared."""
_ALIKE = 0.3
"""The share of a line that must be the same for its changed words to be marked."""
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_GROUNDS = {"added": ".transcript--added", "removed": ".transcript--removed"}
SECTION = 2
"""The section of a call's source that is its diff."""
_SIGNS = {"added": "+", "removed": "-", "same": " "}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff. `number` is its number in the file: the old one if it was removed, else the new one.

    `source` is the line as it is written, `at` where in the diff it begins. `other` is the line that stands in
    its place before or after the change, if there is one.
    """

    kind: Kind
    text: str
    number: int | None = None
    source: str = field(default="", compare=False)
    at: int = field(default=0, compare=False)
    other: str | None = field(default=None, compare=False)


def read(diff: str) -> list[DiffLine]:
    """The lines of a unified diff. What is no diff comes out as notes, in order."""
    return _paired(list(_read(diff.replace("\r\n", "\n").removesuffix("\n").split("\n")))) if diff else []


def _paired(lines: list[DiffLine]) -> list[DiffLine]:
    """Tell each removed line which added one stands in its place, and the other way round."""
    start = 0
    for kind, run in groupby(list(lines), key=lambda line: line.kind):
        size = len(list(run))
        if kind == "removed":
            for place in range(start, start + size):
                after = place + size
                if after >= len(lines) or lines[after].kind != "added":
                    break
                old, new = lines[place], lines[after]
                lines[place], lines[after] = replace(old, other=new.text), replace(new, other=old.text)
        start += size
    return lines


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
        if line.other is not None:
            for begin, end in changed_words(content.plain, literal(line.other).plain):
                content = content.stylize(".transcript--changed", begin, end)
        return Line(content, first, rest, True, True, ground, origin=_changed(line, content.plain))
    style = "bold" if line.kind == "file" else ".transcript--dim"
    content = literal(f"@@ {line.text}".rstrip() if line.kind == "hunk" else line.text, style)
    origin = whole_origin(SECTION, line.at, line.at + len(line.source), len(content))
    return Line(content, EMPTY, EMPTY, fold=True, wide=True, origin=origin)


def changed_words(text: str, other: str) -> list[tuple[int, int]]:
    """Where words of a text are that the other has not; nothing if the two have little in common."""
    if max(len(text), len(other)) > _LONGEST:
        return []
    from difflib import SequenceMatcher  # not needed before the first frame

    mine, theirs = _WORD.findall(text), _WORD.findall(other)
    head = _alike(mine, theirs)
    tail = _alike(mine[head:][::-1], theirs[head:][::-1])
    middle, wanted = mine[head : len(mine) - tail], theirs[head : len(theirs) - tail]
    found: list[tuple[int, int]] = []
    same = sum(map(len, mine[:head])) + sum(map(len, mine[len(mine) - tail :]))
    at = sum(map(len, mine[:head]))
    matches = SequenceMatcher(None, middle, wanted, autojunk=False).get_opcodes()
    for what, first, last, _, _ in matches:
        size = sum(map(len, middle[first:last]))
        if what == "equal":
            same += size
        elif size:
            found.append((at, at + size))
        at += size
    return found if same >= _ALIKE * max(len(text), len(other)) else []


def _alike(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words are the same from the beginning on."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False))))


def _changed(line: DiffLine, shown: str) -> Origin:
    """Where a line of the file comes from: its sign goes along when more than this line is taken."""
    sign = len(line.source) - len(line.text)
    origin = line_origin(SECTION, line.at + sign, line.text, shown)
    return origin._replace(start=line.at, left=line.at, unit=line.at)
