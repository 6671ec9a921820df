"""Processes that die, disks that are full, lie or lose power, and two writers at once: nothing is lost.

Real processes, struck at chosen system calls (tests/support/crash), and every folder that a power loss may leave
(tests/support/powerloss).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import crash, faults, powerloss
from tests.support.crash import Call, Case, Driver
from tui_agent.context import Context, LogBusy, LogWriteError

REWRITES = ("revert", "clear", "clear_with_prompt", "restore", "undo", "redo", "prompt", "compact")
NO_LINKS = "link,linkat:error=EPERM"
"""A file system where a file has one name."""
APPENDS = ("append", "append_many", "append_and_sync")
OPERATIONS = (*APPENDS, *REWRITES)
SAMPLE = ("append_many", "append_and_sync", "revert", "undo", "prompt")
SOME = [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow) for name in OPERATIONS]
"""Every operation; CI strikes a sample of each kind."""
Shown = dict[str, Any]


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    if why := crash.why_not():
        pytest.skip(why)
    with crash.driver() as running:
        yield running


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each operation a session that it can be done to."""
    base = tmp_path_factory.mktemp("base")
    asyncio.run(build(base / "context.jsonl"))
    undone = tmp_path_factory.mktemp("undone") / "session"
    shutil.copytree(base, undone)
    asyncio.run(once(undone, "undo"))
    plain = tmp_path_factory.mktemp("plain")
    asyncio.run(build(plain / "context.jsonl", prompt=None))
    found = dict.fromkeys(OPERATIONS, base)
    return found | {"redo": undone, "prompt": plain}


