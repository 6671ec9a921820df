"""The prompt as a session shows it, and what changed of it put in force where a person asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.agent.test_reminders import extends, last_words
from tests.support.engine import engine, reread
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.agent.past import requests
from tui_agent.changes import Rotated
from tui_agent.events import Notice
from tui_agent.memory.store import MemoryStore


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        scripted.always(Reply.text("yes"))
        yield scripted


def system(body: dict[str, Any]) -> str:
    return "".join(block["text"] for block in body["system"])


async def test_the_layers_are_named_and_sized_and_those_that_changed_are_marked(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server, append_system="be brief") as run:
        new = await run.session.perform("prompt")
        assert "that your first words will bring" in new.text
        await run.say("hello")
        shown = await run.session.perform("prompt")
        layers = shown.data["layers"]
        assert [(one["layer"], one["source"]) for one in layers] == [
            ("builtin", "tui-agent"),
            ("workspace", "AGENTS.md"),
            ("session", "--append-system"),
            ("memory", "memory"),
        ]
        texts = [block["text"].strip() for block in server.requests[-1]["system"]]
        assert [one["bytes"] for one in layers] == [len(text.encode()) for text in texts]
        assert {one["now"] for one in layers} == {""} and "/refresh" not in shown.text
        (tmp_path / "AGENTS.md").unlink()
        (tmp_path / "CLAUDE.md").write_text("other rules")
        changed = await run.session.perform("prompt")
        assert [one["source"] for one in changed.data["layers"] if one["now"] == "gone"] == ["AGENTS.md"]
        assert changed.data["new"] == ["CLAUDE.md"] and "/refresh puts in force" in changed.text


async def test_instructions_of_settings_are_a_layer_and_a_change_is_told(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        settings = run.session.settings

        def instructed(text: str) -> None:
            run.session.take_settings(replace(settings, prompt=replace(settings.prompt, append_system=text)))

        instructed("be kind")
        await run.say("one")
        assert "be kind" in system(server.requests[0])
        instructed("be blunt")
        await run.say("two")
        assert "be blunt" in last_words(server.requests[1])[1] and "be kind" in system(server.requests[1])
        instructed("")
        await run.say("three")
        assert "prompt.append_system is gone" in last_words(server.requests[2])[1]


async def test_what_changed_is_put_in_force_in_one_step_and_undo_takes_it_back(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        same = await run.session.perform("refresh")
        assert same.data == {"changed": []} and not run.all(Rotated)
        (tmp_path / "AGENTS.md").write_text("new rules")
        MemoryStore(paths.memory_db()).add("user", "indent", "Uses tabs.")
        await run.say("two")
        assert "new rules" in last_words(server.requests[1])[1]
        before = run.context.path.read_bytes()
        done = await run.session.perform("refresh")
        assert done.data["changed"] == ["prompt"] and done.data["op"] == "refresh"
        assert run.context.path.with_name(done.data["backup"]).read_bytes() == before
        await run.say("three")
        assert "new rules" in system(server.requests[2]) and "old rules" not in system(server.requests[2])
        assert "Uses tabs." in system(server.requests[2])
        # what was told beside the old prompt is the same as the new one says
        taken_back = last_words(server.requests[2])[1:]
        assert len(taken_back) == 2 and "as they are at the beginning" in taken_back[0]
        assert "exactly as it is listed" in taken_back[1]
        await run.say("four")
        assert last_words(server.requests[3]) == ["four"]
        assert [extends(*pair) for pair in zip(server.requests, server.requests[1:], strict=False)] == [
            True,
            False,
            True,
        ]
        assert not [n for n in run.all(Notice) if n.source == "cache"]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
        fresh = await reread(run)
        assert fresh.system_prompt == run.context.system_prompt
        assert fresh.weigh() == run.context.weigh()
        await run.session.perform("undo")
        assert run.context.path.read_bytes().startswith(before)
        await run.say("five")
        assert "old rules" in system(server.requests[-1])
        assert "new rules" in str(server.requests[-1]["messages"])


async def test_what_a_session_was_begun_with_stays_in_the_prompt_that_is_put_in_force(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server, append_system="be brief") as run:
        await run.say("one")
    async with engine(tmp_path, server, resume="latest") as run:
        assert not [n for n in run.all(Notice) if "instructions have changed" in n.text]
        assert (await run.session.perform("refresh")).data == {"changed": []}
        (tmp_path / "AGENTS.md").write_text("new rules")
        await run.session.perform("refresh")
        await run.say("two")
        assert [block["text"].strip() for block in server.requests[-1]["system"]][2] == "be brief"
        assert "new rules" in system(server.requests[-1]) and last_words(server.requests[-1]) == ["two"]
    async with engine(tmp_path, server, resume="latest", append_system="be long") as run:
        await run.session.perform("refresh")
        await run.say("three")
        assert "be long" in system(server.requests[-1]) and "be brief" not in system(server.requests[-1])


async def test_tools_that_changed_are_put_in_force_too(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        await run.say("one")
        tools = run.context.tools
        assert tools is not None
        await run.context.write_tools(tools[:2])
        await run.say("two")
        assert len(server.requests[-1]["tools"]) == 2
        done = await run.session.perform("refresh")
        assert done.data["changed"] == ["tools"]
        await run.say("three")
        assert len(server.requests[-1]["tools"]) == len(tools)
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_a_new_session_has_nothing_to_refresh(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        outcome = await run.session.perform("refresh")
        assert "nothing was said yet" in outcome.text and not len(run.context.records)
