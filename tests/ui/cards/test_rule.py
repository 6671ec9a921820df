"""What a rule allows, in words, and that the words say what the engine does."""

from __future__ import annotations

import pytest

from tui_agent.tools.permission import Rule
from tui_agent.ui.cards.rule import meaning

COMMANDS = (
    "pnpm test",
    "pnpm test --filter web",
    "pnpm tests",
    "pnpm build",
    "git a push",
    "git push",
    "a*b",
    "axb",
)


@pytest.mark.parametrize(
    ("rule", "words", "allowed"),
    [
        ("bash:pnpm test*", "all commands that begin with pnpm test", {0, 1, 2}),
        ("bash:pnpm test *", "pnpm test alone, or with anything behind it", {0, 1}),
        ("bash:pnpm test", "only the command pnpm test", {0}),
        (r"bash:a\*b", "only the command a*b", {6}),
        ("bash:git * push", "all commands that read git ... push", {4}),
        ("bash", "every command, whatever it does", set(range(len(COMMANDS)))),
        ("bash:*", "every command, whatever it does", set(range(len(COMMANDS)))),
    ],
)
def test_a_rule_is_told_as_the_engine_reads_it(rule: str, words: str, allowed: set[int]) -> None:
    assert meaning(rule, "bash") == words
    read = Rule.parse(rule)
    assert {place for place, command in enumerate(COMMANDS) if read.takes(command)} == allowed


@pytest.mark.parametrize("text", ["", "bash:", "bash: ", ":x", "two words", "edit_file:src/*", "bash pnpm"])
def test_what_is_no_rule_for_the_tool_has_no_meaning(text: str) -> None:
    assert meaning(text, "bash") is None


def test_rules_for_resources_speak_of_servers() -> None:
    assert (
        meaning("read_mcp_resource", "read_mcp_resource")
        == "every call of read_mcp_resource, whatever the server"
    )
    words = "every call of read_mcp_resource, of tracker only"
    assert meaning("read_mcp_resource:tracker", "read_mcp_resource") == words
    assert meaning("list_mcp_resources", "read_mcp_resource") is None


def test_rules_of_file_tools_speak_of_paths() -> None:
    assert meaning("edit_file", "edit_file") == "every call of edit_file inside the workspace"
    assert meaning("edit_file:src/*", "edit_file") == "all edit_file of paths that begin with src/"
    assert meaning("edit_file:src/a.py", "edit_file") == "edit_file of src/a.py only"


@pytest.mark.parametrize(
    ("rule", "words", "other"),
    [
        ("mcp__desk__read__all", "every call of mcp__desk__read__all, whatever its arguments", False),
        ("mcp__desk", "every call of every tool of the server desk, whatever its arguments", True),
    ],
)
def test_a_rule_for_a_tool_of_a_server_or_for_all_of_them(rule: str, words: str, other: bool) -> None:
    assert meaning(rule, "mcp__desk__read__all") == words
    assert Rule.parse(rule).names("mcp__desk__read__all")
    assert Rule.parse(rule).names("mcp__desk__write") is other
    assert not Rule.parse(rule).names("mcp__desktop__read")


@pytest.mark.parametrize("rule", ["mcp__desk__read", "mcp__des", "mcp", "mcp__other", "bash"])
def test_a_rule_of_another_server_is_none_for_this_tool(rule: str) -> None:
    assert meaning(rule, "mcp__desk__read__all") is None
    assert not Rule.parse(rule).names("mcp__desk__read__all")
