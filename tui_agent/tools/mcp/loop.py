"""An event loop in a thread of its own: a flood of answers of a server there does not hold up the screen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

ENDING = "ending"
"""The name of tasks that end a program: they are waited for and not cancelled. They do not take long."""

_T = TypeVar("_T")


class Loop:
    """The loop that connections live in. It begins with the first work and ends with `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def runs(self) -> bool:
        """True if there is anything in it."""
        return self._loop is not None

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do this there and wait for it here; cancelled here, it is cancelled there."""
        return await asyncio.wrap_future(self.start(work))

    def start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Do this there."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # what an unclean connection leaves behind is told by its calls, and must not reach the terminal
            self._loop.set_exception_handler(lambda loop, context: None)
            self._thread = threading.Thread(target=self._loop.run_forever, name="mcp", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def stop(self) -> None:
        """End it, with all that still runs there."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end_all(), loop))
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)
        loop.close()


async def _end_all() -> None:
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in tasks:
            if task.get_name() != ENDING:
                task.cancel()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()
