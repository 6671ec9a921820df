"""Who rewrites a log: what is kept, what is put in its place, and what the new file means, all in one step.

A rewrite holds the gate as long as it must: where appends go on meanwhile it is built beside them, and what they
brought is copied when it is put in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tui_agent.context.accounting import Accounting
from tui_agent.context.backups import Backup, find_backup, pinned_names
from tui_agent.context.carried import carried
from tui_agent.context.encoding import complete, encode, now
from tui_agent.context.errors import ContextError, NothingToUndo
from tui_agent.context.pieces import (
    HISTORY,
    USAGES,
    Piece,
    every_byte,
    first_at,
    first_behind,
    good_lines,
    names_in,
    tail_of,
)
from tui_agent.context.projection import Projection
from tui_agent.context.records import Record
from tui_agent.context.rotate import Kept, Rewrite, backups_of
from tui_agent.context.source import Source
from tui_agent.context.threads import both, finish, in_thread
from tui_agent.context.writer import Writer

_KEPT = "the backup being made"
_OWN: tuple[str | None, str | None] = (_KEPT, None)
"""Where undo and redo lead after an ordinary operation."""


class Keep(Struct, frozen=True):
    """What a rewrite keeps of the old file, in bytes from its start; damaged lines are never kept.

    Records that end before `before` stay in front of the new lines. Records that begin at `after` or behind it,
    also those appended while the rewrite runs, stand behind the new lines; None keeps none there. If `generation` is
    given and the log was rewritten or reloaded since `Context.generation` had that value, the rewrite is refused.
    `stamped`: the figures of requests behind `after` are left out, since they told of another history, and an estimate
    of the whole (a `_usage` that is not exact) stands before the head record, whose `after` it is.
    """

    before: int = 0
    after: int | None = None
    generation: int | None = None
    stamped: bool = False


class Cause(Struct, frozen=True):
    """Why a log is rewritten, for its head record: the operation and what else should be known of it.

    `to` is the uid of the checkpoint gone back to. `figures` are further fields (replaces, summary, ...).
    """

    op: str
    to: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[Projection], None]
"""Looks at what a new file means before it is put in force; what it raises stops the rewrite."""


class Rewriter(Writer):
    """A writer that rewrites too: what was there is kept whole as a backup."""

    async def rotate(
        self,
        lines: Iterable[Record | Mapping[str, Any]],
        keep: Keep,
        cause: Cause,
        check: Check | None = None,
    ) -> Backup:
        """Rewrite: what `keep` says in front, then `lines`, what `keep` says behind, then the head record.

        `check` is called, in a thread, for a rewrite that is stamped.
        """
        new = [item if isinstance(item, Record) else complete(item) for item in lines]
        async with self._rotating:
            if keep.after is None:
                async with self._gate:
                    await self._open()
                    await self._settle_disk()
                    return await self._rotate(new, keep, cause, check)
            async with self._gate:
                await self._open()
                await self._settle_disk()
            return await self._rotate(new, keep, cause, check)

    async def _rotate(
        self, new: list[Record | dict[str, Any]], keep: Keep, cause: Cause, check: Check | None
    ) -> Backup:
        if keep.generation is not None and keep.generation != self.generation:
            raise ContextError(f"{self.path} was rewritten meanwhile; the {cause.op} was not carried out.")
        lines = [item.raw + b"\n" if isinstance(item, Record) else self._line(item) for item in new]
        old = self.projection
        cut = first_behind(old, keep.before)
        rewrite = Rewrite(self.log, self._digest)

        def build() -> None:
            rewrite.build([*good_lines(old, 0, cut), *lines])

        def tail() -> tuple[list[Piece], int]:
            names = names_in(old, cut, new)
            return tail_of(
                old, first_at(old, keep.after or 0), names, without=USAGES if keep.stamped else frozenset()
            )

        def seal() -> dict[str, Any]:
            return self._stamp(rewrite.look(), check)

        try:
            if keep.after is None:
                meaning = await both(lambda: self._meaning(old.prefix(cut), lines), build)
                return await self._commit(rewrite, cause, meaning)
            await in_thread(build)
            async with self._gate:
                return await self._commit(
                    rewrite, cause, None, tail=tail, seal=seal if keep.stamped else None
                )
        finally:
            rewrite.abandon()

    async def replace(self, name: str | None, op: str) -> Backup:
        """Rewrite with the content of a backup: restore; or undo or redo, which know theirs and copy every byte."""
        async with self._rotating, self._gate:
            await self._open()
            name = self._lead(op) if name is None else name
            file = find_backup(self.path, name)
            other = await in_thread(lambda: Projection.load(Source(file)))
            figures, leads = {"restored": name}, _OWN
            if op == "undo" and self.projection.change is not None:
                figures["undid"] = self.projection.change.op
            whole = op != "restore"
            if whole:
                leads = (other.head.undo if other.head else None, other.redo if op == "redo" else _KEPT)
            return await self._replace(other, [], Cause(op, figures=figures), leads, whole=whole)

    async def take_back(self) -> Backup:
        """Undo the newest compaction, also behind an edit of its summary; what was appended since follows, without the
        figures of requests.

        Raises:
            NothingToUndo: the change that stands is neither.
            NoSuchBackup: what was before it is no longer kept.
        """
        async with self._rotating, self._gate:
            await self._open()
            change = self.projection.change
            compactions = [head for head in self.projection.heads if head.op == "compaction"]
            if change is None or change.op not in ("compaction", "edit") or not compactions:
                raise NothingToUndo("The last change of history was no compaction.")
            newest = compactions[-1]
            file = find_backup(self.path, newest.backup)
            other = await in_thread(lambda: Projection.load(Source(file)))
            lines, gone = await in_thread(lambda: self._since(newest.index, other))
            figures = {"restored": newest.backup, "undid": "compaction", "later": len(lines), "lost": gone}
            return await self._replace(other, lines, Cause("undo", figures=figures), _OWN)

    async def _replace(
        self,
        other: Projection,
        lines: list[bytes],
        cause: Cause,
        leads: tuple[str | None, str | None],
        *,
        whole: bool = False,
    ) -> Backup:
        """Rewrite with the content of another file and these lines; `whole`: also with what is no record in it."""
        rewrite = Rewrite(self.log, self._digest)
        # now: what the new file means has its last line closed, and more lines
        pieces = every_byte(other) if whole else [*good_lines(other, 0, len(other)), *lines]
        try:
            await self._settle_disk()
            meaning = await both(
                lambda: self._meaning(other, lines, whole=whole), lambda: rewrite.build(pieces)
            )
            return await self._commit(rewrite, cause, meaning, leads=leads)
        finally:
            rewrite.abandon()

    def _since(self, head: int, other: Projection) -> tuple[list[bytes], int]:
        """The lines behind a head record as they may follow those of `other`, and how many aim at nothing there."""
        log = self.projection
        pieces, gone = tail_of(log, head + 1, names_in(other, len(other), []), without=HISTORY)
        read = (piece if isinstance(piece, bytes) else piece[0].read(*piece[1:]) for piece in pieces)
        return [line + b"\n" for line in b"".join(read).split(b"\n")[:-1]], gone

    def _meaning(
        self, base: Projection, lines: list[bytes], *, whole: bool = False
    ) -> tuple[Projection, Accounting] | None:
        """What a new file means that begins with that of `base` and goes on with `lines`; None if it has to be read.

        `whole`: every byte was copied, also what is no record.
        """
        if whole:
            base.close_last_line()
        elif not base.is_compact:
            return None
        for line in lines:
            base.extend(line[:-1], base.size)
        accounting = Accounting(base, self._model)
        if not lines:
            accounting.weigh()
        return base, accounting

    def _stamp(self, source: Source, check: Check | None) -> dict[str, Any]:
        """What a new file weighs in the measure of the old one, as its `_usage`; blocks."""
        projection = Projection.load(source)
        if check is not None:
            check(projection)
        factor = self.accounting.factor
        weight = carried(self.accounting, Accounting(projection, self._model, factor=factor))
        return {
            "role": "_usage",
            "token_count": weight,
            "exact": False,
            "params": {"model": self._model},
            "factor": factor,
        }

    def _lead(self, op: str) -> str:
        head = self.projection.head
        name = None if head is None else (head.undo if op == "undo" else self.projection.redo)
        if name is None:
            why = "no operation to undo" if op == "undo" else "nothing to redo"
            if op == "redo" and head is not None and head.redo is not None:
                why = f"nothing to redo, since messages were added; the other side is kept as {head.redo}"
            raise NothingToUndo(f"There is {why}.")
        return name

    async def _settle_disk(self) -> None:
        self.log.verify()
        if self.log.has_unsynced:
            await self._sync()

    async def _commit(
        self,
        rewrite: Rewrite,
        cause: Cause,
        meaning: tuple[Projection, Accounting] | None,
        *,
        tail: Callable[[], tuple[list[Piece], int]] = lambda: ([], 0),
        seal: Callable[[], dict[str, Any]] | None = None,
        leads: tuple[str | None, str | None] = _OWN,
    ) -> Backup:
        """Swap. `meaning` is what the new file means without its head, None if it has to be read. `tail` is what stands
        behind what was built, and how many records were left out of it. `seal` looks at what was built and gives the
        record before the head. `leads` are the names under undo and redo, _KEPT for the backup being made."""
        old = self.projection
        tokens = 0
        first = max(self._newest(), max(backups_of(self.path), default=0)) + 1
        written: list[bytes] = []
        left_out: dict[str, Any] = {}

        def head(kept: Kept) -> bytes:
            undo, redo = (kept.name if lead == _KEPT else lead for lead in leads)
            figures = dict(left_out)
            if seal is not None:
                stamp = seal()
                written.append(encode(stamp))
                figures["after"] = stamp["token_count"]
            written.append(encode(self._head(cause, kept, undo, redo, tokens) | figures))
            return b"".join(written)

        def work() -> tuple[Kept, Projection, Accounting]:
            nonlocal tokens, left_out
            tokens = self.accounting.weigh().total
            pieces, dropped = tail()
            left_out = {"dropped": dropped} if dropped else {}
            kept, source, at = rewrite.commit(pieces, first, head)
            try:
                self._hash(source, at)
                if meaning is None:
                    projection = Projection.load(source)
                    accounting = Accounting(projection, self._model)
                else:
                    projection, accounting = meaning
                    projection.source = source
                    projection.extend(written[-1][:-1], at)
                accounting.weigh()
            except BaseException:
                self._restored = False
                raise
            return kept, projection, accounting

        async with self._syncing:
            (kept, projection, accounting), cancelled = await finish(work)
        self._adopt(projection, accounting)
        backup = Backup(
            name=kept.name,
            n=kept.n,
            op=cause.op,
            at=projection.heads[-1].at,
            bytes=kept.bytes,
            records=len(old),
            tokens=tokens,
            pinned=kept.name in pinned_names(self.path),
            exists=True,
            figures=projection.heads[-1].figures,
        )
        if self._on_rotate is not None:
            self._on_rotate(backup, cause.op)
        if self.log.broken is not None:
            raise self.log.broken
        if cancelled is not None:
            raise cancelled
        return backup

    def _head(
        self, cause: Cause, kept: Kept, undo: str | None, redo: str | None, tokens: int
    ) -> dict[str, Any]:
        head = self.projection.head
        place = None
        if head is not None:
            place = [self.projection.starts[head.index], self.projection.lengths[head.index]]
        return {
            "role": "_compaction" if cause.op in ("compaction", "edit") else "_rewind",
            "n": kept.n,
            "op": cause.op,
            "at": now(),
            "backup": kept.name,
            "sha256": kept.sha256,
            "bytes": kept.bytes,
            "to": cause.to,
            "undo": undo,
            "redo": redo,
            "records": len(self.projection),
            "tokens": tokens,
            "head": place,
            **cause.figures,
        }

    async def remove(self, names: Sequence[str]) -> None:
        """Delete backups."""
        async with self._rotating, self._gate:
            await self._open()
            for name in names:
                file = find_backup(self.path, name)
                await in_thread(file.unlink)
