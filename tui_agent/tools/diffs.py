"""Unified diffs that stay quick on large files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from msgspec import Struct

_CONTEXT_LINES = 3

_MOST_COMPARED = 4_000_000
"""Lines removed times lines added up to which they are compared line by line; beyond, all are shown as replaced."""


class Diff(Struct, frozen=True):
    """A unified diff (empty if nothing changed) and how many lines it adds and removes."""

    text: str
    added: int
    removed: int

    @property
    def summary(self) -> str:
        """`+6 -1`."""
        return f"+{self.added} -{self.removed}"


def unified(old: str, new: str, name: str) -> Diff:
    """The change from `old` to `new` of the file `name`; an empty side stands for a file that is not there.

    Where every line of both sides ends in CR LF the CR is left out of what is shown.
    """
    if old == new:
        return Diff("", 0, 0)
    if _all_crlf(old) and _all_crlf(new):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    before, after = _lines(old), _lines(new)
    label = "".join(character if character.isprintable() else "?" for character in name)
    out = [f"--- {'a/' + label if old else '/dev/null'}\n", f"+++ {'b/' + label if new else '/dev/null'}\n"]
    added = removed = 0
    for line in _hunks(before, after):
        added += line.startswith("+")
        removed += line.startswith("-")
        out.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return Diff("".join(out), added, removed)


def _all_crlf(text: str) -> bool:
    return text.count("\r\n") == text.count("\n") == text.count("\r")


def _lines(text: str) -> list[str]:
    """The lines with their newlines; only a newline ends a line."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    # what both sides begin and end with need not be compared: an edit touches few lines of a long file
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    head = max(0, head - _CONTEXT_LINES)
    tail = max(0, tail - _CONTEXT_LINES)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(before) * len(after) > _MOST_COMPARED:
        yield _header(head, len(before), head, len(after))
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        first, last = group[0], group[-1]
        yield _header(head + first[1], last[2] - first[1], head + first[3], last[4] - first[3])
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[old_from:old_to])
            else:
                yield from (f"-{line}" for line in before[old_from:old_to])
                yield from (f"+{line}" for line in after[new_from:new_to])


def _header(old_from: int, old_count: int, new_from: int, new_count: int) -> str:
    return f"@@ -{_range(old_from, old_count)} +{_range(new_from, new_count)} @@\n"


def _range(start: int, count: int) -> str:
    # lines count from 1; an empty side names the line before it (POSIX diff)
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"
