"""What was remembered for a session alone ends when the session is archived or deleted, and comes back with it."""

from __future__ import annotations

from tui_agent import paths
from tui_agent.memory.schema import StoreError
from tui_agent.memory.store import MemoryStore


def follow(session: str, *, gone: bool) -> str:
    """End the memories of a session that is gone, or bring them back; returns what went wrong, in words."""
    if not paths.memory_db().exists():
        return ""
    store = MemoryStore(paths.memory_db())
    try:
        if gone:
            store.end_session(session)
        else:
            store.restore_session(session)
    except StoreError as error:
        return f"its memories: {error}"
    return store.notice
