"""The demo model calls tools of MCP servers by name."""

from __future__ import annotations

from typing import Any

import pytest

from tui_agent.llm.demo.planner import Answer, plan

ECHO = "mcp__small__echo"


def step(words: str, tools: set[str], *results: tuple[str, dict[str, Any], str, bool]) -> Answer:
    """What it does next, after these calls and their results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": words}]
    for number, (tool, arguments, text, error) in enumerate(results):
        call = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": error}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return plan(messages, frozenset(tools))


def test_it_calls_what_is_described_in_full() -> None:
    words = f'call {ECHO} {{"text": "hi, you"}}'
    (call,) = step(words, {ECHO}).calls
    assert (call.tool, call.arguments) == (ECHO, {"text": "hi, you"})
    after = step(words, {ECHO}, (ECHO, {"text": "hi, you"}, "hi, you", False))
    assert (after.calls, "hi, you" in after.text) == ((), True)


def test_it_reads_a_resource() -> None:
    words = 'call read_mcp_resource {"server": "small", "uri": "note:1"}'
    (call,) = step(words, {"read_mcp_resource"}).calls
    assert (call.tool, call.arguments) == ("read_mcp_resource", {"server": "small", "uri": "note:1"})


def test_it_looks_up_what_is_held_back_and_calls_it_through_another_tool() -> None:
    words, tools = f"use `{ECHO}` with {{}}", {"select_tools", "use_tool"}
    (first,) = step(words, tools).calls
    assert (first.tool, first.arguments) == ("select_tools", {"names": [ECHO]})
    looked_up = ("select_tools", {"names": [ECHO]}, "described", False)
    (second,) = step(words, tools, looked_up).calls
    assert (second.tool, second.arguments) == ("use_tool", {"name": ECHO, "arguments": {}})
    failed = step(words, tools, ("select_tools", {"names": [ECHO]}, "there is no tool", True))
    assert (failed.calls, "there is no tool" in failed.text) == ((), True)


@pytest.mark.parametrize("words", [f"call {ECHO} {{oops}}", "call me", "use bash"])
def test_what_is_no_call_is_not_made(words: str) -> None:
    assert step(words, {ECHO, "bash"}).calls == ()


def test_a_tool_that_is_not_there_is_not_called() -> None:
    assert f"no tool `{ECHO}`" in step(f"call {ECHO}", {"bash"}).text
