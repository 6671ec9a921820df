"""The work of a session, one thing at a time: a compaction that is wanted, a retry, a prompt that waits, the goal.

It runs in one task, which ends when there is nothing left to do and begins anew when something is wanted. What runs
beside it has tasks of its own, by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from tui_agent.events import Emit, Notice

if TYPE_CHECKING:
    from tui_agent.agent.driver import Driver
    from tui_agent.agent.queue import Queue
    from tui_agent.agent.shrinking import Shrinking
    from tui_agent.agent.speaker import Speaker
    from tui_agent.agent.turn import Turn
    from tui_agent.events import QueuedPrompt
    from tui_agent.planning.goal import State


class Work:
    """Runs what waits, in order."""

    def __init__(
        self, *, turn: Turn, queue: Queue, driver: Driver, shrinking: Shrinking, speaker: Speaker, emit: Emit
    ) -> None:
        self._turn = turn
        self._queue = queue
        self._driver = driver
        self._shrinking = shrinking
        self._speaker = speaker
        self._emit = emit
        self._task: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self.closed = False
        """True once nothing is to begin any more."""
        self._retries = False

    @property
    def busy(self) -> bool:
        """True while a turn or a compaction runs."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Do what waits, if nothing runs; what runs looks by itself for more."""
        if not self.busy and not self.closed:
            self._task = asyncio.create_task(self._run(), name="turn")
            self._task.add_done_callback(self._finished)

    def retry(self) -> None:
        """Ask once more for the step that failed."""
        self._retries = True
        self.start()

    async def stop(self, why: str) -> bool:
        """Stop what runs and wait until its log is sound; False if nothing does. The queue is held, the goal paused."""
        task = self._task
        if task is None or task.done():
            return False
        self._queue.paused = len(self._queue) > 0
        self._shrinking.forget()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self._driver.pause(why)
        self._queue.tell()
        return True

    async def until_idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))  # who waits and is cancelled takes nothing along

    def beside(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run something beside it, under a name; `close` stops it. What it raises becomes a notice."""
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._finished)
        return task

    async def close(self) -> None:
        """Stop what runs beside it, and begin nothing more."""
        self.closed = True
        for task in tuple(self._beside):
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._emit(
                Notice(f"{task.get_name()}: {type(error).__name__}: {error}", "error", task.get_name())
            )

    async def _run(self) -> None:
        try:
            while await self._run_one():
                pass
        except Exception as error:
            await self._driver.pause(f"{type(error).__name__}: {error}")
            raise

    async def _run_one(self) -> bool:
        """Do the next of what there is to do; False if there is nothing."""
        if self._shrinking.waits:
            await self._shrinking.do_wanted()
            await self._speaker.adopt()  # a switch of the model waited for it
        try:
            if self._retries:
                self._retries = False
                await self._relieved(self._turn.retry())
            elif (prompt := self._queue.first()) is not None:
                await self._answer(prompt)
            elif (state := await self._driver.next()) is not None:
                await self._pursue(state)
            else:
                return self._shrinking.waits or self._driver.due
        finally:
            await self._driver.after()
        return True

    async def _answer(self, prompt: QueuedPrompt) -> None:
        reason = "failed"
        try:
            reason = await self._turn.run(prompt.text, prompt.images)
        finally:
            if not self._turn.said:
                # The words are not on disk: they go back to where they can be sent again from.
                self._queue.insert(0, prompt)
            if reason == "failed" and self._queue:
                self._queue.hold()
        if reason != "failed":
            await self._shrinking.relieve(ended=True)

    async def _pursue(self, state: State) -> None:
        reason = "failed"
        try:
            reason = await self._turn.pursue(state.text, partial(self._driver.begin, state))
        finally:
            if reason == "failed" and self._queue:
                self._queue.hold()
        if reason != "failed":
            await self._shrinking.relieve(ended=True)

    async def _relieved(self, turn: Awaitable[str]) -> None:
        """A turn, and room made after it."""
        if await turn != "failed":
            await self._shrinking.relieve(ended=True)
