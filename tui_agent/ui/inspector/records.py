"""The log as it is on disk: every line in its place, damaged ones too, and what each weighs."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector import telling
from tui_agent.ui.inspector.leaf import Leaf, Said
from tui_agent.ui.inspector.tab import Around, Key, Tab
from tui_agent.ui.inspector.telling import FIRST_WORDS, first_words, who
from tui_agent.ui.rows import Cell, Column, Rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Context, Record

_MOST_SHOWN = 64 * 1024
"""Bytes of a record that its detail shows."""


class Records(Tab):
    """The records. Enter opens one, `p` pins, `e` leaves it out, `b` brings it back."""

    NAME = "Records"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pin", show=False),
        Binding("e", "elide", show=False),
        Binding("b", "bring_back", show=False),
    ]

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Rows(self.cells, key=self._identity, empty="Nothing is on disk yet: send some words.")
        super().__init__(context, rows, around)
        self._records: Sequence[Record] = ()
        self._digits = 0
        self._opened = -1

    def columns(self) -> Sequence[Column]:
        self._digits = len(str(len(self)))
        who_wrote, weight = (7, 7) if self.narrow else (10, 8)
        return (
            Column("", max(3, self._digits), "right"),
            Column("who", who_wrote),
            Column("tokens", weight, "right"),
            Column("first words"),
        )

    def __len__(self) -> int:
        return len(self._records)

    def detail(self) -> Widget:
        return Leaf()

    def load(self) -> None:
        first = not len(self._records)
        self._records = self.context.records
        self.rows.show(self.cells, len(self._records), columns=self.columns())
        if first:
            self.rows.move(len(self._records) - 1)
        self._sums()

    def follow(self) -> None:
        self._records = self.context.records
        if len(str(len(self))) != self._digits:
            self.rows.show(self.cells, len(self), columns=self.columns())
        else:
            self.rows.grow(len(self))
            # a usage or a mark changes what rows above it say
            self.rows.redraw()
        self._sums()

    def _sums(self) -> None:
        weight = self.context.weigh()
        damaged = len(self.context.damage)
        many = "record" if len(self) == 1 else "records"
        text = Content(f"{len(self):,} {many}, {words.number(weight.total, weight.mark)} tokens")
        if damaged:
            text += Content.styled(f", {damaged} damaged", "$text-error")
        self.say(text)

    def _identity(self, index: int) -> str:
        return self._records[index].id

    def sifted(self, looked_for: str) -> Callable[[int], bool] | None:
        return telling.holding(lambda: self._records, looked_for)

    def reveal(self, record: str) -> None:
        """Go to the record of this id and open it."""
        index = self.context.record(record).index
        self.follow()
        self.unfilter()
        self.rows.move(index)
        if not self.detail_open:
            self.rows.action_choose()

    def cells(self, index: int) -> Sequence[Cell]:
        record = self._records[index]
        name = who(record)
        if record.damaged:
            return (f"{record.line}", Content.styled(name, "bold $text-error"), "", record.damaged)
        meta = record.role.startswith("_")
        weight = self.context.tokens_of(record)
        count = words.tokens(weight) if weight.count or not meta else ""
        text = literal.one_line(first_words(record), FIRST_WORDS)
        flags = self._flags(record)
        said = Content.assemble(
            (flags, "bold $text-warning"), (text, "$text-muted" if meta or "left out" in flags else "")
        )
        return (
            f"{record.line}",
            Content.styled(name, "$text-muted" if meta else "$text-primary"),
            count,
            said,
        )

    def _flags(self, record: Record) -> str:
        pinned = "pinned: " if self.context.marks(record.id).get("pinned") else ""
        return pinned + ("left out: " if self.context.elided(record.id) else "")

    def open(self, index: int) -> None:
        again, self._opened = index == self._opened, index
        self.query_one(Leaf).show(self._page(self._records[index]), top=not again)

    def _page(self, record: Record) -> Iterator[Said]:
        yield "  ".join(telling.facts(record)), "bold"
        parts = [f"id {record.id}", who(record), f"origin {record.origin}" if record.origin else ""]
        yield "  ".join(filter(None, parts)), ""
        checkpoint = self._checkpoint(record)
        if checkpoint:
            yield checkpoint, ""
        raw = record.raw[:_MOST_SHOWN].decode("utf-8", "replace")
        if record.damaged:
            yield f"damaged: {literal.one_line(record.damaged)}", "$text-error"
        else:
            yield from self._elisions(record)
            yield from self._rendered(record)
            if record.length <= _MOST_SHOWN:
                raw = json.dumps(record.body, ensure_ascii=False, indent=1, default=str)
        yield "", ""
        yield "as it is on disk", "bold $text-primary"
        yield raw, ""
        if record.length > _MOST_SHOWN:
            yield f"... of {words.size(record.length)}", "$text-warning"

    def _elisions(self, record: Record) -> Iterator[Said]:
        """What of it is not sent, and since when."""
        for elision in self.context.elided(record.id):
            what = "all of it" if elision.block is None else f"block {elision.block}"
            instead = "left out" if elision.placeholder is None else f"sent as {elision.placeholder}"
            yield f"{what} is {instead} (by {elision.by}, {elision.reason})", "$text-warning"

    def _rendered(self, record: Record) -> Iterator[Said]:
        content = record.body.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            return
        yield "", ""
        yield "as it reads", "bold $text-primary"
        room = _MOST_SHOWN
        for block in blocks:
            if isinstance(block, Mapping) and room > 0:
                text = telling.whole(block)
                yield text[:room], ""
                room -= len(text)

    def _checkpoint(self, record: Record) -> str:
        points = self.context.checkpoints()
        at = bisect_right(points, record.line, key=lambda point: point.line) - 1
        return f"after checkpoint {points[at].id}" if at >= 0 else ""

    # --- what can be done

    def keys(self) -> Sequence[Key]:
        made = [*self.reading_keys(), Key("/", "filter", "filter")]
        record = self._current()
        if self.writable and record is not None and not record.role.startswith("_") and not record.damaged:
            pinned = bool(self.context.marks(record.id).get("pinned"))
            made.append(Key("p", "unpin" if pinned else "pin", "pin"))
            if self.context.elided(record.id):
                made.append(Key("b", "bring back", "bring_back"))
            elif not pinned:
                made.append(Key("e", "leave out", "elide"))
        return made

    def _current(self) -> Record | None:
        index = self.rows.cursor
        return self._records[index] if 0 <= index < len(self._records) else None

    def action_pin(self) -> None:
        """Pin the record, or take the pin off."""
        self._ask("unpin" if self._is_pinned() else "pin")

    def _is_pinned(self) -> bool:
        record = self._current()
        return record is not None and bool(self.context.marks(record.id).get("pinned"))

    def action_elide(self) -> None:
        """Leave the record out of what is sent."""
        self._ask("elide")

    def action_bring_back(self) -> None:
        """Bring it back."""
        self._ask("unelide")

    def _ask(self, command: str) -> None:
        record = self._current()
        if record is not None and self.writable:
            self.post_message(self.Asked(command, (record.id,)))
