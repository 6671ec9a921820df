"""Work in threads that is always finished: whoever is cancelled meanwhile hears of it when it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def finish(work: Callable[[], T]) -> tuple[T, asyncio.CancelledError | None]:
    """`work` in a thread, to its end, whatever happens to the caller; and the cancellation that came meanwhile."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    return future.result(), cancelled


async def both(one: Callable[[], T], other: Callable[[], None]) -> T:
    """Two things at once, each in a thread and both to their end; what the first gives."""
    first, second = await asyncio.gather(in_thread(one), in_thread(other), return_exceptions=True)
    if isinstance(second, BaseException):
        raise second
    if isinstance(first, BaseException):
        raise first
    return first


async def in_thread(work: Callable[[], T]) -> T:
    result, cancelled = await finish(work)
    if cancelled is not None:
        raise cancelled
    return result
