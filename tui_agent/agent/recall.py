"""Memories in a session: which there are, and what happens to them when its history is undone or made again.

What may be read of memories by whoever shows them (`list`, `search`, `history`, `counts`, `waiting`) is here; those
calls block for some milliseconds. Changes go through commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tui_agent.changes import MemoryChanged, MemoryProposed
from tui_agent.context import ContextError
from tui_agent.events import Emit, Notice
from tui_agent.memory import filed, lives
from tui_agent.memory.proposals import is_noise
from tui_agent.memory.schema import StoreError
from tui_agent.prompt import remembered

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.memory.filed import Files
    from tui_agent.memory.schema import Change, Memory, Status
    from tui_agent.memory.store import MemoryStore
    from tui_agent.prompt.remembered import Listed

_TRAVELS = ("revert", "undo", "redo", "restore")
"""Rewrites that undo what is no longer there after them."""

T = TypeVar("T")


class Recall:
    """The memories of one session in one workspace (its identity); `window` is the model's, in tokens."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        files: Files,
        context: Context,
        session: str,
        workspace: str,
        window: Callable[[], int],
        emit: Emit,
    ) -> None:
        self.store = store
        self.files = files
        self.session = session
        self.workspace = workspace
        self._context = context
        self._window = window
        self._emit = emit
        self._told: set[str] = set()

    # --- what may be read ----------------------------------------------------------------------------------------

    def list(self, status: Status | None = None) -> Sequence[Memory]:
        """The memories of the user, this workspace and this session, those that changed last first.

        Raises:
            StoreError: they cannot be read.
        """
        return self.store.visible(self.workspace, self.session, status) if self._any() else ()

    def search(self, text: str, status: Status | None = None) -> Sequence[Memory]:
        """Those of `list` that have these words, the best first.

        Raises:
            StoreError: they cannot be read.
        """
        if not self._any():
            return ()
        return [memory for memory in self.store.search(text, status=status) if self._is_here(memory)]

    def history(self, memory: str) -> Sequence[Change]:
        """Every change of a memory, the oldest first.

        Raises:
            StoreError: it cannot be read.
        """
        return self.store.history(memory) if self._any() else ()

    def counts(self) -> Mapping[Status, int]:
        """How many of `list` there are of each status.

        Raises:
            StoreError: they cannot be read.
        """
        return self.store.counts(workspace=self.workspace, session=self.session) if self._any() else {}

    def waiting(self) -> Sequence[MemoryProposed]:
        """The proposals of this session that wait for a person, the oldest first, as they were told.

        Raises:
            StoreError: they cannot be read.
        """
        found = self.store.list(source=self.session, status="proposed") if self._any() else ()
        return [self.proposal(memory) for memory in reversed(found)]

    def proposal(self, memory: Memory, *, refused: bool = False) -> MemoryProposed:
        """What is told of a proposal.

        Raises:
            StoreError: the memory that it would replace cannot be read.
        """
        topic, old, diff = self.files.topic(memory), self._accepted(memory), ""
        if topic is not None:
            with suppress(StoreError):  # whoever accepts it is told why it cannot be written
                old, diff = filed.read(topic), filed.plan(topic, memory.body).diff
        return MemoryProposed(
            id=memory.id,
            scope=memory.scope,
            key=memory.key,
            body=memory.body,
            old=old or "",
            record=memory.source_record,
            outside=memory.outside,
            noise=is_noise(memory.body),
            refused=refused,
            file=str(topic.path) if topic is not None else "",
            diff=diff,
        )

    def _accepted(self, like: Memory) -> str | None:
        """What is remembered under the key of a memory in its place."""
        found = self.store.find(like.key, like.scope, workspace=like.workspace_id, session=like.session_id)
        return found.body if found is not None else None

    def _accepted_here(self, listed: Sequence[Mapping[str, Any]] = ()) -> Sequence[Memory]:
        """What the model is told, the newest first: without what a file tells it, but for what was listed before."""
        found = self.store.told(self.workspace, self.session).memories if self._any() else ()
        known = {entry.get("id") for entry in listed}
        left = {memory.id for memory in self.files.left(found)}
        return [memory for memory in found if memory.id in known | left]

    def snapshot(self) -> Listed:
        """What the system prompt says of memories; of those that cannot be read nothing, which is told."""
        return remembered.snapshot(self._safely(self._accepted_here) or (), remembered.budget(self._window()))

    def changes(self) -> Listed | None:
        """What is different by now from what the prompt in force says; None if they cannot be read, which is told."""
        listed = self._context.system_memories
        memories = self._safely(lambda: self._accepted_here(listed or ()))
        if memories is None:
            return None
        return remembered.changes(listed, memories, remembered.budget(self._window()))

    def _any(self) -> bool:
        """True once anything was stored: nothing is made only to be read."""
        return self.store.path.exists()

    def _is_here(self, memory: Memory) -> bool:
        places = {
            "workspace": (memory.workspace_id, self.workspace),
            "session": (memory.session_id, self.session),
        }
        of, here = places.get(memory.scope, ("", ""))
        return of == here

    # --- what follows the history --------------------------------------------------------------------------------

    async def follow(self) -> None:
        """Set aside what came from answers that were undone, and bring back what came from those that are there again.

        Right whenever it is called after a rewrite, also by the next program that opens the session. What was compacted
        or cleared away was not undone, and stays.
        """
        found = await self.guarded(self._from_here) or ()
        missing = [
            m.source_record for m in found if m.status != "suspended" and not self._has(m.source_record)
        ]
        back = [m.source_record for m in found if m.status == "suspended" and self._has(m.source_record)]
        if gone := await self._undone(missing):
            for memory in await self.guarded(lambda: self.store.suspend(self.session, gone)) or ():
                self.changed("suspended", memory)
        if back:
            for memory in await self.guarded(lambda: self.store.resume(self.session, back)) or ():
                self.changed("resumed", memory)

    def _from_here(self) -> Sequence[Memory]:
        """What answers of this session proposed, and a person has not refused."""
        if not self._any():
            return ()
        return [m for m in self.store.list(source=self.session) if m.status != "rejected"]

    def _has(self, record: str) -> bool:
        try:
            self._context.record(record)
        except ValueError:
            return False
        return True

    async def _undone(self, missing: Sequence[str]) -> Sequence[str]:
        """Those of the missing records that went with the last rewrite, and were not compacted or cleared away."""
        head = self._context.head
        if not missing or head is None or head.op not in _TRAVELS:
            return ()
        try:
            before = await self._context.backup(head.backup)
        except ContextError:
            return ()  # no longer kept, so that nothing tells whether they were undone
        compacted, cleared = self._begun_anew()
        undone = []
        for record in missing:
            try:
                at = str(before.record(record).body.get("at", ""))
            except ValueError:
                continue
            if record > compacted and (not cleared or at > cleared):
                undone.append(record)
        return undone

    def _begun_anew(self) -> tuple[str, str]:
        """The last message that was compacted away in this history, and when it was cleared last."""
        compacted = cleared = ""
        for head in self._context.heads:
            replaced = head.figures.get("replaces")
            if head.op == "compaction" and isinstance(replaced, list) and replaced:
                compacted = max(compacted, str(replaced[-1]))
            elif head.op == "clear":
                cleared = max(cleared, head.at)
        return compacted, cleared

    # --- what follows the session --------------------------------------------------------------------------------

    async def end(self) -> None:
        """The session is archived: what was remembered for it alone is not any more."""
        await self._followed(gone=True)

    async def come_back(self) -> int:
        """The session is in use again, and what was remembered for it; returns how much of that there is."""
        return await self._followed(gone=False)

    async def _followed(self, *, gone: bool) -> int:
        before = await self.guarded(self._of_session) or ()
        if trouble := await asyncio.to_thread(lives.follow, self.session, gone=gone):
            self._tell_once(trouble)
        now = await self.guarded(self._of_session) or ()
        for memory in before if gone else now:
            self.changed("deleted" if gone else "resumed", memory)
        return len(now)

    def _of_session(self) -> Sequence[Memory]:
        return self.store.list(scope="session", session=self.session) if self._any() else ()

    async def carry_over(self, session: str) -> None:
        """This session is a copy of another one: what that noted for itself counts here, as far as it is copied."""
        answers = [record.id for record in self._context.records if record.role == "assistant"]
        if self._any():
            await self.guarded(lambda: self.store.fork_session(session, self.session, answers))

    # --- how it works --------------------------------------------------------------------------------------------

    async def guarded(self, work: Callable[[], T]) -> T | None:
        """Do something with the store in a thread; None if it cannot be used, which is told once."""
        return await asyncio.to_thread(self._safely, work)

    def _safely(self, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except StoreError as error:
            self._tell_once(f"memories cannot be used: {error}")
            return None
        finally:
            if self.store.notice:
                self._tell_once(self.store.notice)

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._emit(Notice(text, "warning", "memory"))

    def changed(self, what: str, memory: Memory) -> None:
        """Tell that a memory is another one now."""
        self._emit(MemoryChanged(memory.id, what, memory.scope, memory.key))
