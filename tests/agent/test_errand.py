"""Commands that a person runs themselves: what they print is in the context, and the log stays sound."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import engine, reread
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.commands import CommandError
from tui_agent.events import OWN_COMMAND, SessionOpened, ToolEnded, ToolProgress, ToolStarted
from tui_agent.sessions.folder import SessionFolder


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


async def test_a_command_is_told_to_the_model_with_the_next_words(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("I see"), Reply.text("again"))
    async with engine(tmp_path, server) as run:
        await run.session.perform("run", "printf 'alpha\\n\\033[31mbeta'; exit 3")
        assert not server.requests, "no model is asked for it"
        (ended,) = run.all(ToolEnded)
        assert (ended.tool, ended.outcome, ended.summary) == (OWN_COMMAND, "error", "exit 3")
        await run.say("what was that?")
        assert run.session.title == "what was that?"
        (message,) = server.requests[0]["messages"]
        text = json.dumps(message)
        assert "printf 'alpha" in text
        assert "[exit code 3]" in text
        assert "what was that?" in text
        await run.session.perform("run", "echo between")
        await run.say("and now?")
        assert not server.violations
        first, words = run.context.history[0], run.context.history[1]
        assert (first.origin, words.origin, words.is_words) == ("command", None, True)
        fresh = await reread(run)
        assert [m.api() for m in fresh.history] == [m.api() for m in run.context.history]
        assert all(usage["request"] == request.sha256 for usage, request in requests(fresh))


async def test_a_command_beside_a_turn_is_written_between_two_steps(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    (tmp_path / "a.txt").write_text("alpha")
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"})).holding(hold), Reply.text("done"), Reply.text("yes")
    )
    async with engine(tmp_path, server) as run:
        await run.session.submit("read it")
        await hold.reached.wait()
        own = asyncio.create_task(run.session.perform("run", "echo beside"))
        await run.until(ToolProgress, lambda event: "beside" in event.text)
        hold.release.set()
        await own
        await run.session.until_idle()
        origins = [message.origin for message in run.context.history]
        # behind the step in which it ended, which is the first or the second
        assert origins in (
            [None, None, "tool", "command", None],
            [None, None, "tool", None, "command"],
        )
        await run.say("seen?")
        assert "beside" in json.dumps(server.requests[-1]["messages"])
        assert not server.violations


async def test_a_stopped_command_keeps_what_it_printed(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        own = asyncio.create_task(run.session.perform("run", "echo before; sleep 600"))
        await run.until(ToolProgress, lambda event: "before" in event.text)
        assert run.session.active
        assert not run.session.busy
        assert await run.session.cancel()
        await own
        (ended,) = run.all(ToolEnded)
        assert ended.outcome == "cancelled"
        assert "before" in run.context.history[-1].text
        assert "stopped" in run.context.history[-1].text
        assert not run.session.active


async def test_closing_the_session_writes_the_record_of_a_running_command(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        own = asyncio.create_task(run.session.perform("run", "echo before; sleep 600"))
        await run.until(ToolProgress, lambda event: "before" in event.text)
    await own
    fresh = await reread(run)
    assert fresh.history[-1].origin == "command"


def left_behind(folder: SessionFolder) -> dict[str, str]:
    """What a killed program leaves of a command that it ran."""
    noted: dict[str, str] = json.loads(folder.running_path.read_text())
    return noted


@pytest.mark.parametrize("before", ["nothing", "a turn"])
async def test_a_command_during_which_the_program_is_killed_is_in_the_next_session(
    before: str, tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(*[Reply.text("one")] * (before == "a turn"), Reply.text("I see"))
    async with engine(tmp_path, server) as run:
        if before == "a turn":
            await run.say("first")
        folder = run.session.folder
        own = asyncio.create_task(run.session.perform("run", "echo alpha; sleep 600"))
        await run.until(ToolStarted, lambda event: event.tool == OWN_COMMAND)
        noted = left_behind(folder)
        assert noted["command"] == "echo alpha; sleep 600"
        died = tmp_path / "died" / folder.id
        shutil.copytree(folder.path, died)
    await own
    assert not folder.running_path.exists()
    shutil.rmtree(folder.path)
    died.rename(folder.path)
    async with engine(tmp_path, server, resume="latest") as again:
        assert again.session.id == folder.id
        (opened,) = again.all(SessionOpened)
        assert any("echo alpha; sleep 600" in text and "cut off" in text for text in opened.repaired)
        message = again.context.history[-1]
        assert (message.origin, message.meta["outcome"]) == ("command", "interrupted")
        assert not folder.running_path.exists()
        await again.say("did it run?")
        assert "cut off" in json.dumps(server.requests[-1]["messages"])
        assert not server.violations
        assert sum(m.origin == "command" for m in again.context.history) == 1
    async with engine(tmp_path, server, resume="latest") as third:
        assert not third.all(SessionOpened)[0].repaired


async def test_a_command_whose_record_is_there_is_not_called_cut_off(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.session.perform("run", "echo done")
        folder, record = run.session.folder, run.context.history[-1]
    folder.running_path.write_text(json.dumps({"run": record.meta["run"], "command": "echo done"}))
    async with engine(tmp_path, server, resume="latest") as again:
        assert not again.all(SessionOpened)[0].repaired
        assert len(again.context.history) == 1
        assert not folder.running_path.exists()


async def test_a_command_that_cannot_be_noted_is_not_run(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        run.session.folder.running_path.mkdir()
        with pytest.raises(CommandError, match=r"not run: .*running\.json cannot be written"):
            await run.session.perform("run", "echo x > ran")
        assert not (tmp_path / "ran").exists()
        assert not run.session.active


async def test_commands_run_one_after_another(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        await asyncio.gather(*(run.session.perform("run", f"echo {name}") for name in "abc"))
        kinds = [type(event) for event in run.heard if isinstance(event, ToolStarted | ToolEnded)]
        assert kinds == [ToolStarted, ToolEnded] * 3
        assert [m.text.splitlines()[1] for m in run.context.history] == ["$ echo a", "$ echo b", "$ echo c"]


async def test_going_back_leaves_a_later_command_out_and_undo_brings_it_back(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("one"), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        await run.say("first")
        await run.session.perform("run", "echo later")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        assert not len(run.context.history)
        await run.session.perform("undo")
        assert run.context.history[-1].origin == "command"


async def test_a_large_output_is_kept_whole_beside_the_log(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        await run.session.perform("run", "seq 1 100000")
        text = run.context.history[-1].text
        assert len(text) < 40_000
        assert "shortened" in text


async def test_nothing_to_run_is_said(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        with pytest.raises(CommandError, match="usage: /run"):
            await run.session.perform("run", "  ")
