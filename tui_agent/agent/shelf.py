"""A session that is archived comes back whole with the next words said to it, and says so.

To open it is only to read it: it stays where it is, and what was remembered for it alone stays away with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.events import Emit, Notice
from tui_agent.sessions.folder import SessionError

if TYPE_CHECKING:
    from tui_agent.agent.recall import Recall
    from tui_agent.sessions.folder import SessionFolder

ARCHIVED = "this session is archived: your next words put it back into the usual lists, with what was remembered for it"
"""Said where one is opened."""


async def take_out(folder: SessionFolder, memories: Recall, emit: Emit) -> None:
    """Put the session back into the usual lists, if it is archived, and bring back what was remembered for it."""
    if not (await asyncio.to_thread(lambda: folder.meta)).archived:
        return
    try:
        await asyncio.to_thread(folder.save_meta, archived=False)
    except SessionError as error:
        emit(
            Notice(
                f"this session stays archived, and is not told what was remembered for it: {error}",
                "warning",
                "session",
            )
        )
        return
    back = await memories.come_back()
    notes = f", with {back} {'memory' if back == 1 else 'memories'} of it" if back else ""
    emit(Notice(f"this session was archived: it is in the usual lists again{notes}", "info", "session"))
