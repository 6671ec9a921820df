"""Memories as a model proposes them, and what of a memory an undo brings back."""

from __future__ import annotations

import hashlib
from typing import Any

from msgspec.structs import replace

from tui_agent.memory.schema import Memory


def proposed(
    key: str = "indent", body: str = "I use tabs", scope: str = "user", *, record: str = "R1", **fields: Any
) -> Memory:
    """What the message `record` of session S1 proposed."""
    given: dict[str, Any] = {"source_session": "S1", "source_record": record, **fields}
    if scope == "workspace":
        given.setdefault("workspace_id", "shop-1")
    if scope == "session":
        given.setdefault("session_id", given["source_session"])
    name = hashlib.sha256(repr((key, body, scope, record, given)).encode()).hexdigest()
    return Memory(**{"id": name, "scope": scope, "key": key, "body": body, **given})


def bare(memory: Memory) -> Memory:
    """All of a memory that undo brings back: everything but its `rev`."""
    return replace(memory, rev=0)
