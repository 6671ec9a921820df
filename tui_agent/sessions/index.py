"""An index of what was said in all sessions, for full-text search.

`sessions.db` beside the folder of sessions holds the words of every message of every log, and where its line lies. It
is a cache: the logs are the truth, and the file may be deleted at any time. `update` reads only what was appended to
a log since the last time; a log that was rewritten is read anew. Any number of processes may use it at once.
Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tui_agent import fulltext, paths
from tui_agent.database import DatabaseError, is_broken, open_database, set_aside, transaction
from tui_agent.sessions.contents import Clean, texts

NAME = "sessions.db"

_BATCH = 256 * 1024
"""Bytes read at once; a longer line is read whole."""
_PIECE = 8 * 1024
"""Characters made ready at once."""
_TAIL = 64
"""Bytes before the end of what was read, kept to know the log again."""
_LARGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that are read for an excerpt."""
_AT_ONCE = 2000
"""Rows deleted in one transaction."""

_STORED = "" if sqlite3.sqlite_version_info < (3, 43) else "content = '', contentless_delete = 1, "
"""Without the option SQLite keeps a copy of the words, for deleting them."""

_SCHEMA = (
    (
        "CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL, inode INTEGER NOT NULL,"
        " size INTEGER NOT NULL, changed INTEGER NOT NULL, read INTEGER NOT NULL, lines INTEGER NOT NULL,"
        " tail BLOB NOT NULL)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, log INTEGER NOT NULL, line INTEGER NOT NULL,"
        " offset INTEGER NOT NULL, length INTEGER NOT NULL)",
        "CREATE INDEX messages_of ON messages (log)",
        "CREATE TABLE gone (log INTEGER NOT NULL)",
        "CREATE TRIGGER log_gone AFTER DELETE ON logs BEGIN INSERT INTO gone VALUES (old.id); END",
        f"CREATE VIRTUAL TABLE words USING fts5(text, {_STORED}tokenize = {fulltext.TOKENIZE})",
    ),
    # what was read before holds words that nobody is shown
    ("DELETE FROM logs",),
)

_SEARCH = """
WITH hits AS MATERIALIZED (
    SELECT messages.log, messages.line, messages.offset, messages.length, words.rank AS score
    FROM words JOIN messages ON messages.id = words.rowid WHERE words MATCH ?
)
SELECT logs.path, hits.line, hits.offset, hits.length, count(*), min(hits.score)
FROM hits JOIN logs ON logs.id = hits.log GROUP BY logs.id ORDER BY min(hits.score), logs.path
"""


class IndexFailed(Exception):
    """The index cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best hit in a log: its line (from 1) and where that lies, and how many messages hit."""

    log: Path
    line: int
    offset: int
    length: int
    messages: int

    def excerpt(self, typed: str, clean: Clean = str) -> str:
        """The words around what was looked for; empty if the log is not any more what it was."""
        try:
            with self.log.open("rb") as file:
                file.seek(self.offset)
                line = file.read(min(self.length, _LARGEST_LINE))
        except OSError:
            return ""
        return best_excerpt(texts(line, clean), typed)


@dataclass(frozen=True, slots=True)
class _Log:
    """What was read of a log."""

    id: int
    inode: int
    size: int
    changed: int
    read: int
    lines: int
    tail: bytes


