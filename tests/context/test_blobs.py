"""Media and long outputs are stored once, whole, and read back only if they are what their hash says."""

from __future__ import annotations

import os
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from tui_agent.context.blobs import BlobStore, OutputStore
from tui_agent.context.errors import LogWriteError


def test_a_blob_comes_back_by_its_hash(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    digest = store.put(b"\x89PNG\x00")
    assert digest == sha256(b"\x89PNG\x00").hexdigest()
    assert BlobStore(tmp_path / "blobs").get(digest) == b"\x89PNG\x00"
    assert store.put(b"") == sha256(b"").hexdigest()
    assert store.get(sha256(b"").hexdigest()) == b""


def test_folder_and_files_are_private(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "a" / "blobs")
    digest = store.put(b"x")
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert (store.folder / digest).stat().st_mode & 0o777 == 0o600


def test_the_same_bytes_are_written_once(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    before = (tmp_path / store.put(b"same")).stat()
    store.put(b"same")
    after = (tmp_path / store.put(b"same")).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("wrong", [b"", b"sam", b"samf", b"same and more"])
def test_what_does_not_match_its_hash_is_missing_until_it_is_put_again(tmp_path: Path, wrong: bytes) -> None:
    store = BlobStore(tmp_path)
    digest = store.put(b"same")
    (tmp_path / digest).write_bytes(wrong)
    assert store.get(digest) is None
    store.put(b"same")
    assert store.get(digest) == b"same"


def test_a_name_that_is_no_hash_is_missing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    store = BlobStore(tmp_path / "blobs")
    for name in ("", "../secret", "x" * 64, "A" * 64, "0" * 63, "0" * 64):
        assert store.get(name) is None


def test_a_folder_or_unreadable_file_in_the_place_of_a_blob_is_missing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    (tmp_path / ("0" * 64)).mkdir()
    assert store.get("0" * 64) is None


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    store = BlobStore(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(LogWriteError, match="No space"):
            store.put(b"data")
    assert list(tmp_path.iterdir()) == []
    assert store.get(store.put(b"data")) == b"data"


def test_what_a_killed_process_left_is_removed_and_a_write_under_way_is_not(tmp_path: Path) -> None:
    left, running = tmp_path / ".a.tmp", tmp_path / ".b.tmp"
    left.write_bytes(b"half")
    running.write_bytes(b"half")
    os.utime(left, (1, 1))
    BlobStore(tmp_path).put(b"data")
    assert not left.exists()
    assert running.exists()


def test_many_writers_of_the_same_bytes_agree(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    threads = [threading.Thread(target=BlobStore(tmp_path / "blobs").put, args=(data,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [sha256(data).hexdigest()]
    assert BlobStore(tmp_path / "blobs").get(sha256(data).hexdigest()) == data


def test_an_output_comes_back_by_its_name(tmp_path: Path) -> None:
    store = OutputStore(tmp_path / "outputs")
    name = store.put_text("long\r\noutput 世界\x00")
    assert name == sha256("long\r\noutput 世界\x00".encode()).hexdigest() + ".txt"
    assert store.get(name) == "long\r\noutput 世界\x00"
    assert store.path(name).read_bytes() == "long\r\noutput 世界\x00".encode()
    assert store.path(name).stat().st_mode & 0o777 == 0o600


def test_an_output_with_lone_surrogates_is_stored(tmp_path: Path) -> None:
    store = OutputStore(tmp_path)
    assert store.get(store.put_text("a\ud800b")) == "a\ufffdb"


def test_a_changed_output_is_missing(tmp_path: Path) -> None:
    store = OutputStore(tmp_path)
    name = store.put_text("text")
    store.path(name).write_text("other")
    assert store.get(name) is None


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", "a.txt", "0" * 64, "/" + "0" * 63 + ".txt", "0" * 64 + ".txt\n"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    store = OutputStore(tmp_path)
    assert store.get(name) is None
    with pytest.raises(ValueError, match="not the name of a stored output"):
        store.path(name)
