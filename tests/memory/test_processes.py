"""Two programs write at once: nothing is lost, nobody hears of locks. One is killed in the middle: the store opens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.memory.made import broken, proposed
from tests.support import crash
from tui_agent.memory.schema import StoreError
from tui_agent.memory.store import MemoryStore

WRITER = """
import sys, time
from pathlib import Path
from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore
store, name, until = MemoryStore(Path(sys.argv[1])), sys.argv[2], time.monotonic() + float(sys.argv[3])
number = 0
while time.monotonic() < until:
    key = f"{name}{number}"
    made = store.propose(Memory(id=key, scope="user", key=key, body="proposed", source_session=name)).memory
    assert store.accept(made.id, body=f"{name} {number}").id == key
    shared = store.add("user", "shared", f"{name} {number}")
    assert shared.key == "shared", shared
    assert store.find(key, "user").body == f"{name} {number}"
    assert store.search(key) and store.counts()["accepted"] and store.latest()
    number += 1
print(number)
"""

CHANGES = """
import json, sys
from pathlib import Path
from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore
store = MemoryStore(Path(sys.argv[1]))
def ids():
    return {memory.key: memory.id for memory in store.list()}
steps = [
    lambda: store.propose(Memory(id="p", scope="user", key="old", body="new words", source_session="S1")),
    lambda: store.accept("p"),
    lambda: store.edit(ids()["old"], key="young", body="x" * 4000),
    lambda: store.propose(Memory(id="q", scope="session", key="s", body="once", session_id="S1")),
    lambda: store.end_session("S1"),
    lambda: store.undo(ids()["young"]),
    lambda: store.delete(ids()["old"]),
]
for step in steps:
    step()
    print(json.dumps(sorted((m.key, m.body, m.status) for m in store.list())), flush=True)
