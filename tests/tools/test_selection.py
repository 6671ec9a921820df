"""Descriptions that are held back: what is offered, found and called, and what is said of arguments that do not fit."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.context import Context
from tui_agent.messages.blocks import text_block, tool_called
from tui_agent.settings.serving import Tools
from tui_agent.tools.matching import check
from tui_agent.tools.mcp.listing import checked
from tui_agent.tools.selection import MOST_IN_FULL, MOST_SELECTED, Selection
from tui_agent.tools.tool import Call, Need, Output, Progress, Tool, ToolError
from tui_agent.tools.toolbox import Toolbox


class Plain:
    """A tool of a server that gives its arguments back."""

    read_only = False

    def __init__(self, name: str, description: str = "") -> None:
        self.name = name
        self.description = description or f"The tool {name}."
        self.schema: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}}

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        check(self.name, arguments, self.schema)
        return Need("run", self.name, rule=self.name)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        return Output(f"{self.name} {dict(arguments)}")


class Shelf:
    """Tools that come from elsewhere."""

    def __init__(self, *tools: Tool) -> None:
        self.there: list[Tool] = list(tools)

    def tools(self) -> Sequence[Tool]:
        return self.there

    async def close(self) -> None:
        pass


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    made = Context(tmp_path / "context.jsonl")
    await made.restore()
    yield made
    await made.close()


def box(context: Context, *served: Tool, settings: Tools | None = None, window: int = 200_000) -> Toolbox:
    made = Toolbox([Plain("own")])
    made.serve(Shelf(*served), Selection(context, lambda: settings or Tools(), lambda: window))
    return made


def names(toolbox: Toolbox, *, anew: bool = False) -> list[str]:
    return [tool["name"] for tool in toolbox.offer(anew=anew)]


def many(count: int) -> list[Tool]:
    return [Plain(f"mcp__s__t{number}") for number in range(count)]


@pytest.mark.parametrize(
    ("settings", "count", "held_back"),
    [
        (Tools(), 20, False),
        (Tools(), 21, True),
        (Tools(defer="on"), 1, True),
        (Tools(defer="on"), 0, False),
        (Tools(defer="off"), 100, False),
        (Tools(defer_above=0.01), 20, False),
        (Tools(defer_above=0.001), 20, True),
    ],
)
def test_with_many_tools_their_descriptions_are_held_back(
    context: Context, settings: Tools, count: int, held_back: bool
) -> None:
    offered = names(box(context, *many(count), settings=settings))
    if held_back:
        assert offered == ["own", "select_tools", "use_tool"]
    else:
        assert offered == ["own", *(tool.name for tool in many(count))]


@pytest.mark.parametrize(("defer", "held_back"), [("auto", True), ("on", True), ("off", False)])
async def test_tools_that_are_still_to_come_will_be_told_by_name(
    context: Context, defer: Literal["auto", "on", "off"], held_back: bool
) -> None:
    shelf, settings = Shelf(), Tools(defer=defer)
    toolbox = Toolbox([Plain("own")])
    toolbox.serve(shelf, Selection(context, lambda: settings, lambda: 200_000, lambda: not shelf.there))
    await context.write_tools(toolbox.offer())
    shelf.there.append(Plain("mcp__s__late"))
    assert names(toolbox) == (["own", "select_tools", "use_tool"] if held_back else ["own", "mcp__s__late"])


async def test_what_is_offered_stays_while_a_tool_set_is_in_force(context: Context) -> None:
    toolbox = box(context, *many(30))
    await context.write_tools(toolbox.offer())
    before = names(toolbox)
    await used(context, "mcp__s__t7")
    assert names(toolbox) == before
    assert names(toolbox, anew=True) == [*before, "mcp__s__t7"]


async def test_written_anew_those_used_last_are_in_full_the_last_first(context: Context) -> None:
    toolbox = box(context, *many(30))
    await context.write_tools(toolbox.offer())
    for number in (1, 2, 3, 1):
        await used(context, f"mcp__s__t{number}")
    await used(context, "use_tool", name="mcp__s__t9", arguments={})
    await used(context, "own")
    anew = toolbox.offer(anew=True)
    assert [tool["name"] for tool in anew][3:] == [f"mcp__s__t{number}" for number in (9, 1, 3, 2)]
    await context.write_tools(anew)
    await used(context, "mcp__s__t2")
    assert toolbox.offer() == anew
    for number in range(30):
        await used(context, f"mcp__s__t{number}")
    assert len(toolbox.offer(anew=True)) == 3 + MOST_IN_FULL


async def used(context: Context, tool: str, /, **arguments: Any) -> None:
    call = {"type": "tool_use", "id": f"c{len(context.records)}", "name": tool, "input": arguments}
    await context.append_message({"role": "user", "content": [text_block("go on")]})
    await context.append_message({"role": "assistant", "content": [call]})
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "done"}
    await context.append_message({"role": "user", "content": [result]}, origin="tool")


async def selected(toolbox: Toolbox, **arguments: Any) -> Output:
    tool = toolbox.find("select_tools")
    assert tool is not None
    assert tool.needs(arguments).kind == "none"
    return await tool.call(arguments, lambda text: None)


async def test_tools_are_selected_by_name_and_by_words(context: Context) -> None:
    toolbox = box(
        context,
        Plain("mcp__t__create_issue", "Create an issue in a tracker."),
        Plain("mcp__t__list_issue", "List issues."),
        Plain("mcp__w__forecast", "Weather of tomorrow."),
    )
    found = str((await selected(toolbox, names=["mcp__w__forecast"], query="create issues")).content)
    parts = [part.splitlines()[0] for part in found.split("\n\n")]
    assert parts == ["mcp__w__forecast", "mcp__t__create_issue", "mcp__t__list_issue"]
    assert 'arguments: {"type":"object","properties":{"x":{"type":"integer"}}}' in found
    wrong = await selected(toolbox, names=["mcp__w__forcast"])
    assert (wrong.content, wrong.error) == (
        "there is no tool 'mcp__w__forcast'; did you mean mcp__w__forecast?",
        True,
    )
    assert "no tool fits 'zebra'; there are: mcp__t__create_issue" in str(
        (await selected(toolbox, query="zebra")).content
    )
    with pytest.raises(ToolError, match="give names, or a query"):
        await selected(toolbox)


async def test_no_more_are_described_at_once_than_one_can_read(context: Context) -> None:
    given = await selected(box(context, *many(25)), query="tool")
    assert str(given.content).count("arguments: ") == MOST_SELECTED
    assert "5 more fit: " in str(given.content)


def test_a_call_through_another_tool_is_that_of_the_tool_itself(context: Context) -> None:
    toolbox = box(context, *many(2))
    for arguments in ({"x": 3}, '{"x": 3}'):
        call = Call("c", "use_tool", {"name": "mcp__s__t1", "arguments": arguments})
        assert toolbox.resolve(call) == Call("c", "mcp__s__t1", {"x": 3})
    assert toolbox.resolve(Call("c", "use_tool", {"name": "own"})) == Call("c", "own", {})
    assert toolbox.resolve(Call("c", "mcp__s__t1", {})) == Call("c", "mcp__s__t1", {})


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "mcp__s__t", "arguments": {}}, "there is no tool 'mcp__s__t'; did you mean mcp__s__t1"),
        ({"name": "use_tool", "arguments": {"name": "own"}}, "there is no tool 'use_tool'"),
        ({"name": "mcp__s__t1", "arguments": [1]}, "'arguments' must be an object"),
        ({"name": "mcp__s__t1", "arguments": "{"}, "'arguments' is no JSON object"),
        ({"arguments": {}}, "use_tool needs the argument 'name'"),
    ],
)
def test_a_call_of_no_tool_says_what_is_wrong(context: Context, arguments: dict[str, Any], why: str) -> None:
    toolbox = box(context, *many(2))
    call = Call("c", "use_tool", arguments)
    assert toolbox.resolve(call) == call
    tool = toolbox.find("use_tool")
    assert tool is not None
    with pytest.raises(ToolError) as raised:
        tool.needs(arguments)
    assert str(raised.value).startswith(why)


# --- arguments and schemas

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "kind": {"enum": ["bug", "task"]},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "who": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/person"}]},
        "flag": {"type": ["boolean", "null"]},
        "free": {"type": "object", "additionalProperties": {"type": "number"}},
        "own": {"$ref": "#/properties/title"},
    },
    "required": ["title"],
    "additionalProperties": False,
    "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"count": 9, "kind": "bug", "labels": ["a", "b"], "flag": None},
        {"count": 3.0, "who": None, "own": "x"},
        {"who": {"name": "Ada", "age": 36}, "free": {"a": 1, "b": 2.5}},
    ],
)
def test_arguments_that_fit(more: dict[str, Any]) -> None:
    check("tool", {"title": "x", **more}, SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "'title' is missing"),
        ({"title": ""}, "'title' must be at least 1 characters, not 0"),
        ({"title": "abcdef"}, "'title' must be at most 5 characters, not 6"),
        ({"title": 3}, "'title' must be string, not 3"),
        ({"title": "x", "count": "3"}, "'count' must be integer, not '3'"),
        ({"title": "x", "count": True}, "'count' must be integer, not True"),
        ({"title": "x", "count": 10}, "'count' must be at most 9, not 10"),
        ({"title": "x", "kind": "idea"}, "'kind' must be one of 'bug', 'task', not 'idea'"),
        ({"title": "x", "labels": ["a", 2]}, "'labels'[1] must be string, not 2"),
        ({"title": "x", "labels": ["a", "b", "c"]}, "'labels' must be at most 2 items, not 3"),
        ({"title": "x", "who": {"age": 3}}, "'who' must be null, not {'age': 3}, or 'who'.name is missing"),
        ({"title": "x", "free": {"a": "b"}}, "'free'.a must be number, not 'b'"),
        ({"title": "x", "flag": 1}, "'flag' must be boolean or null, not 1"),
        ({"title": "x", "own": 1}, "'own' must be string, not 1"),
        ({"title": "x", "extra": 1}, "there is no 'extra'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolError) as raised:
        check("tool", arguments, SCHEMA)
    assert f"the arguments do not fit tool: {why}" in str(raised.value)
    assert "It takes: title, count, kind" in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(
    [
        *("type", "enum", "const", "allOf", "anyOf", "properties", "required", "additionalProperties"),
        *("items", "minItems", "maxLength", "minimum", "$ref", "patternProperties"),
    ]
)
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["object", "#", "#/properties/a", "string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.just("a"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.just("a") | st.text(max_size=8), JSON, max_size=3), st.dictionaries(WORDS, SCHEMAS))
def test_whatever_a_server_writes_for_a_schema_a_call_is_judged(
    arguments: dict[str, Any], schema: dict[str, Any]
) -> None:
    with suppress(ToolError):
        check("tool", arguments, schema)
    tool = checked("tool", None, schema)
    if not tool.fault:
        assert tool.schema["type"] == "object"
        assert json.dumps(tool.schema).isascii()


def test_a_schema_that_doubles_at_each_step_takes_no_hours() -> None:
    schema = {"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}]}
    check("tool", {}, schema)


def test_a_schema_that_leads_in_circles_or_nowhere_takes_everything() -> None:
    circle = {"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "http://elsewhere/"}, "c": 3}}
    check("tool", {"a": 1, "b": 2, "c": 3}, circle)
    deep: dict[str, Any] = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}
    with pytest.raises(ToolError, match=r"there is no 'a'\.a\.b"):
        check("tool", {"a": {"a": {"b": 1}}}, deep)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"name": "bash", "input": {"name": "x"}}, "bash"),
        ({"name": "use_tool", "input": {"name": "mcp__s__t", "arguments": {}}}, "mcp__s__t"),
        ({"name": "use_tool", "input": {"arguments": {}}}, "use_tool"),
        ({"name": "use_tool", "input": "cut"}, "use_tool"),
    ],
)
def test_who_reads_a_log_sees_the_tool_that_was_called(block: dict[str, Any], name: str) -> None:
    assert tool_called({"type": "tool_use", "id": "c", **block}) == name
