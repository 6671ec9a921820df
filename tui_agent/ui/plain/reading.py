"""Texts as they are read aloud: results by the page, and changes with what becomes of each line said in a word.

A reader of screens says a line's words and leaves out signs such as + and -.
"""

from __future__ import annotations

import json
import re

PAGE = 60
"""Lines that are written at once."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PARTS = {"+": "added", "-": "removed", " ": "same"}
_FILE = re.compile(r"\+\+\+ (?:b/)?([^\t]*)")


def change(diff: str) -> list[str]:
    """The lines of a unified diff in words; what is no part of one is left as it is."""
    said: list[str] = []
    before = after = 0
    for line in diff.rstrip("\n").split("\n"):
        sign = line[:1]
        if (before or after) and sign in _PARTS:
            said.append(f"{_PARTS[sign]}: {line[1:]}")
            before, after = max(0, before - (sign != "+")), max(0, after - (sign != "-"))
        elif hunk := _HUNK.match(line):
            before, after = int(hunk[2] or 1), int(hunk[3] or 1)
            said.append(f"from line {hunk[1]}")
        elif file := _FILE.fullmatch(line):
            said.append(f"file {file[1]}")
        elif not line.startswith("--- "):
            said.append(line)
    return said


def page(text: str, first: int, command: str) -> list[str]:
    """A page of a text from a line (1 is the first) on; `command` reads on from the line that it is given."""
    lines = text.rstrip().split("\n")
    shown = lines[first - 1 : first - 1 + PAGE]
    left = len(lines) - (first - 1) - len(shown)
    more = (
        [f"note: {count(left, 'more line', 'more lines')}; {command} {first + PAGE} reads on"]
        if left > 0
        else []
    )
    return [*(f"| {line}" for line in shown), *more]


def arguments(given: object) -> str:
    """What a call was given, in words."""
    if not isinstance(given, dict):
        return str(given)
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in given.items()
    )


def count(number: int, one: str, more: str) -> str:
    """A number of things: `1 line`, `2 lines`."""
    return f"{number:,} {one if number == 1 else more}"
