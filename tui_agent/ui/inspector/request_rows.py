"""What the Request tab lists: the items of a request as a tree, the requests of the session, or what differs.

Each is a model for `Rows`. What is added up is added up once, and may be in a thread; a row is made when it is seen.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from textual.content import Content

from tui_agent import literal
from tui_agent.commands import CommandError
from tui_agent.ui import words
from tui_agent.ui.inspector.grouping import (
    LEFT_OUT,
    SECTIONS,
    Group,
    Place,
    group_of,
    groups_of,
    percent,
    place_of,
)
from tui_agent.ui.inspector.telling import FIRST_WORDS, content_words
from tui_agent.ui.rows import Cell, Column
from tui_agent.ui.themes import UNICODE

if TYPE_CHECKING:
    from tui_agent.agent.requests import Built
    from tui_agent.context.sent import Sent
    from tui_agent.messages.tokens import Tokens
    from tui_agent.prompt.difference import Difference
    from tui_agent.prompt.manifest import Item

_NAME = 60
"""Characters of a name that a row takes."""
_LOST = "not kept"
_TO_COME = "your next words come here"
SIGNS = {
    "added": ("+", "$text-success"),
    "gone": ("-", "$text-error"),
    "shortened": ("<", "$text-warning"),
    "longer": (">", "$text-warning"),
    "changed": ("~", "$text-warning"),
    "moved": ("%", "$text-muted"),
}
"""The sign of each kind of change, and its style."""


class Listed(Protocol):
    """Rows of one kind."""

    def __len__(self) -> int: ...
    def columns(self, *, narrow: bool) -> Sequence[Column]:
        """The columns that there is room for."""

    def cells(self, index: int) -> Sequence[Cell]:
        """The cells of a row."""

    def key(self, index: int) -> Hashable:
        """What a row is, also when it stands elsewhere."""

    def words(self, index: int) -> str:
        """What a row says, for the filter."""


class Said:
    """Lines that say something: a fault and the ways out of it."""

    def __init__(self, lines: Sequence[Content] = ()) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def columns(self, *, narrow: bool) -> Sequence[Column]:
        return ()

    def cells(self, index: int) -> Sequence[Cell]:
        return (self._lines[index],)

    def key(self, index: int) -> Hashable:
        return index

    def words(self, index: int) -> str:
        return self._lines[index].plain


class Tree:
    """The items of a request by section and kind. `lay_out` says which rows there are."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.total = built.manifest.total
        self.items: list[Item] = [*built.items, *built.left_out]
        self.groups = groups_of(self.items)
        self._spans = built.request.spans
        self._narrow = False
        self._heads: list[Place] = []
        self._open: set[Place] = set()
        self._rows = array("q")
        """An item by its number; a section or group by its place among the heads, from -1 down."""

    def sums(self) -> list[tuple[str, Tokens]]:
        """What is sent, by section; the counts sum up to the total."""
        return [
            (name, self.groups[name, ""].tokens)
            for name in SECTIONS
            if name != LEFT_OUT and (name, "") in self.groups
        ]

    # --- which rows there are

    def lay_out(self, turned: Collection[Place], *, everything: bool = False) -> None:
        """Sections are open and groups folded, but for those `turned`; or everything is open."""
        self._heads, self._open, self._rows = [], set(), array("q")
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
        """The item of a row; None for a section or a group."""
        row = self._rows[index] if 0 <= index < len(self) else -1
        return self.items[row] if row >= 0 else None

    def head(self, index: int) -> Place:
        """The section or group that a row is, or that its item is folded under."""
        row = self._rows[index]
        if row < 0:
            return self._heads[-row - 1]
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

    # --- how they look

    def columns(self, *, narrow: bool) -> Sequence[Column]:
        self._narrow = narrow
        weight, cached = (8, Column("c", 1)) if narrow else (10, Column("cache", 6))
        return (Column("what is sent"), Column("tokens", weight, "right"), Column("%", 3, "right"), cached)

    def key(self, index: int) -> Hashable:
        row = self._rows[index]
        if row < 0:
            return self._heads[-row - 1]
        item = self.items[row]
        return (item.section, item.kept, item.record, item.name, item.message)

    def words(self, index: int) -> str:
        return str(self.cells(index)[0])

    def cells(self, index: int) -> Sequence[Cell]:
        row = self._rows[index]
        if row >= 0:
            item = self.items[row]
            cached = self._read(item.tokens.count if item.cached else 0, item.tokens.count)
            return (
                self._item_words(item),
                words.tokens(item.tokens),
                self._share(item.tokens, kept=item.kept),
                cached,
            )
        place = self._heads[-row - 1]
        group = self.groups[place]
        cached = self._read(group.cached, group.tokens.count)
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

    def _head_words(self, place: Place, group: Group) -> Content:
        section, name = place
        sign = UNICODE.opened if place in self._open else UNICODE.closed
        many = (f"  {len(group.items):,}", "$text-muted")
        if name:
            style = "$text-warning" if section == LEFT_OUT else ""
            return Content.assemble(f"{self._pad(1)}{sign} ", (literal.one_line(name, _NAME), style), many)
        return Content.assemble((f"{sign} {section}", "bold $text-primary"), many)

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
            name = _TO_COME
        gap = "  " if name and said else ""
        said = literal.one_line(said, FIRST_WORDS)
        return Content.assemble(
            pad, literal.one_line(name, _NAME), gap, (said, "$text-muted" if name else "")
        )