"""

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink")
"""Those with which SQLite changes files."""

EVERY = 41
"""CI kills at every so-many-th call."""


def both_write(path: Path, seconds: float) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    ended = [process.communicate(timeout=seconds + 90) for process in running]
    assert [err for _, err in ended] == ["", ""]
    counts = {name: int(out) for name, (out, _) in zip("ab", ended, strict=True)}
    assert min(counts.values()) > 0
    store = MemoryStore(path)
    wanted = {f"{name}{n}": f"{name} {n}" for name, count in counts.items() for n in range(count)}
    found = {memory.key: memory.body for memory in store.list(status="accepted")}
    last = found.pop("shared")
    assert found == wanted
    assert last in {f"{name} {count - 1}" for name, count in counts.items()}
    changes = store.changed_since(0)
    assert [change.number for change in changes] == list(range(1, len(changes) + 1))
    assert len(changes) == 3 * sum(counts.values())
    assert store.notice == ""


def test_two_programs_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    both_write(tmp_path / "memory.db", 2)


@pytest.mark.slow
def test_two_programs_write_at_once_for_half_a_minute(tmp_path: Path) -> None:
    both_write(tmp_path / "memory.db", 30)


def test_two_programs_that_find_it_broken_make_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    broken(path)
    content = path.read_bytes()
    both_write(path, 0.5)
    (aside,) = tmp_path.glob("memory.db.broken-*[0-9]")  # what lay beside it may be there too: -wal, -shm
    assert aside.read_bytes() == content


HOLDER = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE');"
    "print('holding', flush=True); sys.stdin.readline(); c.execute('COMMIT')"
)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that writes the store of this test until it is told to end."""
    MemoryStore(tmp_path / "memory.db").add("user", "k", "one")
    argv = [sys.executable, "-c", HOLDER, str(tmp_path / "memory.db")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holding\n"
        yield other


@pytest.mark.parametrize("seconds", [0, 5], ids=["by asking again", "by SQLite"])
def test_a_long_writer_is_waited_for(
    tmp_path: Path, held: subprocess.Popen[str], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.database.BUSY_SECONDS", seconds)
    store = MemoryStore(tmp_path / "memory.db")
    assert [memory.body for memory in store.list()] == ["one"]
    made: list[str] = []
    writer = threading.Thread(target=lambda: made.append(store.add("user", "k", "two").body))
    writer.start()
    writer.join(0.2)
    assert made == []
    held.communicate("end\n")
    writer.join(30)
    assert made == ["two"]


def test_one_that_never_ends_is_said_in_words(
    tmp_path: Path, held: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.database.BUSY_SECONDS", 0)
    monkeypatch.setattr("tui_agent.memory.connect._PATIENCE", 0)
    store = MemoryStore(tmp_path / "memory.db")
    with pytest.raises(StoreError, match="kept busy by another program; try again"):
        store.add("user", "k", "two")
    held.communicate("end\n")
    assert [memory.body for memory in store.list()] == ["one"]


def shown(store: MemoryStore) -> list[Any]:
    return sorted([memory.key, memory.body, memory.status] for memory in store.list())


def begun(path: Path) -> MemoryStore:
    store = MemoryStore(path)
    store.add("user", "old", "old words")
    store.propose(proposed("other", source_session="S9"))
    return store


def changed(path: Path, *strace: str) -> tuple[int, list[Any]]:
    done = subprocess.run(
        ["strace", "-f", "-o", *strace, sys.executable, "-c", CHANGES, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == "", done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def points(tmp_path: Path) -> Iterator[tuple[list[Any], dict[str, int]]]:
    """What is there after each step, from the beginning on, and how often each call is made for it."""
    if why := crash.why_not():
        pytest.skip(why)
    path = tmp_path / "whole" / "memory.db"
    states = [shown(begun(path))]
    log = tmp_path / "calls"
    code, steps = changed(path, str(log), "-e", f"trace={','.join(CALLS)}")
    assert code == 0
    calls = log.read_text()
    yield [*states, *steps], {call: len(re.findall(rf"\b{call}\(", calls)) for call in CALLS}


def killed_everywhere(tmp_path: Path, points: tuple[list[Any], dict[str, int]], every: int) -> None:
    states, calls = points
    assert len(states) == 8
    strikes = [(call, when) for call, count in calls.items() for when in range(1, count + 1)]
    assert len(strikes) > 40
    struck = 0
    for call, when in strikes[::every]:
        path = tmp_path / f"{call}-{when}" / "memory.db"
        begun(path)
        code, steps = changed(
            path, "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={when}"
        )
        struck += code != 0
        store = MemoryStore(path)
        found = shown(store)
        assert found in states[len(steps) : len(steps) + 2], (call, when)
        assert store.notice == ""
        assert store.add("user", "after", "it").body == "it"
        assert [memory.key for memory in store.search("it")] == ["after"]
        replayed = {c.id: c.after for c in store.changed_since(0)}
        assert {m.id: m for m in store.list()} == {id: m for id, m in replayed.items() if m is not None}
    assert struck


def test_a_kill_at_points_of_a_write_leaves_before_or_after(
    tmp_path: Path, points: tuple[list[Any], dict[str, int]]
) -> None:
    killed_everywhere(tmp_path, points, EVERY)


@pytest.mark.parametrize("when", [1, 60, 200, 350])
def test_a_full_disk_is_said_and_leaves_before_or_after(
    tmp_path: Path, points: tuple[list[Any], dict[str, int]], when: int
) -> None:
    path = tmp_path / "full" / "memory.db"
    begun(path)
    fault = f"inject=pwrite64:error=ENOSPC:when={when}+"
    argv = ["strace", "-f", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", fault]
    done = subprocess.run(
        [*argv, sys.executable, "-c", CHANGES, str(path)], capture_output=True, text=True, timeout=60
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tui_agent.memory.schema.StoreError: ")
    assert "disk is full" in last or "disk I/O error" in last
    steps = len(done.stdout.splitlines())
    store = MemoryStore(path)
    assert shown(store) in points[0][steps : steps + 2]
    assert store.add("user", "after", "it").body == "it"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_kill_at_every_point_of_a_write_leaves_before_or_after(
    tmp_path: Path, points: tuple[list[Any], dict[str, int]]
) -> None:
    killed_everywhere(tmp_path, points, 1)
