"""Markdown cut into chunks as it comes: the answer still open.

A chunk is a run of source that is finished (nothing that comes later changes how it looks) and small enough to be
laid out in a few milliseconds: a paragraph, some list items, up to 60 lines of code, up to 32 rows of a table. Only
the open end of a stream is laid out again while it grows. The cuts depend on the source alone, not on how it
arrived, so an answer looks the same when it is streamed and when it is read from the log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from tui_agent.ui.transcript.paint import Part

CHARACTERS = 6000
"""Characters after which any chunk is cut at the next line, and a line in two."""
CODE_LINES = 60
"""Lines of a fence in one chunk."""
TABLE_ROWS = 32
"""Rows of a table in one chunk."""
LIST_LINES = 8
"""Lines after which a list is cut before its next item."""

_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_INNER_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r" ?(?:([-*+])|(\d{1,9})([.)]))(?:\s|$)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DELIMITER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_LINK = re.compile(r" {0,3}\[[^\]\n]+\]:\s*\S")


class Table(Struct, eq=False):
    """A table cut into chunks: the first of them, and the columns' widths for each width they were asked for."""

    sample: str
    widths: dict[int, list[int]] = field(default_factory=dict)


class Chunk(Struct, eq=False):
    """A run of Markdown that is laid out by itself.

    `gap`: a blank row stands before it. `start`: the number of its first list item, if it goes on with a list.
    `indent`: cells it is moved right (the rest of something nested that was cut). `table`: the table it is a part
    of. `body`: it goes on with that table; its source repeats the head, which is not shown again. `closed`: nothing
    is added any more. `links`: the link definitions of the whole source. `starts`: where in the whole source each of
    its lines begins. `part` belongs to whoever lays it out.
    """

    source: str
    gap: bool = False
    start: int | None = None
    indent: int = 0
    table: Table | None = None
    body: bool = False
    closed: bool = True
    links: list[str] = field(default_factory=list)
    starts: Sequence[int] = ()
    part: Part | None = None


class _Open(Struct):
    """The chunk that still grows, and what is known about its block."""

    kind: str = ""
    text: str = ""
    lines: int = 0
    blank: bool = False
    """The last line was blank."""
    gap: bool = False
    start: int | None = None
    indent: int = 0
    head: str = ""
    """What the next chunk repeats: the line that opens a fence, the head of a table."""
    fence: str = ""
    """The marker that closes this fence, or a fence inside this list."""
    marker: str = ""
    number: int | None = None
    """A list's kind of mark, and the number of its newest item."""
    table: Table | None = None
    body: bool = False
    starts: list[int] = field(default_factory=list)
    """Where in the whole source each line begins."""
    head_starts: list[int] = field(default_factory=list)
    """The same of the lines that the next chunk repeats."""

    def next(self) -> _Open:
        """The chunk that goes on with the same block."""
        head = self.head if self.kind in ("fence", "table") else ""
        return _Open(
            self.kind,
            head,
            head=self.head,
            fence=self.fence,
            marker=self.marker,
            number=self.number,
            table=self.table,
            body=self.table is not None,
            starts=list(self.head_starts) if head else [],
            head_starts=self.head_starts,
        )


