"""The memories of a person, shared by all running programs: proposed, decided, edited, found, taken back.

    store = MemoryStore(paths.memory_db())
    store.propose(memory)                              # the model's wish: waits, unless it is for this session only
    store.accept(id, body=...)                         # the person's word
    store.told(workspace, session)                     # what a request may say, and as of which change
    store.changed_since(told.number)                   # what happened by now, here or in another program

Nothing is kept here between two calls: what another program changed is there in the next one. Every method blocks for
some milliseconds and may be called from any thread. All raise `StoreError` if the database cannot be used.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui_agent import fulltext
from tui_agent.memory import decide, follow, ledger
from tui_agent.memory.connect import Desk
from tui_agent.memory.decide import Outcome, Proposal, Wanted
from tui_agent.memory.schema import (
    STATUSES,
    Change,
    Memory,
    Scope,
    Status,
    StoreError,
    fitted,
)

if TYPE_CHECKING:
    import sqlite3

__all__ = ["MemoryStore", "Outcome", "Proposal", "Told"]


class Told(Struct, frozen=True):
    """The memories that a session may be told, those that changed last first, as of change `number`."""

    number: int
    memories: Sequence[Memory]


class MemoryStore:
    """The memories in the database at `path`, made when it is first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._desk = Desk(path)

    @property
    def notice(self) -> str:
        """What a person should know about the file (it was broken and is kept under this name), or nothing."""
        return self._desk.notice

    # --- what the model wants

    def propose(self, memory: Memory) -> Proposal:
        """Store what a model proposed, once for each id; for a session it is accepted at once.

        Raises:
            StoreError: a part of it is missing, too long or unknown.
        """
        at = ledger.now()
        wanted = replace(
            fitted(memory), status="proposed", created_at=at, updated_at=at, approved_at="", rev=0
        )
        return self._desk.write(lambda connection: decide.propose(connection, wanted))

    # --- what a person decides

    def add(
        self,
        scope: Scope,
        key: str,
        body: str,
        *,
        workspace: str | None = None,
        session: str | None = None,
        tainted: bool = False,
        outside: Sequence[str] = (),
    ) -> Memory:
        """Remember what a person wrote, or brought from outside. One with the same key in its place gets the text.

        Raises:
            StoreError: a part is missing, too long or unknown.
        """
        at = ledger.now()
        wanted = fitted(
            Memory(
                id=secrets.token_hex(16),
                scope=scope,
                key=key,
                body=body,
                status="accepted",
                workspace_id=workspace,
                session_id=session,
                tainted=tainted,
                outside=tuple(outside),
                created_at=at,
                updated_at=at,
                approved_at=at,
            )
        )
        return self._desk.write(lambda connection: decide.add(connection, wanted))

    def accept(
        self,
        memory_id: str,
        *,
        key: str | None = None,
        body: str | None = None,
        scope: Scope | None = None,
        workspace: str | None = None,
        session: str | None = None,
        rev: int | None = None,
    ) -> Memory:
        """Accept a memory, perhaps changed; `workspace` and `session` say where it goes with another scope.

        If its place has an accepted memory with this key, that one gets the text and is returned, and the proposal is
        gone. With `rev`, only if the memory has not changed since.

        Raises:
            StoreError: there is no such memory, it has changed, or a part is missing, too long or unknown.
        """
        wanted = _wanted(key, body, scope, workspace, session)
        return self._changed(
            memory_id, rev, lambda connection, found: decide.accept(connection, found, wanted)
        )

    def reject(self, memory_id: str) -> Memory:
        """Refuse a proposal; the same one is not asked again.

        Raises:
            StoreError: there is no such memory, or it is no proposal.
        """
        return self._changed(memory_id, None, decide.reject)

    def edit(
        self,
        memory_id: str,
        *,
        key: str | None = None,
        body: str | None = None,
        scope: Scope | None = None,
        workspace: str | None = None,
        session: str | None = None,
        rev: int | None = None,
    ) -> Memory:
        """Change a memory's words or place, as in `accept`; a proposal stays one.

        Raises:
            StoreError: there is no such memory, it has changed or is suspended, another accepted one has the key, or a
                part is missing, too long or unknown.
        """
        wanted = _wanted(key, body, scope, workspace, session)
        return self._changed(memory_id, rev, lambda connection, found: decide.edit(connection, found, wanted))

    def delete(self, memory_id: str) -> Memory:
        """Take a memory out; `undo` brings it back. Returns what it was.

        Raises:
            StoreError: there is no such memory.
        """
        return self._changed(memory_id, None, decide.delete)

    def undo(self, memory_id: str) -> Sequence[Memory]:
        """Take back the last change that a person made to this memory, then the one before it, and so on.

        What was is back in all but its `rev`, also a proposal that had replaced the memory. Returns what is there then;
        nothing if the memory had just been added.

        Raises:
            StoreError: nothing is left to take back, or something else depends on it.
        """
        return self._desk.write(lambda connection: decide.undo(connection, memory_id))

    # --- what follows a session

    def suspend(self, session: str, records: Sequence[str]) -> Sequence[Memory]:
        """Set aside what these messages of the session had proposed, since they were undone; returns it.

        A memory that one of them had replaced has its older text again.
        """
        return self._desk.write(lambda connection: follow.suspend(connection, session, records))

    def resume(self, session: str, records: Sequence[str]) -> Sequence[Memory]:
        """Bring back what `suspend` set aside, since the messages are back; returns it.

        One whose key another memory has by now stays suspended.
        """
        return self._desk.write(lambda connection: follow.resume(connection, session, records))

    def end_session(self, session: str) -> int:
        """Take out the memories of a session that is archived or deleted; returns how many."""
        return self._desk.write(lambda connection: follow.end(connection, session))

    def restore_session(self, session: str) -> int:
        """Bring back what `end_session` took out; returns how many."""
        return self._desk.write(lambda connection: follow.restore(connection, session))

    def fork_session(self, session: str, to: str, records: Sequence[str] | None = None) -> int:
        """Copy a session's accepted memories to a fork of it; of `records` only, if given. Returns how many."""
        return self._desk.write(lambda connection: follow.fork(connection, session, to, records))

    # --- reading

    def get(self, memory_id: str) -> Memory:
        """The memory with this id.

        Raises:
            StoreError: there is none, or none any more.
        """
        return self._desk.read(lambda connection: ledger.get(connection, memory_id))

    def find(
        self, key: str, scope: Scope, *, workspace: str | None = None, session: str | None = None
    ) -> Memory | None:
        """The accepted memory with this key in this place, or None."""
        like = fitted(
            Memory(id="", scope=scope, key=key, body="-", workspace_id=workspace, session_id=session)
        )
        return self._desk.read(lambda connection: ledger.accepted(connection, like))

    def list(
        self,
        *,
        scope: Scope | None = None,
        workspace: str | None = None,
        session: str | None = None,
        status: Status | None = None,
        source: str | None = None,
    ) -> Sequence[Memory]:
        """The memories of which all this is true, those that changed last first; `source` is the session of the answer
        that proposed them."""
        where, values = _where(scope, workspace, session, status, source)
        return self._desk.read(lambda connection: ledger.select(connection, where, values))

    def told(self, workspace: str | None, session: str | None) -> Told:
        """The accepted memories that a session in a workspace may be told."""

        def read(connection: sqlite3.Connection) -> Told:
            where = f"status = 'accepted' AND {_VISIBLE}"
            memories = ledger.select(connection, where, (workspace, session))
            return Told(ledger.latest(connection), memories)

        return self._desk.read(read)

    def visible(
        self, workspace: str | None, session: str | None, status: Status | None = None
    ) -> Sequence[Memory]:
        """The user's memories, the workspace's and the session's, of one status or of all, as in `list`."""
        where, values = _where(None, None, None, status)
        return self._desk.read(
            lambda connection: ledger.select(
                connection, f"{_VISIBLE} AND {where}", (workspace, session, *values)
            )
        )

    def search(
        self,
        text: str,
        *,
        scope: Scope | None = None,
        workspace: str | None = None,
        session: str | None = None,
        status: Status | None = None,
    ) -> Sequence[Memory]:
        """Those of `list` in which every word of `text` stands, in any script, the best first.

        What has no words in it (`->`, `%`) is looked for as it stands.
        """
        where, values = _where(scope, workspace, session, status)
        asked = fulltext.query(text)
        if asked:
            # a word of the key says more than one of the body
            found = f"n IN (SELECT rowid FROM words WHERE words MATCH ?) AND {where}"
            rank = (
                "(SELECT bm25(words, 4.0, 1.0) FROM words WHERE words MATCH ? AND rowid = n), updated_at DESC"
            )
            return self._desk.read(
                lambda connection: ledger.select(connection, found, (asked, *values, asked), order=rank)
            )
        wanted = text.strip().casefold()
        everything = self._desk.read(lambda connection: ledger.select(connection, where, values))
        return [m for m in everything if wanted and wanted in f"{m.key}\n{m.body}".casefold()]

    def counts(self, *, workspace: str | None = None, session: str | None = None) -> dict[Status, int]:
        """How many memories there are of each status: the user's, and the workspace's and the session's if given."""
        sql = f"SELECT status, count(*) FROM memories WHERE {_VISIBLE} GROUP BY status"
        rows = self._desk.read(lambda connection: connection.execute(sql, (workspace, session)).fetchall())
        return dict.fromkeys(STATUSES, 0) | dict(rows)

    def history(self, memory_id: str) -> Sequence[Change]:
        """Every change of a memory, the oldest first, also of one that is gone."""
        return self._desk.read(lambda connection: ledger.of(connection, memory_id))

    def latest(self) -> int:
        """The number of the last change that any program made; 0 if there was none."""
        return self._desk.read(ledger.latest)

    def changed_since(self, number: int) -> Sequence[Change]:
        """The changes after that one, by any program, the oldest first."""
        return self._desk.read(lambda connection: ledger.since(connection, number))

    def _changed(
        self, memory_id: str, rev: int | None, work: Callable[[sqlite3.Connection, Memory], Memory]
    ) -> Memory:
        def write(connection: sqlite3.Connection) -> Memory:
            found = ledger.get(connection, memory_id)
            if rev is not None and rev != found.rev:
                raise StoreError(f"the memory {found.key!r} was changed meanwhile; look at it again")
            return work(connection, found)

        return self._desk.write(write)


_VISIBLE = (
    "(scope = 'user' OR (scope = 'workspace' AND workspace_id = ?) OR (scope = 'session' AND session_id = ?))"
)


def _wanted(
    key: str | None, body: str | None, scope: Scope | None, workspace: str | None, session: str | None
) -> Wanted:
    given = {
        "key": key,
        "body": body,
        "scope": scope,
        "workspace_id": workspace,
        "session_id": session,
    }
    return {name: value for name, value in given.items() if value is not None}


def _where(
    scope: Scope | None,
    workspace: str | None,
    session: str | None,
    status: Status | None,
    source: str | None = None,
) -> tuple[str, list[str]]:
    given = {
        "scope": scope,
        "workspace_id": workspace,
        "session_id": session,
        "status": status,
        "source_session": source,
    }
    kept = {name: value for name, value in given.items() if value is not None}
    return " AND ".join(["1", *(f"{name} = ?" for name in kept)]), list(kept.values())
