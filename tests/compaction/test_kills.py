"""A session whose program is killed anywhere in a compaction opens with the history before or after it, and goes on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compaction.running import SUMMARY, compacted, compacting, files, talked
from tests.context.compare import check
from tests.support import crash
from tests.support.crash import Case, Driver
from tests.support.engine import engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted
from tui_agent.context import Context

EVERY = 5
"""CI strikes at every fifth call."""


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    if why := crash.why_not():
        pytest.skip(why)
    with crash.driver() as running:
        yield running


def texts(context: Context) -> list[str]:
    return [str(message.content) for message in context.history]


async def told(workspace: Path) -> Path:
    """The folder of a session of three turns that was closed."""
    async with ScriptedServer() as server, engine(workspace, server, allow=["bash"]) as run:
        await talked(run, server)
        return run.context.path.parent


async def read(folder: Path) -> list[str]:
    context = Context(folder / "context.jsonl", read_only=True)
    await context.restore()
    return texts(context)


async def goes_on(workspace: Path, folder: Path, before: list[str], case: str) -> bool:
    """Open the session, talk, compact; True if the compaction that was struck is in force."""
    async with (
        ScriptedServer() as server,
        engine(workspace, server, settings=compacting(server), resume=folder.name, allow=["bash"]) as run,
    ):
        found = texts(run.context)
        is_done = run.context.head is not None
        assert (found == before) is not is_done, case
        if is_done:
            assert "<summary>" in found[0], case
        assert not any(name.endswith(".tmp") for name in files(folder)), case
        server.script(Reply.text("the parser of alpha.py goes on"), Reply.text(SUMMARY))
        assert (await run.say("go on")).reason == "end_turn", case
        assert isinstance(await compacted(run), CompactionCompleted), case
        await check(run.context)
        await run.session.perform("undo")
        assert texts(run.context)[: len(found)] == found, case
    return is_done


async def killed_at_each(driver: Driver, tmp_path: Path, every: int) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    folder = await told(workspace)
    template, log = tmp_path / "template", tmp_path / "calls"
    shutil.copytree(folder, template)
    before = await read(folder)
    outcome = driver.run(Case(str(folder), ["compact"], log=str(log)))
    assert (outcome.status, outcome.error()) == ("ended", "")
    points = crash.points(crash.read_log(log))
    done = []
    for name, number in points[::every]:
        case = f"killed at {name} {number}"
        shutil.rmtree(folder)
        shutil.copytree(template, folder)
        kill = f"{name}:signal=KILL:when={number}"
        assert driver.run(Case(str(folder), ["compact"], inject=[kill])).status == "killed", case
        done.append(await goes_on(workspace, folder, before, case))
    assert done == sorted(done)
    assert not done[0]
    if every == 1:
        assert done[-1]


async def test_a_session_killed_in_a_compaction_opens_and_goes_on(driver: Driver, tmp_path: Path) -> None:
    await killed_at_each(driver, tmp_path, EVERY)


@pytest.mark.slow
async def test_a_session_killed_at_any_call_of_a_compaction_opens_and_goes_on(
    driver: Driver, tmp_path: Path
) -> None:
    await killed_at_each(driver, tmp_path, 1)
