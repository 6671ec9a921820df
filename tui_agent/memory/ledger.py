"""Rows in and out of the tables: every change with its history, acts taken back whole.

All of this runs inside a transaction of the store. A person's acts are taken back one by one, the last first, by
`undo`. What came with a session (`suspended`, `ended`) is taken back with it, and is not in the way of undo then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tui_agent import fulltext
from tui_agent.memory.schema import COLUMNS, PLACE, Action, Change, Memory, StoreError, place

if TYPE_CHECKING:
    import sqlite3

WITH_SESSION: tuple[Action, ...] = ("suspended", "ended")

_FIELDS = ", ".join(COLUMNS)
_UPSERT = (
    f"INSERT INTO memories ({_FIELDS}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in COLUMNS[1:])
    + " RETURNING n"
)
_CHANGE = "number, act, id, action, at, before, after, undoes"
_STANDING = (
    "undoes IS NULL AND NOT EXISTS (SELECT 1 FROM memory_history AS later WHERE later.undoes = this.act)"
)


class Ledger:
    """The changes of one act; `undoes` is the act that it takes back."""

    def __init__(self, connection: sqlite3.Connection, undoes: int | None = None) -> None:
        self.act: int | None = None
        self.at = now()
        self._connection = connection
        self._undoes = undoes

    def put(self, action: Action, before: Memory | None, after: Memory | None) -> None:
        """Make `before` into `after`; None stands for a memory that is not there.

        Raises:
            StoreError: another accepted memory of the place has the key.
        """
        one = after if after is not None else before
        assert one is not None
        rev = _last_rev(self._connection, one.id) + 1
        if after is None:
            self._remove(one.id)
        else:
            after = replace(after, rev=rev)
            self._store(after)
        row = (self.act or 0, one.id, rev, action, self.at, _packed(before), _packed(after), self._undoes)
        cursor = self._connection.execute(
            "INSERT INTO memory_history (act, id, rev, action, at, before, after, undoes)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        if self.act is None:
            self.act = cursor.lastrowid
            self._connection.execute("UPDATE memory_history SET act = number WHERE number = ?", (self.act,))

    def _remove(self, memory_id: str) -> None:
        for (n,) in self._connection.execute("SELECT n FROM memories WHERE id = ?", (memory_id,)).fetchall():
            self._connection.execute("DELETE FROM words WHERE rowid = ?", (n,))
            self._connection.execute("DELETE FROM memories WHERE n = ?", (n,))

    def _store(self, memory: Memory) -> None:
        import sqlite3

        try:
            ((n,),) = self._connection.execute(_UPSERT, _row(memory)).fetchall()
        except sqlite3.IntegrityError as error:
            if accepted(self._connection, memory) is None:
                raise
            raise StoreError(f"another {memory.scope} memory has the key {memory.key!r}") from error
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (n,))
        self._connection.execute(
            "INSERT INTO words (rowid, key, body) VALUES (?, ?, ?)",
            (n, fulltext.prepared(memory.key), fulltext.prepared(memory.body)),
        )


def now() -> str:
    """The time, as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def select(
    connection: sqlite3.Connection, where: str = "1", values: Sequence[object] = (), *, order: str = ""
) -> list[Memory]:
    """The memories for which the SQL is true, those that changed last first."""
    order = order or "updated_at DESC, n DESC"
    rows = connection.execute(f"SELECT {_FIELDS} FROM memories WHERE {where} ORDER BY {order}", values)
    return [_memory(row) for row in rows]


def get(connection: sqlite3.Connection, memory_id: str) -> Memory:
    """The memory with this id.

    Raises:
        StoreError: there is none, or none any more.
    """
    for memory in select(connection, "id = ?", (memory_id,)):
        return memory
    if last := _changes(connection, "id = ? ORDER BY number DESC LIMIT 1", (memory_id,)):
        words = {"merged": "its text replaced that of an older memory", "ended": "it ended with its session"}
        raise StoreError(f"that memory is gone: {words.get(last[0].action, 'it was deleted')}")
    raise StoreError(f"there is no memory {memory_id!r}")


