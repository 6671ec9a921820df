"""The files that every rewrite of the history left: what made them, how large they are, and the way back."""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Around, Key, Tab
from tui_agent.ui.inspector.telling import FIRST_WORDS, first_words, who
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Backup, Context, Record


def cause(backup: Backup) -> str:
    """What made a backup, in words: `revert 7 -> 3`, `clear`, `restore 4`, ..."""
    figures = backup.figures
    match backup.op:
        case "revert":
            to, following = figures.get("checkpoint"), figures.get("checkpoints")
            return f"revert {following - 1} -> {to}" if isinstance(following, int) else "revert"
        case "restore" | "undo" | "redo" as op:
            came = str(figures.get("restored") or "")
            number = came.removeprefix("context_").removesuffix(".jsonl")
            return f"{op} {number}".rstrip()
        case "prompt":
            return "prompt put in front"
        case "refresh":
            return "prompt refreshed"
        case "compaction":
            before, after = figures.get("tokens"), figures.get("after")
            if not (isinstance(before, int) and isinstance(after, int)):
                return "compaction"
            mark = str(figures.get("mark") or "estimated")
            return f"compaction {words.number(before, mark)} -> {words.number(after, 'estimated')}"
        case "edit":
            return "summary edited"
        case "":
            return "not known"
        case op:
            return op


def trouble(backup: Backup) -> str:
    """What is wrong with a backup, in words; nothing if all is well."""
    if not backup.exists:
        return "no longer kept"
    was = backup.figures.get("bytes")
    return "changed since" if isinstance(was, int) and was != backup.bytes else ""


class Differences:
    """The messages of a backup that are not in the log now, and those of the log that are not in the backup."""

    def __init__(self, then: Sequence[Record], now: Sequence[Record]) -> None:
        self._then, self._now = then, now
        self.gone = array("I")
        self.new = array("I")
        self.both = 0

    async def look(self) -> Differences:
        """Compare them, in slices."""
        in_then = {record.id async for record in words.in_slices(self._then) if _is_message(record)}
        in_now = set()
        async for record in words.in_slices(self._now):
            if _is_message(record):
                in_now.add(record.id)
                if record.id not in in_then:
                    self.new.append(record.index)
        async for record in words.in_slices(self._then):
            if _is_message(record) and record.id not in in_now:
                self.gone.append(record.index)
        self.both = len(in_now) - len(self.new)
        return self

    def __len__(self) -> int:
        return len(self.gone) + len(self.new)

    def cells(self, index: int) -> Sequence[Cell]:
        """One that differs: `-` is only in the backup, `+` only in the log now."""
        here = index < len(self.gone)
        record = self._then[self.gone[index]] if here else self._now[self.new[index - len(self.gone)]]
        sign = Content.styled("-", "bold $text-error") if here else Content.styled("+", "bold $text-success")
        return (sign, f"{record.line}", who(record), literal.one_line(first_words(record), FIRST_WORDS))

    @property
    def said(self) -> str:
        """The figures, in words."""
        if not len(self):
            return f"the same {self.both:,} messages as now"
        return f"messages only here (-): {len(self.gone):,}, only now (+): {len(self.new):,}, in both: {self.both:,}"


def _is_message(record: Record) -> bool:
    return record.role in ("user", "assistant")


