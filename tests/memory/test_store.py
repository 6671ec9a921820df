"""Nothing is remembered without a person's word, nothing remembered is lost, and every change can be undone."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.memory.made import bare, broken, proposed
from tests.support.hostile import TEXTS
from tui_agent.database import set_aside
from tui_agent.memory.schema import LARGEST_BODY, LONGEST_KEY, SCHEMA, Memory, StoreError
from tui_agent.memory.store import MemoryStore


def keys(memories: Any) -> list[str]:
    return [memory.key for memory in memories]


# --- proposals


@pytest.mark.parametrize("scope", ["user", "workspace"])
def test_a_proposal_waits_for_a_person(store: MemoryStore, scope: str) -> None:
    made = store.propose(proposed(scope=scope))
    assert (made.outcome, made.memory.status, made.memory.approved_at) == ("proposed", "proposed", "")
    assert store.told("shop-1", "S1").memories == []
    accepted = store.accept(made.memory.id)
    assert accepted.status == "accepted"
    assert accepted.approved_at
    assert store.told("shop-1", "S1").memories == [accepted]


@pytest.mark.parametrize("claimed", ["accepted", "rejected", "suspended"])
def test_a_proposal_cannot_say_that_it_was_accepted(store: MemoryStore, claimed: str) -> None:
    made = store.propose(proposed(status=claimed, approved_at="2026-01-01", rev=7)).memory
    assert (made.status, made.approved_at, made.rev) == ("proposed", "", 1)


def test_what_is_for_the_session_alone_is_there_at_once(store: MemoryStore) -> None:
    made = store.propose(proposed(scope="session", key=""))
    assert (made.outcome, made.memory.status, made.memory.approved_at) == ("accepted", "accepted", "")
    assert store.told("shop-1", "S1").memories == [made.memory]
    assert store.told("shop-1", "S2").memories == []


@pytest.mark.parametrize("scope", ["session", "user"])
@pytest.mark.parametrize(
    "decide",
    [
        lambda store, id: None,
        lambda store, id: store.accept(id),
        lambda store, id: store.delete(id),
        lambda store, id: store.edit(id, body="changed"),
        lambda store, id: store.end_session("S1"),
    ],
    ids=["left", "accepted", "deleted", "edited", "ended"],
)
def test_the_same_proposal_is_stored_once_whatever_came_of_it(
    store: MemoryStore, scope: str, decide: Callable[[MemoryStore, str], object]
) -> None:
    made = store.propose(proposed(scope=scope)).memory
    decide(store, made.id)
    before, number = store.list(), store.latest()
    assert store.propose(proposed(scope=scope)).outcome == "known"
    assert (store.list(), store.latest()) == (before, number)


def test_a_proposal_that_was_merged_into_an_older_memory_does_not_come_back(store: MemoryStore) -> None:
    store.add("user", "indent", "I use spaces")
    store.accept(store.propose(proposed()).memory.id)
    assert store.propose(proposed()).outcome == "known"
    assert len(store.list()) == 1


def test_what_was_refused_is_not_asked_again_in_any_session(store: MemoryStore) -> None:
    refused = store.reject(store.propose(proposed()).memory.id)
    again = store.propose(proposed(record="R9", source_session="S9"))
    assert (again.outcome, again.memory) == ("refused", refused)
    assert store.propose(proposed(body="I use spaces")).outcome == "proposed"
    assert store.counts()["proposed"] == 1


def test_a_refusal_is_of_its_place_alone_and_can_be_undone(store: MemoryStore) -> None:
    made = store.propose(proposed(scope="workspace")).memory
    store.reject(made.id)
    assert store.propose(proposed(scope="workspace", workspace_id="other-2")).outcome == "proposed"
    store.undo(made.id)
    assert store.propose(proposed(scope="workspace", record="R2")).outcome == "waiting"


def test_what_is_remembered_or_waits_already_is_not_asked_twice(store: MemoryStore) -> None:
    made = store.propose(proposed()).memory
    assert store.propose(proposed(record="R2")).memory == made
    store.accept(made.id)
    assert store.propose(proposed(record="R3")).outcome == "same"
    assert len(store.list()) == 1


# --- keys


def test_an_accepted_proposal_replaces_the_memory_with_its_key(store: MemoryStore) -> None:
    old = store.add("user", "indent", "I use spaces")
    made = store.propose(proposed(tainted=True, outside=("README.md",))).memory
    new = store.accept(made.id)
    assert (new.id, new.body, new.rev) == (old.id, "I use tabs", old.rev + 1)
    assert (new.source_record, new.tainted, new.outside) == ("R1", True, ("README.md",))
    assert keys(store.list()) == ["indent"]
    assert [(c.action, c.before and c.before.body) for c in store.history(old.id)] == [
        ("added", None),
        ("replaced", "I use spaces"),
    ]
    with pytest.raises(StoreError, match="its text replaced that of an older memory"):
        store.accept(made.id)


def test_a_key_is_unique_in_its_place_and_free_in_others(store: MemoryStore) -> None:
    places: list[dict[str, Any]] = [
        {"scope": "user"},
        {"scope": "workspace", "workspace": "a"},
        {"scope": "workspace", "workspace": "b"},
        {"scope": "session", "session": "S1", "workspace": "a"},
        {"scope": "session", "session": "S2"},
    ]
    made = [store.add(key="k", body=str(n), **place).id for n, place in enumerate(places)]
    again = [store.add(key="k", body=f"new {n}", **place).id for n, place in enumerate(places)]
    assert again == made
    assert len(set(made)) == len(store.list()) == 5


def test_the_database_itself_refuses_two_accepted_rows_of_the_user_with_one_key(store: MemoryStore) -> None:
    store.add("user", "k", "one")
    connection = sqlite3.connect(store.path)
    columns = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(memories)") if row[1] != "n")
    values = columns.replace("id,", "'other',", 1)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"INSERT INTO memories ({columns}) SELECT {values} FROM memories")
    connection.close()


def test_an_edit_does_not_take_the_key_of_another(store: MemoryStore) -> None:
    store.add("user", "a", "one")
    other = store.add("user", "b", "two")
    with pytest.raises(StoreError, match="another user memory has the key 'a'"):
        store.edit(other.id, key="a")
    assert store.get(other.id) == other


def test_a_session_may_remember_many_things_without_a_key(store: MemoryStore) -> None:
    for number in range(3):
        store.propose(proposed(scope="session", key="", body=f"fact {number}"))
    assert len(store.told(None, "S1").memories) == 3
    assert store.propose(proposed(scope="session", key="", body="fact 1", record="R2")).outcome == "same"


# --- a person's changes


def test_a_proposal_is_accepted_with_other_words_and_elsewhere(store: MemoryStore) -> None:
    made = store.propose(proposed()).memory
    new = store.accept(made.id, key="style", body="tabs, always", scope="workspace", workspace="shop-1")
    assert (new.id, new.key, new.body, new.scope, new.workspace_id) == (
        *(made.id, "style", "tabs, always", "workspace", "shop-1"),
    )
    assert store.find("style", "workspace", workspace="shop-1") == new
    assert store.find("indent", "user") is None


def test_what_is_accepted_already_is_accepted_once(store: MemoryStore) -> None:
    made = store.accept(store.propose(proposed()).memory.id)
    assert store.accept(made.id) == made
    assert len(store.history(made.id)) == 2
    assert store.accept(made.id, body="spaces").body == "spaces"
    assert bare(*store.undo(made.id)) == bare(made)


def test_a_key_is_the_same_however_it_was_typed(store: MemoryStore) -> None:
    made = store.add("user", "  caf\u00e9\n menu ", "one")
    assert made.key == "caf\u00e9 menu"
    assert store.add("user", "cafe\u0301 menu", "two").id == made.id
    assert store.find("cafe\u0301 menu", "user") == store.get(made.id)


def test_a_workspace_proposal_made_the_users_has_no_workspace(store: MemoryStore) -> None:
    made = store.propose(proposed(scope="workspace")).memory
    new = store.accept(made.id, scope="user")
    assert (new.workspace_id, new.session_id) == (None, None)
    assert store.told("elsewhere", None).memories == [new]


def test_one_moved_to_the_session_goes_to_that_which_proposed_it(store: MemoryStore) -> None:
    made = store.propose(proposed()).memory
    assert store.accept(made.id, scope="session").session_id == "S1"


def test_what_changed_since_it_was_looked_at_is_not_overwritten(store: MemoryStore) -> None:
    old = store.add("user", "k", "one")
    store.edit(old.id, body="two", rev=old.rev)
    with pytest.raises(StoreError, match="changed meanwhile"):
        store.edit(old.id, body="three", rev=old.rev)
    assert store.get(old.id).body == "two"


def test_an_edit_that_changes_nothing_is_none(store: MemoryStore) -> None:
    old = store.add("user", "k", "one")
    assert store.edit(old.id, body=" one\n") == old
    assert store.add("user", "k", "one") == old
    assert len(store.history(old.id)) == 1


def test_only_a_proposal_is_refused(store: MemoryStore) -> None:
    with pytest.raises(StoreError, match="only a proposal"):
        store.reject(store.add("user", "k", "one").id)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": ""}, "needs a key"),
        ({"key": " \n"}, "needs a key"),
        ({"key": "k" * (LONGEST_KEY + 1)}, "128 are allowed"),
        ({"key": "a\x1b[2Jb"}, "control characters"),
        ({"body": ""}, "empty"),
        ({"body": " \r\n\t"}, "empty"),
        ({"body": "日" * (LARGEST_BODY // 3 + 1)}, "4,098 bytes"),
        ({"scope": "world"}, "no scope 'world'"),
        ({"scope": "workspace", "workspace_id": None}, "needs a workspace"),
        ({"scope": "session", "session_id": None}, "needs a session"),
    ],
)
def test_what_cannot_be_stored_is_said_and_changes_nothing(
    store: MemoryStore, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(StoreError, match=words):
        store.propose(proposed(**fields))
    assert store.list() == []


def test_the_largest_key_and_body_are_kept_whole(store: MemoryStore) -> None:
    made = store.add("user", "k" * LONGEST_KEY, "b" * LARGEST_BODY)
    assert store.get(made.id) == made


@pytest.mark.parametrize("name", sorted(name for name, text in TEXTS.items() if 0 < len(text.strip()) < 1000))
def test_hostile_text_is_kept_and_can_be_undone(store: MemoryStore, name: str) -> None:
    text = TEXTS[name]
    made = store.add("user", "k", text)
    changed = store.edit(made.id, body="changed")
    assert bare(*store.undo(made.id)) == bare(made) == bare(store.get(made.id))
    assert changed.rev < store.get(made.id).rev
    assert store.search(text) in ([], [store.get(made.id)])


def test_what_is_not_there_is_said(store: MemoryStore) -> None:
    for act in (store.get, store.accept, store.reject, store.edit, store.delete, store.undo):
        with pytest.raises(StoreError, match="there is no memory 'nothing'"):
            act("nothing")


# --- undo


def test_undo_takes_changes_back_one_by_one_to_exactly_what_was(store: MemoryStore) -> None:
    states: list[Memory] = [store.propose(proposed()).memory]
    memory_id = states[0].id
    states.append(store.accept(memory_id, body="tabs of 4"))
    states.append(store.edit(memory_id, key="tabs"))
    states.append(store.edit(memory_id, scope="workspace", workspace="shop-1"))
    store.delete(memory_id)
    with pytest.raises(StoreError, match="it was deleted"):
        store.get(memory_id)
    for state in reversed(states):
        (back,) = store.undo(memory_id)
        assert bare(back) == bare(state) == bare(store.get(memory_id))
    with pytest.raises(StoreError, match="nothing is left to undo"):
        store.undo(memory_id)
    revs = [change.after.rev for change in store.history(memory_id) if change.after is not None]
    assert revs == sorted(set(revs))


def test_undo_of_a_replacement_brings_back_the_old_text_and_the_proposal(store: MemoryStore) -> None:
    old = store.add("user", "indent", "I use spaces")
    made = store.propose(proposed()).memory
    for named in (old.id, made.id):
        store.accept(made.id)
        store.undo(named)
        assert bare(store.get(old.id)) == bare(old)
        assert bare(store.get(made.id)) == bare(made)


def test_a_merged_proposal_does_not_come_back_over_a_later_change(store: MemoryStore) -> None:
    old = store.add("user", "indent", "I use spaces")
    made = store.propose(proposed()).memory
    store.accept(made.id)
    store.edit(old.id, body="neither")
    with pytest.raises(StoreError, match="changed since; undo that first"):
        store.undo(made.id)
    assert store.get(old.id).body == "neither"


def test_undo_of_an_addition_forgets_it(store: MemoryStore) -> None:
    made = store.add("user", "k", "one")
    assert store.undo(made.id) == []
    assert store.list() == []
    with pytest.raises(StoreError, match="nothing is left"):
        store.undo(made.id)


def test_undo_does_not_take_a_key_that_is_used_again(store: MemoryStore) -> None:
    old = store.delete(store.add("user", "k", "one").id)
    new = store.add("user", "k", "two")
    with pytest.raises(StoreError, match="another user memory has the key 'k'"):
        store.undo(old.id)
    assert store.list() == [new]
    store.delete(new.id)
    assert bare(*store.undo(old.id)) == bare(old)


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
