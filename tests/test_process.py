"""Commands: what they print, how long they may take, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tui_agent import process
from tui_agent.process import ProcessError, capture, run

FOREVER = "trap '' TERM HUP INT; while :; do sleep 1; done"
"""A shell that only SIGKILL ends."""


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def pids_in(*files: Path) -> list[int]:
    await until(lambda: all(f.exists() and f.read_text().strip() for f in files))
    return [int(f.read_text()) for f in files]


class Clock:
    """The clock of commands: it jumps by an hour once something has been heard from the command."""

    def __init__(self) -> None:
        self.heard = ""
        self.sleep = time.sleep

    def hear(self, text: str) -> None:
        self.heard += text

    def monotonic(self) -> float:
        return time.monotonic() + (3600.0 if "ready" in self.heard else 0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("tui_agent.process.job.time", clock)
    return clock


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


# --- output ------------------------------------------------------------------------------------------------------


async def test_both_streams_come_in_the_order_they_were_written() -> None:
    result = await run("echo one; echo two >&2; echo three")
    assert (result.exit, result.output, result.timed_out) == (0, "one\ntwo\nthree\n", False)
    assert result.size == 14
    assert result.left is None


async def test_the_exit_code_and_the_signal_are_told() -> None:
    assert (await run("exit 7")).exit == 7
    assert (await run("kill -SEGV $$")).exit == -signal.SIGSEGV


async def test_arguments_are_not_read_by_a_shell() -> None:
    result = await run(["printf", "%s|", "$HOME", "a b", "*", "[bold]x", "日本"])
    assert result.output == "$HOME|a b|*|[bold]x|日本|"


async def test_output_is_handed_on_while_the_command_runs(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    heard: list[str] = []
    task = asyncio.create_task(
        run(f"echo first; read x < {shlex.quote(str(gate))}; echo $x", on_output=heard.append)
    )
    await until(lambda: "".join(heard) == "first\n")
    assert not task.done()
    await asyncio.to_thread(gate.write_text, "second\n")
    assert (await task).output == "first\nsecond\n" == "".join(heard)


async def test_output_is_handed_on_in_the_event_loop() -> None:
    threads: set[threading.Thread] = set()
    await run("echo x", on_output=lambda _: threads.add(threading.current_thread()))
    assert threads == {threading.current_thread()}


async def test_a_character_cut_by_a_read_is_whole() -> None:
    text = "日本語😀é" * 20_000
    result = await run(python(f"import sys; sys.stdout.buffer.write({text[:5]!r}.encode() * 20000)"))
    assert result.output == text


async def test_what_is_no_utf8_is_replaced() -> None:
    assert (await run(r"printf 'caf\351 \377 \360\237'")).output == "caf\ufffd \ufffd \ufffd"


async def test_of_long_output_the_beginning_and_the_end_stay() -> None:
    result = await run("seq 1 100000", limit=200)
    head, note, tail = result.output.partition(f"\n[... {result.omitted} characters left out ...]\n")
    assert note
    assert head.startswith("1\n2\n3\n") and tail.endswith("99999\n100000\n")
    assert len(head) == len(tail) == 100
    assert len(head) + len(tail) + result.omitted == result.size


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 6, 7, 100])
async def test_the_kept_parts_and_the_omitted_add_up(limit: int) -> None:
    result = await run("printf abcdef", limit=limit)
    assert result.omitted == max(0, 6 - limit)
    if not result.omitted:
        assert result.output == "abcdef"


async def test_the_whole_output_can_go_to_a_file(tmp_path: Path) -> None:
    spool = tmp_path / "out.txt"
    result = await run("seq 1 100000; printf '\\377'", limit=100, spool=spool)
    assert result.spooled
    assert spool.read_text() == "".join(f"{n}\n" for n in range(1, 100_001)) + "\ufffd"


async def test_a_file_that_cannot_be_written_does_not_stop_the_command(tmp_path: Path) -> None:
    result = await run("seq 1 1000", spool=tmp_path / "missing" / "out.txt")
    assert result.exit == 0
    assert result.output.endswith("1000\n")
    assert not result.spooled


async def test_the_file_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.process.output.SPOOL_LIMIT", 1000)
    spool = tmp_path / "out.txt"
    result = await run("seq 1 100000", spool=spool)
    assert not result.spooled
    assert not spool.exists() or spool.stat().st_size <= 1000
    assert result.output.endswith("100000\n")


async def test_a_flood_is_handed_on_in_pieces_a_screen_can_take() -> None:
    heard: list[str] = []
    result = await run("yes 0123456789 | head -c 50000000", on_output=heard.append, limit=1000)
    assert result.size == 50_000_000
    assert max(map(len, heard)) < 17_000
    assert heard[-1].endswith(result.output[-100:])


# --- surroundings ------------------------------------------------------------------------------------------------


async def test_an_input_is_read_whole_by_who_reads_and_waits_for_nobody() -> None:
    text = "日本 'x'\n".encode() * 50_000
    assert (await run("wc -c", input=text)).output.strip() == f"{len(text)}"
    assert (await run("cat", input=text)).output.encode() == text
    assert (await run("exit 3", input=text)).exit == 3


async def test_there_is_no_input_and_no_terminal() -> None:
    result = await run(
        "cat; test -t 0 || test -t 1 || test -t 2 || echo none; : 2>/dev/null </dev/tty && echo tty"
    )
    assert result.output.startswith("none\n")
    assert "tty\n" not in result.output.replace("/dev/tty", "")


async def test_it_runs_in_the_folder_given(tmp_path: Path) -> None:
    assert (await run("pwd -P", cwd=tmp_path)).output.strip() == str(tmp_path.resolve())


async def test_the_environment_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "kept")
    monkeypatch.setenv("GONE", "gone")
    result = await run("echo $KEPT/$GONE/$NEW", env={"GONE": None, "NEW": "new"})
    assert result.output == "kept//new\n"


async def test_no_color_is_given_back_to_children() -> None:
    code = (
        "import asyncio, os; from tui_agent.process import run; os.environ.pop('NO_COLOR')\n"
        "print(asyncio.run(run('echo \"<$NO_COLOR>\"')).output)"
    )
    done = subprocess.run(
        python(code), env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "<1>"


# --- what cannot be started --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-program-here"], "cannot start no-such-program-here: No such file"),
        (["echo", "a\x00b"], "null byte"),
        (["echo", "\ud800"], "surrogates not allowed"),
        (["echo", "x" * 3_000_000], "Argument list too long"),
        (["/dev/null"], "Permission denied"),
    ],
)
async def test_what_cannot_be_started_is_said(command: list[str], words: str) -> None:
    with pytest.raises(ProcessError, match=words):
        await run(command)


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"its folder is not there: .*/gone"):
        await run("true", cwd=tmp_path / "gone")


# --- its end -----------------------------------------------------------------------------------------------------


async def test_a_command_that_takes_too_long_is_killed_with_its_children(
    tmp_path: Path, clock: Clock
) -> None:
    command = """
        (echo $BASHPID > child; (echo $BASHPID > grandchild; echo ready; sleep 600); true) &
        while :; do echo waiting; sleep 0.01; done
    """
    result = await run(command, cwd=tmp_path, timeout=1800, on_output=clock.hear)
    assert result.timed_out
    assert result.exit == -signal.SIGTERM
    assert "ready\n" in result.output
    assert result.left is None
    for name in ("child", "grandchild"):
        assert not is_running(int((tmp_path / name).read_text()))


async def test_a_command_that_ignores_the_polite_signal_is_killed(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.process.session.TERM_SECONDS", 0.1)
    command = (
        "trap '' TERM; echo $$ > pid; (while :; do sleep 1; done) & while :; do echo ready; sleep 0.01; done"
    )
    result = await run(command, cwd=tmp_path, timeout=1800, on_output=clock.hear)
    assert result.timed_out
    assert result.exit == -signal.SIGKILL
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_what_a_command_says_when_it_is_told_to_end_is_heard(clock: Clock) -> None:
    command = "trap 'echo cleaned up; exit 3' TERM; while :; do echo ready; sleep 0.01; done 2>/dev/null"
    result = await run(command, timeout=1800, on_output=clock.hear)
    assert (result.exit, result.timed_out) == (3, True)
    assert result.output.endswith("cleaned up\n")


async def test_cancelling_kills_the_command_with_its_children(tmp_path: Path) -> None:
    child, grandchild = tmp_path / "child", tmp_path / "grandchild"
    task = asyncio.create_task(
        run("(echo $BASHPID > child; (echo $BASHPID > grandchild; sleep 60); true) & wait", cwd=tmp_path)
    )
    pids = await pids_in(child, grandchild)
    assert all(map(is_running, pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_running, pids))


async def test_children_in_a_group_of_their_own_are_killed_too(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    code = f"import os, time; os.setpgid(0, 0); open({str(inner)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    task = asyncio.create_task(run(f"{shlex.join(python(code))} & wait"))
    [pid] = await pids_in(inner)
    assert os.getpgid(pid) == pid
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_cancelling_twice_kills_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.process.session.TERM_SECONDS", 3600.0)
    pid_file = tmp_path / "pid"
    task = asyncio.create_task(run(f"echo $$ > {shlex.quote(str(pid_file))}; {FOREVER}"))
    [pid] = await pids_in(pid_file)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_cancelling_before_it_started_leaves_nothing(tmp_path: Path) -> None:
    task = asyncio.create_task(run("echo $$ > pid; sleep 60", cwd=tmp_path))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid_file = tmp_path / "pid"
    assert not pid_file.exists() or not pid_file.read_text() or not is_running(int(pid_file.read_text()))


async def test_a_stopped_command_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.process.session.TERM_SECONDS", 0.1)
    task = asyncio.create_task(run("echo $$ > pid; kill -STOP $$", cwd=tmp_path))
    [pid] = await pids_in(tmp_path / "pid")
    await until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_a_child_in_the_background_does_not_hold_up_the_return() -> None:
    result = await run("sleep 60 & echo $!; echo done")
    assert result.output.endswith("done\n")
    pid = int(result.output.split()[0])
    assert result.left is not None
    assert result.left.pids == [pid]
    assert result.left.alive()
    await asyncio.to_thread(result.left.end)
    assert not result.left.alive()
    assert not is_running(pid)


async def test_a_child_in_the_background_that_never_stops_writing_does_not_hold_up_the_return() -> None:
    result = await run("yes & echo started; exit 4")
    assert result.exit == 4
    if result.left is not None:
        await asyncio.to_thread(result.left.end)


async def test_what_is_left_and_ignores_the_polite_signal_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.process.session.TERM_SECONDS", 0.1)
    result = await run(f"({FOREVER}) >/dev/null 2>&1 & echo $!")
    assert result.left is not None
    await asyncio.to_thread(result.left.end)
    assert not is_running(int(result.output))


async def test_a_number_used_by_another_process_since_is_not_ended() -> None:
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        left = process.Left(other.pid, frozenset({(other.pid, "another start time")}))
        assert not left.alive()
        await asyncio.to_thread(left.end)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_a_command_that_closes_its_output_is_waited_for() -> None:
    assert (await run("exec >&- 2>&-; sleep 0.2; exit 5")).exit == 5


async def test_many_at_once_do_not_mix() -> None:
    results = await asyncio.gather(*(run(f"echo {n}; sleep 0.05; echo {n}; exit {n}") for n in range(20)))
    assert [(r.exit, r.output) for r in results] == [(n, f"{n}\n{n}\n") for n in range(20)]


async def test_nothing_stays_open() -> None:
    await run("true")
    before = psutil.Process().num_fds()
    for _ in range(5):
        await run("echo x; sleep 0.01", timeout=5)
        await run("sleep 60", timeout=0.01)
        task = asyncio.create_task(run("sleep 60"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(ProcessError):
            await run(["no-such-program-here"])
    assert psutil.Process().num_fds() == before
    await until(lambda: not any(thread.name.startswith("run ") for thread in threading.enumerate()))


async def test_without_word_from_the_system_the_end_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pidfd_open", lambda pid: (_ for _ in ()).throw(OSError("not here")))
    assert (await run("exec >&- 2>&-; sleep 0.1; exit 5")).exit == 5
    assert (await run("sleep 60", timeout=0.1)).timed_out


async def test_without_proc_the_children_are_found_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.process.session._HAS_PROC", False)
    result = await run("sleep 600 >/dev/null & echo $!")
    assert result.left is not None
    assert result.left.pids == [int(result.output)]
    await asyncio.to_thread(result.left.end)
    assert not is_running(int(result.output))


# --- helper programs ---------------------------------------------------------------------------------------------


def test_a_helper_gives_its_standard_output(tmp_path: Path) -> None:
    assert capture(["sh", "-c", "printf 'a\\0b'; echo no >&2; exit 3"], cwd=tmp_path, timeout=10) == (
        3,
        b"a\0b",
    )


def test_a_helper_that_hangs_is_killed(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="sh did not end within"):
        capture(["sh", "-c", "echo $$ > pid; sleep 60 & sleep 60"], cwd=tmp_path, timeout=1)
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_all_that_was_started_can_be_killed_at_once(tmp_path: Path) -> None:
    pid_file, child_file = tmp_path / "pid", tmp_path / "child"
    running = asyncio.create_task(run(f"echo $$ > {pid_file}; {FOREVER}"))
    left = await run(f"({FOREVER}) > /dev/null 2>&1 & echo $! > {child_file}")
    pid, child = await pids_in(pid_file, child_file)
    assert left.left is not None and left.left.alive()
    process.kill_all()
    await running
    await until(lambda: not is_running(pid) and not is_running(child))


async def test_what_has_ended_is_not_killed_under_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = int((await run("echo $$")).output)
    captured = int(capture(["sh", "-c", "echo $$"], cwd="/", timeout=20)[1])
    left = (await run("sleep 300 > /dev/null 2>&1 &")).left
    assert left is not None
    await asyncio.to_thread(left.end)
    killed = set[int]()
    monkeypatch.setattr("tui_agent.process.session.signal_session", lambda session, _: killed.add(session))
    process.kill_all()
    assert killed.isdisjoint({ran, captured, left.session})
