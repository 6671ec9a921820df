"""The files that every rewrite of the history left: what made them, how large they are, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Key, Tab
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Backup, Context


class Backups(Tab):
    """The backups, newest first. Enter shows one as a chat, `r` restores it, `p` pins it."""

    NAME = "Backups"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", show=False),
        Binding("p", "pin", show=False),
    ]

    def __init__(self, context: Context, *, writable: bool) -> None:
        rows = Rows(
            self.cells,
            key=lambda index: self._backups[index].name,
            empty="No backup yet: going back, clearing and restoring each leave one.",
        )
        super().__init__(context, rows, writable=writable)
        self._backups: Sequence[Backup] = ()

    def columns(self) -> Sequence[Column]:
        name = Column("file", 3 if self.narrow else 16)
        when = Column("when", 6 if self.narrow else 12)
        return (name, Column("before", 8), when, Column("size", 6, "right"), Column("tokens", 0, "right"))

    def __len__(self) -> int:
        return len(self._backups)

    def detail(self) -> Widget:
        return Transcript(id="backup-preview")

    def load(self) -> None:
        self._gather()

    @work(group="gather", exclusive=True, exit_on_error=False)
    async def _gather(self) -> None:
        # every file's last lines are read for what made it
        self._backups = await asyncio.to_thread(self.context.backups)
        self.rows.show(self.cells, len(self._backups))
        count = len(self._backups)
        total = words.size(sum(backup.bytes for backup in self._backups if backup.exists))
        said = f"{count:,} backup{'s' if count != 1 else ''}, {total}; none is deleted by itself"
        self.say(Content(said if count else ""))

    def follow(self) -> None:
        """An append makes no backup."""

    def cells(self, index: int) -> Sequence[Cell]:
        backup = self._backups[index]
        name = f"{backup.n}" if self.narrow else backup.name
        when = words.clock(backup.at, short=self.narrow)
        cause = f"{backup.op}*" if backup.pinned else backup.op
        if not backup.exists:
            return (Content.styled(name, "$text-muted"), cause, when, "gone", "no longer kept")
        return (name, cause, when, words.size(backup.bytes), words.tokens(backup.tokens))

    def open(self, index: int) -> None:
        self._preview(self._backups[index])

    @work(group="preview", exclusive=True, exit_on_error=False)
    async def _preview(self, backup: Backup) -> None:
        if backup.exists:
            self.query_one(Transcript).load(await self.context.preview(backup.name), ())

    def keys(self) -> Sequence[Key]:
        made = [Key("Enter", "preview", "choose")]
        current = self._current()
        if self.writable and current is not None and current.exists:
            made.append(Key("r", "restore", "restore"))
            made.append(Key("p", "unpin" if current.pinned else "pin", "pin"))
        return made

    def _current(self) -> Backup | None:
        index = self.rows.cursor
        return self._backups[index] if 0 <= index < len(self._backups) else None

    def action_choose(self) -> None:
        """Show the backup under the cursor as a chat."""
        self.rows.action_choose()

    def action_restore(self) -> None:
        """Make it the history again."""
        backup = self._current()
        if backup is not None and self.writable:
            self.post_message(self.Asked("restore", (backup.name,)))

    def action_pin(self) -> None:
        """Keep it from being pruned, or no longer."""
        backup = self._current()
        if backup is not None and self.writable:
            self.post_message(self.Asked("unkeep" if backup.pinned else "keep", (backup.name,)))
