"""Open an SQLite database well: private, its schema brought up to date, a broken file set aside and said.

    with transaction(connection): ...         # one writer at a time; others wait up to `BUSY_SECONDS`

WAL lets readers and a writer work side by side; on a network file system, where its shared memory does not work, the
database keeps a rollback journal. A schema is a list of steps, and `PRAGMA user_version` says how many of them a file
has seen. Everything here blocks: call it in a thread. A connection belongs to the thread that opened it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

BUSY_SECONDS = 5.0
"""So long one waits for another's transaction."""

Schema = Sequence[Sequence[str]]
"""Steps, the oldest first, each of some statements."""

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NETWORKED = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "fuse.sshfs",
}
_BESIDE = ("-wal", "-shm", "-journal")


class DatabaseError(Exception):
    """A database cannot be opened; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection, and in `notice` what a person should know about its opening, or nothing."""

    connection: sqlite3.Connection
    notice: str = ""


def open_database(path: Path, schema: Schema) -> Opened:
    """Open the database at `path`, in a folder that exists; make it or bring its schema up to date.

    Files in use have seen the steps of the schema: only ever add to their end. A file that is no database, or a
    broken one, is renamed to `<name>.broken-<time>` and a new one is made.

    Raises:
        DatabaseError: it cannot be opened or made, or a newer version of the program wrote it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            return Opened(_open(path, schema))
        except sqlite3.DatabaseError as error:
            if not is_broken(error):
                raise
        return _begin_anew(path, schema)
    except sqlite3.Error as error:
        raise DatabaseError(f"{path} cannot be opened: {error}") from error
    except OSError as error:
        raise DatabaseError(f"{path} cannot be opened: {error.strerror}") from error


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; what is read in it does not change before it is written.

    Raises:
        sqlite3.Error: another transaction lasted too long, or the disk is full.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk has rolled it back already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def is_broken(error: BaseException) -> bool:
    """True if the error says that the file is no database, or no sound one."""
    # the first byte is the kind of error, the rest says more
    return isinstance(error, sqlite3.DatabaseError) and (
        (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _BROKEN
    )


def set_aside(path: Path) -> Path:
    """Rename a broken database and the files beside it; returns its new name.

    Raises:
        OSError: it cannot be renamed.
    """
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside = path.with_name(f"{path.name}.broken-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.broken-{stamp}-{number}")
    # the database last: once it is gone another program makes a new one, with files of its own beside it
    for suffix in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    path.rename(aside)
    return aside


def is_networked(path: Path, mounts: str | None = None) -> bool:
    """True if the path is known to lie on a network file system. `mounts` is the text of /proc/mounts."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(errors="replace")
        except OSError:
            return False
    where = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind in _NETWORKED


def _open(path: Path, schema: Schema) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _prepare(connection, path, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    networked = is_networked(path)
    connection.execute(f"PRAGMA journal_mode = {'DELETE' if networked else 'WAL'}")
    connection.execute(f"PRAGMA synchronous = {'FULL' if networked else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if _version(connection) == len(schema):
        return
    with transaction(connection):
        version = _version(connection)
        if version > len(schema):
            raise DatabaseError(
                f"{path} was written by a newer version of tui-agent (schema {version}, known is {len(schema)})"
            )
        for step in schema[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(schema)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _begin_anew(path: Path, schema: Schema) -> Opened:
    """Set a broken file aside and make a new one; of several processes that find it broken, one does it."""
    guard = os.open(path.with_name(f".{path.name}.mending"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        try:
            return Opened(_open(path, schema))
        except sqlite3.DatabaseError as error:
            if not is_broken(error):
                raise
            reason = str(error)
        aside = set_aside(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        notice = f"{path} was broken ({reason}) and is made anew; the old file is kept as {aside.name}"
        return Opened(_open(path, schema), notice)
    finally:
        os.close(guard)
