"""Garbage that is in cycles is looked for while nobody types.

A full collection looks at everything that was made since the start, the rows of the chat above all, and stops the loop
for as long: tens of milliseconds, every few seconds while an answer streams, and the key that is pressed then waits.
So the collector makes none by itself; one is made when it is due and no key came for a moment, or at the latest after
so much was made that memory counts for more.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

QUIET_S = 1.0
"""No key for so long: a pause is not felt."""
_DUE, _LATEST = 10, 200
"""Collections of the middle generation after which a full one is due, as the collector has it, and after which it is
made whatever goes on: a few minutes of typing under an answer that streams, some tens of MB."""
_NEVER = 1_000_000


class Garbage:
    """Decides when a full collection is made. `idle` says whether no key came for so many seconds."""

    def __init__(self, idle: Callable[[float], bool]) -> None:
        self._idle = idle
        self._before: tuple[int, int, int] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """From now on no full collection is made but by this."""
        if self._before is None:
            self._before, self._loop = gc.get_threshold(), asyncio.get_running_loop()
            gc.set_threshold(*self._before[:2], _NEVER)
            gc.callbacks.append(self._collected)

    def end(self) -> None:
        """Let the collector do as it did."""
        if self._before is not None:
            gc.set_threshold(*self._before)
            gc.callbacks.remove(self._collected)
            self._before = None

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        """A collection began or ended, in whatever thread."""
        if phase != "stop" or info["generation"] != 1 or not self._is_due():
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._collect)

    def _is_due(self) -> bool:
        made = gc.get_count()[2]
        return made >= _LATEST or (made >= _DUE and self._idle(QUIET_S))

    def _collect(self) -> None:
        if self._before is not None and self._is_due():
            gc.collect()
