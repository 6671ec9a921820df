"""Looks for words in what was said in sessions, beside the screen: what is known at once, then more as it is read."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.sessions.catalog import Catalog
    from tui_agent.sessions.entry import Entry

_AGAIN = 1.0
"""Seconds between two searches while the index still reads."""
_WORK, _PAUSE = 0.02, 0.005
"""Seconds of reading, and of leaving the processor to keys and frames after them."""
_EXCERPTS = 200
"""Hits whose words are read."""


async def looking(catalog: Catalog, typed: str, entries: Sequence[Entry]) -> AsyncIterator[dict[Path, str]]:
    """The sessions in which the words are said, and how; again and again until all of them are read.

    Reading ends with the one who asks.
    """
    stopped = threading.Event()

    async def search(*, fresh: bool) -> dict[Path, str]:
        return await asyncio.to_thread(partial(_search, catalog, typed, entries, stopped, fresh=fresh))

    reading = asyncio.create_task(search(fresh=True))
    try:
        yield await search(fresh=False)
        while not (await asyncio.wait({reading}, timeout=_AGAIN))[0]:
            yield await search(fresh=False)
        yield reading.result()
    finally:
        stopped.set()


def _search(
    catalog: Catalog, typed: str, entries: Sequence[Entry], stopped: threading.Event, *, fresh: bool
) -> dict[Path, str]:
    worked = time.monotonic()

    def go_on() -> bool:
        # a moment for keys and frames after a moment of work
        nonlocal worked
        if time.monotonic() - worked > _WORK:
            stopped.wait(_PAUSE)
            worked = time.monotonic()
        return not stopped.is_set()

    hits = catalog.said(typed, entries, fresh=fresh, go_on=go_on, excerpts=_EXCERPTS)
    return {hit.entry.path: hit.excerpt for hit in hits}
