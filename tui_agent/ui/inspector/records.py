"""The log as it is on disk: every line in its place, damaged ones too, and what each weighs."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector import telling
from tui_agent.ui.inspector.tab import Around, Key, Tab
from tui_agent.ui.inspector.telling import FIRST_WORDS, first_words, who
from tui_agent.ui.leaf import Leaf, Said
from tui_agent.ui.rows import Cell, Column, Rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Context, Elision, Record

_DROPPED, _SHORTENED, _EDITED = "dropped", "shortened", "edited"
_MOST_DIGITS = 18
"""Digits of a record's number; more of them are words."""
_MOST_SHOWN = 64 * 1024
"""Bytes of a record that its detail shows."""


class Records(Tab):
    """The records. Enter opens one, `p` pins, `e` shortens it to a few words, `d` drops it, `b` brings it back.

    `w` writes the text of a prompt or a result anew; `u` takes back what was done here last; `r` leads back to the tab
    that led to a record.
    """

    NAME = "Records"
    OF_LOG = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pin", show=False),
        Binding("e", "elide", show=False),
        Binding("d", "drop", show=False),
        Binding("b", "bring_back", show=False),
        Binding("w", "edit", show=False),
        Binding("u", "undo", show=False),
        Binding("r", "back", show=False),
    ]

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Rows(self.cells, key=self._identity, empty="Nothing is on disk yet: send some words.")
        super().__init__(context, rows, around)
        self._records: Sequence[Record] = ()
        self._digits = 0
        self._refused: Mapping[str, str] = {}
        self._opened = -1
        self.came_from = ""
        """The name of the tab that led to a record here."""
        self._undo: list[tuple[str, str]] = []
        """Commands and their records that take back what was done here, the newest last."""

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
        self._records, self._refused = self.context.records, self.around.refused
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

    def on_rows_sifted(self, event: Rows.Sifted) -> None:
        event.stop()
        self._sums()

    def _sums(self) -> None:
        weight = self.context.weigh()
        damaged = len(self.context.damage)
        many = "record" if len(self) == 1 else "records"
        far = " so far" if self.rows.filtering else ""
        shown = f"{len(self.rows):,}{far} of " if len(self.rows) != len(self) else ""
        text = Content(f"{shown}{len(self):,} {many}, {words.number(weight.total, weight.mark)} tokens")
        if damaged:
            text += Content.styled(f", {damaged} damaged", "$text-error")
        self.say(text)

    def _identity(self, index: int) -> str:
        return self._records[index].id

    def sifted(self, looked_for: str) -> Callable[[int], bool] | None:
        """Records that hold these words; a number also lets through the record of that number."""
        holds = telling.holding(lambda: self._records, looked_for)
        number = looked_for.strip().removeprefix("#").replace(",", "")
        if holds is None or not number.isdecimal() or len(number) > _MOST_DIGITS:
            return holds
        line = int(number)
        return lambda index: self._records[index].line == line or holds(index)

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
        unsent = meta or any(flag in flags for flag in (_DROPPED, _SHORTENED, _EDITED))
        said = Content.assemble((flags, "bold $text-warning"), (text, "$text-muted" if unsent else ""))
        return (
            f"{record.line}",
            Content.styled(name, "$text-muted" if meta else "$text-primary"),
            count,
            said,
        )

    def _flags(self, record: Record) -> str:
        """What stands before a record's words: that it is refused, pinned, dropped or shortened."""
        refused = ["refused"] if record.id in self._refused else []
        if record.role.startswith("_"):
            return "refused: " if refused else ""
        marks = self.context.marks(record.id)
        said = refused + (["pinned"] if marks.get("pinned") else [])
        if elisions := self.context.elided(record.id):
            edited = elisions[-1].reason == "edit"
            said.append(_DROPPED if _is_dropped(elisions) else _EDITED if edited else _SHORTENED)
        return f"{', '.join(said)}: " if said else ""

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
        if record.id in self._refused:
            yield f"refused: {literal.one_line(self._refused[record.id])}", "$text-error"
        raw = record.raw[:_MOST_SHOWN].decode("utf-8", "replace")
        if record.damaged:
            yield f"damaged: {literal.one_line(record.damaged)}", "$text-error"
        else:
            yield from self._marks(record)
            yield from self._elisions(record)
            yield from self._rendered(record)
            if record.length <= _MOST_SHOWN:
                raw = json.dumps(record.body, ensure_ascii=False, indent=1, default=str)
        yield "", ""
        yield "as it is on disk", "bold $text-primary"
        yield raw, ""
        if record.length > _MOST_SHOWN:
            yield f"... of {words.size(record.length)}", "$text-warning"

    def _marks(self, record: Record) -> Iterator[Said]:
        """How much it matters, in words."""
        if record.role.startswith("_"):
            return
        marks = self.context.marks(record.id)
        said = ["pinned: never shortened, never summarised"] if marks.get("pinned") else []
        if isinstance(priority := marks.get("priority"), int):
            said.append(f"priority {priority} of 100: the lowest is shortened first")
        if isinstance(ttl := marks.get("ttl"), int):
            said.append(f"worth keeping for {ttl} answers")
        if marks.get("compressible") is False:
            said.append("never shortened")
        yield from ((words, "$text-secondary") for words in said)

    def _elisions(self, record: Record) -> Iterator[Said]:
        """What of it is not sent, and since when."""
        for elision in self.context.elided(record.id):
            what = "all of it" if elision.block is None else f"block {elision.block}"
            instead = "dropped" if elision.placeholder is None else f"sent as {elision.placeholder}"
            by = "by you" if elision.by == "user" else f"by itself: {elision.reason}"
            yield f"{what} is {instead} ({by})", "$text-warning"

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
            made.append(Key("p", "unpin" if pinned else "pin", "pin", rank=0))
            if elisions := self.context.elided(record.id):
                made.append(Key("b", "bring back", "bring_back", rank=0))
            elif not pinned:
                made += [Key("e", "shorten", "elide", rank=0), Key("d", "drop", "drop", rank=0)]
            if record.role == "user" and not any(elision.block is None for elision in elisions):
                made.append(Key("w", "write anew", "edit", rank=1))
        elif self.writable and record is not None and record.role == "_elide" and self._in_force(record):
            made.append(Key("b", "bring all back", "bring_back", rank=0))
        if self._undo:
            made.append(Key("u", "undo", "undo", rank=0))
        if self.came_from:
            made.insert(1, Key("r", f"to {self.came_from}", "back", rank=0))
        return made

    def _in_force(self, record: Record) -> bool:
        """Is anything of what an `_elide` record names left out because of it?"""
        return any(elision.elide == record.id for _, elision in self._named(record))

    def _named(self, record: Record) -> Iterator[tuple[str, Elision]]:
        """The records that an `_elide` record names, with what is in force on each."""
        for name in dict.fromkeys(str(item.get("record")) for item in record.body.get("items", ())):
            with suppress(ValueError):  # it went into a summary
                yield from ((name, elision) for elision in self.context.elided(name))

    def _current(self) -> Record | None:
        index = self.rows.cursor
        return self._records[index] if 0 <= index < len(self._records) else None

    def action_pin(self) -> None:
        """Pin the record, or take the pin off."""
        record = self._current()
        pinned = record is not None and bool(self.context.marks(record.id).get("pinned"))
        self._ask("pin", *(("unpin", "pin") if pinned else ("pin", "unpin")))

    def action_elide(self) -> None:
        """Send a few words in the place of the record."""
        self._ask("elide", "elide", "unelide")

    def action_drop(self) -> None:
        """Send nothing of the record."""
        self._ask("drop", "drop", "unelide")

    def action_edit(self) -> None:
        """Write the text of the record anew; it is asked for on a card."""
        self._ask("edit", "edit", "")

    def action_bring_back(self) -> None:
        """Send it again as it is; of a batch all that it names, which is too many to be left out again one by one."""
        record = self._current()
        if record is None:
            return
        elisions = self.context.elided(record.id)
        again = "drop" if _is_dropped(elisions) else "elide"
        lost = record.role == "_elide" or any(elision.reason == "edit" for elision in elisions)
        self._ask("bring_back", "unelide", "" if lost else again)

    def action_back(self) -> None:
        """Go back to the tab that led here."""
        if self.came_from:
            self.came_from = ""
            self.post_message(self.BackWanted())

    def action_undo(self) -> None:
        """Take back what was done here last."""
        if self._undo and self.writable:
            self.post_message(self.Asked(*_asking(self._undo.pop())))

    def _ask(self, action: str, command: str, back: str) -> None:
        """Ask for a command on the record if the action is offered; `back` takes it back, "" if nothing does."""
        record = self._current()
        if record is not None and any(key.action == action for key in self.keys()):
            if back:
                self._undo.append((back, record.id))
            self.post_message(self.Asked(*_asking((command, record.id))))


def _asking(done: tuple[str, str]) -> tuple[str, tuple[str, ...]]:
    command, record = done
    return command, (record,)


def _is_dropped(elisions: Sequence[Elision]) -> bool:
    """Is nothing sent in the place of what is left out?"""
    return bool(elisions) and all(elision.placeholder is None for elision in elisions)
