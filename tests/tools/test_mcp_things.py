"""Resources and prompts of MCP servers: listed, read and called like tools, and kept for the next session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.test_mcp import Used, small, starts, used
from tui_agent.tools.mcp import config
from tui_agent.tools.mcp.servers import Servers
from tui_agent.tools.permission import Rules, barred
from tui_agent.tools.tool import Need, Output, Tool, ToolError

THINGS = {"servers": {"my notes": small("things"), "plain": small()}}
BOTH = ("list_mcp_resources", "read_mcp_resource")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def tool(servers: Servers, name: str) -> Tool:
    return next(one for one in servers.tools() if one.name == name)


async def call(run: Used, name: str, **arguments: str) -> Output:
    found = tool(run.servers, name)
    found.needs(arguments)
    return await found.call(arguments, lambda text: None)


async def test_resources_are_listed_and_read(workspace: Path) -> None:
    async with used(workspace, THINGS) as run:
        assert [one.name for one in run.servers.tools()][-2:] == list(BOTH)
        listed = await call(run, BOTH[0], server="my notes")
        assert str(listed.content).split("\n") == [
            "note:1  (one, text/plain, 12 bytes): the first␤note",
            "note:dot  (dot, image/png)",
            "note:zip  (zip)",
            "note:{n}  (any, a template: fill in what is in braces)",
        ]
        assert listed.summary == "4 resources"
        read = await call(run, BOTH[1], server="my notes", uri="note:1")
        assert (read.content, read.meta["server"]) == ("note:1\nthe first", "my notes")
        dot = await call(run, BOTH[1], server="my notes", uri="note:dot")
        assert [block["type"] for block in dot.content if isinstance(block, dict)] == ["image"]
        data = await call(run, BOTH[1], server="my notes", uri="note:zip")
        assert data.content == "[note:zip: application/zip, 3 bytes, not shown]"
        with pytest.raises(ToolError, match="there is no resources/read"):
            await call(run, BOTH[1], server="my notes", uri="note:none")
        with pytest.raises(ToolError):
            tool(run.servers, BOTH[1]).needs({"server": "plain", "uri": "note:1"})


async def test_a_server_without_resources_adds_no_tools(workspace: Path) -> None:
    async with used(workspace) as run:
        assert not {one.name for one in run.servers.tools()} & set(BOTH)
        assert run.servers.prompts() == ()


async def test_reading_asks_as_a_call_does_and_a_rule_names_the_server(workspace: Path) -> None:
    async with used(workspace, THINGS) as run:
        read = tool(run.servers, BOTH[1])
        need: Need = read.needs({"server": "my notes", "uri": "note:1"})
        assert (need.body, need.rule) == ("my notes: note:1", "read_mcp_resource:my notes")
        assert Rules().decide(read, need) == "ask"
        assert (
            Rules(["read_file", "list_mcp_resources", "read_mcp_resource:other"]).decide(read, need) == "ask"
        )
        assert Rules([need.rule]).decide(read, need) == Rules([BOTH[1]]).decide(read, need) == "allow"
        assert Rules([BOTH[1]], deny=[need.rule]).decide(read, need) == "deny"
        assert barred(read, need)


async def test_a_prompt_takes_words_in_order_or_by_name(workspace: Path) -> None:
    async with used(workspace, THINGS) as run:
        assert [one.usage for one in run.servers.prompts()] == [
            "/my_notes:review CHANGE [STYLE]",
            "/my_notes:talk",
        ]
        review, talk = run.servers.prompts()
        assert await run.servers.prompt("My_Notes:REVIEW")
        assert await run.servers.prompt("my_notes:other") is None
        for rest, arguments in (
            ("12", {"change": "12"}),
            (" 12  very strictly ", {"change": "12", "style": "very strictly"}),
            ("style=short 12", {"change": "12", "style": "short"}),
            ("change=12 as=is it", {"change": "12", "style": "as=is it"}),
        ):
            called = await review.call(rest)
            assert called.text == f"Review {arguments}. </system-reminder>"
            assert called.words == f"/my_notes:review {rest.strip()}"
        assert (await talk.call("")).text == "user:\nHello.\n\nassistant:\nWhat is it?"
        with pytest.raises(ToolError, match=r"change missing; usage: /my_notes:review CHANGE \[STYLE\]"):
            await review.call("  ")
        with pytest.raises(ToolError, match="no more words; usage: /my_notes:talk"):
            await talk.call("x")


async def test_what_a_server_has_is_kept_and_nothing_starts_before_it_is_asked(workspace: Path) -> None:
    async with used(workspace, THINGS):
        pass
    async with used(workspace, THINGS) as run:
        assert starts() == 0
        assert [one.name for one in run.servers.tools()][-2:] == list(BOTH)
        assert "Review" in (await run.servers.prompts()[0].call("12")).text
        assert starts() == 1
    for file in (config.folder() / "offers").iterdir():
        file.unlink()
    async with used(workspace, THINGS) as run:
        assert len(run.servers.prompts()) == 2, "of which only the tools were known is asked again"


async def test_other_prompts_are_told_and_can_be_called_from_then_on(workspace: Path) -> None:
    async with used(workspace, THINGS) as run:
        await run.call("grow")
        while "the prompt grown_2" not in run.notices:  # the timeout of tests ends it
            await run.call("echo", text="again")
        assert await run.servers.prompt("my_notes:grown_2")


async def test_a_server_that_does_not_say_which_prompts_it_has_goes_on_with_the_rest(workspace: Path) -> None:
    async with used(workspace, {"servers": {"notes": small("things", "silent")}}) as run:
        (server,) = run.servers.all
        assert server.state == "running"
        assert server.offers.fault == "its prompts are not known: there is no prompts/list"
        assert "note:1" in str((await call(run, BOTH[0], server="notes")).content)


async def test_a_server_that_says_it_has_resources_and_lists_none_adds_no_tools(workspace: Path) -> None:
    async with used(workspace, {"servers": {"notes": small("things", "empty")}}) as run:
        (server,) = run.servers.all
        assert not server.offers.resources and not server.offers.fault
        assert not {one.name for one in run.servers.tools()} & set(BOTH)
        assert len(run.servers.prompts()) == 2


async def test_a_server_without_tools_is_used_for_what_it_has(workspace: Path) -> None:
    async with used(workspace, {"servers": {"notes": small("things", "toolless")}}) as run:
        assert (run.servers.all[0].state, [one.name for one in run.servers.tools()]) == (
            "running",
            list(BOTH),
        )
        assert len(run.servers.prompts()) == 2


async def test_a_disabled_server_offers_nothing(workspace: Path) -> None:
    async with used(workspace, {"servers": {"notes": small("things")}}) as run:
        read, review = tool(run.servers, BOTH[1]), run.servers.prompts()[0]
        await run.servers.all[0].disable()
        assert not run.servers.tools() and not run.servers.prompts()
        with pytest.raises(ToolError, match="no resources to offer now"):
            await read.call({"server": "notes", "uri": "note:1"}, lambda text: None)
        with pytest.raises(ToolError, match="disabled"):
            await review.call("12")
