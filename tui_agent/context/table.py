"""What is known of each line of a log, in columns: a few numbers, and no bodies.

Where a line lies, its role, origin and id; what is a message, a bookmark or the head of a rewrite; what is marked and
elided. Bodies are read from the file when they are looked at. `projection` fills the table.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from tui_agent.context.elisions import Elision, Elisions, elide
from tui_agent.context.kimi import in_our_form
from tui_agent.context.records import Record, decode, digest_id
from tui_agent.context.source import Bodies, Source
from tui_agent.context.usages import Usages
from tui_agent.messages.blocks import Block, text_block

DAMAGED = ""
"""Stands for the role of a line that is not a record."""
MARKS = ("pinned", "priority", "ttl", "compressible")
"""Marks that a message may carry from the start; `_mark` records change them and may add others."""


class Damage(Struct, frozen=True):
    """A line that is not a record: its number from 1, where it lies in bytes, and why it is not one."""

    line: int
    offset: int
    length: int
    reason: str


class Head(Struct, frozen=True):
    """The record a rewrite ends with: what was done, the backup it made, and where undo and redo lead."""

    index: int
    n: int
    op: str
    at: str
    backup: str
    to: str | None
    undo: str | None
    redo: str | None
    figures: Mapping[str, Any] = field(default_factory=dict)


class Table:
    """What a log means, and where each of its lines lies, to be looked at."""

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.starts = array("Q")
        self.lengths = array("Q")
        self.lines = array("Q")
        self.roles = array("I")
        """Roles and origins as places in `names`; an origin of 0 is none."""
        self.origins = array("I")
        self.names: list[str] = [DAMAGED]
        self.blocks = array("I")
        """Content blocks of a message; 0 for any other line."""
        self.ids: list[str | None] = []
        self.index: dict[str, int] = {}
        self.damage: dict[int, str] = {}
        self.messages = array("I")
        """Indices of all messages, and of those that have something left to show."""
        self.visible = array("I")
        self.checkpoints = array("I")
        self.numbers = array("Q")
        self.next_checkpoint = 0
        """One above the highest id of a checkpoint."""
        self.usages = Usages()
        self.prompts: list[int] = []
        self.tools: list[int] = []
        self.states: list[tuple[int, str]] = []
        self.marks: list[tuple[int, int, dict[str, Any]]] = []
        self.elisions = Elisions()
        self.heads: list[Head] = []
        self.state: dict[str, int] = {}
        self.marked: dict[int, dict[str, Any]] = {}
        self.next_line = 1
        self.size = 0
        self.torn = False
        """True if the last line has no newline."""
        self.version = 0
        """Changes with every line: who keeps figures by it knows when to count again."""
        self._bodies = Bodies()

    def __len__(self) -> int:
        return len(self.starts)

    def role(self, index: int) -> str:
        return self.names[self.roles[index]]

    def origin(self, index: int) -> str | None:
        return self.names[self.origins[index]] or None

    def id(self, index: int) -> str:
        name = self.ids[index]
        return name if name is not None else digest_id(self.raw(index), self.lines[index])

    def find(self, name: str) -> int:
        """The index of the line of that id.

        Raises:
            ValueError: there is none.
        """
        index = self.index.get(name)
        if index is None:
            digits = name.rpartition("-")[2]
            if name.startswith("L") and digits.isascii() and digits.isdigit() and len(digits) < 16:
                index = bisect_left(self.lines, int(digits))
            if index is None or index >= len(self) or self.id(index) != name:
                raise ValueError(f"There is no record {name!r} in this context.")
        return index

    def raw(self, index: int) -> bytes:
        return self.source.read(self.starts[index], self.lengths[index]) if self.source else b""

    def record(self, index: int) -> Record:
        return Record(self, index)

    def body(self, index: int) -> dict[str, Any]:
        """The record at `index`, normalised; {} for a damaged line."""
        return self._bodies.get(index, self.lengths[index], lambda: self._decode(index))

    def _decode(self, index: int) -> dict[str, Any]:
        if index in self.damage:
            return {}
        body = decode(self.raw(index))
        return in_our_form(body) if self.blocks[index] else body

    def content(self, index: int, elisions: tuple[Elision, ...] = ()) -> list[Block]:
        """The blocks of a message with elisions applied."""
        content = self.body(index).get("content")
        blocks: list[Block]
        if isinstance(content, str):
            blocks = [text_block(content)]
        else:
            blocks = list(content) if isinstance(content, list) else []
        return elide(blocks, elisions) if elisions else blocks

    def is_words(self, index: int) -> bool:
        """True for a person's words."""
        return self.role(index) == "user" and not self.origins[index]

    @property
    def head(self) -> Head | None:
        return self.heads[-1] if self.heads else None

    @property
    def change(self) -> Head | None:
        """The head of the change of history that undo undoes: behind an undo or a redo, of the one that stands again.

        Those lead to where the file that they brought back led to; every other change leads to its own backup.
        """
        return next((head for head in reversed(self.heads) if head.undo == head.backup), None)

    @property
    def redo(self) -> str | None:
        """The backup that redo leads to; None after a message behind the head."""
        head = self.head
        if head is None or (self.messages and self.messages[-1] > head.index):
            return None
        return head.redo

    def effective_marks(self, index: int) -> dict[str, Any]:
        """The marks of a record: those it was written with, changed by `_mark` records."""
        body = self.body(index)
        own = {key: body[key] for key in MARKS if key in body}
        return own | self.marked.get(index, {})

    # --- the file ------------------------------------------------------------------------------------------------

    @property
    def is_compact(self) -> bool:
        """True if every byte of the file belongs to a record: no damage, no blank lines, nothing torn."""
        return (
            not self.damage
            and not self.torn
            and self.size == sum(self.lengths) + len(self.lengths)
            and self.next_line == len(self.lines) + 1
        )

    def close_last_line(self) -> None:
        """The file gets the newline that its last line lacks."""
        if self.torn:
            self.size += 1
            self.torn = False
