"""The items of a request as a tree; of one that does not fit with the ways out on top of it. A model for `Rows`.

What is added up is added up once, and may be in a thread; a row is made when it is seen.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.grouping import (
    LEFT_OUT,
    SECTIONS,
    Group,
    Place,
    groups_of,
    place_of,
    stays,
    stays_of,
    sums_of,
)
from tui_agent.ui.inspector.telling import FIRST_WORDS, content_words
from tui_agent.ui.rows import Cell, Column
from tui_agent.ui.themes import UNICODE

if TYPE_CHECKING:
    from tui_agent.agent.requests import Built
    from tui_agent.messages.tokens import Tokens
    from tui_agent.prompt.manifest import Item

NAME = 60
"""Characters of a name that a row takes."""
TO_COME = "your next words come here"
WAYS: Place = ("ways out", "")
"""The head of the ways out of a request that does not fit."""
_COMMAND = re.compile(r"(.*) \((/[^()]+)\)")
"""A way out, and the command that carries it out."""


class Tree:
    """The items of a request by section and kind. `lay_out` says which rows there are.

    Of one that is refused there are the ways out in front, and what it never leaves out is said in the place of what
    is cached.
    """

    def __init__(self, built: Built) -> None:
        self.built = built
        self.total = built.manifest.total
        self.items: list[Item] = [*built.items, *built.left_out]
        self.groups = groups_of(self.items)
        self.refusal = built.refusal
        self._ways: Sequence[str] = built.refusal.ways if built.refusal is not None else ()
        self._spans = built.request.spans
        self._narrow = False
        self._heads: list[Place] = []
        self._open: set[Place] = set()
        self._rows = array("q")
        """An item by its number, a way out by a number behind those; a head by its place among them, from -1 down."""

    def sums(self) -> list[tuple[str, Tokens]]:
        """What is sent, by section; the counts sum up to the total."""
        return sums_of(self.groups)

    @property
    def has_cached(self) -> bool:
        """True if any of it is read from the cache."""
        return any(group.cached for group in self.groups.values())

    # --- which rows there are

    def lay_out(self, turned: Collection[Place], *, everything: bool = False) -> None:
        """Sections are open and groups folded, but for those `turned`; or everything is open."""
        self._heads, self._open, self._rows = [], set(), array("q")
        if self._ways:
            self._head(WAYS)
            if WAYS not in turned or everything:
                self._open.add(WAYS)
                self._rows.extend(range(len(self.items), len(self.items) + len(self._ways)))
        for section in SECTIONS:
            if (section, "") not in self.groups:
                continue
            self._head((section, ""))
            if (section, "") in turned and not everything:
                continue
            self._open.add((section, ""))
            for place, group in self.groups.items():
                if place[0] == section and place[1]:
                    self._lay_out_group(place, group, is_open=everything or place in turned)

    def _lay_out_group(self, place: Place, group: Group, *, is_open: bool) -> None:
        if len(group.items) == 1:
            self._rows.append(group.items[0])
            return
        self._head(place)
        if is_open:
            self._open.add(place)
            self._rows.extend(group.items)

    def _head(self, place: Place) -> None:
        self._heads.append(place)
        self._rows.append(-len(self._heads))

    def __len__(self) -> int:
        return len(self._rows)

    def item(self, index: int) -> Item | None:
        """The item of a row; None for a section, a group or a way out."""
        row = self._rows[index] if 0 <= index < len(self) else -1
        return self.items[row] if 0 <= row < len(self.items) else None

    def way(self, index: int) -> str:
        """The way out of a row; "" if it is none."""
        row = self._rows[index] - len(self.items) if 0 <= index < len(self) else -1
        return self._ways[row] if row >= 0 else ""

    def folds(self, index: int) -> bool:
        """True for a section or a group."""
        return 0 <= index < len(self) and self._rows[index] < 0

    def head(self, index: int) -> Place:
        """The section or group that a row is, or that its item is folded under."""
        row = self._rows[index]
        if row < 0:
            return self._heads[-row - 1]
        if row >= len(self.items):
            return WAYS
        section, group = place_of(self.items[row])
        return (section, group) if len(self.groups[section, group].items) > 1 else (section, "")

    def find(self, place: Place) -> int:
        """The row of a section or group; -1 if it is not laid out."""
        return self._rows.index(-self._heads.index(place) - 1) if place in self._heads else -1

    # --- what an item is

    def parts(self, item: Item) -> list[Any]:
        """What is sent of an item: a tool's definition, a layer's block, or the blocks of a message."""
        request = self.built.request
        if not item.kept or item.section == "frame":
            return []
        if item.section == "tools":
            return [tool for tool in request.tools if tool.get("name") == item.name]
        if item.message is None:
            starts = self._spans.system
            return [
                block for block, start in zip(request.system, starts, strict=False) if start == item.start
            ]
        starts, message = self._spans.blocks(item.message), request.messages[item.message]
        return [
            block
            for block, start in zip(message["content"], starts, strict=False)
            if item.start <= start < item.end
        ]

    def parts_like(self, item: Item) -> list[Any]:
        """What is sent here of an item of another request."""
        if item.section == "messages" and item.record:
            request = self.built.request
            return [
                block
                for message, records in zip(request.messages, request.blocks, strict=True)
                if item.record in records
                for block, record in zip(message["content"], records, strict=True)
                if record == item.record
            ]
        mine = (
            one for one in self.items if one.kept and one.section == item.section and one.name == item.name
        )
        found = next((one for one in mine if one.source == item.source), None)
        return [] if found is None else self.parts(found)

    def why_it_stays(self, item: Item) -> str:
        """Why an item of a refused request is never left out, in two words; "" if it may be."""
        return "" if self.refusal is None else stays(item, self.built.stays)

    # --- how they look

    def columns(self, *, narrow: bool) -> Sequence[Column]:
        self._narrow = narrow
        weight, cached = (8, Column("c", 1)) if narrow else (10, Column("cache", 6))
        figures = (Column("tokens", weight, "right"), Column("%", 3, "right"))
        if self.refusal is None:
            return (Column("what is sent"), *figures, cached)
        return (Column("what would be sent"), *figures, *([] if narrow else [Column("stays", 12)]))

    def key(self, index: int) -> Hashable:
        row = self._rows[index]
        if row < 0:
            return self._heads[-row - 1]
        if way := self.way(index):
            return way
        item = self.items[row]
        return (item.section, item.kept, item.record, item.name, item.message)

    def words(self, index: int) -> str:
        return self.way(index) or str(self.cells(index)[0])

    def cells(self, index: int) -> Sequence[Cell]:
        row = self._rows[index]
        if way := self.way(index):
            return (_way_words(way), "", "", "")
        if row >= 0:
            item = self.items[row]
            cached = self._read(item.tokens.count if item.cached else 0, item.tokens.count)
            return (
                self._item_words(item),
                words.tokens(item.tokens),
                self._share(item.tokens, kept=item.kept),
                cached if self.refusal is None else self.why_it_stays(item),
            )
        place = self._heads[-row - 1]
        if place == WAYS:
            return (self._section_words(*place, len(self._ways)), "", "", "")
        group = self.groups[place]
        cached = self._read(group.cached, group.tokens.count)
        if self.refusal is not None:
            cached = stays_of((self.items[number] for number in group.items), self.built.stays)
        share = self._share(group.tokens, kept=place[0] != LEFT_OUT)
        return (self._head_words(place, group), words.tokens(group.tokens), share, cached)

    def is_to_come(self, item: Item) -> bool:
        """True if an item stands for the words that the next prompt will bring."""
        return item.kind == "repair" and not item.record and self.built.sent is None

    def _read(self, cached: int, of: int) -> str:
        """How much is read from the cache."""
        said = "" if not cached else "cached" if cached >= of else "part"
        return said[:1] if self._narrow else said

    def _share(self, tokens: Tokens, *, kept: bool) -> str:
        share = round(100 * tokens.count / self.total.count) if self.total.count > 0 else 0
        return f"{share}" if kept and tokens.count > 0 else ""

    def _pad(self, depth: int) -> str:
        return " " * depth * (1 if self._narrow else 2)

    def _section_words(self, section: str, name: str, many: int) -> Content:
        sign = UNICODE.opened if (section, name) in self._open else UNICODE.closed
        return Content.assemble((f"{sign} {section}", "bold $text-primary"), (f"  {many:,}", "$text-muted"))

    def _head_words(self, place: Place, group: Group) -> Content:
        section, name = place
        if not name:
            return self._section_words(*place, len(group.items))
        sign = UNICODE.opened if place in self._open else UNICODE.closed
        style = "$text-warning" if section == LEFT_OUT else ""
        many = (f"  {len(group.items):,}", "$text-muted")
        return Content.assemble(f"{self._pad(1)}{sign} ", (literal.one_line(name, NAME), style), many)

    def _item_words(self, item: Item) -> Content:
        section, group = place_of(item)
        alone = len(self.groups[section, group].items) == 1
        pad = f"{self._pad(1 if alone else 2)}  "
        if section == LEFT_OUT:
            said = f"{item.name}" + (f": {group}" if alone else "")
            return Content.assemble(pad, (literal.one_line(said, FIRST_WORDS), "$text-warning"))
        parts = self.parts(item)
        is_tool = section == "tools"
        said = (
            " ".join(str(part.get("description", "")) for part in parts) if is_tool else content_words(parts)
        )
        name = item.name if is_tool else group if alone else ""
        if self.is_to_come(item):
            name = TO_COME
        gap = "  " if name and said else ""
        said = literal.one_line(said, FIRST_WORDS)
        return Content.assemble(pad, literal.one_line(name, NAME), gap, (said, "$text-muted" if name else ""))


def _way_words(way: str) -> Content:
    """A way out with its command in front, which has room everywhere."""
    found = _COMMAND.fullmatch(way)
    said, command = (found[1], found[2]) if found is not None else (way, "")
    said = literal.one_line(said, FIRST_WORDS)
    return Content.assemble(
        "  ", (literal.one_line(command, NAME), "$text-success"), "  " if command else "", said
    )
