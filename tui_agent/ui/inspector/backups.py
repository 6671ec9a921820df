"""The files that every rewrite of the history left: what made them, how large they are, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Key, Tab
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Backup, Context

_COLUMNS = (
    Column("file", 16),
    Column("before", 10),
    Column("when", 12),
    Column("size", 7, "right"),
    Column("tokens", 0, "right"),
)


class Backups(Tab):
    """The backups, newest first. Enter shows one as a chat, `r` restores it, `p` pins it."""

    NAME = "Backups"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "restore", show=False),
        Binding("p", "pin", show=False),
    ]

    def __init__(self, context: Context, *, writable: bool) -> None:
        rows = Rows(
            self._cells,
            columns=_COLUMNS,
            key=lambda index: self._backups[index].name,
            empty="No backup yet: going back, clearing and restoring each leave one.",
        )
        super().__init__(context, rows, writable=writable)
        self._backups: Sequence[Backup] = ()

    def detail(self) -> Widget:
        return Transcript()

    def load(self) -> None:
        self._backups = sorted(self.context.backups(), key=lambda backup: backup.n, reverse=True)
        self.rows.show(self._cells, len(self._backups))
        total = sum(backup.bytes for backup in self._backups if backup.exists)
        if self._backups:
            self.say(
                Content(
                    f"{len(self._backups):,} backups, {words.size(total)}; none is ever deleted by itself"
                )
            )
        else:
            self.say(Content(""))

    def follow(self) -> None:
        """An append makes no backup."""

    def _cells(self, index: int) -> Sequence[Cell]:
        backup = self._backups[index]
        if not backup.exists:
            gone = Content.styled(backup.name, "$text-muted")
            return (
                gone,
                backup.op,
                words.clock(backup.at),
                "",
                Content.styled("no longer kept", "$text-warning"),
            )
        cause = f"{backup.op}*" if backup.pinned else backup.op
        return (
            backup.name,
            cause,
            words.clock(backup.at),
            words.size(backup.bytes),
            words.tokens(backup.tokens),
        )

    def open(self, index: int) -> None:
        self.run_worker(
            self._preview(self._backups[index]), group="preview", exclusive=True, exit_on_error=False
        )

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
