"""What the demo model says of tool results: counts, and quotations that their own text cannot break out of."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SHOWN_LINES = 8
_SHOWN_COLUMNS = 200

_REMARK = re.compile(r"\[.*\]")
_NOTHING = re.compile(r"\(no output\)|no (?:file|line|match)")
_NUMBERED = re.compile(r"\s*(\d+)(?:\t|\s?[→│|:]\s?)(.*)")


def file_lines(text: str) -> list[str]:
    """The lines of a file in the result of read_file, whether it numbers them or not, without its remarks."""
    lines = text.split("\n")
    while lines and not lines[-1]:
        lines.pop()
    found = [match for line in lines if (match := _NUMBERED.fullmatch(line)) is not None]
    numbers = [int(match.group(1)[:18]) for match in found]
    counted = bool(found) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if counted and len(found) * 2 >= len(lines):
        return [match.group(2) for match in found]
    return lines


def filled(text: str) -> list[str]:
    """The lines that hold something."""
    return [line for line in text.split("\n") if line.strip()]


def parted(text: str) -> tuple[list[str], str]:
    """A tool's lines, and what the tool itself remarks on them: `[exit code 0]`, `no line matches ...`."""
    lines = filled(text)
    remarks: list[str] = []
    while lines and (_REMARK.fullmatch(lines[-1]) or (len(lines) == 1 and _NOTHING.match(lines[0]))):
        remarks.insert(0, lines.pop().strip("[]"))
    return lines, "; ".join(remark for remark in remarks if not remark.startswith("("))


def counted(lines: Sequence[str], remark: str) -> str:
    """How many lines there are, with the tool's remark: `3 lines (exit code 0)`."""
    return plural(len(lines), "line") + (f" ({remark})" if remark else "")


def first_line(text: str) -> str:
    """The first line that holds something, shortened, as inline code."""
    line = next(iter(filled(text)), "nothing").strip()
    return code(line[:_SHOWN_COLUMNS])


def quote(lines: Sequence[str]) -> str:
    """Lines in a fence that their own backticks cannot close; the first few, and how many more there are."""
    if not lines:
        return "(nothing)"
    shown = [line[:_SHOWN_COLUMNS] for line in lines[:_SHOWN_LINES]]
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    more = len(lines) - len(shown)
    rest = f"\n\n... and {plural(more, 'more line')}." if more else ""
    return f"{fence}\n" + "\n".join(shown) + f"\n{fence}{rest}"


def code(text: str) -> str:
    """A piece of text as inline code, whatever backticks it has."""
    text = " ".join(text.split()) or " "
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
