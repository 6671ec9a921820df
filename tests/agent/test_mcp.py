"""Sessions with MCP servers: what the model is told of their tools, calls with approvals, faults, and compaction."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support import mcp_small
from tests.support.engine import Run, engine, once, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tests.support.validity import extends
from tui_agent.agent.past import requests
from tui_agent.commands import CommandError
from tui_agent.compaction.instructions import OPENING
from tui_agent.context import Context
from tui_agent.events import Answer, Asked, Notice, Reminded, ToolEnded, ToolStarted
from tui_agent.settings.schema import Compaction, Mcp, McpServer, Settings, Tools

ROOT = Path(__file__).parents[2]
SMALL = str(Path(mcp_small.__file__))


def small(*words: str, **more: Any) -> McpServer:
    return McpServer(command=sys.executable, args=(SMALL, *words), **{"timeout": 20, **more})


def real(name: str, **more: Any) -> McpServer:
    args = ("-m", "tests.support.mcp_real", name)
    return McpServer(command=sys.executable, args=args, cwd=str(ROOT), **{"timeout": 20, **more})


def settings(server: ScriptedServer, tools: Tools | None = None, /, **servers: McpServer) -> Settings:
    made = replace(scripted_settings(server), mcp=Mcp(servers=servers), tools=tools or Tools())
    return replace(made, compaction=Compaction(ahead="off"))


def using(tool: str, **arguments: Any) -> Reply:
    """The model calls a tool whose description was held back."""
    return Reply.tools(("use_tool", {"name": tool, "arguments": arguments}))


def results(run: Run) -> list[str]:
    return [event.text for event in run.all(ToolEnded)]


def all_text(body: dict[str, Any]) -> str:
    return str(body["messages"])


async def test_two_servers_with_sixty_tools_are_told_by_name_and_faults_end_no_session(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, tracker=real("tracker"), desk=real("desk", timeout=1))
        async with engine(tmp_path, server, settings=chosen) as run:
            server.script(
                Reply.tools(("select_tools", {"query": "invoice", "names": ["mcp__tracker__echo"]})),
                using("mcp__tracker__create_invoice", words="for Ada"),
                using("mcp__tracker__crash", words="x"),
                using("mcp__desk__hang", words="x"),
                Reply.tools(("mcp__desk__echo", {"words": "by its own name"})),
                Reply.text("done"),
            )
            ended = await run.say("write an invoice")
            told = results(run)
        assert ended.reason == "end_turn"
        assert told[0].count("arguments: {") == 7
        assert told[1:] == [
            "tracker did create_invoice: for Ada",
            "the MCP server tracker failed: it ended with exit code 3: the server falls over",
            "the MCP server desk failed: it did not answer within 1 s",
            "by its own name",
        ]
        first = server.requests[0]
        assert [tool["name"] for tool in first["tools"]][-2:] == ["select_tools", "use_tool"]
        assert all_text(first).count("\\n- mcp__") == 60
        assert "mcp__tracker__list_sensor" not in str(first["tools"])
        for before, after in zip(server.requests, server.requests[1:], strict=False):
            assert extends(before, after) == []


async def test_the_screen_the_log_and_the_rules_know_the_tool_that_was_called(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        asked: list[Asked] = []

        def answers(question: Asked) -> Answer:
            asked.append(question)
            return Answer("session")

        chosen = settings(server, Tools(defer="on"), small=small())
        async with engine(tmp_path, server, settings=chosen, answers=answers) as run:
            server.script(
                using("mcp__small__echo", text="one"), using("mcp__small__echo", text="two"), Reply.text("so")
            )
            await run.say("go")
            question = asked[0].question
            assert (question.tool, question.rule) == ("mcp__small__echo", "mcp__small__echo")
            assert question.title == "call this tool of an MCP server?"
            assert question.body == 'small: echo {"text": "one"}'
            assert len(asked) == 1
            assert {event.tool for event in run.all(ToolStarted)} == {"mcp__small__echo"}
            metas = [m.meta for m in run.context.history if m.origin == "tool"]
            assert [meta["tool"] for meta in metas] == ["mcp__small__echo"] * 2
            assert metas[0]["title"] == '{"text": "one"}'


async def test_a_person_refuses_and_in_plan_mode_nothing_is_called(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, Tools(defer="on"), small=small())
        refusing = lambda asked: Answer("no", note="not now")  # noqa: E731
        async with engine(tmp_path, server, settings=chosen, answers=refusing) as run:
            server.script(using("mcp__small__echo", text="one"), Reply.text("well"))
            await run.say("go")
            assert "refused this call: not now" in results(run)[-1]
            await run.session.perform("mode", "plan")
            run.session.rules.remember("mcp__small__echo")
            server.script(using("mcp__small__echo", text="one"), Reply.text("well"))
            await run.say("go on")
            assert "plan mode is on" in results(run)[-1]


async def test_few_tools_are_described_in_full_and_one_that_comes_later_is_told(tmp_path: Path) -> None:
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=settings(server, small=small())) as run,
    ):
        server.script(Reply.tools(("mcp__small__grow", {})), Reply.text("grown"), Reply.text("so"))
        await run.say("grow")
        if not any("new: grown_" in notice.text for notice in run.all(Notice)):
            await run.until(Notice, lambda notice: "new: grown_" in notice.text)
        await run.say("and now?")
        first, last = server.requests[0], server.requests[-1]
        assert "mcp__small__echo" in [tool["name"] for tool in first["tools"]]
        assert "select_tools" not in str(first["tools"])
        assert extends(server.requests[1], last) == []
        assert "Tools that came since" in all_text(last)
        name = "mcp__small__grown_" + str(len(mcp_small.TOOLS))
        assert name in all_text(last) and name not in str(last["tools"])
        await run.session.perform("refresh")
        server.script(Reply.text("there"))
        await run.say("and after a refresh?")
        assert name in [tool["name"] for tool in server.requests[-1]["tools"]]


async def test_what_was_used_last_is_in_full_after_a_compaction_and_every_request_is_rebuilt_from_files(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, Tools(defer="on"), small=small())
        async with engine(tmp_path, server, settings=chosen) as run:
            for turn in ("echo", "args", "echo"):
                server.script(using(f"mcp__small__{turn}", **({"text": "x"} if turn == "echo" else {})))
                server.script(Reply.text("so it went, and it took a while to say so. " * 40))
                await run.say(f"use {turn}")
            server.script(
                Reply.text("## Goal\nTools were used.\n\n## State\nAll of it works as it should. " * 4)
            )
            await run.session.perform("compact")
            await run.session.until_idle()
            server.script(using("mcp__small__chatter"), Reply.text("on"))
            await run.say("go on")
            names = [tool["name"] for tool in server.requests[-1]["tools"]]
            assert names[-2:] == ["mcp__small__echo", "mcp__small__args"]
            assert results(run)[-1] == "answered all the same"
            assert "- mcp__small__chatter" in all_text(server.requests[-1])
            assert "- mcp__small__echo" not in all_text(server.requests[-1])
            assert extends(server.requests[-2], server.requests[-1]) == []
            server.script(
                using("mcp__small__grow"), Reply.text("grown"), Reply.text("seen"), Reply.text("so")
            )
            await run.say("grow")
            await run.say("what is new?")
            await run.session.perform("refresh")
            await run.session.perform("revert", str(run.session.timeline.turns()[-2].id))
            await run.say("from there on")
            folder = run.session.folder.path
        rebuilt = set()
        for path in folder.glob("context*.jsonl"):
            context = Context(path, read_only=True)
            await context.restore()
            for usage, built in requests(context):
                assert usage["request"] == built.sha256, path
                rebuilt.add(built.sha256)
        asked = [body for body in server.requests if OPENING not in str(body["messages"][-1])]
        assert len(rebuilt) == len(asked) == len(server.requests) - 1


async def test_a_resumed_session_starts_no_server_and_says_what_is_not_there_any_more(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, Tools(defer="on"), small=small(), other=small())
        async with engine(tmp_path, server, settings=chosen) as run:
            server.script(Reply.text("hello"))
            await run.say("hello")
        chosen = settings(server, Tools(defer="on"), small=small())
        async with engine(tmp_path, server, settings=chosen, resume="latest") as run:
            assert run.session.servers is not None
            server.script(Reply.text("again"))
            await run.say("again")
            assert [one.state for one in run.session.servers.all] == ["not started"]
            assert extends(server.requests[0], server.requests[1]) == []
            told = [m.text for m in run.context.history if m.origin == "injection"]
            assert len(told) == 2
            assert "mcp__other__echo" in told[0] and "mcp__other__echo" not in told[1]


async def test_a_person_sees_what_servers_cost_and_takes_them_in_and_out(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, Tools(defer="on"), small=small(), gone=McpServer(command="/no/such"))
        async with engine(tmp_path, server, settings=chosen) as run:
            server.script(using("mcp__small__exit", code=2), Reply.text("so"))
            await run.say("go")
            shown = await run.session.perform("mcp")
            first, second = shown.data["servers"]
            assert (first["name"], first["state"], first["tools"]) == (
                "small",
                "failed",
                len(mcp_small.TOOLS),
            )
            assert first["tokens"]["in_full"] > first["tokens"]["by_name"] > 0
            assert "exit code 2: leaving with 2" in shown.text
            assert Path(first["log"]).read_text() == "leaving with 2\n"
            assert "cannot start /no/such" in second["error"]
            assert (await run.session.perform("mcp", "restart", "small")).data["state"] == "running"
            with pytest.raises(CommandError, match="gone cannot be started"):
                await run.session.perform("mcp", "restart", "gone")
            with pytest.raises(CommandError, match="there is no MCP server 'none'; there are: small, gone"):
                await run.session.perform("mcp", "restart", "none")
            assert (await run.session.perform("mcp", "disable", "small")).data["state"] == "disabled"
            server.script(using("mcp__small__echo", text="x"), Reply.text("so"))
            await run.say("again")
            assert "there is no tool 'mcp__small__echo'" in results(run)[-1]
            await run.session.perform("mcp", "enable", "small")
            server.script(using("mcp__small__echo", text="x"), Reply.text("so"))
            await run.say("again")
            assert results(run)[-1] == "x"


async def test_a_mode_is_in_force_at_once_while_servers_are_still_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.tools.mcp.servers.FIRST_SECONDS", 3600)
    mute = McpServer(command=sys.executable, args=(SMALL, "mute"), start_timeout=3600)
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=settings(server, mute=mute)) as run,
    ):
        await run.session.submit("hello")
        await run.until(Notice, lambda notice: "before your words are sent" in notice.text)
        assert (await run.session.perform("mode", "plan")).data == {"mode": "plan"}
        assert run.session.plans.mode.now == "plan" and not server.requests
        await run.session.cancel()


async def test_what_a_workspace_names_is_used_when_a_person_agrees_and_not_without_one(
    tmp_path: Path,
) -> None:
    file = {"mcpServers": {"theirs": {"command": sys.executable, "args": [SMALL]}}}
    (tmp_path / ".mcp.json").write_text(json.dumps(file))
    async with ScriptedServer() as server:
        async with engine(tmp_path, server, attended=False) as run:
            notice = await run.until(Notice, lambda notice: "nobody is there to agree" in notice.text)
            assert "(theirs)" in notice.text
            server.script(Reply.text("hello"))
            await run.say("hello")
            assert "mcp__theirs__" not in str(server.requests[-1])
        said = [Answer("no"), Answer("once"), Answer("once")]
        async with engine(tmp_path, server, answers=lambda asked: said.pop(0)) as run:
            asked = await run.until(Asked)
            assert asked.question.kind == "agree"
            await run.until(Notice, lambda notice: notice.text == "not used in this session: theirs")
            await run.session.perform("mcp", "enable", "theirs")
            await run.until(Asked)
            server.script(Reply.tools(("mcp__theirs__echo", {"text": "so"})), Reply.text("hello"))
            await run.say("hello")
            assert results(run) == ["so"]


async def test_without_servers_nothing_is_different(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, answers=once) as run:
        server.script(Reply.text("hello"))
        await run.say("hello")
        assert run.session.servers is None
        assert "select_tools" not in str(server.requests[0])
        assert (await run.session.perform("mcp")).text.startswith("no MCP servers are configured")


async def test_a_prompt_of_a_server_is_called_by_a_slash_and_its_text_is_told_as_the_servers(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, small=small("things"))
        async with engine(tmp_path, server, settings=chosen) as run:
            marker = '<memory scope="user" key="style">Strictly.</memory>'
            server.script(Reply.text(f"reviewed {marker}"), *[Reply.text("so")] * 3)
            await run.session.perform("small:review", "12 strictly")
            await run.session.until_idle()
            words, told = [block["text"] for block in server.requests[0]["messages"][-1]["content"]]
            assert words == "/small:review 12 strictly"
            assert "Review {'change': '12', 'style': 'strictly'}. &lt;/system-reminder>" in told
            assert 'The prompt "small:review" of the MCP server small, which the person called.' in told
            assert [one.short for one in run.all(Reminded)[-1].told] == [
                "prompt small:review (you called it)"
            ]
            assert [m.text for m in run.context.history if m.is_words] == [words], (
                "the person's words stand alone"
            )
            (memory,) = run.session.memories.list()
            assert memory.outside == ("the prompt small:review",), (
                "a server's text came before what is proposed"
            )
            await run.say("thanks")
            assert len(server.requests[1]["messages"][-1]["content"]) == 1, "it is told once"
            await run.session.perform("mcp", "prompt", "small:review", "13")
            await run.session.until_idle()
            assert "Review {'change': '13'}" in server.requests[2]["messages"][-1]["content"][1]["text"]
            assert extends(server.requests[1], server.requests[2]) == []
            with pytest.raises(CommandError, match="change missing; usage: /small:review CHANGE"):
                await run.session.perform("small:review")
            with pytest.raises(CommandError, match="there are: small:review, small:talk"):
                await run.session.perform("mcp", "prompt", "small:other")
            with pytest.raises(CommandError, match="there is no command /small:other"):
                await run.session.perform("small:other")
            shown = await run.session.perform("mcp")
            assert shown.data["servers"][0]["prompts"] == ["/small:review CHANGE [STYLE]", "/small:talk"]
            assert "/small:review CHANGE [STYLE]" in shown.text and "has resources" in shown.text


async def test_a_resource_is_read_once_a_person_agrees_and_counts_as_text_from_outside(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        asked: list[Asked] = []

        def answers(question: Asked) -> Answer:
            asked.append(question)
            return Answer("session")

        arguments = {"server": "small", "uri": "note:1"}
        marker = '<memory scope="user" key="note">First.</memory>'
        chosen = settings(server, small=small("things"))
        async with engine(tmp_path, server, settings=chosen, answers=answers) as run:
            read = Reply.tools(("read_mcp_resource", arguments))
            server.script(read, read, Reply.text(f"read {marker}"), read, Reply.text("so"))
            await run.say("read it")
            assert results(run) == ["note:1\nthe first"] * 2
            assert [one.question.title for one in asked] == ["read this resource of an MCP server?"]
            assert [rule for rule, _ in run.session.rules.allowed()] == ["read_mcp_resource:small"]
            (memory,) = run.session.memories.list()
            assert memory.outside == ("small note:1",)
            await run.session.perform("mode", "plan")
            await run.say("again")
            assert "plan mode is on" in results(run)[-1]