class Opened(Vertical):
    """One backup: what it is, and the chat it holds or how it differs from now."""

    DEFAULT_CSS = """
    Opened .facts { height: auto; max-height: 4; }
    Opened Transcript, Opened Rows { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.facts = Static(classes="facts", markup=False)
        self.preview = Transcript(id="backup-preview")
        self.differing = Rows(
            columns=(Column("", 1), Column("", 5, "right"), Column("", 8), Column()),
            empty="It holds the same messages as the log now.",
        )

    def compose(self) -> Any:
        yield self.facts
        yield self.preview
        yield self.differing

    def on_mount(self) -> None:
        self.differing.display = False

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()


class Backups(Tab):
    """The backups, newest first. Enter shows one as a chat, `d` how it differs, `r` restores it, `p` pins it."""

    NAME = "Backups"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", show=False),
        Binding("p", "pin", show=False),
        Binding("d", "differ", show=False),
    ]

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Rows(
            self.cells,
            key=lambda index: self._backups[index].name,
            empty="No backup yet: going back, compacting, clearing and restoring each leave one.",
        )
        super().__init__(context, rows, around)
        self._backups: Sequence[Backup] = ()

    def columns(self) -> Sequence[Column]:
        size = Column("size", 6, "right")
        if self.narrow:
            return (Column("", 3, "right"), Column("before"), Column("when", 6), size)
        return (
            Column("file", 16),
            Column("before"),
            Column("when", 12),
            size,
            Column("tokens", 8, "right"),
        )

    def __len__(self) -> int:
        return len(self._backups)

    def detail(self) -> Widget:
        return Opened()

    def load(self) -> None:
        self._gather()

    @work(group="gather", exclusive=True, exit_on_error=False)
    async def _gather(self) -> None:
        # every file's last lines are read for what made it
        self._backups = await asyncio.to_thread(self.context.backups)
        self.rows.show(self.cells, len(self._backups))
        count = len(self._backups)
        total = words.size(sum(backup.bytes for backup in self._backups if backup.exists))
        text = f"{count:,} backup{'s' if count != 1 else ''}, {total}"
        gone = sum(not backup.exists for backup in self._backups)
        changed = sum(bool(trouble(backup)) for backup in self._backups) - gone
        text += f", {gone:,} no longer kept" if gone else ""
        text += f", {changed:,} changed since" if changed else ""
        self.say(Content(f"{text}; none is deleted unless settings say so" if count else ""))

    def follow(self) -> None:
        """An append makes no backup."""

    def cells(self, index: int) -> Sequence[Cell]:
        backup = self._backups[index]
        name = f"{backup.n}" if self.narrow else backup.name
        when = words.clock(backup.at, short=self.narrow)
        made = f"pinned: {cause(backup)}" if backup.pinned else cause(backup)  # in front: what is long is cut
        wrong = trouble(backup)
        if not backup.exists:
            return (Content.styled(name, "$text-muted"), f"{made}: {wrong}", when, "gone", "")
        said: Cell = Content.assemble((wrong, "bold $text-error"), f": {made}") if wrong else made
        return (name, said, when, words.size(backup.bytes), words.tokens(backup.tokens))

    # --- one of them, opened

    def open(self, index: int) -> None:
        self._preview(self._backups[index])

    @work(group="preview", exclusive=True, exit_on_error=False)
    async def _preview(self, backup: Backup) -> None:
        opened = self.query_one(Opened)
        if not backup.exists:
            opened.preview.load((), ())
            opened.differing.show(lambda index: "", 0)
            self._tell(opened, backup, ["its file is no longer kept: it can be neither shown nor restored"])
            return
        facts = [cause(backup)]
        if backup.tokens is not None:
            facts.append(f"{words.tokens(backup.tokens)} tokens")
        past = await self.context.backup(backup.name)
        opened.preview.load(past.shown, past.checkpoints())
        self._tell(opened, backup, facts)
        if past.damage:
            count = len(past.damage)
            facts.append(f"{count:,} damaged line{'' if count == 1 else 's'}, left out")
        if not await asyncio.to_thread(_is_unchanged, self.context.path.with_name(backup.name), backup):
            facts.append("its bytes are not those that were set aside")
        differing = await Differences(past.records, self.context.records).look()
        opened.differing.show(differing.cells, len(differing))
        self._tell(opened, backup, [*facts, differing.said])

    def failed(self, error: BaseException, group: str) -> None:
        backup = self._current()
        if group != "preview" or backup is None:
            super().failed(error, group)
            return
        opened = self.query_one(Opened)
        opened.preview.load((), ())
        opened.differing.show(lambda index: "", 0)
        self._tell(opened, backup, [f"it cannot be shown: {error}"])

    def _tell(self, opened: Opened, backup: Backup, facts: Sequence[str]) -> None:
        text = literal.one_line("; ".join(facts))
        opened.facts.update(Content.assemble((backup.name, "bold"), "  ", text))

    def keys(self) -> Sequence[Key]:
        current = self._current()
        if current is None:
            return []
        made = [Key("Enter", "close" if self.detail_open else "preview", "choose")]
        if self.detail_open:
            chat = not self.query_one(Opened).differing.display
            made.append(Key("d", "diff to now" if chat else "chat", "differ"))
        if self.writable and current.exists:
            made.append(Key("r", "restore", "restore"))
            made.append(Key("p", "unpin" if current.pinned else "pin", "pin"))
        return made

    def _current(self) -> Backup | None:
        index = self.rows.cursor
        return self._backups[index] if 0 <= index < len(self._backups) else None

    def action_differ(self) -> None:
        """Show how the backup under the cursor differs from now, or the chat it holds."""
        if self._current() is None:
            return
        opened = self.query_one(Opened)
        differ = not (self.detail_open and opened.differing.display)
        opened.differing.display, opened.preview.display = differ, not differ
        if not self.detail_open:
            self.rows.action_choose()
        self.post_message(self.KeysChanged())

    def action_restore(self) -> None:
        """Make it the history again."""
        backup = self._current()
        if backup is not None and backup.exists and self.writable:
            self.post_message(self.Asked("restore", (backup.name,)))

    def action_pin(self) -> None:
        """Keep it from being pruned, or no longer."""
        backup = self._current()
        if backup is not None and self.writable:
            self.post_message(self.Asked("unkeep" if backup.pinned else "keep", (backup.name,)))


def _is_unchanged(path: Path, backup: Backup) -> bool:
    """True if the file is the one that was set aside, as far as that is known."""
    expected = backup.figures.get("sha256")
    if not isinstance(expected, str):
        return True
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == expected
    except OSError:
        return False
