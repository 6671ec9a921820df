"""Garbage that is in cycles is looked for while nobody types.

A full collection looks at everything that was made since the start, the rows of the chat above all, and stops the loop
for as long: tens of milliseconds, every few seconds while an answer streams, and the key that is pressed then waits.
So the collector makes none by itself; one is made when it is due and no key came for a moment, or at the latest after
so much was made that memory counts for more. When it is due is CPython's own rule: since the last one the objects that
live long must have grown by a quarter, or ever more of the work would go into looking at the same ones.
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
_GROWN = 4
"""One part in so many that must be new."""
_NEVER = 1_000_000


class Garbage:
    """Decides when a full collection is made. `idle` says whether no key came for so many seconds."""

    def __init__(self, idle: Callable[[float], bool]) -> None:
        self._idle = idle
        self._before: tuple[int, int, int] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lived = 0
        """Objects that were left by the last full collection."""
        self._looked = 0
        """Collections of the middle generation when what is new was counted last."""

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
        return made - self._looked >= _DUE and (made >= _LATEST or self._idle(QUIET_S))

    def _collect(self) -> None:
        if self._before is None or not self._is_due():
            return
        self._looked = made = gc.get_count()[2]
        if (len(gc.get_objects(generation=2)) - self._lived) * _GROWN < self._lived:
            return
        gc.collect()
        self._looked = 0
        if gc.get_count()[2] < made:  # else a thread was at a collection of its own, and it is still due
            self._lived = len(gc.get_objects(generation=2))
