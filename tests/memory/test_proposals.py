"""A marker becomes a proposal once, whatever happens between the answer on disk and the store."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.memory.made import bare
from tui_agent.memory.markers import Marker, MarkerParser
from tui_agent.memory.proposals import Proposals, Source, Taken, identity, is_noise
from tui_agent.memory.schema import StoreError
from tui_agent.memory.store import MemoryStore


def marker(scope: str = "user", key: str = "indent", body: str = "I use tabs") -> Marker:
    (found,) = MarkerParser().feed(f'<memory scope="{scope}" key="{key}">{body}</memory>').found
    assert isinstance(found, Marker)
    return found


def source(record: str = "R1", ordinal: int = 0, **given: Any) -> Source:
    return Source(**{"session": "S1", "record": record, "ordinal": ordinal, "workspace": "shop-1", **given})


def take(store: MemoryStore, wanted: Marker, **given: Any) -> Taken:
    return Proposals(store).take(wanted, source(**given))


@pytest.mark.parametrize("scope", ["user", "workspace"])
def test_a_marker_waits_for_a_person_and_knows_where_it_came_from(store: MemoryStore, scope: str) -> None:
    taken = take(store, marker(scope), ordinal=3)
    memory = taken.memory
    assert (taken.outcome, taken.old, taken.noise, memory.status) == ("proposed", "", False, "proposed")
    assert (memory.scope, memory.key, memory.body) == (scope, "indent", "I use tabs")
    assert memory.workspace_id == (None if scope == "user" else "shop-1")
    assert (memory.session_id, memory.source_session, memory.source_record) == (None, "S1", "R1")
    assert memory.id == hashlib.sha256(b"S1\nR1\n3").hexdigest() == identity(source(ordinal=3))
    assert store.list() == [memory]
    assert store.told("shop-1", "S1").memories == []


def test_one_for_the_session_is_there_at_once_and_replaces_one_with_its_key(store: MemoryStore) -> None:
    assert take(store, marker("session", body="one")).outcome == "accepted"
    taken = take(store, marker("session", body="two"), record="R2")
    assert (taken.outcome, taken.old) == ("accepted", "one")
    assert [memory.body for memory in store.told(None, "S1").memories] == ["two"]


def test_notes_of_a_session_without_a_key_stand_beside_each_other(store: MemoryStore) -> None:
    for number in range(3):
        taken = take(store, marker("session", "", f"note {number}"), ordinal=number)
        assert (taken.outcome, taken.old) == ("accepted", "")
    assert len(store.told(None, "S1").memories) == 3


def test_it_is_tainted_by_what_the_turn_had_read(store: MemoryStore) -> None:
    clean = take(store, marker(key="a")).memory
    tainted = take(store, marker(key="b"), record="R2", outside=["README.md", "curl example.org"]).memory
    assert (clean.tainted, clean.outside) == (False, ())
    assert (tainted.tainted, tainted.outside) == (True, ("README.md", "curl example.org"))


def test_what_it_would_replace_is_told(store: MemoryStore) -> None:
    store.add("user", "indent", "I use spaces")
    store.add("workspace", "indent", "of another place", workspace="other-2")
    assert take(store, marker()).old == "I use spaces"
    assert take(store, marker("workspace"), record="R2").old == ""
    assert len(store.list(status="accepted")) == 2


def test_what_is_known_refused_said_or_waits_is_not_asked_again(store: MemoryStore) -> None:
    first = take(store, marker()).memory
    assert take(store, marker()).outcome == "known"
    again = take(store, marker(), record="R2")
    assert (again.outcome, again.memory) == ("waiting", first)
    store.reject(first.id)
    assert take(store, marker()).outcome == "known"
    refused = take(store, marker(), record="R3", session="S9")
    assert (refused.outcome, refused.memory.id) == ("refused", first.id)
    store.accept(first.id)
    same = take(store, marker(), record="R4")
    assert (same.outcome, same.old) == ("same", "I use tabs")
    assert len(store.list()) == 1


def test_where_it_stands_tells_two_markers_apart(store: MemoryStore) -> None:
    places: list[dict[str, Any]] = [{"ordinal": 0}, {"ordinal": 1}, {"record": "R2"}, {"session": "S2"}]
    taken = [take(store, marker(body=f"{n}"), **place) for n, place in enumerate(places)]
    assert len({each.memory.id for each in taken}) == 4
    assert len({identity(source(record="1", ordinal=1)), identity(source(record="11", ordinal=0))}) == 2


def test_one_for_a_workspace_needs_one(store: MemoryStore) -> None:
    with pytest.raises(StoreError, match="needs a workspace"):
        take(store, marker("workspace"), workspace=None)
    assert store.list() == []


# --- how the work stands


@pytest.mark.parametrize(
    "body",
    [
        "tests passed",
        "All tests pass.",
        "task done",
        "The task is complete!",
        "All 42 unit tests are passing now",
        "42 passed, 3 failed",
        "build green; lint clean",
        "The bug is fixed and all tests passed",
        "Task 3 completed successfully",
        "everything works",
        "Tests: ok",
        "done",
        "✅ Done",
        "I have finished implementing the login page",
        "Currently working on the parser",
        "no errors left, no warnings",
        "Committed the changes.",
        "测试通过",
        "所有测试均已通过。",
        "任务完成了",
        "テストはすべて成功しました",
        "タスク完了。ビルドが通った",
    ],
)
def test_how_the_work_stands_is_noise(body: str) -> None:
    assert is_noise(body)


@pytest.mark.parametrize(
    "body",
    [
        "I use tabs",
        "tests are run with pytest -n 0",
        "All tests must pass before a commit",
        "The tests pass only with TZ=UTC",
        "Run the tests before every commit",
        "tests live in tests/, built with make",
        "Tests passed after pinning numpy to 1.26",
        "The user likes short answers, tests passed",
        "fix bugs by writing a failing test first",
        "the build needs node 20",
        "Never merge without review",
        "工作目录是 src",
        "テストは pytest で実行する",
        "ok means that the answer is yes",
        "",
        " . ",
        "tests passed. " * 40,
    ],
)
def test_what_stays_true_is_no_noise(body: str) -> None:
    assert not is_noise(body)


def test_noise_is_marked_and_stored_like_any(store: MemoryStore) -> None:
    taken = take(store, marker(body="All tests passed"))
    assert (taken.noise, taken.outcome) == (True, "proposed")


@pytest.mark.parametrize(
    "text", ["all ", "1 ", "1", "tests ", "is ", "done ", "測試", "finished ", "\t", "🎉", "of "]
)
def test_noise_is_looked_for_in_any_text(text: str) -> None:
    is_noise((text * 300)[:300])
    is_noise((text * 300)[:299] + "x")


# --- killed

KILLED = """
import json, os, shutil, signal, sqlite3, sys
from pathlib import Path
from tui_agent.memory.markers import MarkerParser
from tui_agent.memory.proposals import Proposals, Source
from tui_agent.memory.store import MemoryStore