def accepted(connection: sqlite3.Connection, like: Memory) -> Memory | None:
    """The other accepted memory with the key of this one in the same place; None if there is none, or no key."""
    if not like.key:
        return None
    where = f"status = 'accepted' AND scope = ? AND {PLACE} = ? AND key = ? AND id <> ?"
    return next(iter(select(connection, where, (like.scope, place(like), like.key, like.id))), None)


def alike(connection: sqlite3.Connection, like: Memory) -> list[Memory]:
    """The memories that say the same under the same key in the same place."""
    where = f"scope = ? AND {PLACE} = ? AND key = ? AND body = ?"
    return select(connection, where, (like.scope, place(like), like.key, like.body))


def of(connection: sqlite3.Connection, memory_id: str) -> list[Change]:
    """The changes of a memory, the oldest first."""
    return _changes(connection, "id = ? ORDER BY number", (memory_id,))


def since(connection: sqlite3.Connection, number: int) -> list[Change]:
    """The changes of all memories after that one, the oldest first."""
    return _changes(connection, "number > ? ORDER BY number", (number,))


def latest(connection: sqlite3.Connection) -> int:
    """The number of the last change; 0 if there was none."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM memory_history").fetchone()[0])


def standing(connection: sqlite3.Connection, memory_id: str) -> list[Change]:
    """The changes of a memory that were not taken back, the last first."""
    return _changes(connection, f"id = ? AND {_STANDING} ORDER BY number DESC", (memory_id,))


def in_act(connection: sqlite3.Connection, act: int) -> list[Change]:
    """The changes of an act, in order."""
    return _changes(connection, "act = ? ORDER BY number", (act,))


def ended_acts(connection: sqlite3.Connection, session: str) -> list[int]:
    """The acts with which memories went that ended with this session, and are still gone; the last first."""
    where = f"action = 'ended' AND {_STANDING} ORDER BY number DESC"
    found = [c.act for c in _changes(connection, where, ()) if c.before and c.before.session_id == session]
    return list(dict.fromkeys(found))


def is_last(connection: sqlite3.Connection, act: int) -> bool:
    """True if nothing that the act changed has been changed since."""
    return all(
        (left := standing(connection, change.id)) and left[0].act == act for change in in_act(connection, act)
    )


def take_back(connection: sqlite3.Connection, act: int, action: Action) -> list[Memory]:
    """Make everything that an act changed what it was before; returns the memories that are there then.

    Raises:
        StoreError: a memory would return whose key another one has by now.
    """
    ledger = Ledger(connection, act)
    changes = in_act(connection, act)
    for change in changes:
        current = next(iter(select(connection, "id = ?", (change.id,))), None)
        ledger.put(action, current, change.before)
    return [found for change in changes for found in select(connection, "id = ?", (change.id,))]


def _last_rev(connection: sqlite3.Connection, memory_id: str) -> int:
    row = connection.execute("SELECT max(rev) FROM memory_history WHERE id = ?", (memory_id,)).fetchone()
    return int(row[0] or 0)


def _changes(connection: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Change]:
    rows = connection.execute(f"SELECT {_CHANGE} FROM memory_history AS this WHERE {where}", values)
    return [
        Change(
            number=number,
            act=act,
            id=memory_id,
            action=action,
            at=at,
            before=_unpacked(before),
            after=_unpacked(after),
            undoes=undoes,
        )
        for number, act, memory_id, action, at, before, after, undoes in rows
    ]


def _packed(memory: Memory | None) -> str | None:
    return None if memory is None else msgspec.json.encode(memory).decode()


def _unpacked(text: str | None) -> Memory | None:
    return None if text is None else msgspec.json.decode(text, type=Memory)


def _row(memory: Memory) -> list[Any]:
    values = msgspec.structs.asdict(memory) | {"outside": msgspec.json.encode(memory.outside).decode()}
    return [values[column] for column in COLUMNS]


def _memory(row: Sequence[Any]) -> Memory:
    values = dict(zip(COLUMNS, row, strict=True))
    outside = msgspec.json.decode(values["outside"], type=tuple[str, ...])
    return Memory(**values | {"outside": outside, "tainted": bool(values["tainted"])})
