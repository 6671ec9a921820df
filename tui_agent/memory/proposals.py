"""A marker in an answer becomes a proposal in the store: once, whatever happens between the answer and the store.

The answer is on disk before this is called. The id of a proposal comes from where its marker stands, so the same call
for the same answer, after a kill or when the session is opened again, adds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.memory.noise import is_noise
from tui_agent.memory.schema import Memory

if TYPE_CHECKING:
    from tui_agent.memory.markers import Marker
    from tui_agent.memory.store import MemoryStore, Outcome

__all__ = ["Proposals", "Source", "Taken", "identity", "is_noise"]


class Source(Struct, frozen=True):
    """Where a marker stands: the message `record` of a session, the how-many-eth marker of it.

    `workspace` is where that session runs; `outside` what its turn had read of files, commands and the web by then.
    """

    session: str
    record: str
    ordinal: int
    workspace: str | None = None
    outside: Sequence[str] = ()


class Taken(Struct, frozen=True):
    """What came of a marker: `memory` is there now; `old` is the body that it would replace, or has replaced.

    `noise`: it tells how the work stands rather than something that stays true.
    """

    outcome: Outcome
    memory: Memory
    old: str = ""
    noise: bool = False


class Proposals:
    """Puts what answers propose into a store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def take(self, marker: Marker, source: Source) -> Taken:
        """Store what a marker wants remembered; blocks for some milliseconds.

        Raises:
            StoreError: the store cannot be used, or there is no workspace for a workspace memory.
        """
        wanted = Memory(
            id=identity(source),
            scope=marker.scope,
            key=marker.key,
            body=marker.body,
            workspace_id=source.workspace,
            session_id=source.session,
            source_session=source.session,
            source_record=source.record,
            tainted=bool(source.outside),
            outside=tuple(source.outside),
        )
        old = self._old(wanted)
        proposal = self._store.propose(wanted)
        return Taken(proposal.outcome, proposal.memory, old, is_noise(marker.body))

    def _old(self, wanted: Memory) -> str:
        if not wanted.key:
            return ""
        found = self._store.find(
            wanted.key, wanted.scope, workspace=wanted.workspace_id, session=wanted.session_id
        )
        return found.body if found else ""


def identity(source: Source) -> str:
    """The id of what stands there."""
    return hashlib.sha256(f"{source.session}\n{source.record}\n{source.ordinal}".encode()).hexdigest()
