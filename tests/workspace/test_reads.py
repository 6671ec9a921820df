"""What the model knows of files, and whether it still holds."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tui_agent.workspace.reads import Reads

LONG_AGO = 1_600_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one")
    return file


def test_a_file_never_read_is_not_known_and_not_changed(file: Path) -> None:
    reads = Reads()
    assert not reads.known(file)
    assert not reads.changed(file)
    assert reads.stale() == []


def test_a_file_is_unchanged_until_its_content_is_another(file: Path) -> None:
    reads = Reads()
    reads.note(file, b"one", file.stat())
    assert reads.known(file)
    assert not reads.changed(file)
    file.write_bytes(b"two")
    assert reads.changed(file)
    file.write_bytes(b"one")
    assert not reads.changed(file)


def test_a_change_within_one_tick_of_the_clock_is_seen(file: Path) -> None:
    status = file.stat()
    reads = Reads()
    reads.note(file, b"one", status)
    file.write_bytes(b"two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reads.changed(file)


def test_a_change_that_hides_its_time_is_seen(file: Path) -> None:
    os.utime(file, (LONG_AGO, LONG_AGO))
    reads = Reads()
    reads.note(file, b"one", file.stat())
    file.write_bytes(b"two")
    os.utime(file, (LONG_AGO, LONG_AGO))
    assert reads.changed(file)


def test_a_new_date_alone_is_no_change(file: Path) -> None:
    reads = Reads()
    reads.note(file, b"one", file.stat())
    os.utime(file, (LONG_AGO, LONG_AGO))
    assert not reads.changed(file)


def test_a_file_that_is_gone_or_no_file_any_more_has_changed(file: Path) -> None:
    reads = Reads()
    reads.note(file, b"one", file.stat())
    file.unlink()
    assert reads.changed(file)
    file.mkdir()
    assert reads.changed(file)
    file.rmdir()
    os.mkfifo(file)
    assert reads.changed(file)


def test_the_newest_note_counts(file: Path) -> None:
    reads = Reads()
    reads.note(file, b"zero")
    assert reads.changed(file)
    reads.note(file, b"one")
    assert not reads.changed(file)


def test_the_stale_ones_are_listed(tmp_path: Path) -> None:
    reads = Reads()
    for name in "cab":
        (tmp_path / name).write_text(name)
        reads.note(tmp_path / name, name.encode(), (tmp_path / name).stat())
    (tmp_path / "c").write_text("x")
    (tmp_path / "a").unlink()
    assert [(one.path.name, bool(one.now)) for one in reads.stale()] == [("a", False), ("c", True)]
    (tmp_path / "c").write_text("c")
    assert [one.path.name for one in reads.stale()] == ["a"]


def test_what_was_known_in_an_earlier_run_is_listed_and_has_to_be_read_before_it_is_written(
    file: Path,
) -> None:
    before, reads = Reads(), Reads()
    before.note(file, b"one", file.stat())
    reads.note_earlier(file, before.content(file))
    assert reads.stale() == [] and not reads.known(file)
    file.write_bytes(b"two")
    (one,) = reads.stale()
    assert one.known == before.content(file) != one.now and not reads.known(file)
    reads.note(file, b"two", file.stat())
    reads.note_earlier(file, before.content(file))
    assert reads.stale() == [] and reads.known(file)


def test_it_can_be_used_from_many_threads(tmp_path: Path) -> None:
    reads = Reads()
    files = [tmp_path / str(n) for n in range(50)]
    for file in files:
        file.write_text(file.name)
    wrong: list[object] = []

    def work() -> None:
        for file in files:
            reads.note(file, file.name.encode(), file.stat())
            if reads.changed(file) or reads.stale():
                wrong.append(file)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
