"""What is remembered is found in any script, seen by every program at once, and kept in a private, sound file."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.memory.made import broken, proposed
from tui_agent.database import set_aside
from tui_agent.memory.schema import SCHEMA, StoreError
from tui_agent.memory.store import MemoryStore


def keys(memories: Any) -> list[str]:
    return [memory.key for memory in memories]


# --- finding


def test_lists_hold_what_was_asked_for_the_newest_first(store: MemoryStore) -> None:
    first = store.add("user", "a", "one")
    second = store.add("workspace", "b", "two", workspace="shop-1")
    third = store.propose(proposed("c", scope="workspace")).memory
    fourth = store.propose(proposed("d", scope="session")).memory
    assert store.list() == [fourth, third, second, first]
    assert store.list(scope="workspace") == [third, second]
    assert store.list(workspace="shop-1", status="accepted") == [second]
    assert store.list(session="S1") == [fourth]
    assert store.list(scope="user", status="proposed") == []
    assert store.counts() == {"proposed": 0, "accepted": 1, "rejected": 0, "suspended": 0}
    assert store.counts(workspace="shop-1", session="S1") == {
        "proposed": 1,
        "accepted": 3,
        "rejected": 0,
        "suspended": 0,
    }


def test_a_session_sees_what_is_the_users_its_workspaces_and_its_own(store: MemoryStore) -> None:
    mine = store.propose(proposed("a")).memory
    ours = store.add("workspace", "b", "two", workspace="shop-1")
    own = store.propose(proposed("c", scope="session")).memory
    store.add("workspace", "b", "theirs", workspace="other-2")
    store.propose(proposed("c", scope="session", source_session="S2", workspace_id="shop-1"))
    assert store.visible("shop-1", "S1") == [own, ours, mine]
    assert store.visible("shop-1", "S1", "proposed") == [mine]
    assert store.visible("shop-1", None, "accepted") == store.told("shop-1", None).memories == [ours]
    assert store.visible(None, None) == [mine]


def test_search_finds_words_of_any_script_in_key_and_text(store: MemoryStore) -> None:
    store.add("user", "语言", "请用简体中文回答我的问题")
    store.add("user", "テスト", "毎回テストを実行する")
    store.add("user", "naming", "call it getUserName, never user_nom")
    assert keys(store.search("中文")) == ["语言"]
    assert keys(store.search("实行")) == []
    assert keys(store.search("実行")) == ["テスト"]
    assert keys(store.search("テスト")) == ["テスト"]
    assert keys(store.search("user name")) == ["naming"]
    assert keys(store.search("USER_NAME")) == ["naming"]
    assert store.search("") == store.search("  ") == []


def test_search_takes_nothing_for_an_operator(store: MemoryStore) -> None:
    store.add("user", "load", "keep CPU under 80%")
    store.add("user", "snake", "write a_b, not aXb")
    assert keys(store.search("%")) == ["load"]
    assert keys(store.search("_")) == ["snake"]
    assert keys(store.search("9%")) == keys(store.search("%PU")) == keys(store.search("k__p")) == []
    for typed in ('"', "*", "NEAR(", "OR", "a AND", "key:x", "'; DROP TABLE memories; --", "a\0b", "\ud800"):
        store.search(typed)
    assert len(store.list()) == 2


def test_search_knows_the_words_of_now_alone(store: MemoryStore) -> None:
    made = store.add("user", "k", "apples")
    store.edit(made.id, body="pears")
    assert (store.search("apples"), len(store.search("pears"))) == ([], 1)
    store.delete(made.id)
    assert store.search("pears") == []
    store.undo(made.id)
    store.undo(made.id)
    assert (len(store.search("apples")), store.search("pears")) == (1, [])


def test_a_word_of_the_key_goes_before_one_of_the_text_and_filters_hold(store: MemoryStore) -> None:
    store.add("user", "tools", "we build with make")
    store.add("user", "build", "make -j2")
    store.propose(proposed("build", "ninja", scope="workspace"))
    assert keys(store.search("build", status="accepted")) == ["build", "tools"]
    assert keys(store.search("build", workspace="shop-1")) == ["build"]


# --- shared


def test_a_change_is_seen_by_another_store_at_once(store: MemoryStore) -> None:
    other = MemoryStore(store.path)
    told = other.told("w", None)
    made = store.add("user", "k", "one")
    (change,) = other.changed_since(told.number)
    assert (change.action, change.before, change.after) == ("added", None, made)
    assert other.latest() == change.number > told.number
    assert other.changed_since(change.number) == []
    assert other.told("w", None).memories == [made]


def test_the_count_of_changes_never_goes_back(store: MemoryStore) -> None:
    seen = [store.latest()]
    made = store.add("user", "k", "one")
    for act in (
        lambda: store.edit(made.id, body="two"),
        lambda: store.undo(made.id),
        lambda: store.undo(made.id),
    ):
        seen.append(store.latest())
        act()
    seen.append(store.latest())
    assert seen == sorted(set(seen))


def test_threads_may_use_one_store_at_once(store: MemoryStore) -> None:
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(10):
                store.edit(store.add("user", f"{name}{number}", "one").id, body="two")
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [memory.body for memory in store.list()] == ["two"] * 40


# --- the file


def test_the_file_is_private_and_its_folder_too(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "data" / "memory.db")
    store.add("user", "k", "one")
    assert (store.path.parent.stat().st_mode & 0o777, store.path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_file_that_is_no_database_is_set_aside_and_named(store: MemoryStore) -> None:
    store.path.write_bytes(b"no database at all " * 100)
    assert store.list() == []
    (aside,) = store.path.parent.glob("memory.db.broken-*")
    assert aside.name in store.notice
    assert aside.read_bytes() == b"no database at all " * 100
    store.add("user", "k", "one")
    assert MemoryStore(store.path).notice == ""


def test_a_database_with_a_broken_page_is_set_aside_whole_and_work_goes_on(store: MemoryStore) -> None:
    broken(store.path)
    content = store.path.read_bytes()
    fresh = MemoryStore(store.path)
    assert fresh.list() == []
    assert fresh.add("user", "k", "one").body == "one"
    (aside,) = store.path.parent.glob("memory.db.broken-*")
    assert aside.name in fresh.notice
    assert aside.read_bytes() == content


def test_a_new_file_that_another_program_made_is_not_set_aside(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(store.path)
    lock = fcntl.flock

    def after_another(file: Any, kind: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        set_aside(store.path)
        MemoryStore(store.path).add("user", "theirs", "one")
        lock(file, kind)

    monkeypatch.setattr(fcntl, "flock", after_another)
    assert keys(store.list()) == ["theirs"]
    assert len(list(store.path.parent.glob("memory.db.broken-*"))) == 1


def test_a_broken_file_that_cannot_be_set_aside_is_said(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(store.path)
    content = store.path.read_bytes()

    def refuse(path: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tui_agent.database.set_aside", refuse)
    with pytest.raises(StoreError, match=r"is broken .* and cannot be set aside: Permission denied"):
        store.list()
    assert store.path.read_bytes() == content


def test_a_database_of_a_newer_program_is_left_alone(store: MemoryStore) -> None:
    store.add("user", "k", "one")
    connection = sqlite3.connect(store.path)
    connection.execute(f"PRAGMA user_version = {len(SCHEMA) + 1}")
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        store.list()
    assert list(store.path.parent.glob("*.broken-*")) == []


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        MemoryStore(tmp_path / "file" / "memory.db").list()
