"""Tools together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.test_permission import Named
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.search import Glob, Grep
from tui_agent.tools.shell import Bash
from tui_agent.tools.tool import Tool
from tui_agent.tools.toolbox import Toolbox
from tui_agent.workspace.reads import Reads


@pytest.fixture
def tools(tmp_path: Path) -> list[Tool]:
    reads = Reads()
    return [
        ReadFile(tmp_path, reads),
        WriteFile(tmp_path, reads),
        EditFile(tmp_path, reads),
        Glob(tmp_path),
        Grep(tmp_path),
        Bash(tmp_path),
    ]


def test_tools_are_found_by_name(tools: list[Tool]) -> None:
    toolbox = Toolbox(tools)
    assert toolbox.find("bash") is tools[-1]
    assert toolbox.find("Bash") is None
    assert list(toolbox) == tools


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are called x"):
        Toolbox([Named("x"), Named("x")])


def test_the_offer_is_the_same_every_time(tools: list[Tool], tmp_path: Path) -> None:
    first = json.dumps(Toolbox(tools).offer())
    assert first == json.dumps(Toolbox(tools).offer())
    assert str(tmp_path) not in first
    assert [d["name"] for d in Toolbox(tools).offer()] == [
        "read_file",
        "write_file",
        "edit_file",
        "glob",
        "grep",
        "bash",
    ]


def test_every_offer_is_what_the_api_takes(tools: list[Tool]) -> None:
    for definition in Toolbox(tools).offer():
        assert set(definition) == {"name", "description", "input_schema"}
        assert 1 <= len(definition["name"]) <= 64
        schema = definition["input_schema"]
        assert schema["type"] == "object"
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(field["description"] for field in schema["properties"].values())


async def test_what_tools_hold_is_given_back() -> None:
    class Held(Named):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    held = Held("held")
    await Toolbox([Named("plain"), held]).close()
    assert held.closed == 1
