"""What one decision does to the tables: proposed, added, accepted, rejected, edited, deleted, undone.

Each runs inside a transaction of the store, on the memory as it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.memory import ledger
from tui_agent.memory.ledger import Ledger
from tui_agent.memory.schema import Action, Memory, StoreError, fitted

if TYPE_CHECKING:
    import sqlite3

Outcome = Literal["proposed", "accepted", "known", "same", "waiting", "refused"]
"""`accepted`: at once, for a session. `known`: this very proposal was made before, whatever came of it. `same`: an
accepted memory says this already. `waiting`: another proposal says it. `refused`: a person has refused it before."""

Wanted = dict[str, str]
"""Fields of a memory with their new values."""

_SAID: dict[str, Outcome] = {"accepted": "same", "proposed": "waiting", "rejected": "refused"}


class Proposal(Struct, frozen=True):
    """What came of a proposal, and the memory that it is now, or that was there before it."""

    outcome: Outcome
    memory: Memory


def propose(connection: sqlite3.Connection, wanted: Memory) -> Proposal:
    """Insert a proposal, unless it is known or said already."""
    if changes := ledger.of(connection, wanted.id):
        last = changes[-1].after or changes[-1].before
        assert last is not None
        return Proposal("known", last)
    alike = {memory.status: memory for memory in ledger.alike(connection, wanted)}
    for status, outcome in _SAID.items():
        if status in alike:
            return Proposal(outcome, alike[status])
    Ledger(connection).put("proposed", None, wanted)
    if wanted.scope == "session":
        return Proposal("accepted", settle(connection, "accepted", ledger.get(connection, wanted.id)))
    return Proposal("proposed", ledger.get(connection, wanted.id))


def add(connection: sqlite3.Connection, wanted: Memory) -> Memory:
    """Insert an accepted memory, or give its text to the one with its key."""
    twin = ledger.accepted(connection, wanted)
    if twin is None:
        Ledger(connection).put("added", None, wanted)
        return ledger.get(connection, wanted.id)
    if twin.body == wanted.body:
        return twin
    Ledger(connection).put("edited", twin, _with_words_of(twin, wanted))
    return ledger.get(connection, twin.id)


def accept(connection: sqlite3.Connection, found: Memory, wanted: Wanted) -> Memory:
    """Accept a memory with these fields changed."""
    if found.status == "accepted":
        return edit(connection, found, wanted)
    changed = _changed(found, wanted)
    at = ledger.now()
    return settle(connection, "accepted", found, replace(changed, updated_at=at, approved_at=at))


def settle(
    connection: sqlite3.Connection, action: Action, found: Memory, wanted: Memory | None = None
) -> Memory:
    """Make a memory accepted, `wanted` instead of `found`; one with its key gets its text, and it is gone then."""
    wanted = replace(wanted if wanted is not None else found, status="accepted")
    act = Ledger(connection)
    twin = ledger.accepted(connection, wanted)
    if twin is None:
        act.put(action, found, wanted)
        return ledger.get(connection, wanted.id)
    act.put("merged", found, None)
    act.put("replaced", twin, _with_words_of(twin, wanted))
    return ledger.get(connection, twin.id)


def reject(connection: sqlite3.Connection, found: Memory) -> Memory:
    """Refuse a proposal."""
    if found.status == "rejected":
        return found
    if found.status != "proposed":
        raise StoreError(f"the memory {found.key!r} is {found.status}; only a proposal can be refused")
    Ledger(connection).put("rejected", found, replace(found, status="rejected", updated_at=ledger.now()))
    return ledger.get(connection, found.id)


def edit(connection: sqlite3.Connection, found: Memory, wanted: Wanted) -> Memory:
    """Change the fields of a memory."""
    if found.status == "suspended":
        raise StoreError(f"the memory {found.key!r} belongs to a turn that was undone; accept it first")
    changed = _changed(found, wanted)
    if changed == found:
        return found
    Ledger(connection).put("edited", found, replace(changed, updated_at=ledger.now()))
    return ledger.get(connection, found.id)


def delete(connection: sqlite3.Connection, found: Memory) -> Memory:
    """Take a memory out."""
    Ledger(connection).put("deleted", found, None)
    return found


def undo(connection: sqlite3.Connection, memory_id: str) -> list[Memory]:
    """Take back the last act of a person on a memory."""
    left = ledger.standing(connection, memory_id)
    if not left or left[0].action == "proposed":
        if not ledger.of(connection, memory_id):
            raise StoreError(f"there is no memory {memory_id!r}")
        raise StoreError("nothing is left to undo for this memory")
    last = left[0]
    if last.action in ledger.WITH_SESSION:
        what = "a turn was undone" if last.action == "suspended" else "its session was archived or deleted"
        raise StoreError(f"the memory changed because {what}; that is what to bring back")
    if not ledger.is_last(connection, last.act):
        raise StoreError("the memory that took its text was changed since; undo that first")
    return ledger.take_back(connection, last.act, "undone")


def _changed(found: Memory, wanted: Wanted) -> Memory:
    """The memory with these fields; a session it goes to is by default the one that it came from."""
    changed = replace(found, **wanted)
    if changed.scope == "session" and not changed.session_id:
        changed = replace(changed, session_id=found.source_session or None)
    return fitted(changed)


def _with_words_of(old: Memory, new: Memory) -> Memory:
    """The older memory with what the newer one says, and where that came from."""
    return replace(
        old,
        body=new.body,
        source_session=new.source_session,
        source_record=new.source_record,
        tainted=new.tainted,
        outside=new.outside,
        updated_at=new.updated_at,
        approved_at=new.approved_at,
    )
