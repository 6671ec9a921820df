"""What the command line prints: a table for people, JSON for programs, one clear line for errors.

Text from models, tools and files is shown through `literal`, so nothing in it acts on the terminal; in JSON the
characters that could are written as escapes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tui_agent.cli.failures import Failed
from tui_agent.literal import one_line, visible

_PLAIN_WIDTH = 160
"""Cells of a line when the output is no terminal."""

_LEAST_WIDTH = 40
"""Cells: on a narrower terminal lines wrap."""

_LEAST_COLUMN = 8
"""Cells: a column that shrinks keeps so many."""

_GAP = "  "

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

_MARKS = {"exact": "", "reconciled": "≃", "estimated": "~"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Those that may `shrink` are cut when a line is too long, the widest first; of a `tail`
    column the end stays."""

    title: str
    align: Literal["left", "right"] = "left"
    shrink: bool = False
    tail: bool = False


def table(
    columns: Sequence[Column | str], rows: Sequence[Sequence[object]], *, width: int | None = None
) -> str:
    """Rows as aligned text, at most `width` cells wide (default: the terminal's), without a line feed at the end.

    Cells are foreign text: shown literally and on one line. A column in which nothing stands is left out.
    """
    heads = [column if isinstance(column, Column) else Column(column) for column in columns]
    lines = [[head.title for head in heads], *([one_line(str(cell)) for cell in row] for row in rows)]
    used = [index for index in range(len(heads)) if any(line[index] for line in lines[1:])] if rows else []
    if len(used) < len(heads) and used:
        heads = [heads[index] for index in used]
        lines = [[line[index] for index in used] for line in lines]
    widths = [max(cells_of(line[index]) for line in lines) for index in range(len(heads))]
    room = (terminal_width() if width is None else width) - len(_GAP) * (len(heads) - 1)
    shrinking = [index for index, head in enumerate(heads) if head.shrink]
    while sum(widths) > room and shrinking:
        widest = max(shrinking, key=lambda index: widths[index])
        if widths[widest] <= max(_LEAST_COLUMN, cells_of(heads[widest].title)):
            break
        widths[widest] -= 1
    text = []
    for line in lines:
        parts = []
        for cell, wide, head in zip(line, widths, heads, strict=True):
            cell = fit(cell, wide, tail=head.tail)
            pad = " " * (wide - cells_of(cell))
            parts.append(pad + cell if head.align == "right" else cell + pad)
        text.append(_GAP.join(parts).rstrip())
    return "\n".join(text)


def facts(pairs: Sequence[tuple[str, object]]) -> str:
    """Names and values, a line each, values aligned."""
    room = max((cells_of(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name:<{room}}  {one_line(str(value))}".rstrip() for name, value in pairs)


def fit(text: str, room: int, *, tail: bool = False) -> str:
    """`text` in at most `room` cells; cut, it ends in `…`, or begins with it if the `tail` is what stays."""
    if cells_of(text) <= room:
        return text
    used, kept = 1, []
    for character in reversed(text) if tail else text:
        used += _cells(character)
        if used > room:
            break
        kept.append(character)
    return "…" + "".join(reversed(kept)) if tail else "".join(kept) + "…"


def cells_of(text: str) -> int:
    """How many cells of a terminal the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def terminal_width() -> int:
    """Cells of a line on the standard output."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return _PLAIN_WIDTH
    return max(shutil.get_terminal_size().columns, _LEAST_WIDTH)


def say(text: str, *, end: str = "\n") -> None:
    """Print text.

    Raises:
        Failed: it cannot be written, such as on a full disk.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failed(f"the output cannot be written: {error.strerror}") from error


def say_json(data: Any, *, lines: bool = False) -> None:
    """Print data for programs: indented, or on one line where every line is a value of its own."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(data, ensure_ascii=ascii_only, indent=None if lines else 2, default=str)
    say(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def complain(text: str) -> None:
    """Print an error as one line on the standard error."""
    print(f"tui-agent: {visible(' '.join(text.split()))}", file=sys.stderr, flush=True)


def confirm(question: str) -> bool:
    """Ask a person on a terminal; no terminal, no or anything else than yes is False."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def tokens(count: int | None, mark: str = "exact") -> str:
    """A number of tokens with its mark: bare if exact, `≃` if reconciled, `~` if estimated."""
    return "" if count is None else f"{_MARKS.get(mark, '~')}{count:,}"


def size(count: int) -> str:
    """Bytes as people read them: `812 B`, `3.4 KB`, `12 MB`."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"


def when(at: str | None) -> str:
    """A time (ISO 8601) in the reader's zone, to the minute; empty if there is none."""
    if not at:
        return ""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def home_short(path: str) -> str:
    """A path with the user's home folder as `~`."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path
