"""Who writes a log: opens it under the lease, appends, rewrites, and keeps the projection in step.

Appends run at once on the event loop (they take microseconds) unless a rewrite holds the gate; then they follow it.
What takes longer runs in a thread, and once begun it is finished: a cancelled caller hears of the cancellation when
disk and projection agree again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from tui_agent.context.accounting import Accounting
from tui_agent.context.backups import Backup, find_backup, pinned_names
from tui_agent.context.encoding import complete, encode, now
from tui_agent.context.errors import ContextError, NothingToUndo, ReadOnlyLog
from tui_agent.context.lease import Lease
from tui_agent.context.log import Durability, Log
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
from tui_agent.context.records import Damaged, Record, parse
from tui_agent.context.rotate import Digest, Kept, Rewrite, backups_of, sweep
from tui_agent.context.source import Source
from tui_agent.context.threads import both, finish, in_thread

T = TypeVar("T")

_KEPT = "the backup being made"
_OWN: tuple[str | None, str | None] = (_KEPT, None)
"""Where undo and redo lead after an ordinary operation."""

_LONG = 8 * 1024 * 1024
"""Bytes of a log whose digest is begun when it is opened; that of a shorter one takes no time."""


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


class Writer:
    """The log of one context, in step with its projection."""

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability,
        model: str,
        on_append: Callable[[Record], None] | None,
        on_rotate: Callable[[Backup, str], None] | None,
        read_only: bool,
    ) -> None:
        self.path = path
        self.log = Log(path, durability)
        self.lease = Lease(path.with_name("lock" if path.name == "context.jsonl" else path.name + ".lock"))
        self.projection = Projection()
        self.accounting = Accounting(self.projection, model)
        self.generation = 0
        self.swept: list[str] = []
        self._model = model
        self._on_append = on_append
        self._on_rotate = on_rotate
        self._read_only = read_only
        self._restored = False
        self._digest = Digest()
        self._gate = asyncio.Lock()
        self._rotating = asyncio.Lock()
        self._syncing = asyncio.Lock()

    # --- reading -------------------------------------------------------------------------------------------------

    async def restore(self) -> bool:
        """Read the file anew; False if it is missing or empty."""
        async with self._rotating, self._gate:
            return await self._restore()

    async def _restore(self) -> bool:
        self._restored = False
        async with self._syncing:
            if self.log.has_unsynced:
                await in_thread(self.log.sync)
            projection, accounting = await in_thread(self._read)
        self._adopt(projection, accounting)
        self._restored = True
        return self.log.size > 0

    def _read(self) -> tuple[Projection, Accounting]:
        projection = self.log.scan(self._hash)
        accounting = Accounting(projection, self._model)
        accounting.weigh()
        return projection, accounting

    def _hash(self, source: Source, size: int) -> None:
        """Begin the digest of a file; of a long one at once, since a rewrite needs it."""
        self._digest.stop()
        self._digest = Digest()
        if size > _LONG and not self._read_only:
            self._digest.follow(source, size)

    def _adopt(self, projection: Projection, accounting: Accounting) -> None:
        self.projection = projection
        self.accounting = accounting
        self.generation += 1

    @property
    def model(self) -> str:
        return self._model

    def use_model(self, model: str) -> None:
        """Estimate with another model's weights from now on."""
        self._model = model
        self.accounting = Accounting(self.projection, model)

    async def look(self, read: Callable[[], T]) -> T:
        """Something to be read in a thread."""
        return await in_thread(read)

    async def ready(self) -> None:
        """Know what is in the file and hold the lease, so that what is decided next is decided on the newest state."""
        if not self.is_ready:
            async with self._gate:
                await self._open()

    @property
    def is_ready(self) -> bool:
        return not self._gate.locked() and self._restored and self.log.is_open and self.lease.held

    # --- opening ---------------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        """Make sure that this process may write, and that it knows what is there. The gate is held."""
        if self._read_only:
            raise ReadOnlyLog(self.path)
        if not self._restored:
            await self._restore()
        if not (self.log.is_open and self.lease.held):
            await in_thread(self._take)

    def _take(self) -> None:
        self.lease.acquire()
        try:
            self.log.open()
            self.log.verify()
        except BaseException:
            self.log.close()
            self.lease.release()
            raise
        if self.projection.source is None:
            self.projection.source = Source(self.path)
        self.swept += sweep(self.path, self._newest())

    def _newest(self) -> int:
        return max((head.n for head in self.projection.heads), default=0)

    # --- appending -------------------------------------------------------------------------------------------------

    async def append(self, bodies: Sequence[Mapping[str, Any]]) -> list[Record]:
        """Append records in one write.

        Raises:
            ValueError: one of them would be read back as damaged, or its id is taken; nothing is written.
        """
        log = self.log
        if log.is_full or not self.is_ready:
            async with self._gate:
                await self._open()
                if log.is_full:
                    await self._sync()
                records = self._write(bodies)
        else:
            records = self._write(bodies)
        if log.durability == "record":
            await self.sync()
        return records

    def _write(self, bodies: Sequence[Mapping[str, Any]]) -> list[Record]:
        completed = [complete(body) for body in bodies]
        lines = [self._line(body) for body in completed]
        taken, new = self.projection.index, set[str]()
        for body in completed:
            for name in (body.get("id"), body.get("uid")):
                if isinstance(name, str):
                    if name in taken or name in new:
                        raise ValueError(
                            f"A record with the id {name!r} is there already; ids are made once."
                        )
                    new.add(name)
        offset = self.log.append(b"".join(lines))
        projection = self.projection
        records = []
        for line in lines:
            records.append(projection.record(projection.extend(line[:-1], offset)))
            offset += len(line)
        if self._on_append is not None:
            for record in records:
                self._on_append(record)
        return records

    def _line(self, body: Mapping[str, Any]) -> bytes:
        line = encode(body)
        try:
            header = parse(line[:-1])
            if header.role.startswith("_"):
                trial = Projection()
                trial.feed(line[:-1], 0)
                for reason in trial.damage.values():
                    raise Damaged(reason)
        except Damaged as error:
            raise ValueError(
                f"A record of role {body.get('role')!r} was refused, since it could not be read back: {error}."
            ) from None
        return line

    # --- rewriting -------------------------------------------------------------------------------------------------

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
            if op == "undo" and self.projection.head is not None:
                figures["undid"] = self.projection.head.op
            whole = op != "restore"
            if whole:
                leads = (other.head.undo if other.head else None, other.redo if op == "redo" else _KEPT)
            return await self._replace(other, [], Cause(op, figures=figures), leads, whole=whole)

    async def take_back(self) -> Backup:
        """Undo the newest compaction, also behind an edit of its summary; what was appended since follows, without the
        figures of requests.

        Raises:
            NothingToUndo: the last rewrite is neither.
            NoSuchBackup: what was before it is no longer kept.
        """
        async with self._rotating, self._gate:
            await self._open()
            head = self.projection.head
            compactions = [head for head in self.projection.heads if head.op == "compaction"]
            if head is None or head.op not in ("compaction", "edit") or not compactions:
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
        """The estimate of what a new file weighs, as its `_usage`; blocks."""
        projection = Projection.load(source)
        if check is not None:
            check(projection)
        factor = self.accounting.factor
        weight = Accounting(projection, self._model, factor=factor).weigh()
        return {
            "role": "_usage",
            "token_count": max(weight.total, 0),
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

    # --- the disk --------------------------------------------------------------------------------------------------

    async def sync(self) -> None:
        """Make what was appended last, by the durability chosen."""
        if self.log.durability == "off" or not self.log.has_unsynced:
            return
        async with self._syncing:
            if await in_thread(self.log.sync):
                return
        async with self._gate:
            await self._sync()

    async def _sync(self) -> None:
        """The same while the gate is held: a file that the disk did not confirm is written anew."""
        async with self._syncing:
            if await in_thread(self.log.sync):
                return
            self.log.verify()
            source, cancelled = await finish(self.log.rebuild)
            self.projection.source = source
            self._hash(source, self.log.size)
            if cancelled is not None:
                raise cancelled

    async def close(self) -> None:
        """Sync, give back the lease, close the file."""
        self._digest.stop()
        try:
            await self.sync()
        finally:
            async with self._rotating, self._gate:
                self.log.close()
                await in_thread(self.lease.release)
