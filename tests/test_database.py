"""A database that is opened is sound, private and up to date, whatever lay there before."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.database import (
    DatabaseError,
    is_broken,
    is_networked,
    open_database,
    set_aside,
    transaction,
)

SCHEMA = (("CREATE TABLE notes (text TEXT)", "CREATE INDEX by_text ON notes (text)"),)
NEXT = (*SCHEMA, ("ALTER TABLE notes ADD COLUMN at TEXT DEFAULT 'long ago'",))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_database_is_private_and_has_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    opened = open_database(path, SCHEMA)
    with transaction(opened.connection):
        opened.connection.execute("INSERT INTO notes VALUES ('a')")
    assert opened.notice == ""
    assert opened.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert all(mode(file) == 0o600 for file in path.parent.iterdir())


def test_an_older_schema_is_brought_up_to_date_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    first = open_database(path, SCHEMA).connection
    first.execute("INSERT INTO notes VALUES ('a')")
    first.close()
    second = open_database(path, NEXT).connection
    assert second.execute("SELECT * FROM notes").fetchall() == [("a", "long ago")]
    assert open_database(path, NEXT).connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    open_database(path, SCHEMA).connection.close()
    with pytest.raises(DatabaseError, match="no such table: missing"):
        open_database(path, (*SCHEMA, ("CREATE TABLE half (a)", "INSERT INTO missing VALUES (1)")))
    tables = open_database(path, SCHEMA).connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert ("half",) not in tables


def test_a_newer_schema_is_left_alone_and_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    open_database(path, NEXT).connection.close()
    with pytest.raises(DatabaseError, match="newer version"):
        open_database(path, SCHEMA)
    assert open_database(path, NEXT).notice == ""


@pytest.mark.parametrize(
    "content",
    [b"this is no database at all, " * 40, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["text", "torn"],
)
def test_what_is_no_database_is_set_aside_and_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    opened = open_database(path, SCHEMA)
    (aside,) = tmp_path.glob("notes.db.broken-*")
    assert aside.read_bytes() == content
    assert aside.name in opened.notice
    opened.connection.execute("INSERT INTO notes VALUES ('a')")
    opened.connection.close()
    assert open_database(path, SCHEMA).notice == ""


def test_two_broken_files_in_one_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    for content in (b"one", b"two", b"three"):
        path.write_bytes(content)
        Path(f"{path}-wal").write_bytes(content)
        aside = set_aside(path)
        assert (aside.read_bytes(), Path(f"{aside}-wal").read_bytes()) == (content, content)
    assert len(list(tmp_path.glob("notes.db.broken-*"))) == 6


def test_a_database_that_is_made_anew_meanwhile_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "notes.db", Path.rename
    left = open_database(path, SCHEMA).connection
    left.execute("INSERT INTO notes VALUES ('old')")  # it stands in the file beside
    made: list[sqlite3.Connection] = []

    def renamed(old: Path, new: Path) -> Path:
        done = rename(old, new)
        if not path.exists() and not made:
            made.append(open_database(path, SCHEMA).connection)
            made[0].execute("INSERT INTO notes VALUES ('new')")
        return done

    monkeypatch.setattr(Path, "rename", renamed)
    aside = set_aside(path)
    assert [file.name for file in tmp_path.glob("notes.db-wal")] == ["notes.db-wal"]
    assert aside.with_name(f"{aside.name}-wal").exists()
    other = open_database(path, SCHEMA).connection
    assert other.execute("SELECT text FROM notes").fetchall() == [("new",)]


def test_a_folder_in_the_way_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "notes.db").mkdir()
    with pytest.raises(DatabaseError, match=r"notes\.db cannot be opened"):
        open_database(tmp_path / "notes.db", SCHEMA)
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseError, match="cannot be opened"):
        open_database(tmp_path / "file" / "notes.db", SCHEMA)


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "notes.db", SCHEMA).connection
    with pytest.raises(ZeroDivisionError), transaction(connection):
        connection.execute("INSERT INTO notes VALUES ('a')")
        raise ZeroDivisionError
    assert connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)


def test_only_a_broken_file_counts_as_broken(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "notes.db", SCHEMA).connection
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("SELECT * FROM nowhere")
    assert not is_broken(caught.value)
    assert not is_broken(OSError())


WRITER = """
import sys
from pathlib import Path
from tui_agent.database import open_database, transaction
connection = open_database(Path(sys.argv[1]), ((sys.argv[2],),)).connection
for number in range(100):
    with transaction(connection):
        (count,) = connection.execute("SELECT count(*) FROM notes").fetchone()
        connection.execute("INSERT INTO notes VALUES (?)", (count,))
"""


@pytest.mark.parametrize("content", [b"", b"no database"])
def test_processes_that_open_and_write_at_once_wait_for_each_other(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    if content:
        path.write_bytes(content)
    argv = [sys.executable, "-c", WRITER, str(path), SCHEMA[0][0]]
    running = [subprocess.Popen(argv) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    rows = open_database(path, SCHEMA).connection.execute("SELECT text FROM notes ORDER BY rowid").fetchall()
    assert [int(text) for (text,) in rows] == list(range(300))
    assert len(list(tmp_path.glob("*.broken-*"))) == (1 if content else 0)


def test_network_file_systems_are_known_by_their_mounts(tmp_path: Path) -> None:
    mounts = (
        "/dev/sda / ext4 rw 0 0\nserver:/x /mnt/far nfs4 rw 0 0\n//s/y /mnt/my\\040share cifs rw 0 0\nodd\n"
    )
    assert is_networked(Path("/mnt/far/data/x.db"), mounts)
    assert is_networked(Path("/mnt/my share/x.db"), mounts)
    assert not is_networked(Path("/mnt/farther/x.db"), mounts)
    assert not is_networked(tmp_path)
