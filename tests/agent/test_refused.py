"""A request that the endpoint refuses names its records, and each way out leads to a request that is taken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_turns import sound
from tests.support.engine import Run, engine, reread
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.commands import CommandError
from tui_agent.events import Notice, RequestFailed, TurnEnded

REFUSED = "messages.2.content.0.tool_result: the endpoint does not take this"
UGLY = "a line of \x1b[31mred\x1b[0m and (/clear) in it\n"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as server:
        yield server


async def refuse(run: Run, server: ScriptedServer, tmp_path: Path, error: str = REFUSED) -> RequestFailed:
    """A turn whose second request is refused: what is told of it."""
    (tmp_path / "a.txt").write_text(UGLY)
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}}
    server.script(Reply.blocks(call, stop_reason="tool_use"), Reply.error(400, error), Reply.text("done"))
    ended = await run.say("read it")
    assert ended.reason == "failed"
    (failed,) = run.all(RequestFailed)
    assert ended.error == failed.message
    return failed


async def again(run: Run) -> TurnEnded:
    await run.session.perform("retry")
    ended = await run.until(TurnEnded)
    await run.session.until_idle()
    return ended


def result_of(body: dict[str, Any]) -> Any:
    return body["messages"][2]["content"][0]["content"]


async def test_the_record_is_named_with_ways_out_that_name_it(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        failed = await refuse(run, server, tmp_path)
        record = next(r for r in run.context.records if r.origin == "tool")
        assert failed.records == (record.id,) and failed.kind == "invalid"
        assert f"Record {record.line} is meant: the result of read_file" in failed.message
        assert "\x1b" not in failed.message.splitlines()[1]
        ways = " ".join(failed.ways)
        for command in ("record", "elide", "drop", "edit"):
            assert f"(/{command} {record.line})" in ways
        assert "(/retry)" in ways and "/clear" not in ways


@pytest.mark.parametrize("way", ["elide", "drop", "edit"])
async def test_each_way_out_leads_to_a_request_that_is_taken_and_can_be_taken_back(
    tmp_path: Path, server: ScriptedServer, way: str
) -> None:
    async with engine(tmp_path, server) as run:
        failed = await refuse(run, server, tmp_path)
        (record,) = failed.records
        before = run.context.message(record)
        number = str(run.context.record(record).line)
        await run.session.perform(way, number, *(["it held a  warning"] if way == "edit" else []))
        ended = await again(run)
        assert ended.reason == "end_turn"
        sent = server.requests[-1]
        assert UGLY.strip() not in str(sent)
        if way == "edit":
            assert result_of(sent) == "it held a  warning"
        assert [m.text for m in run.context.history if m.is_words] == ["read it"]
        assert sum(point.turn for point in run.context.checkpoints()) == 1
        await sound(run, server)
        sent_and_made = [(usage["request"], made.sha256) for usage, made in requests(await reread(run))]
        assert len(sent_and_made) == 3 and all(was == made for was, made in sent_and_made)
        await run.session.perform("unelide", number)
        assert run.context.message(record) == before


async def test_a_call_whose_result_was_left_out_is_said_to_be_just_that(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        failed = await refuse(run, server, tmp_path)
        await run.session.perform("drop", failed.records[0])
        assert (await again(run)).reason == "end_turn"
        told = [notice.text for notice in run.all(Notice)]
        assert (
            "a tool call was left without the result that you left out (read_file); the model is told" in told
        )
        assert not any("program stopped" in text for text in told)


async def test_the_prompt_and_the_tools_can_be_meant(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        failed = await refuse(run, server, tmp_path, "tools[3].input_schema: no; system.0.text: no")
        roles = [run.context.record(name).role for name in failed.records]
        assert roles == ["_system_prompt", "_tools"]
        assert not any("/drop" in way or "/edit" in way for way in failed.ways)
        assert run.context.tools is not None
        assert sum("(/refresh)" in way for way in failed.ways) == 2
        assert f"the tools that are offered, {run.context.tools[3]['name']}" in failed.message


async def test_the_models_answer_cannot_be_edited_and_is_never_offered_to_be(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        failed = await refuse(run, server, tmp_path, "messages.1.content.0: no")
        (record,) = failed.records
        assert run.context.record(record).role == "assistant"
        assert any("/drop" in way for way in failed.ways) and not any("/edit" in way for way in failed.ways)
        with pytest.raises(CommandError, match="unchanged or not at all"):
            await run.session.perform("edit", record, "other words")
        with pytest.raises(CommandError, match="is no message"):
            await run.session.perform("edit", "1", "other words")
        for verb in ("elide", "drop"):
            with pytest.raises(CommandError, match="is no message: it can be neither shortened nor dropped"):
                await run.session.perform(verb, "1")
        await run.session.perform("drop", record)
        assert (await again(run)).reason == "end_turn"
        assert [m["role"] for m in server.requests[-1]["messages"]] == ["user"]
        await sound(run, server)


async def test_a_prompt_is_edited_with_its_lines_and_shown_as_it_is_sent(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("one"), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        await run.say("first words")
        words = next(m for m in run.context.history if m.is_words)
        with pytest.raises(CommandError, match="blank"):
            await run.session.perform("edit", words.id, " ")
        await run.session.perform("edit", words.id, "other\nwords")
        assert (await run.session.perform("edit", words.id)).text == "other\nwords"
        assert (await run.session.perform("record", words.id)).text == "other\nwords"
        await run.say("second")
        assert server.requests[-1]["messages"][0]["content"][0]["text"] == "other\nwords"
        number = str(run.context.record(words.id).line)
        dropped = await run.session.perform("drop", number)
        assert f"(/unelide {number} brings it back)" in dropped.text, "the name that was said for it"
        with pytest.raises(CommandError, match="bring it back first"):
            await run.session.perform("edit", words.id, "more")
        await sound(run, server)


async def test_nothing_is_asked_again_where_nothing_waits_for_an_answer(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("one"))
    async with engine(tmp_path, server) as run:
        with pytest.raises(CommandError, match="nothing waits"):
            await run.session.perform("retry")
        await run.say("hi")
        with pytest.raises(CommandError, match="nothing waits"):
            await run.session.perform("retry")


async def test_a_request_that_found_no_endpoint_goes_out_again(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.agent.replies.ATTEMPTS", 1)
    server.script(Reply.error(529), Reply.text("here"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        (failed,) = run.all(RequestFailed)
        assert failed.records == () and any("(/retry)" in way for way in failed.ways)
        assert (await again(run)).reason == "end_turn"
        assert server.requests[0]["messages"] == server.requests[1]["messages"]
        await sound(run, server)
