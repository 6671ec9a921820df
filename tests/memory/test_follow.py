"""Memories go and come with the turns and the session that they came from."""

from __future__ import annotations

import pytest

from tests.memory.made import bare, proposed
from tui_agent.memory.schema import StoreError
from tui_agent.memory.store import MemoryStore


def test_what_an_undone_turn_proposed_is_not_told_and_comes_back_with_it(store: MemoryStore) -> None:
    kept = store.propose(proposed(scope="session", record="R1", key="early")).memory
    waiting = store.propose(proposed("a", record="R2")).memory
    accepted = store.accept(store.propose(proposed("b", record="R2")).memory.id)
    at_once = store.propose(proposed("c", scope="session", record="R3")).memory
    refused = store.reject(store.propose(proposed("d", record="R3")).memory.id)
    before = [bare(memory) for memory in store.list()]
    gone = store.suspend("S1", ["R2", "R3", "R4"])
    assert {memory.id for memory in gone} == {waiting.id, accepted.id, at_once.id}
    assert {memory.status for memory in gone} == {"suspended"}
    assert store.told(None, "S1").memories == [kept]
    assert store.get(refused.id) == refused
    back = store.resume("S1", ["R2", "R3", "R4"])
    assert {memory.id for memory in back} == {memory.id for memory in gone}
    assert [bare(memory) for memory in store.list()] == before


def test_another_session_with_the_same_messages_is_left_alone(store: MemoryStore) -> None:
    made = store.accept(store.propose(proposed(source_session="S2")).memory.id)
    assert store.suspend("S1", ["R1"]) == []
    assert store.told(None, None).memories == [made]


@pytest.mark.parametrize("scope", ["session", "user"])
def test_the_older_text_is_back_when_the_turn_that_replaced_it_is_undone(
    store: MemoryStore, scope: str
) -> None:
    texts = ["one", "two", "three"]
    for number, text in enumerate(texts):
        made = store.propose(proposed("k", text, scope, record=f"R{number}")).memory
        store.accept(made.id)
    store.suspend("S1", ["R1", "R2"])
    (now,) = store.told(None, "S1").memories
    assert (now.body, now.source_record) == ("one", "R0")
    assert sorted(memory.body for memory in store.list(status="suspended")) == ["three", "two"]
    store.resume("S1", ["R1", "R2"])
    (now,) = store.told(None, "S1").memories
    assert (now.body, now.source_record) == ("three", "R2")
    assert len(store.list()) == 1
    store.suspend("S1", ["R2"])
    assert [memory.body for memory in store.told(None, "S1").memories] == ["two"]


def test_a_persons_words_are_suspended_with_the_turn_and_come_back_with_it(store: MemoryStore) -> None:
    store.add("user", "k", "mine")
    made = store.accept(store.propose(proposed("k", "theirs")).memory.id)
    store.edit(made.id, body="theirs, corrected")
    store.suspend("S1", ["R1"])
    assert [memory.body for memory in store.told(None, None).memories] == ["mine"]
    store.resume("S1", ["R1"])
    assert [memory.body for memory in store.told(None, None).memories] == ["theirs, corrected"]
    store.undo(made.id)
    store.undo(made.id)
    assert store.get(made.id).body == "mine"


def test_a_redone_turn_replaces_again_what_was_edited_meanwhile(store: MemoryStore) -> None:
    old = store.add("user", "k", "mine")
    store.accept(store.propose(proposed("k", "theirs")).memory.id)
    store.suspend("S1", ["R1"])
    store.edit(old.id, body="mine, newer")
    store.resume("S1", ["R1"])
    assert [memory.body for memory in store.list()] == ["theirs"]
    store.undo(old.id)
    assert store.get(old.id).body == "mine, newer"


def test_what_lost_its_key_meanwhile_stays_suspended(store: MemoryStore) -> None:
    made = store.accept(store.propose(proposed("k", "theirs")).memory.id)
    store.suspend("S1", ["R1"])
    mine = store.add("user", "k", "mine")
    assert store.resume("S1", ["R1"]) == []
    assert store.told(None, None).memories == [mine]
    assert store.get(made.id).status == "suspended"
    store.delete(mine.id)
    assert [memory.body for memory in store.resume("S1", ["R1"])] == ["theirs"]


def test_what_is_suspended_is_accepted_or_deleted_but_not_edited_or_undone(store: MemoryStore) -> None:
    made = store.accept(store.propose(proposed()).memory.id)
    store.suspend("S1", ["R1"])
    with pytest.raises(StoreError, match="a turn that was undone; accept it first"):
        store.edit(made.id, body="x")
    with pytest.raises(StoreError, match="a turn was undone; that is what to bring back"):
        store.undo(made.id)
    assert store.accept(made.id).status == "accepted"
    assert store.resume("S1", ["R1"]) == []
    store.delete(made.id)
    assert store.list() == []


def test_many_undone_messages_are_no_problem(store: MemoryStore) -> None:
    made = store.propose(proposed(record="R40000")).memory
    assert store.suspend("S1", [f"R{number}" for number in range(50_000)])[0].id == made.id


def test_the_memories_of_a_session_end_with_it_and_come_back_with_it(store: MemoryStore) -> None:
    store.propose(proposed("a", scope="session"))
    store.propose(proposed("", "without a key", scope="session"))
    store.propose(proposed("b", scope="session", source_session="S2"))
    accepted = store.accept(store.propose(proposed("c")).memory.id)
    before = [bare(memory) for memory in store.told(None, "S1").memories]
    assert store.end_session("S1") == 2
    assert store.end_session("S1") == 0
    assert store.told(None, "S1").memories == [accepted]
    assert len(store.told(None, "S2").memories) == 2
    assert store.restore_session("S1") == 2
    assert store.restore_session("S1") == 0
    assert [bare(memory) for memory in store.told(None, "S1").memories] == before


def test_a_session_may_end_and_come_back_many_times(store: MemoryStore) -> None:
    made = store.propose(proposed(scope="session")).memory
    for _ in range(3):
        store.end_session("S1")
        with pytest.raises(StoreError, match="ended with its session"):
            store.get(made.id)
        with pytest.raises(StoreError, match="archived or deleted"):
            store.undo(made.id)
        store.restore_session("S1")
    assert bare(store.get(made.id)) == bare(made)


def test_a_session_that_remembered_anew_keeps_the_newer(store: MemoryStore) -> None:
    store.propose(proposed("k", "old", "session"))
    store.propose(proposed("other", "old", "session"))
    store.end_session("S1")
    store.propose(proposed("k", "new", "session", record="R2"))
    assert store.restore_session("S1") == 1
    assert sorted(memory.body for memory in store.told(None, "S1").memories) == ["new", "old"]


def test_a_fork_has_memories_of_its_own(store: MemoryStore) -> None:
    store.propose(proposed("a", scope="session", record="R1"))
    store.propose(proposed("b", scope="session", record="R2"))
    assert store.fork_session("S1", "S2", ["R1"]) == 1
    assert store.fork_session("S1", "S2", ["R1"]) == 0
    (copy,) = store.told(None, "S2").memories
    assert (copy.key, copy.source_session) == ("a", "S2")
    store.edit(copy.id, body="changed in the fork")
    store.suspend("S1", ["R1"])
    assert [memory.body for memory in store.told(None, "S2").memories] == ["changed in the fork"]
    assert [memory.key for memory in store.told(None, "S1").memories] == ["b"]
