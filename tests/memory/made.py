"""Memories as a model proposes them, a store that is broken, and what of a memory an undo brings back."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore


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


def broken(path: Path) -> None:
    """Make a store whose file opens, and is found broken by whoever reads further."""
    store = MemoryStore(path)
    for number in range(50):
        store.add("user", f"k{number}", "words " * 100)
    content = bytearray(path.read_bytes())
    # the header and the list of tables stay
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    path.write_bytes(content)


def bare(memory: Memory) -> Memory:
    """All of a memory that undo brings back: everything but its `rev`."""
    return replace(memory, rev=0)
