"""Memories that follow their session: undone and redone with its turns, ended and restored with it, copied to a fork.

All of this runs inside a transaction of the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tui_agent.memory import ledger
from tui_agent.memory.decide import settle
from tui_agent.memory.ledger import Ledger

if TYPE_CHECKING:
    import sqlite3

    from tui_agent.memory.schema import Change, Memory

_FROM = "source_session = ? AND source_record IN (SELECT value FROM json_each(?))"


def suspend(connection: sqlite3.Connection, session: str, records: Sequence[str]) -> list[Memory]:
    """Set aside what these records had proposed, newest text first where one replaced the other."""
    suspended = []
    while found := _of_records(connection, session, records, ("accepted", "proposed")):
        for memory in found:
            suspended.append(_suspend(connection, memory))
    return suspended


def resume(connection: sqlite3.Connection, session: str, records: Sequence[str]) -> list[Memory]:
    """Bring back what was set aside, the last first, so that texts return in the order in which they had come."""
    waiting = [
        (left[0], memory)
        for memory in _of_records(connection, session, records, ("suspended",))
        if (left := ledger.standing(connection, memory.id)) and left[0].action == "suspended"
    ]
    waiting.sort(key=lambda pair: pair[0].number, reverse=True)
    return [back for change, memory in waiting for back in _resume(connection, change, memory)]


def end(connection: sqlite3.Connection, session: str) -> int:
    """Take out the memories of a session, in one act."""
    found = ledger.select(connection, "scope = 'session' AND session_id = ?", (session,))
    act = Ledger(connection)
    for memory in found:
        act.put("ended", memory, None)
    return len(found)


def restore(connection: sqlite3.Connection, session: str) -> int:
    """Bring back what ended with a session, the last end first; not what has a successor under its key."""
    back = 0
    for act in ledger.ended_acts(connection, session):
        written = Ledger(connection, act)
        for change in ledger.in_act(connection, act):
            memory = change.before
            if memory is None or _is_taken(connection, memory):
                continue
            written.put("restored", None, memory)
            back += 1
    return back


def fork(connection: sqlite3.Connection, session: str, to: str, records: Sequence[str] | None) -> int:
    """Copy a session's accepted memories to another session."""
    found = ledger.select(
        connection, "scope = 'session' AND status = 'accepted' AND session_id = ?", (session,), order="n"
    )
    copied = 0
    for memory in found:
        if records is not None and memory.source_record and memory.source_record not in records:
            continue
        copy = replace(memory, id=secrets.token_hex(16), session_id=to)
        if memory.source_session == session:
            copy = replace(copy, source_session=to)
        if ledger.accepted(connection, copy) is None:
            Ledger(connection).put("added", None, copy)
            copied += 1
    return copied


def _of_records(
    connection: sqlite3.Connection, session: str, records: Sequence[str], statuses: Sequence[str]
) -> list[Memory]:
    wanted, allowed = (msgspec.json.encode(list(words)).decode() for words in (records, statuses))
    where = f"{_FROM} AND status IN (SELECT value FROM json_each(?))"
    return ledger.select(connection, where, (session, wanted, allowed))


def _suspend(connection: sqlite3.Connection, memory: Memory) -> Memory:
    """Set a memory aside: the whole of it, or the text that had replaced an older one."""
    act = Ledger(connection)
    older = _replaced(connection, memory)
    if older is None:
        act.put("suspended", memory, replace(memory, status="suspended"))
        return ledger.get(connection, memory.id)
    before, proposal = older
    text = replace(memory, id=proposal.id, created_at=proposal.created_at, status="suspended")
    act.put("suspended", None, text)
    act.put("suspended", memory, before)
    return ledger.get(connection, text.id)


def _replaced(connection: sqlite3.Connection, memory: Memory) -> tuple[Memory, Memory] | None:
    """What an accepted memory was before its text came, and the proposal that brought it; None if it came with it."""
    if memory.status != "accepted":
        return None
    for change in ledger.standing(connection, memory.id):
        if change.action != "replaced" or change.after is None or change.before is None:
            continue
        if _source(change.after) != _source(memory):
            continue
        merged = [
            c.before for c in ledger.in_act(connection, change.act) if c.action == "merged" and c.before
        ]
        taken = ledger.accepted(connection, change.before)
        return (change.before, merged[0]) if merged and taken is None else None
    return None


def _resume(connection: sqlite3.Connection, change: Change, memory: Memory) -> list[Memory]:
    if ledger.is_last(connection, change.act):
        if any(_is_taken(connection, each.before) for each in ledger.in_act(connection, change.act)):
            return []
        return ledger.take_back(connection, change.act, "resumed")
    return [settle(connection, "resumed", memory)]


def _is_taken(connection: sqlite3.Connection, memory: Memory | None) -> bool:
    """True if the memory would come back accepted, and another one has its key by now."""
    return (
        memory is not None and memory.status == "accepted" and ledger.accepted(connection, memory) is not None
    )


def _source(memory: Memory) -> tuple[str, str]:
    return memory.source_session, memory.source_record
