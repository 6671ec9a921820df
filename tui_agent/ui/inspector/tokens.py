"""What the context weighs: how full the window is, what makes room next and how far that is, how sure the figures are,
what fills it, what compaction saved, what requests read and wrote in the provider's cache.

Everything is a row of one list. The line under it closes: items + unattributed + what came since they were added up =
the number on the status line. Adding up looks at every message, in slices beside the keys; a long context is added up
less often than it grows.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from textual import work
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.messages.tokens import Tokens
from tui_agent.ui import words
from tui_agent.ui.compacting import as_event
from tui_agent.ui.inspector.filling import Filling
from tui_agent.ui.inspector.tab import FOLLOW, Around, Key, Tab
from tui_agent.ui.rows import Cell, Rows

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from tui_agent.context import Context

_REQUESTS = 8
"""Requests that are listed."""
_REST = 12
"""After adding up nothing is added up for so many times as long as it took."""
_BAR, _NARROW_BAR = 16, 5
"""Cells of a bar."""
_STILL = {
    "off": "not by itself: compaction.auto is off",
    "held": "held since you undid one: /compact",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A row: what it says, the record that Enter leads to ("" if none), and its name while figures change."""

    said: Content
    record: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Old results that were shortened together: the record that says so, and the tokens that freed."""

    record: str
    freed: int


@dataclass(frozen=True, slots=True)
class Sum:
    """What was added up: the items, the total at that time, and what was shortened since the last rewrite."""

    filling: Filling
    total: int
    shortened: Sequence[Batch] = ()

    @property
    def unattributed(self) -> int:
        """What the total has beyond the items; may be negative."""
        return self.total - self.filling.total


async def added_up(context: Context, lacking: int) -> Sum:
    """Weigh everything that is sent, in slices. `lacking`: tokens that the first prompt of a new log adds."""
    filling = Filling()
    history, total = context.history, context.weigh().total + lacking
    for name, tokens in (
        ("system prompt", context.system_tokens),
        ("tool definitions", context.tools_tokens),
    ):
        if tokens.count:
            filling.put(name, tokens)
    if lacking:
        filling.put("system prompt and tools to come", Tokens(lacking, "estimated"))
    async for message in words.in_slices(history):
        filling.take(message, context.tokens(message.id))
    return Sum(filling, total, [batch async for batch in _batches(context)])


async def _batches(context: Context) -> AsyncIterator[Batch]:
    """The batches since the last change of history, in slices."""
    change, records = context.change, context.records
    async for index in words.in_slices(range(change.index + 1 if change is not None else 0, len(records))):
        if records[index].role == "_elide":
            body = records[index].body
            before, after = body.get("before"), body.get("after")
            if isinstance(before, int) and isinstance(after, int):
                yield Batch(records[index].id, before - after)


class TokenFigures(Tab):
    """The figures. Enter on an item leads to its record."""

    NAME = "Tokens"
    OF_LOG = True

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Rows(self.cells, key=lambda index: self._lines[index].name or index, empty="Adding up ...")
        super().__init__(context, rows, around)
        self._lines: list[Line] = []
        self._added: Sum | None = None
        self._again: Timer | None = None
        self._not_before = 0.0

    def columns(self) -> Sequence[Any]:
        return ()

    def __len__(self) -> int:
        return len(self._lines)

    def detail(self) -> Widget:
        return Static(markup=False)

    # --- adding up

    def load(self) -> None:
        self._not_before = 0.0
        self._add_up()

    def follow(self) -> None:
        """The log grew: say what it weighs now, and add up again when it is time."""
        self._tell()
        wait = self._not_before - perf_counter()
        if wait <= 0:
            self._add_up()
        elif self._again is None and wait < math.inf:
            self._again = self.set_timer(max(wait, FOLLOW), self._add_up)

    @work(group="add up", exclusive=True, exit_on_error=False)
    async def _add_up(self) -> None:
        if self._again is not None:
            self._again.stop()
            self._again = None
        began = perf_counter()
        self._not_before = math.inf
        found = await added_up(self.context, self.around.lacking)
        self._not_before = perf_counter() + _REST * (perf_counter() - began)
        self._added = found
        self._tell()
        if self._total != found.total:
            self.follow()

    def _tell(self) -> None:
        if self._added is not None:
            self._lines = list(self._told(self._added))
            self.rows.show(self.cells, len(self._lines))
            self._say()

    def on_resize(self) -> None:
        was = self.narrow
        super().on_resize()
        if was != self.narrow:
            self._tell()

    @property
    def _total(self) -> int:
        return self.context.weigh().total + self.around.lacking

    def _say(self) -> None:
        if self._added is None:
            return
        total = self._total
        parts = [f"{self._added.filling.total:,} in items {self._added.unattributed:+,} unattributed"]
        if total != self._added.total:
            parts.append(f"{total - self._added.total:+,} since")
        self.say(Content(f"{' '.join(parts)} = {words.number(total, self._mark)}"))

    @property
    def _mark(self) -> str:
        return "estimated" if self.around.lacking else self.context.weigh().mark

    # --- what is said

    def _told(self, found: Sum) -> Iterator[Line]:
        yield from self._how_full()
        yield from self._what_comes()
        yield from self._how_sure(found)
        yield from self._what_fills(found)
        yield from self._largest(found)
        yield from self._saved(found)
        yield from self._requests()

    def _how_full(self) -> Iterator[Line]:
        weight, around = self.context.weigh(), self.around
        total, mark = self._total, self._mark
        yield _title("how full")
        if around.window:
            share = f"{total / around.window:.0%}"
            window = words.window(around.window, guessed=around.guessed)
            yield _text(f"{words.number(total, mark)} of {window} tokens, {share}")
            if around.guessed:
                yield _text(words.GUESSED)
            left = around.window - total
            yield _text(
                f"{left:,} until the window is full" if left >= 0 else f"{-left:,} more than the window takes"
            )
        else:
            yield _text(f"{words.number(total, mark)} tokens")
        if weight.exact:
            since = weight.pending + around.lacking
            counted = f"{weight.exact:,}" if since else "all of it"
            yield _text(f"{counted} counted by the endpoint")
            if since:
                reduced = ", less what was taken out" if weight.reduced else ""
                yield _text(f"~{since:+,} estimated since{reduced}")

    def _what_comes(self) -> Iterator[Line]:
        """What makes room next, by the number above, and how far that is."""
        around, total = self.around, self._total
        if not around.full:
            return
        yield _title("what makes room next")
        if around.still:
            yield Line(Content.styled(f"  {_STILL[around.still]}", "$text-warning"))
        cells = _NARROW_BAR if self.narrow else _BAR
        for limit, what in ((around.micro, "shortening"), (around.full, "summary")):
            left = limit - total
            far = f"in {left:,}" if left > 0 else "now"
            said = Content.assemble((bar(total, limit, cells), "$text-accent"), f" {far}: {what}")
            yield _figure(f"{limit:,}", said, name=what)

    def _saved(self, found: Sum) -> Iterator[Line]:
        """What the last compaction and the shortening since took away, and what the summary cost."""
        shortened = found.shortened
        made = next((head for head in reversed(self.context.heads) if head.op == "compaction"), None)
        if made is None and not shortened:
            return
        yield _title("what compaction saved")
        if made is not None:
            event = as_event({**made.figures, "op": made.op, "backup": made.backup})
            counted = self.context.counted_after(made)
            after = Tokens(event.after, "estimated") if counted is None else counted
            when = words.clock(made.at, short=True)
            said = f"summary, {words.number(event.before, event.mark)} -> {words.tokens(after)}"
            sure = event.mark == after.mark == "exact"
            saved = words.number(event.before - after.count, "exact" if sure else "estimated")
            yield _figure(saved, f"{said}, {when}" if when else said, event.summary)
            price = f", ${event.cost:,.4f}" if event.cost is not None else ""
            if event.input:
                cached = f"{event.cache_read / event.input:.0%} cached"
                yield _figure(f"{event.input + event.output:,}", f"read and written for it, {cached}{price}")
        if shortened:
            count = len(shortened)
            batches = "in 1 batch" if count == 1 else f"in {count:,} batches"
            freed = sum(batch.freed for batch in shortened)
            yield _figure(number_of(freed), f"old results, {batches}", shortened[-1].record)

    def _how_sure(self, found: Sum) -> Iterator[Line]:
        yield _title("how sure")
        by_mark = found.filling.by_mark
        for mark, said in (
            ("exact", "exact, by the endpoint"),
            ("reconciled", "reconciled, shared out"),
            ("estimated", "estimated, by length"),
        ):
            if by_mark[mark]:  # type: ignore[index]
                yield _figure(words.number(by_mark[mark], mark), said, name=mark)  # type: ignore[index]
        if found.unattributed:
            yield _figure(f"{found.unattributed:+,}", "unattributed, in no item", name="unattributed")

    def _what_fills(self, found: Sum) -> Iterator[Line]:
        shares = found.filling.shares
        yield _title("what fills it")
        if not shares:
            yield _text("nothing yet: send some words", quiet=True)
        most, cells = shares[0].count if shares else 1, _NARROW_BAR if self.narrow else _BAR
        for share in shares:
            part = f"{share.count / max(1, found.filling.total):>4.0%}"
            shown = bar(share.count, most, cells)
            said = Content.assemble(
                f"{part} ", (shown, "$text-accent"), f" {literal.one_line(share.name, 60)}"
            )
            yield _figure(
                words.number(share.count, share.mark), said, share.record, name=f"share {share.name}"
            )

    def _largest(self, found: Sum) -> Iterator[Line]:
        if found.filling.largest:
            yield _title("largest items, Enter opens one")
        for item in found.filling.largest:
            said = Content.assemble(
                (f"{item.who:<7}", "$text-primary"), f" {literal.one_line(item.words, 200)}"
            )
            yield _figure(words.number(item.count, item.mark), said, item.record, name=f"item {item.record}")

    def _requests(self) -> Iterator[Line]:
        usages = self.context.usages()
        if not len(usages):
            return
        yield _title("last requests, with the cache")
        for usage in reversed(usages[max(0, len(usages) - _REQUESTS) :]):
            yield _figure(_number(usage, "token_count"), _request_words(usage))

    def cells(self, index: int) -> Sequence[Cell]:
        return (self._lines[index].said,)

    # --- what can be done

    def open(self, index: int) -> None:
        """Rows have no detail of their own: Enter leads to the record."""

    def chosen(self, index: int) -> None:
        record = self._lines[index].record
        if record:
            self.post_message(self.RecordWanted(record))

    def keys(self) -> Sequence[Key]:
        at = self.rows.cursor
        leads = 0 <= at < len(self._lines) and bool(self._lines[at].record)
        made = [Key("Enter", "its record", "choose")] if leads else []
        return [*made, Key("/", "filter", "filter")]


def bar(count: int, most: int, cells: int) -> str:
    """A bar as long as the share of `count` in `most`; never empty, so that it is seen where it begins."""
    share = min(1.0, count / most) if most > 0 else 1.0
    return ("=" * max(1, round(cells * share))).ljust(cells)


def number_of(count: int) -> str:
    """An estimated count as a person reads it."""
    return words.number(count, "estimated")


def _title(text: str) -> Line:
    return Line(Content.styled(text, "bold $text-primary"), name=text)


def _text(text: str, *, quiet: bool = False) -> Line:
    return Line(Content.styled(f"  {text}", "$text-muted" if quiet else ""))


def _figure(number: str, said: str | Content, record: str = "", *, name: str = "") -> Line:
    return Line(Content.assemble((f"{number:>10}", "bold"), "  ", said), record, name)


def _request_words(usage: Mapping[str, Any]) -> str:
    parts = [
        f"{_number(usage, 'cache_read')} read",
        f"{_number(usage, 'cache_write')} written",
        f"{_number(usage, 'input')} new",
        f"{_number(usage, 'output')} answer",
        "" if usage.get("exact", True) else "estimated",
        words.clock(usage["at"], short=True) if isinstance(usage.get("at"), str) else "",
    ]
    return ", ".join(filter(None, parts))


def _number(usage: Mapping[str, Any], key: str) -> str:
    value = usage.get(key)
    return f"{value:,}" if isinstance(value, int) else "?"