class SearchIndex:
    """The index of the logs under `root`. `notice` says what a person should know about its file, or nothing.

    `clean` takes out of the text of answers what is not for a person's eyes: it is not found.
    """

    def __init__(self, root: Path, file: Path | None = None, *, clean: Clean = str) -> None:
        self.file = file if file is not None else root.parent / NAME
        self.notice = ""
        self._root = root
        self._clean_answer = clean

    def update(self, logs: Iterable[Path], go_on: Callable[[], bool] = lambda: True) -> bool:
        """Read what was appended to these logs; logs that are gone are forgotten.

        `go_on` is asked between two batches of a fraction of a second; False ends it. Returns whether all was read.

        Raises:
            IndexFailed: the file cannot be written.
        """
        with self._connected() as connection:
            self._forget_gone(connection)
            for log in logs:
                while self._read_on(connection, log):
                    if not go_on():
                        return False
                if not go_on():
                    return False
            self._clear(connection)
        return True

    def search(self, typed: str) -> Sequence[Found]:
        """The logs in which a message holds every word typed, the best first.

        Raises:
            IndexFailed: the file cannot be read.
        """
        asked = fulltext.query(typed)
        if not asked:
            return []
        with self._connected() as connection:
            rows = connection.execute(_SEARCH, (asked,)).fetchall()
        return [Found(self._root / path, *where) for path, *where, _ in rows]

    # --- how a log is read

    def _read_on(self, connection: sqlite3.Connection, log: Path) -> bool:
        """Read a batch of a log; False if there is nothing more to read."""
        key = str(log.relative_to(self._root))
        known = _known(connection, key)
        try:
            with log.open("rb") as file:
                status = _status(file.fileno())
                if known is not None and (known.inode, known.size, known.changed) == status:
                    return False
                if known is None or not _goes_on(known, status[0], file.fileno()):
                    known = self._begin(connection, key, known, status[0])
                    if known is None:
                        return True
                data = _lines(file.fileno(), known.read)
        except OSError:
            return False
        rows = list(_messages(data, known, self._clean_answer))
        with transaction(connection):
            if _known(connection, key) != known:
                return True  # another process was quicker
            for line, offset, length, words in rows:
                written = connection.execute(
                    "INSERT INTO messages (log, line, offset, length) VALUES (?, ?, ?, ?)",
                    (known.id, line, offset, length),
                )
                connection.execute(
                    "INSERT INTO words (rowid, text) VALUES (?, ?)", (written.lastrowid, words)
                )
            done = known.read + len(data)
            # what is not read yet, or was not ended by a newline, must be looked at again
            seen = status if done >= status[1] or not data else (status[0], -1, -1)
            connection.execute(
                "UPDATE logs SET size = ?, changed = ?, read = ?, lines = ?, tail = ? WHERE id = ?",
                (
                    seen[1],
                    seen[2],
                    done,
                    known.lines + data.count(b"\n"),
                    data[-_TAIL:] or known.tail,
                    known.id,
                ),
            )
        return bool(data) and done < status[1]

    def _begin(self, connection: sqlite3.Connection, key: str, known: _Log | None, inode: int) -> _Log | None:
        """Begin a log anew; None if another process did."""
        with transaction(connection):
            if _known(connection, key) != known:
                return None
            # the old messages belong to no log from here on, and are cleared away by and by
            connection.execute("DELETE FROM logs WHERE path = ?", (key,))
            connection.execute(
                "INSERT INTO logs (path, inode, size, changed, read, lines, tail)"
                " VALUES (?, ?, -1, -1, 0, 0, x'')",
                (key, inode),
            )
            return _known(connection, key)

    def _forget_gone(self, connection: sqlite3.Connection) -> None:
        keys = [key for (key,) in connection.execute("SELECT path FROM logs")]
        gone = [(key,) for key in keys if not (self._root / key).exists()]
        if gone:
            with transaction(connection):
                connection.executemany("DELETE FROM logs WHERE path = ?", gone)
        self._clear(connection)

    def _clear(self, connection: sqlite3.Connection) -> None:
        """Delete the words of logs that are gone."""
        while connection.execute("SELECT 1 FROM gone LIMIT 1").fetchone() is not None:
            with transaction(connection):
                of_gone = "SELECT id FROM messages WHERE log IN (SELECT log FROM gone) LIMIT ?"
                found = connection.execute(of_gone, (_AT_ONCE,)).fetchall()
                connection.executemany("DELETE FROM words WHERE rowid = ?", found)
                connection.executemany("DELETE FROM messages WHERE id = ?", found)
                if len(found) < _AT_ONCE:
                    connection.execute("DELETE FROM gone")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            paths.private_folder(self.file.parent)
            opened = open_database(self.file, _SCHEMA)
        except (DatabaseError, OSError) as error:
            raise IndexFailed(str(error)) from error
        self.notice = opened.notice or self.notice
        with closing(opened.connection) as connection:
            try:
                yield connection
            except sqlite3.Error as error:
                if is_broken(error):
                    aside = set_aside(self.file)
                    self.notice = (
                        f"{self.file} was broken and is made anew; the old file is kept as {aside.name}"
                    )
                raise IndexFailed(f"{self.file}: {error}") from error


def best_excerpt(said: Sequence[str], typed: str) -> str:
    """The words around what was typed, from the text of a message that holds the most of it."""
    wanted = [word.casefold() for word in typed.replace('"', " ").split()]
    best = max(said, key=lambda text: sum(word in text.casefold() for word in wanted), default="")
    return fulltext.excerpt(best, typed)


def _known(connection: sqlite3.Connection, key: str) -> _Log | None:
    row = connection.execute(
        "SELECT id, inode, size, changed, read, lines, tail FROM logs WHERE path = ?", (key,)
    ).fetchone()
    return _Log(*row) if row is not None else None


def _status(descriptor: int) -> tuple[int, int, int]:
    """Inode, size and time of the last change in nanoseconds."""
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _goes_on(known: _Log, inode: int, descriptor: int) -> bool:
    """True if what was read of the log is still its beginning."""
    start = known.read - len(known.tail)
    return known.inode == inode and os.pread(descriptor, len(known.tail), start) == known.tail


def _lines(descriptor: int, start: int) -> bytes:
    """The whole lines from `start` on: a batch of them, or one if it is longer; empty if none has ended."""
    size = _BATCH
    while True:
        data = os.pread(descriptor, size, start)
        end = data.rfind(b"\n") + 1
        if end or len(data) < size:
            return data[:end]
        size *= 4


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that are made ready quickly, cut where words end: other threads wait meanwhile."""
    start = 0
    while len(text) - start > _PIECE:
        end = max(text.rfind(space, start, start + _PIECE) for space in " \n") + 1
        end = end if end > start else start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _messages(data: bytes, known: _Log, clean: Clean) -> Iterator[tuple[int, int, int, str]]:
    """Line number, offset, length and words of every message in whole lines."""
    offset = known.read
    for number, line in enumerate(data.split(b"\n")[:-1], known.lines + 1):
        words = [fulltext.prepared(piece) for text in texts(line, clean) for piece in _pieces(text)]
        if words:
            yield number, offset, len(line), "\n".join(words)
        offset += len(line) + 1
