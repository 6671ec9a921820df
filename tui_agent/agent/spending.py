"""What a session came to so far: every request that its log and backups tell of, by the prices of now."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.agent.requests import NotBuilt
from tui_agent.llm.money import Tally, line

if TYPE_CHECKING:
    from tui_agent.agent.requests import Requests
    from tui_agent.context import Context
    from tui_agent.settings.schema import Price

_AT_ONCE = 64 << 20
"""Bytes that are read without being asked for."""


class Spending:
    """Adds up the requests of one session; what was added once is not read again.

    Args:
        requests: Those that answered the person.
        context: The log; its backups tell of requests for summaries.
        prices: Those in force, by the model's name.
    """

    def __init__(
        self, requests: Requests, context: Context, prices: Callable[[], Mapping[str, Price]]
    ) -> None:
        self._requests = requests
        self._context = context
        self._prices = prices
        self._lock = threading.Lock()
        self._tally = Tally({})
        self._by: Mapping[str, Price] | None = None
        self._added = 0
        self._summed: set[str] = set()
        self._generation: object = None
        self.summaries = 0
        """How many of the requests were for summaries."""
        self.lost = 0
        """How many requests are told of by a backup that is no longer kept."""

    async def tally(self) -> Tally:
        """The figures as of now.

        Raises:
            NotBuilt, OSError: a file cannot be read.
        """
        count = await self._requests.follow()
        return await asyncio.to_thread(self._up_to, count)

    async def line(self) -> str:
        """The figures for a narrow place: `cache 97 %, $ 0.42`; empty where there are none.

        So it is, too, as long as a long session was not read for them: that waits until somebody asks for `tally`.

        Raises:
            NotBuilt, OSError: a file cannot be read.
        """
        if self._by is None and await asyncio.to_thread(self._bytes) > _AT_ONCE:
            return ""
        return line((await self.tally()).total)

    def _bytes(self) -> int:
        """The size of all that has to be read."""
        return sum(file.stat().st_size for file in self._context.path.parent.glob("context*.jsonl"))

    def _up_to(self, count: int) -> Tally:
        with self._lock:
            if self._by is not self._prices():
                self._by = self._prices()
                self._tally, self._added, self.lost, self.summaries = Tally(self._by), 0, 0, 0
                self._summed.clear()
                self._generation = None
            self._add(count)
            return self._tally.copy()

    def _add(self, count: int) -> None:
        for place in range(self._added, count):
            self._added = place + 1
            try:
                sent = self._requests[place]
            except NotBuilt:
                self.lost += 1
                continue
            self._tally.add(
                sent.model,
                input=sent.input,
                output=sent.output,
                cache_read=sent.cache_read,
                cache_write=sent.cache_write,
                predicted=sent.predicted,
            )
        if self._generation != self._context.generation:
            self._generation = self._context.generation
            self._add_summaries()

    def _add_summaries(self) -> None:
        for backup in reversed(self._context.backups()):
            figures = backup.figures
            if backup.op != "compaction" or backup.name in self._summed or not _count(figures, "output"):
                continue
            self._summed.add(backup.name)
            self.summaries += 1
            read, written = _count(figures, "cache_read"), _count(figures, "cache_write")
            self._tally.add(
                str(figures.get("model") or ""),
                input=max(0, _count(figures, "input") - read - written),
                output=_count(figures, "output"),
                cache_read=read,
                cache_write=written,
            )


def _count(figures: Mapping[str, Any], key: str) -> int:
    value = figures.get(key)
    return value if type(value) is int and value > 0 else 0
