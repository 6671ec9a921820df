"""The index of what was said: never wrong about the disk, never read twice, never in the way."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.sessions import index as module
from tui_agent.sessions.index import IndexFailed, SearchIndex


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "data" / "sessions"
    made.mkdir(parents=True)
    return made


def line(text: str) -> bytes:
    return json.dumps({"role": "user", "content": text}, ensure_ascii=False).encode() + b"\n"


def log(root: Path, name: str, *words: str) -> Path:
    path = root / "shop" / name / "context.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line, words)))
    return path


def append(path: Path, *words: str) -> None:
    with path.open("ab") as file:
        file.write(b"".join(map(line, words)))


def where(index: SearchIndex, typed: str) -> list[tuple[str, int]]:
    """Session and line of each hit."""
    return [(hit.log.parent.name, hit.line) for hit in index.search(typed)]


def test_a_message_is_found_with_its_line_and_the_words_around_it(root: Path) -> None:
    one, two = log(root, "1", "first", "we changed load_user_name"), log(root, "2", "修复了会话选择器的错误")
    index = SearchIndex(root)
    assert index.update([one, two])
    assert where(index, "user_name") == [("1", 2)]
    assert where(index, "选择器") == [("2", 1)]
    (hit,) = index.search("userName")
    assert hit.excerpt("userName") == "we changed load_user_name"
    assert where(index, "first user") == [], "all words in one message"
    assert where(index, "") == []


def test_only_what_was_appended_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(root, "1", *(f"word{number}" for number in range(50)))
    index = SearchIndex(root)
    index.update([path])
    read: list[bytes] = []
    texts = module.texts
    monkeypatch.setattr(module, "texts", lambda line, clean: read.append(line) or texts(line, clean))
    index.update([path])
    assert read == []
    append(path, "one more")
    index.update([path])
    assert read == [line("one more").rstrip()]
    assert where(index, "more") == [("1", 51)]
    assert where(index, "word49") == [("1", 50)]


def test_a_log_longer_than_a_batch_is_read_to_its_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 200)
    path = log(root, "1", *(f"word{number}" for number in range(100)), "long " * 500, "last")
    index = SearchIndex(root)
    assert index.update([path])
    assert [where(index, f"word{number}") for number in (0, 57, 99)] == [
        [("1", 1)],
        [("1", 58)],
        [("1", 100)],
    ]
    assert where(index, "long") == [("1", 101)]
    assert where(index, "last") == [("1", 102)]
    for hit in index.search("word57"):
        assert path.read_bytes()[hit.offset : hit.offset + hit.length] == line("word57").rstrip()


def test_a_long_message_is_found_wherever_the_words_stand(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", 50)
    texts = [
        "x" * 49 + " needle here",
        "aa " * 40 + "needle bb",
        "字" * 120 + "needle",
        "\n".join(["cc"] * 90) + " needle",
    ]
    index = SearchIndex(root)
    index.update([log(root, "1", *texts)])
    assert [hit.messages for hit in index.search("needle")] == [4]
    for typed, line in (("needle here", 1), ("needle bb", 2), ("字字字", 3), ("cc", 4)):
        assert where(index, typed) == [("1", line)]


def test_what_was_begun_is_gone_on_with(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 200)
    path = log(root, "1", *(f"word{number}" for number in range(100)))
    index = SearchIndex(root)
    allowed = iter([True, True, False])
    assert not index.update([path], lambda: next(allowed))
    assert where(index, "word0") == [("1", 1)]
    assert where(index, "word99") == []
    assert index.update([path])
    assert where(index, "word99") == [("1", 100)]
    assert where(index, "word0") == [("1", 1)], "once"


def test_a_rewritten_log_is_read_anew(root: Path) -> None:
    path = log(root, "1", "old words", "kept")
    index = SearchIndex(root)
    index.update([path])
    beside = path.with_name("new")
    beside.write_bytes(line("kept") + line("new words"))
    beside.replace(path)
    index.update([path])
    assert where(index, "old") == []
    assert where(index, "kept") == [("1", 1)]
    path.write_bytes(line("in place, and longer than it was before by far"))
    index.update([path])
    assert where(index, "kept") == []
    assert where(index, "place") == [("1", 1)]
    with sqlite3.connect(index.file) as database:
        assert database.execute("SELECT count(*) FROM messages").fetchone() == (1,), (
            "no words of old logs stay"
        )
        assert database.execute("SELECT count(*) FROM words").fetchone() == (1,)


def test_deleted_sessions_vanish(root: Path) -> None:
    one, two = log(root, "1", "needle"), log(root, "2", "needle")
    index = SearchIndex(root)
    index.update([one, two])
    one.unlink()
    index.update([two])
    assert where(index, "needle") == [("2", 1)]
    with sqlite3.connect(index.file) as database:
        assert database.execute("SELECT count(*) FROM words").fetchone() == (1,)


def test_a_line_that_has_not_ended_waits(root: Path) -> None:
    path = log(root, "1", "whole")
    with path.open("ab") as file:
        file.write(line("torn")[:-5])
    index = SearchIndex(root)
    index.update([path])
    assert where(index, "whole") == [("1", 1)]
    path.write_bytes(line("whole") + line("torn"))
    index.update([path])
    assert where(index, "torn") == [("1", 2)]


def test_the_file_may_be_deleted_or_broken_at_any_time(root: Path) -> None:
    path = log(root, "1", "needle")
    index = SearchIndex(root)
    index.update([path])
    for suffix in ("", "-wal", "-shm"):
        Path(f"{index.file}{suffix}").unlink(missing_ok=True)
    assert where(index, "needle") == []
    index.update([path])
    assert where(index, "needle") == [("1", 1)]
    index.file.write_bytes(b"no database")
    index.update([path])
    assert where(index, "needle") == [("1", 1)]
    assert "was broken" in index.notice


def test_broken_pages_are_set_aside_once_they_are_met(root: Path) -> None:
    path = log(root, "1", *(f"needle {number}" for number in range(3000)))
    index = SearchIndex(root)
    index.update([path])
    with sqlite3.connect(index.file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(index.file.read_bytes())
    for start in range(3 * 4096, len(data), 4096):
        data[start : start + 4096] = b"\xff" * 4096
    index.file.write_bytes(data)
    with pytest.raises(IndexFailed):
        index.search("needle")
    index.update([path])
    assert len(index.search("needle")) == 1
    assert list(index.file.parent.glob("sessions.db.broken-*"))


def test_a_log_that_cannot_be_read_is_passed_over(root: Path) -> None:
    missing = root / "shop" / "3" / "context.jsonl"
    one = log(root, "1", "needle")
    index = SearchIndex(root)
    assert index.update([missing, one])
    hits = index.search("needle")
    one.unlink()
    assert [hit.excerpt("needle") for hit in hits] == [""]


UPDATE = """
import sys
from pathlib import Path
from tui_agent.sessions import index
index._BATCH = 500
root = Path(sys.argv[1])
index.SearchIndex(root).update(sorted(root.glob("*/*/context.jsonl")))
"""


def test_processes_that_read_the_same_logs_at_once_store_each_message_once(root: Path) -> None:
    for number in range(5):
        log(root, str(number), *(f"needle {number} {line}" for line in range(100)))
    argv = [sys.executable, "-c", UPDATE, str(root)]
    running = [subprocess.Popen(argv, env=dict(os.environ)) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    index = SearchIndex(root)
    assert sorted(hit.messages for hit in index.search("needle")) == [100] * 5
    with sqlite3.connect(index.file) as database:
        assert database.execute("SELECT count(*) FROM messages").fetchone() == (500,)


def test_an_index_with_words_that_nobody_is_shown_is_read_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(root, "1")
    said = {"role": "assistant", "content": [{"type": "text", "text": "shown HIDDEN"}]}
    path.write_text(json.dumps(said) + "\n")
    with monkeypatch.context() as before:
        before.setattr(module, "_SCHEMA", module._SCHEMA[:1])
        SearchIndex(root).update([path])
    index = SearchIndex(root, clean=lambda text: text.replace("HIDDEN", ""))
    index.update([path])
    assert (where(index, "hidden"), where(index, "shown")) == ([], [("1", 1)])
