"""Work on the memory's database, from any thread and from many programs at once.

Each piece of work gets a connection of its own, and all that it reads is of one moment. If another program writes it
waits; if the file turns out to be broken it is set aside, its name told in `notice`, and the work done on a new one.
SQLite is loaded with the first piece of work: who remembers nothing does without.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tui_agent import paths
from tui_agent.memory.schema import SCHEMA, StoreError

if TYPE_CHECKING:
    import sqlite3

_PATIENCE = 30.0
"""Seconds in which a database that others keep busy is tried again."""
_PAUSE = 0.01
"""Seconds between two tries: not every lock of SQLite waits by itself."""

T = TypeVar("T")
_Frame = AbstractContextManager[None]


class Desk:
    """Where work is done on the database at `path`. `notice` is what a person should know about it, or nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notice = ""

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work that only reads.

        Raises:
            StoreError: the database cannot be used.
        """
        return self._patiently(work, _moment)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work that writes: all of it, or nothing if it raises.

        Raises:
            StoreError: the database cannot be used, or it stays busy.
        """
        from tui_agent.database import transaction

        return self._patiently(work, transaction)

    def _patiently(
        self, work: Callable[[sqlite3.Connection], T], framed: Callable[[sqlite3.Connection], _Frame]
    ) -> T:
        import sqlite3

        from tui_agent.database import DatabaseError, is_broken

        until = time.monotonic() + _PATIENCE
        mended = False
        while True:
            file = _inode(self.path)
            try:
                with closing(self._opened()) as connection, framed(connection):
                    return work(connection)
            except OSError as error:
                raise StoreError(f"{self.path} cannot be used: {error.strerror}") from error
            except (sqlite3.Error, DatabaseError) as error:
                cause = error.__cause__ if isinstance(error, DatabaseError) else error
                if is_busy(cause) and time.monotonic() < until:
                    time.sleep(_PAUSE)
                    continue
                if is_broken(error) and not mended:
                    mended = True
                    self._mend(file, str(error))
                    continue
                raise StoreError(_words(self.path, error, busy=is_busy(cause))) from error

    def _opened(self) -> sqlite3.Connection:
        from tui_agent.database import open_database

        paths.private_folder(self.path.parent)
        opened = open_database(self.path, SCHEMA)
        self.notice = opened.notice or self.notice
        return opened.connection

    def _mend(self, file: int, reason: str) -> None:
        try:
            self._set_aside(file, reason)
        except OSError as error:
            raise StoreError(
                f"{self.path} is broken ({reason}) and cannot be set aside: {error.strerror}"
            ) from error

    def _set_aside(self, file: int, reason: str) -> None:
        """Rename the file that was found broken; not the new one, if another program was faster."""
        from tui_agent.database import set_aside

        with self.path.with_name(f".{self.path.name}.mending").open("a") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            if file and _inode(self.path) == file:
                aside = set_aside(self.path)
                kept = f"the old file is kept as {aside.name}"
                self.notice = f"{self.path} was broken ({reason}) and is made anew; {kept}"


@contextmanager
def _moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything read inside is of one moment."""
    import sqlite3

    connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # a broken file, or a full disk, has ended it already
            connection.execute("ROLLBACK")


def is_busy(error: BaseException | None) -> bool:
    """True if the error says that another program is at work on the database."""
    import sqlite3

    # the first byte is the kind of error, the rest says more
    return isinstance(error, sqlite3.OperationalError) and (
        (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    )


def _words(path: Path, error: Exception, *, busy: bool) -> str:
    from tui_agent.database import DatabaseError

    if busy:
        return f"{path} is kept busy by another program; try again"
    return str(error) if isinstance(error, DatabaseError) else f"{path} cannot be used: {error}"


def _inode(path: Path) -> int:
    """The file's number; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
