"""Whatever is done to memories in whatever order, an undo brings back exactly what was, and the history tells it all.

The model knows nothing of the store's tables: it keeps what `list` showed before each act.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.memory.made import bare, proposed
from tui_agent.memory.schema import Memory, Scope, StoreError, place
from tui_agent.memory.store import MemoryStore

KEYS = st.sampled_from(["a", "b"])
BODIES = st.sampled_from(["one", "two", "三つ目の文"])
SCOPES = st.sampled_from(["user", "workspace"])
RECORDS = st.sampled_from(["R1", "R2", "R3"])
PICK = st.integers(0, 20)

Shown = dict[str, Memory]


@dataclass
class Act:
    """What each memory was that one act changed; None: it was not there."""

    before: dict[str, Memory | None]
    is_proposal: bool = False
    undone: bool = False


class Memories(RuleBasedStateMachine):
    """A store, and beside it what was."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memories-"))
        self.store = MemoryStore(self.folder / "memory.db")
        self.acts: list[Act] = []

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def shown(self) -> Shown:
        return {memory.id: bare(memory) for memory in self.store.list()}

    def act(self, work: Callable[[], object], *, is_proposal: bool = False) -> None:
        """Do it and keep what it changed; one that fails changes nothing."""
        before = self.shown()
        try:
            work()
        except StoreError:
            assert self.shown() == before
            return
        after = self.shown()
        changed = {
            id: before.get(id) for id in before.keys() | after.keys() if before.get(id) != after.get(id)
        }
        if changed:
            self.acts.append(Act(changed, is_proposal))

    def one(self, pick: int) -> str:
        known = sorted({id for act in self.acts for id in act.before}) or ["nothing"]
        return known[pick % len(known)]

    @rule(key=KEYS, body=BODIES, scope=SCOPES, record=RECORDS)
    def propose(self, key: str, body: str, scope: str, record: str) -> None:
        self.act(lambda: self.store.propose(proposed(key, body, scope, record=record)), is_proposal=True)

    @rule(key=KEYS, body=BODIES)
    def add(self, key: str, body: str) -> None:
        self.act(lambda: self.store.add("user", key, body))

    @rule(pick=PICK, key=st.none() | KEYS, body=st.none() | BODIES, elsewhere=st.booleans())
    def accept(self, pick: int, key: str | None, body: str | None, elsewhere: bool) -> None:
        scope: Scope | None = "workspace" if elsewhere else None
        id = self.one(pick)
        self.act(lambda: self.store.accept(id, key=key, body=body, scope=scope, workspace="shop-1"))

    @rule(pick=PICK, key=st.none() | KEYS, body=st.none() | BODIES)
    def edit(self, pick: int, key: str | None, body: str | None) -> None:
        id = self.one(pick)
        self.act(lambda: self.store.edit(id, key=key, body=body))

    @rule(pick=PICK)
    def reject(self, pick: int) -> None:
        id = self.one(pick)
        self.act(lambda: self.store.reject(id))

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        id = self.one(pick)
        self.act(lambda: self.store.delete(id))

    @rule(pick=PICK)
    def undo(self, pick: int) -> None:
        id = self.one(pick)
        before = self.shown()
        act = self.last_of(id)
        allowed = (
            act is not None and not act.is_proposal and all(self.last_of(each) is act for each in act.before)
        )
        wanted = before | {each: was for each, was in act.before.items() if was} if act else before
        wanted = {each: memory for each, memory in wanted.items() if not act or act.before.get(each, memory)}
        if not allowed or clash(wanted):
            with pytest.raises(StoreError):
                self.store.undo(id)
            wanted = before
        else:
            assert act is not None
            self.store.undo(id)
            act.undone = True
        assert self.shown() == wanted

    @rule(records=st.sets(RECORDS))
    def turns_are_undone_and_redone(self, records: set[str]) -> None:
        before = self.shown()
        self.store.suspend("S1", sorted(records))
        for memory in self.store.list():
            if memory.source_record in records:
                assert memory.status in ("suspended", "rejected")
        self.store.resume("S1", sorted(records))
        assert self.shown() == before

    def last_of(self, id: str) -> Act | None:
        return next((act for act in reversed(self.acts) if not act.undone and id in act.before), None)

    @invariant()
    def keys_are_unique(self) -> None:
        assert not clash(self.shown())

    @invariant()
    def the_history_leads_to_what_is_there(self) -> None:
        told: Shown = {}
        revs: dict[str, int] = {}
        for change in self.store.changed_since(0):
            assert told.get(change.id) == (bare(change.before) if change.before else None)
            told.pop(change.id, None)
            if change.after is not None:
                assert change.after.rev > revs.get(change.id, 0)
                revs[change.id] = change.after.rev
                told[change.id] = bare(change.after)
        assert told == self.shown()

    @invariant()
    def words_find_what_holds_them_and_nothing_else(self) -> None:
        everything = self.store.list()
        for word in ("one", "目の"):
            found = {memory.id for memory in self.store.search(word)}
            assert found == {memory.id for memory in everything if word in memory.body}


def clash(shown: Shown) -> bool:
    """True if two accepted memories of one place have the same key."""
    keys = [
        (memory.scope, place(memory), memory.key) for memory in shown.values() if memory.status == "accepted"
    ]
    return len(keys) > len(set(keys))


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def test_any_sequence_of_changes_is_undone_to_exactly_what_was() -> None:
    quick = settings(
        max_examples=15,
        stateful_step_count=15,
        deadline=None,
        suppress_health_check=CHECKS,
        derandomize=True,
        database=None,
    )
    run_state_machine_as_test(Memories, settings=quick)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_longer_sequences_of_changes() -> None:
    long = settings(
        max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=CHECKS, database=None
    )
    run_state_machine_as_test(Memories, settings=long)