class History:
    """Every request of the session, the newest first; on top the next one, where there is one."""

    def __init__(
        self, many: int, get: Callable[[int], Sent], *, has_next: bool, marked: Sequence[int | None] = ()
    ) -> None:
        self._many = many
        self._get = get
        self._next = int(has_next)
        self._marked = marked
        self._narrow = False

    def __len__(self) -> int:
        return self._many + self._next

    def place(self, index: int) -> int | None:
        """The place of the request in a row, counted from the oldest; None is the next one."""
        return None if index < self._next else self._many - 1 - (index - self._next)

    def row(self, place: int | None) -> int:
        """The row of a request."""
        return 0 if place is None else self._many - 1 - place + self._next

    def _sent(self, place: int) -> Sent | None:
        """A request; None if the file that tells of it is no longer kept."""
        try:
            return self._get(place)
        except CommandError:
            return None

    def columns(self, *, narrow: bool) -> Sequence[Column]:
        self._narrow = narrow
        figures = [Column("no", 6, "right"), Column("turn", 5, "right"), Column("tokens in", 9, "right")]
        figures.append(Column("cache", 5, "right"))
        more = [] if narrow else [Column("foreseen", 8, "right")]
        return (*figures, *more, Column("when"))

    def key(self, index: int) -> Hashable:
        return self.place(index)

    def words(self, index: int) -> str:
        place = self.place(index)
        if place is None:
            return "next"
        sent = self._sent(place)
        if sent is None:
            return f"{place + 1} {_LOST}"
        return (
            f"{sent.n} turn {sent.turn} {words.clock(sent.at)} {sent.model} {sent.total_input:,} {sent.file}"
        )

    def cells(self, index: int) -> Sequence[Cell]:
        place = self.place(index)
        mark = "*" if place in self._marked else ""
        if place is None:
            return (Content.styled(f"{mark}next", "bold"),)
        sent = self._sent(place)
        if sent is None:
            return (f"{mark}{place + 1}", "", "", "", Content.styled(_LOST, "$text-muted"))
        turn, cached = "" if sent.turn is None else f"{sent.turn}", percent(sent.cache_read, sent.total_input)
        first = (f"{mark}{sent.n}", turn, f"{sent.total_input:,}", cached)
        when = words.clock(sent.at, short=self._narrow)
        if self._narrow:
            return (*first, when)
        foreseen = "" if sent.predicted is None else percent(sent.predicted, sent.total_input)
        return (*first, foreseen, when)


class Differing:
    """What differs between two requests."""

    def __init__(self, found: Difference, before: Tree, after: Tree) -> None:
        self.found = found
        self.before, self.after = before, after

    def __len__(self) -> int:
        return len(self.found.changes)

    def parts(self, index: int) -> tuple[list[Any], list[Any]]:
        """What is sent of the item in the earlier request, and in the later one."""
        change = self.found.changes[index]
        return self.before.parts_like(change.item), self.after.parts_like(change.item)

    def columns(self, *, narrow: bool) -> Sequence[Column]:
        return (Column("", 1), Column("tokens", 8 if narrow else 10, "right"), Column("what"))

    def key(self, index: int) -> Hashable:
        change = self.found.changes[index]
        return (change.what, change.item.section, change.item.record, change.item.name)

    def words(self, index: int) -> str:
        return str(self.cells(index)[2])

    def cells(self, index: int) -> Sequence[Cell]:
        change = self.found.changes[index]
        sign, style = SIGNS[change.what]
        how = change.why or ("" if change.what in ("added", "gone") else change.what)
        item = change.item
        name = group_of(item) if item.section == "messages" else item.name
        if change.what == "added" and self.after.is_to_come(item):
            name = _TO_COME
        before, after = self.parts(index)
        said = content_words(after or before) if item.section in ("system", "messages") else ""
        text = Content.assemble(
            (f"{literal.one_line(how, _NAME)}: " if how else "", "$text-warning"),
            (literal.one_line(name, _NAME), "$text-primary"),
            f"  {literal.one_line(said, FIRST_WORDS)}" if said else "",
        )
        by = change.after.count - change.before.count
        return (Content.styled(sign, f"bold {style}"), f"{by:+,}", text)
