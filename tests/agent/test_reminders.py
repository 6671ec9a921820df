"""What changes during a session reaches the model at the end of a person's message, and the prefix stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_compaction import SUMMARY, compacted, settings, talked
from tests.support.engine import engine
from tests.support.server import Reply, ScriptedServer
from tui_agent import paths
from tui_agent.agent.past import requests
from tui_agent.events import Notice, Reminded
from tui_agent.memory.store import MemoryStore


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        scripted.always(Reply.text("yes"))
        yield scripted


def store() -> MemoryStore:
    return MemoryStore(paths.memory_db())


def bare(value: Any) -> Any:
    """A part of a request without its cache breakpoints."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key != "cache_control"}
    return [bare(item) for item in value] if isinstance(value, list) else value


def extends(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """True if a provider that has the first request in its cache serves all of it for the second."""
    if any(bare(before[part]) != bare(after[part]) for part in ("system", "tools", "model")):
        return False
    *old, last = bare(before["messages"])
    new = bare(after["messages"])
    gained = new[len(old)]["content"][: len(last["content"])] == last["content"]
    return bool(new[: len(old)] == old and gained)


def last_words(body: dict[str, Any]) -> list[str]:
    """The texts of the newest message of a person."""
    return [block["text"] for block in body["messages"][-1]["content"]]


async def test_memories_stand_in_the_prompt_and_changes_follow_the_words(
    tmp_path: Path, server: ScriptedServer
) -> None:
    store().add("user", "indent", "Uses tabs.")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        assert "[user] indent: Uses tabs." in server.requests[-1]["system"][-1]["text"]
        assert last_words(server.requests[-1]) == ["one"]
        await run.session.perform("amend", "indent", "Uses spaces.")
        await run.say("two")
        words, told = last_words(server.requests[-1])
        assert words == "two" and "[user] indent: Uses spaces." in told
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]
        await run.session.perform("unmemory", "indent")
        await run.say("four")
        assert "exactly as it is listed" in last_words(server.requests[-1])[1]
        bodies = server.requests
        assert all(extends(*pair) for pair in pairwise(bodies))
        assert not [n for n in run.all(Notice) if n.source == "cache"]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_words_delivered_in_the_middle_of_a_turn_bring_what_is_new(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server, allow=["bash"]) as run:

        async def meanwhile(body: dict[str, Any]) -> Reply:
            store().add("user", "indent", "Uses tabs.")
            await run.session.submit("and this")
            return Reply.tools(("bash", {"command": "echo hello"}))

        server.script(meanwhile)
        await run.say("go")
        result, words, told = server.requests[-1]["messages"][-1]["content"]
        assert (result["type"], words["text"]) == ("tool_result", "and this")
        assert "Uses tabs." in told["text"]
        assert all(extends(*pair) for pair in pairwise(server.requests))


async def test_another_session_is_told_at_its_next_turn(tmp_path: Path, server: ScriptedServer) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with engine(tmp_path / "a", server) as first, engine(tmp_path / "b", server) as second:
        await second.say("begun before")
        await first.session.perform("remember", "indent: Uses tabs.")
        await first.session.perform("remember", "workspace build: make")
        await second.say("what do you know?")
        told = last_words(server.requests[-1])[1]
        assert "[user] indent: Uses tabs." in told and "make" not in told


async def test_what_a_revert_took_from_the_model_is_told_again(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.say("one")
        await run.session.perform("remember", "indent: Uses tabs.")
        await run.say("two")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        await run.say("two again")
        assert "Uses tabs." in last_words(server.requests[-1])[1]
    async with engine(tmp_path, server, resume="latest") as run:
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]


async def test_a_file_that_changes_is_told_with_the_next_words_and_the_prompt_stays(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server) as run:
        await run.say("one")
        (tmp_path / "AGENTS.md").write_text("new rules")
        await run.say("two")
        assert "new rules" in last_words(server.requests[-1])[1]
        (reminded,) = run.all(Reminded)
        assert [(one.source, one.short) for one in reminded.told] == [("instructions", "AGENTS.md")]
        await run.say("three")
        assert last_words(server.requests[-1]) == ["three"]
        (tmp_path / "AGENTS.md").write_text("old rules")
        await run.say("four")
        assert "again as they are at the beginning" in last_words(server.requests[-1])[1]
        assert all(extends(*pair) for pair in pairwise(server.requests))


