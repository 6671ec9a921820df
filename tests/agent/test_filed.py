"""What the model proposes for profile.md and MEMORY.md: a card with the difference, a file once a person agrees."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.engine import Run, engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.changes import MemoryProposed
from tui_agent.commands import CommandError
from tui_agent.memory import section

TONE = '<memory scope="user" key="profile.md: tone">Be brief.</memory>'
BUILD = '<memory scope="workspace" key="MEMORY.md: build">Run make -j2.</memory>'


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


async def proposed(run: Run, server: ScriptedServer, marker: str) -> MemoryProposed:
    server.script(Reply.text(marker))
    await run.say("go")
    return run.all(MemoryProposed)[-1]


async def test_the_profile_is_changed_when_a_person_agrees_and_as_before_when_it_is_taken_back(
    tmp_path: Path, server: ScriptedServer
) -> None:
    profile = paths.profile_file()
    async with engine(tmp_path, server) as run:
        first = await proposed(run, server, TONE)
        assert first.file == str(profile) and not profile.exists()
        assert "+### tone" in first.diff and "+Be brief." in first.diff
        await run.session.perform("accept", first.id)
        assert "### tone\nBe brief." in profile.read_text()
        assert stat.S_IMODE(profile.stat().st_mode) == 0o600
        second = await proposed(run, server, TONE.replace("brief", "long"))
        assert (second.old, second.body) == ("Be brief.", "Be long.")
        assert "-Be brief." in second.diff and "+Be long." in second.diff
        await run.session.perform("accept", second.id)
        assert "Be long." in profile.read_text()
        for text in ("Be brief.", ""):
            await run.session.perform("unmemory", first.id)
            assert ("### tone" in profile.read_text(), text in profile.read_text()) == (bool(text), True)


async def test_a_shared_file_is_told_with_the_files_and_not_twice(
    tmp_path: Path, server: ScriptedServer
) -> None:
    memory = tmp_path / "MEMORY.md"
    memory.write_text("# Ours\n\nby hand\n")
    async with engine(tmp_path, server) as run:
        card = await proposed(run, server, BUILD)
        await run.session.perform("accept", card.id)
        assert memory.read_text().startswith("# Ours\n\nby hand\n")
        server.script(Reply.text("yes"))
        await run.say("on")
        told = str(server.requests[-1]["messages"][-1])
        assert told.count("Run make -j2.") == 1 and "from MEMORY.md" in told


async def test_what_was_shared_with_a_team_is_told_with_its_file(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.session.perform("remember", "workspace build: Run make -j2.")
        await run.session.perform("remember", "workspace tests: Run pytest.")
        shared = [memory for memory in run.session.memories.list() if memory.key == "build"]
        section.write_section(tmp_path / "MEMORY.md", shared)
        server.script(Reply.text("yes"), Reply.text("yes"))
        await run.say("on")
        assert str(server.requests[-1]["system"]).count("Run make -j2.") == 1
        assert "[workspace] tests: Run pytest." in server.requests[-1]["system"][-1]["text"]
        await run.session.perform("amend", "build", "Run ninja.")
        await run.say("on")
        assert "[workspace] build: Run ninja." in str(server.requests[-1]["messages"][-1])


async def test_what_is_shared_in_mid_session_is_not_said_to_be_gone(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.session.perform("remember", "workspace build: Run make -j2.")
        server.script(Reply.text("yes"), Reply.text("yes"))
        await run.say("on")
        section.write_section(tmp_path / "MEMORY.md", run.session.memories.list())
        await run.say("on")
        told = str(server.requests[-1]["messages"][-1])
        assert "from MEMORY.md" in told and "no longer" not in told


async def test_what_a_person_wrote_under_the_heading_comes_back(
    tmp_path: Path, server: ScriptedServer
) -> None:
    memory = tmp_path / "MEMORY.md"
    async with engine(tmp_path, server) as run:
        card = await proposed(run, server, BUILD)
        await run.session.perform("accept", card.id)
        memory.write_text(memory.read_text().replace("make -j2", "ninja"))
        other = await proposed(run, server, BUILD.replace("make -j2", "bazel"))
        assert other.old == "Run ninja."
        await run.session.perform("accept", other.id)
        assert "bazel" in memory.read_text()
        await run.session.perform("unmemory", card.id)
        assert "Run ninja." in memory.read_text()


async def test_refused_or_forgotten_it_leaves_the_file_as_a_person_wrote_it(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.session.perform("accept", (await proposed(run, server, BUILD)).id)
        (tmp_path / "MEMORY.md").write_text(
            before := (tmp_path / "MEMORY.md").read_text().replace("make", "gmake")
        )
        waiting = await proposed(run, server, BUILD.replace("make", "ninja"))
        await run.session.perform("reject", waiting.id)
        await run.session.perform("unmemory", waiting.id)
        await run.session.perform("forget", waiting.id)
        assert (tmp_path / "MEMORY.md").read_text() == before


async def test_a_file_that_cannot_be_written_leaves_the_proposal_waiting(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "MEMORY.md").write_text("<!-- tui-agent memory -->\nbroken\n")
    async with engine(tmp_path, server) as run:
        card = await proposed(run, server, BUILD)
        assert card.file and not card.diff
        with pytest.raises(CommandError, match="damaged"):
            await run.session.perform("accept", card.id)
        assert [waiting.id for waiting in run.session.memories.waiting()] == [card.id]
        assert (tmp_path / "MEMORY.md").read_text() == "<!-- tui-agent memory -->\nbroken\n"


async def test_the_name_of_a_file_in_another_scope_is_a_key_like_any_other(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        card = await proposed(run, server, TONE.replace("user", "workspace"))
        assert not card.file
        await run.session.perform("accept", card.id)
        assert not paths.profile_file().exists()
