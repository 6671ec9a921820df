"""Nothing is remembered without a person's word, nothing remembered is lost, and every change can be undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from tests.memory.made import bare, proposed
from tests.support.hostile import TEXTS
from tui_agent.memory.schema import LARGEST_BODY, LONGEST_KEY, Memory, StoreError
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