async def test_a_session_that_is_resumed_says_what_it_is_told_next(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    async with engine(tmp_path, server) as run:
        await run.say("one")
    store().add("user", "indent", "Uses tabs.")
    async with engine(tmp_path, server, resume="latest") as run:
        assert not [n for n in run.all(Notice) if "instructions" in n.text]
    (tmp_path / "AGENTS.md").write_text("new rules")
    async with engine(tmp_path, server, resume="latest") as run:
        (notice,) = [n.text for n in run.all(Notice) if "instructions" in n.text]
        assert "(AGENTS.md)" in notice
        await run.say("two")
        words, rules, memories = last_words(server.requests[-1])
        assert words == "two" and "new rules" in rules and "Uses tabs." in memories


async def test_a_file_that_grows_too_long_is_cut_and_said_once(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await run.say("one")
        (tmp_path / "CODEBUDDY.md").write_text("a rule\n" * 10_000)
        await run.say("two")
        await run.say("three")
        assert len(last_words(server.requests[1])[1]) < 40_000
        assert len([n for n in run.all(Notice) if "CODEBUDDY.md is longer" in n.text]) == 1


async def test_the_manifest_names_every_memory_that_is_sent(tmp_path: Path, server: ScriptedServer) -> None:
    for key in ("indent", "tests", "tone"):
        store().add("user", key, f"about {key}")
    async with engine(tmp_path, server) as run:
        await run.say("one")

        async def named() -> list[tuple[str, int]]:
            memories = (await run.session.manifest()).memories
            return sorted((str(entry["key"]), int(entry["rev"])) for entry in memories)

        assert await named() == [("indent", 1), ("tests", 1), ("tone", 1)]
        await run.session.perform("forget", "tests")
        await run.session.perform("amend", "tone", "short")
        await run.session.perform("remember", "colour: none")
        assert await named() == [("indent", 1), ("tests", 1), ("tone", 1)]
        await run.say("two")
        assert await named() == [("colour", 1), ("indent", 1), ("tone", 2)]


async def test_a_store_that_cannot_be_read_is_said_once_and_the_turn_goes_on(
    tmp_path: Path, server: ScriptedServer
) -> None:
    paths.private_folder(paths.memory_db().parent)
    async with engine(tmp_path, server) as run:
        await run.say("one")
        paths.memory_db().mkdir()
        await run.say("two")
        await run.say("three")
        assert len([n for n in run.all(Notice) if "memories cannot be used" in n.text]) == 1
        assert len(server.requests) == 3


async def test_a_compaction_takes_what_is_remembered_into_the_prompt(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        await talked(run, scripted)
        await run.session.perform("remember", "indent: Uses tabs.")
        scripted.script(Reply.text("yes"), Reply.text(SUMMARY), Reply.text("on"), Reply.text("and on"))
        await run.say("before")
        assert "Uses tabs." in last_words(scripted.requests[-1])[1]
        await compacted(run)
        await run.say("after")
        assert "Uses tabs." in scripted.requests[-1]["system"][-1]["text"]
        told = last_words(scripted.requests[-1])
        await run.session.perform("forget", "indent")
        await run.say("and then")
        assert "no longer: [user] indent" in str(scripted.requests[-1]["messages"][-1])
        assert not [text for text in told if "Uses tabs." in text]
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_what_came_before_a_compaction_stays_when_what_follows_is_undone(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        scripted.script(Reply.text('<memory scope="user" key="old">old</memory>'))
        await run.say("first")
        await talked(run, scripted)
        scripted.script(Reply.text('<memory scope="user" key="kept">kept</memory>'), Reply.text(SUMMARY))
        await run.say("last")
        await compacted(run)
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        statuses = {memory.key: memory.status for memory in store().list()}
        assert statuses == {"old": "proposed", "kept": "suspended"}
        await run.session.perform("undo")
        await run.session.perform("undo")
        assert {memory.status for memory in store().list()} == {"proposed"}
        await run.session.perform("redo")
        await run.session.perform("redo")
        assert {memory.key: memory.status for memory in store().list()} == statuses


async def test_an_answer_behind_a_summary_says_that_it_is_not_known_what_was_read(tmp_path: Path) -> None:
    async with ScriptedServer() as scripted, engine(tmp_path, scripted, settings=settings(scripted)) as run:
        await talked(run, scripted)
        marker = '<memory scope="user" key="k">v</memory>'
        calls = [Reply.tools(("bash", {"command": f"echo {number}"})) for number in range(3)]
        scripted.script(*calls, Reply.overflow(), Reply.text(SUMMARY), Reply.text(marker))
        await run.say("go")
        (memory,) = store().list()
        assert memory.tainted and memory.outside