folder, scope = Path(sys.argv[1]), sys.argv[2]
(marker,) = MarkerParser().feed(f'<memory scope="{scope}" key="k">new</memory>').found
source = Source("S1", "R1", 0, "shop-1", ["README.md"])

def take(path):
    return Proposals(MemoryStore(path)).take(marker, source)

class Counted(sqlite3.Connection):
    left = 0
    def __init__(self, *args, **given):
        super().__init__(*args, **given)
        self.set_trace_callback(count)

def count(statement):
    Counted.left -= 1
    if Counted.left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

connect, status, number = sqlite3.connect, 1, 0
begun = MemoryStore(folder / "begun" / "memory.db")
begun.add("user", "k", "old")
begun.add("session", "k", "old", session="S1")
while status:
    number += 1
    path = folder / f"{number}" / "memory.db"
    shutil.copytree(begun.path.parent, path.parent)
    if not (child := os.fork()):
        Counted.left = number
        sqlite3.connect = lambda *args, **given: connect(*args, **{**given, "factory": Counted})
        take(path)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    first, second = take(path), take(path)
    print(json.dumps([first.outcome, second.outcome]), flush=True)
"""


@pytest.mark.parametrize("scope", ["user", "session"])
def test_a_kill_at_any_statement_leaves_it_to_be_taken_again_and_once(tmp_path: Path, scope: str) -> None:
    script = [sys.executable, "-c", KILLED, str(tmp_path), scope]
    done = subprocess.run(script, capture_output=True, text=True, timeout=90)
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    new = "accepted" if scope == "session" else "proposed"
    firsts = [first for first, _ in lines]
    assert firsts == sorted(firsts, key=lambda outcome: outcome == "known")
    assert firsts.count(new) >= 10
    assert set(firsts) == {new, "known"}
    assert {second for _, second in lines} == {"known"}
    states, name = set(), identity(source())
    for number in range(1, len(lines) + 1):
        store = MemoryStore(tmp_path / f"{number}" / "memory.db")
        found = [(m.scope, m.body, m.status, m.outside) for m in store.list()]
        states.add(tuple(sorted(found)))
        assert store.notice == ""
        wanted = ["proposed", "merged"] if scope == "session" else ["proposed"]
        assert [change.action for change in store.history(name)] == wanted
    (state,) = states
    assert ("user", "old", "accepted", ()) in state
    replaced = ("session", "new", "accepted", ("README.md",))
    assert (replaced in state) == (scope == "session")
    assert len(state) == (2 if scope == "session" else 3)


def test_what_was_taken_comes_back_bare_after_an_undone_turn(store: MemoryStore) -> None:
    made = take(store, marker()).memory
    store.suspend("S1", ["R1"])
    assert take(store, marker()).outcome == "known"
    store.resume("S1", ["R1"])
    assert [bare(memory) for memory in store.list()] == [bare(made)]
