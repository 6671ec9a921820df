"""The side of a context that one looks at: what its log shows now, its figures and its backups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_agent.context import backups as kept
from tui_agent.context import views
from tui_agent.context.elisions import Elision
from tui_agent.context.projection import Projection
from tui_agent.context.shown import Past as Past  # who looks at a log takes these from here
from tui_agent.context.shown import Shown as Shown
from tui_agent.context.source import Source

if TYPE_CHECKING:
    from tui_agent.context.accounting import Accounting
    from tui_agent.context.backups import Backup
    from tui_agent.context.table import Head
    from tui_agent.context.writer import Writer
    from tui_agent.messages.blocks import Message
    from tui_agent.messages.tokens import Tokens

_NOTHING: Mapping[int | None, str | None] = MappingProxyType({})


class Reading(Shown):
    """The side of a `Context` that one looks at."""

    path: Path
    _writer: Writer

    @property
    def _log(self) -> Projection:
        return self._writer.projection

    @property
    def _figures(self) -> Accounting:
        return self._writer.accounting

    @property
    def generation(self) -> int:
        """Changes with every rewrite and restore."""
        return self._writer.generation

    @property
    def size(self) -> int:
        """Bytes of the file, as far as they were read or written here."""
        return self._log.size

    @property
    def swept(self) -> Sequence[str]:
        """Names of files that a killed rewrite had left and that were removed when the lease was taken."""
        return tuple(self._writer.swept)

    @property
    def notice(self) -> str:
        """What should be said once of how the session is guarded; usually empty."""
        return self._writer.lease.notice

    # --- tokens ----------------------------------------------------------------------------------------------------

    @property
    def token_count(self) -> int:
        """The last exact size of the context, in tokens; 0 if there was none."""
        return self._writer.accounting.token_count

    @property
    def token_count_with_pending(self) -> int:
        """The last exact size and the estimate of what changed since: what the next request weighs."""
        return self.weigh().total

    def counted_after(self, head: Head) -> Tokens | None:
        """What the log weighed right after a rewrite, by the next request that an endpoint counted.

        Exact, or reconciled where messages were sent along that came behind it; None until there is such a request.
        """
        return self._writer.accounting.counted(head.index)

    def estimated(self, record: str, also: Mapping[int | None, str | None] = _NOTHING) -> int:
        """The estimate of what a record weighs as it is sent now; with `also`, as it would be sent if that were elided
        too (by block, None being all of it: the text in its place, or None). `weigh` moves by just these figures.

        Raises:
            ValueError: there is no such record.
        """
        index = self._index(record)
        more = (Elision("", 0, block, text, "", "") for block, text in also.items())
        return self._writer.accounting.estimate(index, (*self._log.elisions.on(index), *more))

    @property
    def unattributed(self) -> int:
        """The total without what prompt, tools and records account for: with it the figures always add up.

        May be negative. The first look weighs every record.
        """
        return self._writer.accounting.unattributed

    @property
    def model(self) -> str:
        """Whose token weights the estimates use."""
        return self._writer.model

    @model.setter
    def model(self, name: str) -> None:
        self._writer.use_model(name)

    @property
    def can_undo(self) -> bool:
        """True if `undo` has somewhere to lead and its backup is kept."""
        head = self._log.head
        return head is not None and kept.is_kept(self.path, head.undo)

    @property
    def can_redo(self) -> bool:
        """True if `redo` has somewhere to lead and its backup is kept."""
        return kept.is_kept(self.path, self._log.redo)

    # --- backups ---------------------------------------------------------------------------------------------------

    def backups(self) -> list[Backup]:
        """The files this log was before, newest first; also those that are no longer kept."""
        return kept.list_backups(self.path, self._log.head)

    async def backup(self, name: str) -> Past:
        """A backup, to be looked at as the log it was.

        Raises:
            NoSuchBackup: there is none of that name, or it is no longer kept.
        """
        file = kept.find_backup(self.path, name)
        return Past(await self._writer.look(lambda: Projection.load(Source(file))), self.clean)

    async def preview(self, which: int | str) -> Sequence[Message]:
        """The history as it would be after `revert_to` (a checkpoint's id or uid) or `restore_backup` (a name).

        Raises:
            ValueError: there is no such checkpoint.
            NoSuchBackup: there is no such backup.
        """
        log = self._log
        if isinstance(which, str) and which.endswith(self.path.suffix):
            return (await self.backup(which)).history
        cut = log.checkpoints[views.find_checkpoint(log, which)]
        return views.history(await self._writer.look(lambda: log.prefix(cut)))