class Splitter:
    """Takes Markdown in pieces of any size and cuts it into chunks.

    `chunks` are the finished ones, in order; `tail` is what is open; `source` is everything that came.
    """

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self._came: list[str] = []
        self._links: list[str] = []
        self._rest = ""
        self._at = 0
        """Where in the source the line begins that is taken next."""
        self._open = _Open()

    @classmethod
    def whole(cls, source: str) -> Splitter:
        """The chunks of a source that is complete."""
        self = cls()
        self.feed(source)
        self.finish()
        return self

    @property
    def source(self) -> str:
        """All that came."""
        if len(self._came) > 1:
            self._came = ["".join(self._came)]
        return self._came[0] if self._came else ""

    @property
    def tail(self) -> Chunk | None:
        """The open end as a chunk (a new one at each call), or None if there is nothing to show of it."""
        return self._chunk(self._open.text + self._rest, closed=False)

    def feed(self, text: str) -> None:
        """Take more."""
        if not text:
            return
        self._came.append(text)
        lines = (self._rest + text).split("\n")
        self._rest = lines.pop()
        for line in lines:
            left = self._shortened(line)
            self._take(left)
            self._at += len(left) + 1
        self._rest = self._shortened(self._rest)

    def finish(self) -> None:
        """Nothing more comes: the open end is a chunk too."""
        if self._rest:
            self._take(self._rest)
            self._rest = ""
        self._emit()

    # --- lines

    def _shortened(self, line: str) -> str:
        """Take the beginning of an overlong line as lines of their own; returns what is left of it.

        In a paragraph a line's end is a space, so nothing changes to the eye.
        """
        while len(line) > CHARACTERS:
            at = line.rfind(" ", CHARACTERS // 2, CHARACTERS) + 1 or CHARACTERS
            self._take(line[:at])
            self._at += at
            line = line[at:]
        return line

    def _take(self, line: str) -> None:
        block = self._open
        if block.kind == "fence":
            self._take_code(line)
            return
        bare = line.strip()
        if not bare:
            if block.text and (not block.blank or block.kind == "code"):
                block.text += "\n"
                block.starts.append(self._at)
                block.blank = True
            return
        if block.text and self._ends(line, bare):
            self._emit()
        block = self._open
        if not block.kind:
            self._begin(line)
        elif block.kind == "paragraph" and self._heads_a_table(line):
            last = block.text.rstrip("\n").rpartition("\n")[2]
            block.kind, block.head, block.lines = "table", f"{last}\n{line}\n", -1
            block.head_starts = [block.starts[-1], self._at]
        if block.kind == "list":
            self._watch_fence(line)
        if _LINK.match(line):
            self._links.append(line)
        self._add(line)

    def _add(self, line: str) -> None:
        block = self._open
        full = len(block.text) + len(line) > CHARACTERS or (
            block.kind == "table" and block.lines >= TABLE_ROWS
        )
        if full and block.text not in ("", block.head):
            self._go_on()
            block = self._open
            if block.kind == "list":
                block.indent = len(line) - len(line.lstrip(" "))
        cut = min(block.indent, len(line) - len(line.lstrip(" ")))
        line = line[cut:]
        block.text += line + "\n"
        block.starts.append(self._at + cut)
        block.lines += 1
        block.blank = False

    def _begin(self, line: str) -> None:
        """The first line of a block says what it is."""
        block = self._open
        if fence := _FENCE.match(line):
            block.kind, block.fence, block.head, block.lines = "fence", fence[1], line + "\n", -1
            block.head_starts = [self._at]
        elif _HEADING.match(line) or _RULE.match(line):
            block.kind = "line"
        elif item := _ITEM.match(line):
            block.kind, block.marker = "list", item[1] or item[3]
            block.number = int(item[2]) if item[2] else None
        elif line.startswith(("    ", "\t")):
            block.kind = "code"
        elif line.lstrip().startswith(">"):
            block.kind = "quote"
        else:
            block.kind = "paragraph"

    def _ends(self, line: str, bare: str) -> bool:
        """Does this line begin another block?"""
        block = self._open
        match block.kind:
            case "line":
                return True
            case "code":
                return not line.startswith(("    ", "\t"))
            case "list":
                return self._ends_list(line)
            case "quote":
                return not bare.startswith(">") and (block.blank or self._interrupts(line))
            case _:
                quote = bare.startswith(">") and not line.startswith("    ")
                return block.blank or quote or self._interrupts(line)

    def _ends_list(self, line: str) -> bool:
        """Does this line end the list? A new item ends the chunk if that is long enough."""
        block = self._open
        if line.startswith(("  ", "\t")):
            return False
        block.fence = ""
        item = _ITEM.match(line)
        if item is None or _RULE.match(line):
            return block.blank or self._interrupts(line)
        if (item[1] or item[3]) != block.marker:
            return True
        if block.number is not None:
            block.number += 1
        if block.lines >= LIST_LINES:
            self._go_on()
            self._open.start = self._open.number
        return False

    def _interrupts(self, line: str) -> bool:
        """Does this line begin another block even where no blank line stands before it?"""
        if _HEADING.match(line) or _FENCE.match(line):
            return True
        kind = self._open.kind
        if _RULE.match(line):
            # under a paragraph, dashes make it a heading
            return kind != "paragraph" or bool(line.strip().strip("-"))
        item = _ITEM.match(line)
        if kind == "list" or item is None or not line[item.end() :].strip():
            return False
        return item[2] in (None, "1")

    def _heads_a_table(self, line: str) -> bool:
        last = self._open.text.rstrip("\n").rpartition("\n")[2]
        return "|" in last and "|" in line and _DELIMITER.match(line) is not None

    def _watch_fence(self, line: str) -> None:
        """Keep track of a fence inside a list, where what looks like an item is code."""
        block = self._open
        found = _INNER_FENCE.match(line)
        if not block.fence:
            block.fence = found[1] if found else ""
        elif found and found[1].startswith(block.fence) and not line.strip().strip(block.fence[0]):
            block.fence = ""

    def _take_code(self, line: str) -> None:
        block, bare = self._open, line.strip()
        if bare.startswith(block.fence) and not bare.strip(block.fence[0]) and not line.startswith("    "):
            block.text += line + "\n"
            block.starts.append(self._at)
            self._emit()
            return
        if block.lines >= CODE_LINES:
            self._go_on()
        self._add(line)

    # --- chunks

    def _chunk(self, text: str, *, closed: bool) -> Chunk | None:
        block = self._open
        if not text.strip() or (text == block.head and (block.body or block.kind == "fence")):
            return None
        starts = [*block.starts, self._at]
        return Chunk(
            text, block.gap, block.start, block.indent, block.table, block.body, closed, self._links, starts
        )

    def _emit(self) -> None:
        """The open block is finished."""
        if (chunk := self._chunk(self._open.text, closed=True)) is not None:
            self.chunks.append(chunk)
        self._open = _Open(gap=bool(self.chunks))

    def _go_on(self) -> None:
        """The open chunk is finished; another one goes on with its block."""
        block = self._open
        if block.kind == "table" and block.table is None:
            block.table = Table(block.text)
        if (chunk := self._chunk(block.text, closed=True)) is not None:
            self.chunks.append(chunk)
        self._open = block.next()
