"""What the Request tab lists beside the tree of a request: the requests of the session, or what differs.

Each is a model for `Rows`. What is added up is added up once, and may be in a thread; a row is made when it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from textual.content import Content

from tui_agent import literal
from tui_agent.commands import CommandError
from tui_agent.ui import words
from tui_agent.ui.inspector.grouping import group_of, percent
from tui_agent.ui.inspector.request_tree import NAME, TO_COME
from tui_agent.ui.inspector.telling import FIRST_WORDS, content_words
from tui_agent.ui.rows import Cell, Column

if TYPE_CHECKING:
    from tui_agent.context.sent import Sent
    from tui_agent.prompt.difference import Difference
    from tui_agent.ui.inspector.request_tree import Tree

_LOST = "not kept"
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
            name = TO_COME
        before, after = self.parts(index)
        said = content_words(after or before) if item.section in ("system", "messages") else ""
        text = Content.assemble(
            (f"{literal.one_line(how, NAME)}: " if how else "", "$text-warning"),
            (literal.one_line(name, NAME), "$text-primary"),
            f"  {literal.one_line(said, FIRST_WORDS)}" if said else "",
        )
        by = change.after.count - change.before.count
        return (Content.styled(sign, f"bold {style}"), f"{by:+,}", text)
