"""`Context`: a session's log, as one writes and reads it. Beneath are two verbs, `append` (`appending`) and `rotate`;
every other method that changes something is a name for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.context import backups as kept
from tui_agent.context import views
from tui_agent.context.appending import Appending
from tui_agent.context.blobs import BlobStore, OutputStore
from tui_agent.context.compacted import Replacement, compose
from tui_agent.context.errors import ContextError, ReadOnlyLog
from tui_agent.context.reading import Past, Shown
from tui_agent.context.rewriting import Cause, Check, Keep, Rewriter

if TYPE_CHECKING:
    from tui_agent.context.backups import Backup
    from tui_agent.context.log import Durability
    from tui_agent.context.records import Record

_ALL = 2**62
"""An offset behind the end of every file."""


class Context(Appending):
    """The context of one session: everything the model was and will be sent, and how it came to be.

    Reading takes no lock and works on any file of the format, Kimi CLI's included. The first write takes the lease of
    the folder, which `close` gives back. All methods are called on one event loop.

    Args:
        path: the context.jsonl; it need not exist.
        durability: when written records are forced to the disk: `step` when `sync` is called, `record` after each
            append, `off` never (rewrites always are).
        model: whose token weights the estimates use; "" takes the model of the last request.
        on_append: told of each record that is on disk and in the projection.
        on_rotate: told of each rewrite: the backup that was made, and the operation.
        assign: the marks of a message that is appended (`table.MARKS`); those it has already stand.
        read_only: every change raises ReadOnlyLog.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        durability: Durability = "step",
        model: str = "",
        on_append: Callable[[Record], None] | None = None,
        on_rotate: Callable[[Backup, str], None] | None = None,
        assign: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
        read_only: bool = False,
    ) -> None:
        self.path = Path(path)
        if self.path.is_symlink():
            self.path = self.path.resolve()
        self.read_only = read_only
        self.assign = assign
        self._writer: Rewriter = Rewriter(
            self.path,
            durability=durability,
            model=model,
            on_append=on_append,
            on_rotate=on_rotate,
            read_only=read_only,
        )
        self.blobs = BlobStore(self.path.parent / "blobs")
        self.outputs = OutputStore(self.path.parent / "outputs")

    async def hold(self) -> None:
        """Take the lease now instead of at the first write.

        Raises:
            LogBusy, LogChanged, LogReadError, ReadOnlyLog: as `append`.
        """
        await self._writer.ready()

    async def restore(self) -> bool:
        """Read the file (anew); False if it is missing or empty.

        Raises:
            LogReadError: it is a folder, or cannot be read.
        """
        return await self._writer.restore()

    # --- rewriting ---------------------------------------------------------------------------------------------------

    async def rotate(
        self, lines: Iterable[Record | Mapping[str, Any]], *, keep: Keep, cause: Cause
    ) -> Backup:
        """Rewrite the log in one step; the old file is kept whole as the backup returned.

        The new file holds what `keep` says in front, `lines` (records of the old file, copied byte by byte, or new
        ones), what `keep` says behind, and the head record. Damaged lines are not copied. Appends that come meanwhile
        follow; with `keep.after` they go on and are copied.

        Raises:
            LogWriteError: the disk refused; nothing is changed.
            ContextError: `keep.generation` is no longer that of the log.
            LogBusy, LogChanged, ReadOnlyLog: as `append`.
        """
        return await self._writer.rotate(lines, keep, cause)

    async def write_system_prompt(self, text: str, **fields: Any) -> Record | Backup:
        """Put a system prompt in force. `fields`: blocks (layers), memories.

        An append, and the record is returned; but a file that has records and no prompt gets it in front: a rewrite
        (operation `prompt`), and its backup is returned.
        """
        body = {"role": "_system_prompt", "content": text, **fields}
        await self._writer.ready()
        if self._log.prompts or not len(self._log):
            return await self.append(body)
        return await self.rotate([body], keep=Keep(after=0), cause=Cause("prompt"))

    async def renew(self, bodies: Sequence[Mapping[str, Any]], **figures: Any) -> Backup:
        """Put another prompt, other tools, or both in force behind all there is (operation `refresh`).

        `bodies` are their records, `figures` go into the head record. It can be undone as every rewrite.

        Raises:
            (as `rotate`)
        """
        return await self.rotate(bodies, keep=Keep(before=_ALL), cause=Cause("refresh", figures=figures))

    async def revert_to(self, checkpoint: int | str) -> Backup:
        """Go back to before the checkpoint (its id or uid): it and what follows is no longer in the log.

        Marks that a person set since then stay, if their record does.

        Raises:
            ValueError: there is no such checkpoint; nothing is changed.
            (and as `rotate`)
        """
        await self._writer.ready()
        log = self._log
        place = views.find_checkpoint(log, checkpoint)
        cut = log.checkpoints[place]
        marks = [
            log.record(index)
            for index, target, marks in log.marks
            if index > cut and 0 <= target < cut and marks.get("by") == "user"
        ]
        figures = {"checkpoint": log.numbers[place], "checkpoints": log.next_checkpoint}
        cause = Cause("revert", to=log.id(cut), figures=figures)
        return await self.rotate(marks, keep=Keep(before=log.starts[cut]), cause=cause)

    async def clear(self, system_prompt: str | None = None, *, states: Collection[str] = ()) -> Backup:
        """Begin anew with the system prompt given (None: the one in force), the tools in force, and the newest values
        of these keys of the state."""
        await self._writer.ready()
        log = self._log
        lines: list[Record | Mapping[str, Any]] = []
        if system_prompt is not None:
            lines.append({"role": "_system_prompt", "content": system_prompt})
        elif log.prompts:
            lines.append(log.record(log.prompts[-1]))
        if log.tools:
            lines.append(log.record(log.tools[-1]))
        lines += [log.record(log.state[key]) for key in states if key in log.state]
        return await self.rotate(lines, keep=Keep(), cause=Cause("clear"))

    async def restore_backup(self, name: str) -> Backup:
        """Bring back a backup's content; what is there now becomes a backup itself.

        Raises:
            NoSuchBackup: there is none of that name.
            (and as `rotate`)
        """
        return await self._writer.replace(name, "restore")

    async def compact(
        self,
        change: Replacement,
        *,
        figures: Mapping[str, Any],
        check: Callable[[Shown], None] | None = None,
    ) -> Backup:
        """Put a summary in the place of older messages, as `change` says; the whole log is kept as the backup.

        `figures` go into the head record. `check` is shown what the new log means before it is put in force, in a
        thread; what it raises stops the rewrite, and nothing is changed.

        Raises:
            ContextError: the log was rewritten since `change.generation`.
            (and as `rotate`)
        """
        await self._writer.ready()
        log = self._log
        if change.generation != self.generation:
            raise ContextError(f"{self.path} was rewritten meanwhile; the compaction was not carried out.")
        lines = await self._writer.look(lambda: compose(log, change))
        keep = Keep(after=change.until, generation=change.generation, stamped=True)
        cause = Cause("compaction", figures={**figures, "summary": change.summary["id"]})
        return await self._writer.rotate(lines, keep, cause, _checking(check))

    async def edit_message(
        self,
        record: str,
        body: Mapping[str, Any],
        *,
        figures: Mapping[str, Any],
        generation: int | None = None,
    ) -> Backup:
        """Put another message in the place of one (operation `edit`); what is behind it stays as it is.

        Raises:
            ValueError: there is no such record.
            (and as `rotate`)
        """
        await self._writer.ready()
        old = self.record(record)
        end = old.offset + old.length + 1
        keep = Keep(before=old.offset, after=end, generation=generation, stamped=True)
        return await self._writer.rotate([body], keep, Cause("edit", figures=figures))

    async def undo(self) -> Backup:
        """Undo the last rewrite.

        Raises:
            NothingToUndo: there was none.
            NoSuchBackup: its backup is no longer kept.
            (and as `rotate`)
        """
        return await self._writer.replace(None, "undo")

    async def take_back(self) -> Backup:
        """Undo the newest compaction, also behind edits of its summary; what was appended since then follows.

        Raises:
            NothingToUndo: the change that stands (`change`) is neither a compaction nor such an edit.
            NoSuchBackup: its backup is no longer kept.
            (and as `rotate`)
        """
        return await self._writer.take_back()

    async def redo(self) -> Backup:
        """Take the last undo back; possible until a message is appended.

        Raises:
            NothingToUndo, NoSuchBackup: as `undo`.
            (and as `rotate`)
        """
        return await self._writer.replace(None, "redo")

    async def prune_backups(self, *, keep: int | None = None, max_bytes: int | None = None) -> list[Backup]:
        """Delete backups, oldest first, until so many and so many bytes are left; pinned ones stay.

        Returns those that are gone.
        """
        if self.read_only:
            raise ReadOnlyLog(self.path)
        gone = kept.prunable(self.backups(), keep=keep, max_bytes=max_bytes)
        await self._writer.remove([backup.name for backup in gone])
        return gone

    # --- the disk ----------------------------------------------------------------------------------------------------

    async def sync(self) -> None:
        """Force what was appended to the disk (nothing with durability `off`).

        Raises:
            LogWriteError: the disk does not confirm it, nor a second copy of the file; nothing more is written.
        """
        await self._writer.sync()

    async def close(self) -> None:
        """Sync and give back the lease. Reading goes on working."""
        await self._writer.close()


def _checking(check: Callable[[Shown], None] | None) -> Check | None:
    return None if check is None else lambda log: check(Past(log))
