"""One writer at a time, known by name; the lease of a holder that is gone is free again."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tui_agent.context.errors import LogBusy, LogWriteError
from tui_agent.context.lease import Lease, holder_of

HOLD = """
import sys
from tui_agent.context import lease
if sys.argv[2] == "unlocked":
    def refuse(*_):
        raise OSError(37, "No locks available")
    lease.fcntl.flock = refuse
held = lease.Lease(sys.argv[1])
held.acquire()
print("held", flush=True)
sys.stdin.read()
held.release()
"""


@contextmanager
def holder(path: Path, kind: str = "locked") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease until its input ends."""
    command = [sys.executable, "-c", HOLD, str(path), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        if process.stdin is not None and process.poll() is None:
            process.stdin.close()


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that cannot lock."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_a_second_writer_is_told_who_holds_it(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as other, pytest.raises(LogBusy) as busy:
        Lease(tmp_path / "lock").acquire()
    assert busy.value.holder.host == socket.gethostname()
    assert busy.value.holder.pid == other.pid
    assert datetime.fromisoformat(busy.value.holder.since).tzinfo is not None
    assert f"process {other.pid}" in str(busy.value)


def test_the_lease_is_free_when_its_holder_gives_it_back(tmp_path: Path) -> None:
    with holder(tmp_path / "lock"):
        pass
    lease = Lease(tmp_path / "lock")
    lease.acquire()
    assert lease.held
    lease.acquire()
    lease.release()
    lease.release()
    assert not lease.held
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_the_lease_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as other:
        other.kill()
        other.wait()
        Lease(tmp_path / "lock").acquire()


def test_two_leases_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    first, second = Lease(tmp_path / "lock"), Lease(tmp_path / "lock")
    first.acquire()
    with pytest.raises(LogBusy) as busy:
        second.acquire()
    assert busy.value.holder.pid == os.getpid()
    first.release()
    second.acquire()


def test_a_damaged_lease_file_does_not_hide_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path / "lock"):
        (tmp_path / "lock").write_bytes(b'[{"pid": \xff')
        with pytest.raises(LogBusy, match="another process") as busy:
            Lease(tmp_path / "lock").acquire()
    assert (busy.value.holder.host, busy.value.holder.pid) == ("", 0)
    Lease(tmp_path / "lock").acquire()


def test_a_lease_file_that_cannot_be_made_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogWriteError, match="read-only"):
        Lease(tmp_path / "file" / "lock").acquire()
    (tmp_path / "lock").mkdir()
    with pytest.raises(LogWriteError, match="directory"):
        Lease(tmp_path / "lock").acquire()


@pytest.mark.usefixtures("unlocked")
def test_without_locks_a_file_guards_and_a_notice_says_so(tmp_path: Path) -> None:
    lease, second = Lease(tmp_path / "lock"), Lease(tmp_path / "lock")
    lease.acquire()
    assert lease.held
    assert "without locks" in lease.notice
    with pytest.raises(LogBusy) as busy:
        second.acquire()
    assert busy.value.holder.pid == os.getpid()
    lease.release()
    second.acquire()
    second.release()
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


@pytest.mark.usefixtures("unlocked")
def test_without_locks_another_process_is_respected_while_it_lives(tmp_path: Path) -> None:
    with holder(tmp_path / "lock", "unlocked") as other:
        with pytest.raises(LogBusy) as busy:
            Lease(tmp_path / "lock").acquire()
        assert busy.value.holder.pid == other.pid
        other.kill()
        other.wait()
        lease = Lease(tmp_path / "lock")
        lease.acquire()
        assert lease.held
        lease.release()


@pytest.mark.usefixtures("unlocked")
def test_without_locks_a_holder_elsewhere_that_stopped_beating_is_taken_over(tmp_path: Path) -> None:
    elsewhere = tmp_path / "lock.held"
    elsewhere.write_text('{"host": "elsewhere", "pid": 1, "since": "2026-01-01T00:00:00+00:00"}')
    with pytest.raises(LogBusy, match=r"process 1 on elsewhere since (31 Dec|1 Jan) \d\d:\d\d"):
        Lease(tmp_path / "lock").acquire()
    os.utime(elsewhere, (1, 1))
    lease = Lease(tmp_path / "lock")
    lease.acquire()
    assert lease.held
    assert str(os.getpid()) in elsewhere.read_text()


@pytest.mark.usefixtures("unlocked")
def test_without_locks_only_one_of_many_takes_over(tmp_path: Path) -> None:
    elsewhere = tmp_path / "lock.held"
    elsewhere.write_text('{"host": "elsewhere", "pid": 1, "since": ""}')
    os.utime(elsewhere, (1, 1))
    leases = [Lease(tmp_path / "lock") for _ in range(8)]
    start = threading.Barrier(len(leases))

    def take(lease: Lease) -> None:
        start.wait()
        try:
            lease.acquire()
        except LogBusy:
            return

    threads = [threading.Thread(target=take, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(lease.held for lease in leases) == 1


@pytest.mark.usefixtures("unlocked")
def test_without_locks_the_file_is_touched_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = threading.Event()
    utime = os.utime
    monkeypatch.setattr(os, "utime", lambda path: (utime(path), touched.set()))
    lease = Lease(tmp_path / "lock", beat=0.01)
    lease.acquire()
    utime(tmp_path / "lock.held", (1, 1))
    touched.clear()
    assert touched.wait(10)
    assert (tmp_path / "lock.held").stat().st_mtime > 1
    lease.release()


@pytest.mark.usefixtures("unlocked")
def test_without_locks_a_holder_learns_that_it_was_taken_over(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "lock", stale=0.0)
    lease.acquire()
    assert not lease.held
    other = '{"host": "elsewhere", "pid": 1, "since": ""}'
    (tmp_path / "lock.held").write_text(other)
    lease.release()
    assert (tmp_path / "lock.held").read_text() == other


@pytest.mark.usefixtures("unlocked")
def test_a_takeover_that_was_killed_halfway_is_cleared_away(tmp_path: Path) -> None:
    for name in ("lock.held", "lock.held.takeover"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))
    Lease(tmp_path / "lock").acquire()
    assert not (tmp_path / "lock.held.takeover").exists()


_ORPHANED = """
import os, sys
from pathlib import Path
from tui_agent.context.lease import Lease, holder_of
Lease(Path(sys.argv[1])).acquire()
if os.fork():
    os._exit(0)
sys.stdin.read()
"""


def test_a_lock_that_a_killed_holder_left_to_its_child_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, pause = threading.Event(), time.sleep

    def sleep(seconds: float) -> None:
        waiting.set()
        pause(seconds)

    monkeypatch.setattr("tui_agent.context.lease.time.sleep", sleep)
    lock = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", _ORPHANED, str(lock)], stdin=subprocess.PIPE)
    assert holder.wait(30) == 0
    assert holder.stdin is not None
    lease = Lease(lock)
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(lease.acquire)
        assert waiting.wait(30)
        holder.stdin.close()
        taken.result(30)
    assert lease.held
    lease.release()


@pytest.mark.parametrize("kind", ["locked", "unlocked"])
def test_who_holds_it_is_told_without_taking_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock"
    assert holder_of(path) is None
    with holder(path, kind) as process:
        found = holder_of(path)
        assert found is not None
        assert (found.pid, found.host) == (process.pid, socket.gethostname())
        process.kill()
        process.wait()
        assert holder_of(path) is None, "a name that was left behind holds nothing"
    lease = Lease(path)
    lease.acquire()
    lease.release()
    assert holder_of(path) is None
