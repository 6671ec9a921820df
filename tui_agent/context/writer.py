"""Who writes a log: opens it under the lease, appends, and keeps the projection in step.

Appends run at once on the event loop (they take microseconds) unless a rewrite holds the gate; then they follow it.
What takes longer runs in a thread, and once begun it is finished: a cancelled caller hears of the cancellation when
disk and projection agree again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_agent.context.accounting import Accounting
from tui_agent.context.encoding import complete, encode
from tui_agent.context.errors import ReadOnlyLog
from tui_agent.context.lease import Lease
from tui_agent.context.log import Durability, Log
from tui_agent.context.projection import Projection
from tui_agent.context.records import Damaged, Record, parse
from tui_agent.context.rotate import Digest, sweep
from tui_agent.context.source import Source
from tui_agent.context.threads import finish, in_thread

if TYPE_CHECKING:
    from tui_agent.context.backups import Backup

T = TypeVar("T")

_LONG = 8 * 1024 * 1024
"""Bytes of a log whose digest is begun when it is opened; that of a shorter one takes no time."""


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
