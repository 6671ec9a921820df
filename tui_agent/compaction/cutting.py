"""Results that are too large to stay whole are cut, and no summary is made: none is worth it, or none can be had.

It is one batch that can be taken back, as every elision can. What is pinned, or marked to stay, is not cut.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.changes import MicroCompacted
from tui_agent.compaction.making import ANSWER_TOKENS, Skipped

if TYPE_CHECKING:
    from tui_agent.compaction.around import Around
    from tui_agent.compaction.fitting import Items
    from tui_agent.compaction.making import Look
    from tui_agent.context import Context
    from tui_agent.events import Emit

_CUT, _OLD = "a long result, cut to its head and tail", "an older reminder"


class Cutting:
    """Cuts results of one log; `gate` is held while it does."""

    def __init__(self, context: Context, around: Around, gate: asyncio.Lock, emit: Emit) -> None:
        self._context = context
        self._around = around
        self._gate = gate
        self._emit = emit

    async def only(self, found: Look) -> None:
        """All messages stay, so nothing is done but to cut.

        Raises:
            Skipped: always: no summary is made.
        """
        async with self._gate:
            await self._cut(found.retained.cut)
        await self._around.settled()
        done = f"there was next to nothing to summarise; {_done(found.retained.cut)}"
        if found.burden and self._context.weigh().total >= found.terms.limit:
            raise Skipped("kept", f"{done}. Still, {found.burden}")
        raise Skipped("short", done)

    async def instead(self, found: Look, error: Exception) -> None:
        """There is no summary, as `error` says: cut, if that alone lets the next request be sent.

        Raises:
            Skipped: that was done.
        """
        async with self._gate:
            items = await asyncio.to_thread(enough, self._context, found)
            if not items:
                return
            await self._cut(items)
        await self._around.settled()
        done = f"there is no summary, but {_done(items)}: now the next request fits"
        raise Skipped("cut", f"{done} ({error})") from error

    async def _cut(self, items: Items) -> None:
        before = self._context.weigh().total
        record = await self._context.elide(items, by="auto", reason="budget")
        after = self._context.weigh().total
        words = tuple(_OLD if item["block"] is None else _CUT for item in items)
        self._emit(MicroCompacted(record.id, words, before, after))


def _done(items: Items) -> str:
    """What was done, in words: of results it matters more than of reminders."""
    results = sum(item["block"] is not None for item in items)
    return "long results were cut to their heads and tails" if results else "older reminders were shortened"


def enough(context: Context, found: Look) -> Items:
    """Items that cut what is too large, where the next request can be sent with these cut and not without; else none.

    As the log is now: something may have been pinned since it was looked at. Call it in a thread.
    """
    total, most = context.weigh().total, found.terms.window - ANSWER_TOKENS
    if total <= most:
        return ()
    items = found.terms.chosen(context, found.upto).cut
    shorter: dict[str, dict[int | None, str | None]] = {}
    for item in items:
        shorter.setdefault(item["record"], {})[item["block"]] = item["as"]
    freed = sum(context.tokens(name).count - context.estimated(name, to) for name, to in shorter.items())
    return items if total - freed <= most else ()