async def build(path: Path, prompt: str | None = "be good") -> None:
    """A session with turns, calls, marks, an elision, figures, a state, and one revert behind it."""
    context = Context(path)
    await context.restore()
    if prompt is not None:
        await context.write_system_prompt(prompt)
    for turn in range(4):
        await context.checkpoint(turn=True)
        [words] = await context.append_message({"role": "user", "content": f"question {turn} 世界"})
        use = {"type": "tool_use", "id": f"call_{turn}", "name": "bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"call_{turn}", "content": f"output {turn} " * 40}
        answer = {"role": "assistant", "content": [{"type": "text", "text": "looking"}, use]}
        await context.append_message(answer)
        [stored] = await context.append_message({"role": "user", "content": [result]}, origin="tool")
        await context.update_token_count(100 * (turn + 1))
        await context.mark(words.id, pinned=True, by="user")
        await context.elide([{"record": stored.id, "block": 0, "as": "[short]"}], by="user", reason="drop")
    await context.set_state("goal", {"text": "finish"})
    await context.revert_to(3)
    await context.close()


async def once(folder: Path, operation: str) -> None:
    context = Context(folder / "context.jsonl")
    await context.restore()
    await crash.OPERATIONS[operation](context)
    await context.close()


def copy(template: Path, tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    shutil.copytree(template, folder)
    return folder


def look(folder: Path) -> Shown:
    """What a fresh reader is shown."""

    async def run() -> Shown:
        context = Context(folder / "context.jsonl", read_only=True)
        await context.restore()
        shown = crash.snapshot(context)
        await context.close()
        return shown

    return asyncio.run(run())


def traced(driver: Driver, folder: Path, operation: str, *inject: str) -> tuple[list[Call], Shown]:
    """The calls of an operation that comes to its end, and what is shown after it."""
    log = folder.parent / f"{folder.name}.strace"
    outcome = driver.run(Case(str(folder), [operation], inject=inject, log=str(log)))
    assert (outcome.status, outcome.error()) == ("ended", "")
    return crash.read_log(log), outcome.shown()


def lives_on(folder: Path, template: Path, allowed: list[Shown], case: str, *, tokens: bool = True) -> Shown:
    """What is found, which is one of `allowed`; backups are whole, leftovers go, the next append works."""
    before = {path.name: path.read_bytes() for path in template.glob("context_*.jsonl")}
    found = look(folder)
    seen = found if tokens else without_tokens(found)
    assert seen in allowed, f"{case}: {seen}"

    async def go_on() -> Shown:
        context = Context(folder / "context.jsonl")
        await context.restore()
        await context.append_message({"role": "user", "content": "after the fault"})
        shown = crash.snapshot(context)
        await context.close()
        return shown

    live = asyncio.run(go_on())
    assert live["history"] == [
        *found["history"],
        ["user", [{"type": "text", "text": "after the fault"}], None],
    ], case
    assert look(folder) == live, case
    own = (folder / "context.jsonl").stat().st_ino
    for path in folder.iterdir():
        assert path.suffix != ".tmp", f"{case}: {path.name} was left"
        assert path.name == "context.jsonl" or path.stat().st_ino != own, (
            f"{case}: {path.name} is the log itself"
        )
    for name, data in before.items():
        assert (folder / name).read_bytes() == data, f"{case}: {name} changed"
    return found


def without_tokens(shown: Shown) -> Shown:
    return {key: value for key, value in shown.items() if key != "tokens"}


def keeps_the_old(folder: Path, template: Path, case: str) -> None:
    """The newest backup is the file as it was, byte by byte."""
    newest = max(folder.glob("context_*.jsonl"), key=lambda path: int(path.stem.split("_")[1]))
    assert newest.read_bytes() == (template / "context.jsonl").read_bytes(), case


# --- kills ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", SOME)
def test_a_kill_at_any_call_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    kill_each(driver, templates[operation], tmp_path, operation)


def test_a_kill_while_the_file_is_written_anew_after_a_failed_sync_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path
) -> None:
    kill_each(driver, templates["append"], tmp_path, "append_and_sync", "fdatasync:error=EIO:when=1")


@pytest.mark.parametrize("operation", ["revert", "undo"])
def test_a_kill_where_files_cannot_have_two_names_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    kill_each(driver, templates[operation], tmp_path, operation, NO_LINKS)


def kill_each(driver: Driver, template: Path, tmp_path: Path, operation: str, *inject: str) -> None:
    calls, after = traced(driver, copy(template, tmp_path, "whole"), operation, *inject)
    before = look(template)
    struck = {name for expression in inject for name in expression.split(":")[0].split(",")}
    points = [point for point in crash.points(calls) if point[0] not in struck]
    assert len(points) > (1 if operation in APPENDS else 10)
    for name, number in points:
        case = f"{operation}, killed at {name} {number}"
        folder = copy(template, tmp_path, f"{name}-{number}")
        kill = f"{name}:signal=KILL:when={number}"
        assert driver.run(Case(str(folder), [operation], inject=[*inject, kill])).status == "killed", case
        found = lives_on(folder, template, [before, after], case)
        if operation in REWRITES and found == after:
            keeps_the_old(folder, template, case)


# --- power ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", SOME)
def test_a_power_loss_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    lose_power(driver, templates[operation], tmp_path, operation)


@pytest.mark.parametrize("operation", ["revert", "undo"])
def test_a_power_loss_where_files_cannot_have_two_names_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    lose_power(driver, templates[operation], tmp_path, operation, NO_LINKS)


def test_a_power_loss_while_the_file_is_written_anew_after_a_failed_sync_leaves_before_or_after(
    driver: Driver, templates: dict[str, Path], tmp_path: Path
) -> None:
    lose_power(driver, templates["append"], tmp_path, "append_and_sync", "fdatasync:error=EIO:when=1")


def lose_power(driver: Driver, template: Path, tmp_path: Path, operation: str, *inject: str) -> None:
    folder = copy(template, tmp_path, "whole")
    disk = powerloss.Disk(folder)
    calls, after = traced(driver, folder, operation, *inject)
    before = look(template)
    allowed = torn(before, after) if operation in APPENDS else [before, after]
    for count, files in powerloss.replay(disk, calls):
        case = f"{operation}, power lost after {count} of {len(calls)} calls: {sorted(files)}"
        place = tmp_path / "state"
        place.mkdir()
        for name, data in files.items():
            (place / name).write_bytes(data)
        lives_on(place, template, allowed, case, tokens=operation not in APPENDS)
        shutil.rmtree(place)
    assert disk.now == {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
    if operation not in ("append", "append_many"):
        for files in disk.states():
            assert files["context.jsonl"] == disk.now["context.jsonl"], (
                f"{operation} is not safe when it returns"
            )


def torn(before: Shown, after: Shown) -> list[Shown]:
    """What may be shown when only some of the appended lines reached the disk, and half of one."""
    found = []
    for count in range(len(before["history"]), len(after["history"]) + 1):
        for damage in (0, 1):
            shown = before | {"history": after["history"][:count], "damage": before["damage"] + damage}
            shown["undo"] = [before["undo"][0], before["undo"][1] and count == len(before["history"])]
            found.append(without_tokens(shown))
    return found


# --- cuts -------------------------------------------------------------------------------------------------------


def test_every_cut_of_the_last_record_spares_all_others(templates: dict[str, Path], tmp_path: Path) -> None:
    folder = copy(templates["append"], tmp_path, "cut")
    path = folder / "context.jsonl"
    before = look(folder)
    earlier = path.read_bytes()
    asyncio.run(once(folder, "append"))
    after = look(folder)
    data = path.read_bytes()
    assert data.startswith(earlier)
    for size in range(len(earlier), len(data)):
        path.write_bytes(data[:size])
        found = look(folder)
        whole = size == len(data) - 1
        assert found["history"] == (after if whole else before)["history"], size
        assert found["damage"] == (0 if whole or size == len(earlier) else 1), size
        asyncio.run(once(folder, "append_many"))
        asyncio.run(once(folder, "append"))
        later = look(folder)["history"]
        assert later[: len(found["history"])] == found["history"], size
        assert [role for role, _, _ in later[len(found["history"]) :]] == ["assistant", "user", "user"], size
        assert path.read_bytes()[:size] == data[:size], size


# --- disks that refuse ------------------------------------------------------------------------------------------

REFUSALS = ("write", "sendfile", "fsync", "fdatasync", "openat", "link", "linkat", "rename", "renameat2")


REFUSED = [("ENOSPC", "+"), ("EIO", "")]
"""How a call is refused, and whether all later ones of its name are too."""
REFUSED_TOO = pytest.param([("ENOSPC", ""), ("EIO", "+")], marks=pytest.mark.slow)


@pytest.mark.parametrize("ways", [REFUSED, REFUSED_TOO], ids=["some", "others"])
@pytest.mark.parametrize("operation", SOME)
def test_a_disk_that_refuses_any_call_is_reported_and_loses_nothing(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str, ways: list[tuple[str, str]]
) -> None:
    template = templates[operation]
    calls, after = traced(driver, copy(template, tmp_path, "whole"), operation)
    before = look(template)
    cases = [
        (name, number, error, lasting)
        for name, number in crash.points(calls)
        if name in REFUSALS
        for error, lasting in ways
    ]
    assert cases
    for name, number, error, lasting in cases:
        case = f"{operation}, {name} {number}{lasting} fails with {error}"
        folder = copy(template, tmp_path, f"{name}-{number}{lasting}-{error}")
        inject = [f"{name}:error={error}:when={number}{lasting}"]
        outcome = driver.run(
            Case(str(folder), [operation, "append", "reload", "append_and_sync"], inject=inject)
        )
        assert outcome.status == "ended", case
        is_told_and_safe(outcome, before, after, folder, case)


def is_told_and_safe(outcome: crash.Outcome, before: Shown, after: Shown, folder: Path, case: str) -> None:
    """The first step did what it does, or said why not and did nothing; after the fault, work goes on.

    Only when the new name of a rewritten file is not confirmed has the step done its work, and says that it may not
    last.
    """
    struck = outcome.error()
    done = not struck or "it was rewritten, but the disk did not confirm its new name" in struck
    assert outcome.shown() == (after if done else before), f"{case}: {struck}"
    assert struck == "" or struck.startswith("LogWriteError"), f"{case}: {struck}"
    assert outcome.error(1) == "" or outcome.error(1).startswith("LogWriteError"), case
    assert outcome.error(2) == "", case
    assert outcome.error(3) == "", case
    words = ["user", [{"type": "text", "text": "one more thing 再一件"}], None]
    appended = [words] * (2 if outcome.error(1) == "" else 1)
    assert outcome.shown(3)["history"] == [*outcome.shown()["history"], *appended], case
    assert look(folder) == outcome.shown(3), case
    assert not list(folder.glob("*.tmp")), case


@pytest.mark.parametrize("operation", ["append", "append_many"])
def test_a_write_that_is_cut_short_is_taken_back(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    template = templates[operation]
    size = (template / "context.jsonl").stat().st_size
    before = look(template)
    for room in (0, 1, 20, 100):
        folder = copy(template, tmp_path, str(room))
        outcome = driver.run(Case(str(folder), [operation, "append"], limit=size + room))
        case = f"{operation} with room for {room} bytes"
        assert outcome.error().startswith("LogWriteError"), case
        assert outcome.shown() == before, case
        assert outcome.error(1) == "", case
        assert len(outcome.shown(1)["history"]) == len(before["history"]) + 1, case
        assert look(folder) == outcome.shown(1), case
        assert (
            (folder / "context.jsonl").read_bytes().startswith((template / "context.jsonl").read_bytes())
        ), case


def test_a_cut_write_that_cannot_be_taken_back_stops_until_the_file_is_read_anew(
    driver: Driver, templates: dict[str, Path], tmp_path: Path
) -> None:
    template = templates["append"]
    size = (template / "context.jsonl").stat().st_size
    before = look(template)
    folder = copy(template, tmp_path, "session")
    steps = ["append", "append", "reload", "append_and_sync"]
    outcome = driver.run(Case(str(folder), steps, inject=["ftruncate:error=EIO"], limit=size + 20))
    assert outcome.error(0).startswith("LogWriteError")
    assert outcome.shown(0) == before
    assert outcome.error(1).startswith(("LogChanged", "LogWriteError"))
    assert outcome.shown(1) == before
    assert [outcome.error(2), outcome.error(3)] == ["", ""]
    assert outcome.shown(3)["history"][:-1] == before["history"]
    assert outcome.shown(3)["damage"] == 1
    assert look(folder) == outcome.shown(3)


@pytest.mark.parametrize("operation", REWRITES)
def test_a_rewrite_that_does_not_fit_changes_nothing(
    driver: Driver, templates: dict[str, Path], tmp_path: Path, operation: str
) -> None:
    template = templates[operation]
    before = look(template)
    for limit in (0, 100, 200):
        folder = copy(template, tmp_path, str(limit))
        outcome = driver.run(Case(str(folder), [operation, operation], limit=limit))
        case = f"{operation} where files end at {limit} bytes"
        assert outcome.error().startswith("LogWriteError"), case
        assert outcome.shown() == before, case
        assert outcome.error(1) == "", case
        keeps_the_old(folder, template, case)
        assert look(folder) == outcome.shown(1), case
        assert not list(folder.glob("*.tmp")), case


async def test_a_new_session_whose_first_write_failed_shows_what_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    for number in range(1, 8):
        path.unlink(missing_ok=True)
        context = Context(path)
        await context.restore()
        with faults.fail_at(number, lasting=True):
            failed = False
            try:
                await context.write_system_prompt("lost")
            except LogWriteError:
                failed = True
        await context.restore()
        await context.write_system_prompt("be good")
        assert context.system_prompt == "be good", number
        assert [record.body["role"] for record in context.records] == ["_system_prompt"] * (
            1 if failed else 2
        )
        await context.close()


# --- two writers ------------------------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_holds_the_session_and_can_read_it(
    driver: Driver, templates: dict[str, Path], tmp_path: Path
) -> None:
    folder = copy(templates["append"], tmp_path, "shared")

    async def run() -> None:
        context, reader = Context(folder / "context.jsonl"), Context(folder / "context.jsonl", read_only=True)
        await context.restore()
        await context.append_message({"role": "user", "content": "I write"})
        mine = crash.snapshot(context)
        outcome = driver.run(Case(str(folder), ["append", "revert", "append"]))
        for step in range(3):
            assert outcome.error(step).startswith("LogBusy"), outcome.error(step)
            who = f"process {os.getpid()} on {socket.gethostname()} since "
            assert re.match(r"(\d+ \w+ )?\d\d:\d\d\.", outcome.error(step).partition(who)[2]), outcome.error(
                step
            )
            assert outcome.shown(step) == mine
        await context.append_message({"role": "user", "content": "still I"})
        await reader.restore()
        assert crash.snapshot(reader) == crash.snapshot(context)
        await context.close()
        assert driver.run(Case(str(folder), ["append"])).error() == ""

    asyncio.run(run())


async def test_the_error_names_the_holder(templates: dict[str, Path], tmp_path: Path) -> None:
    folder = copy(templates["append"], tmp_path, "shared")
    first, second = Context(folder / "context.jsonl"), Context(folder / "context.jsonl")
    await first.restore()
    await second.restore()
    await first.checkpoint()
    with pytest.raises(LogBusy) as busy:
        await second.checkpoint()
    assert (busy.value.holder.host, busy.value.holder.pid) == (socket.gethostname(), os.getpid())
    assert json.dumps(busy.value.holder.since)
    await first.close()
    await second.restore()
    await second.checkpoint()
    assert second.n_checkpoints == first.n_checkpoints + 1
    await second.close()
