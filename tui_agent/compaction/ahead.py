"""A summary made before it is due, so that the switch takes no wait; given up when it no longer fits the log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from tui_agent.compaction.making import Skipped, pinned_since
from tui_agent.compaction.strategy import CompactionFailed
from tui_agent.context import ContextError
from tui_agent.events import Notice
from tui_agent.llm.provider import ProviderError

if TYPE_CHECKING:
    from tui_agent.compaction.making import Made, Wanted
    from tui_agent.context import Context
    from tui_agent.events import Emit


class Ahead:
    """At most one summary at hand, or on its way. `make` makes one, `spawn` runs something beside under a name."""

    def __init__(
        self,
        context: Context,
        make: Callable[[], Awaitable[Made | None]],
        spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        emit: Emit,
    ) -> None:
        self._context = context
        self._make = make
        self._spawn = spawn
        self._emit = emit
        self._task: asyncio.Task[Made | None] | None = None
        self._generation = -1

    @property
    def is_there(self) -> bool:
        """True if a summary is at hand or on its way, or was given up for the log as it is."""
        return self._task is not None and self._generation == self._context.generation

    def prepare(self) -> None:
        """Begin to make one, unless there is one for this log."""
        if not self.is_there:
            self.discard()
            self._generation = self._context.generation
            self._task = asyncio.create_task(self._made(), name="summary ahead of time")
            self._spawn(self._watch(self._task), "summary ahead of time")

    def discard(self) -> None:
        """Give up what there is."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def take(self, wanted: Wanted, limit: int) -> Made | None:
        """The summary, if there is one that serves what is wanted and leaves less than `limit` tokens."""
        task, self._task = self._task, None
        if task is None:
            return None
        if wanted.trigger not in ("auto", "overflow") or self._generation != self._context.generation:
            task.cancel()
            return None
        found = await task
        if found is None or await asyncio.to_thread(pinned_since, self._context, found.look):
            return None
        weight = self._context.weigh().total - found.look.retained.tokens.count + found.tokens
        return found if weight < limit else None

    async def _made(self) -> Made | None:
        try:
            return await self._make()
        except Skipped:
            return None
        except (CompactionFailed, ProviderError, ContextError) as error:
            self._emit(Notice(f"no summary ahead of time: {error}", "info", "compaction"))
            return None

    async def _watch(self, task: asyncio.Task[Made | None]) -> None:
        """Stop it with whatever runs beside."""
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
