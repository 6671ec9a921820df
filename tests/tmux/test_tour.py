"""The guided demo, driven key by key in the real program, and what it leaves behind."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest

from tests.support.examples import some
from tests.tmux.terminal import Terminal, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

_TWO_MINUTES = 120
"""Seconds in which the tour is through, at a person's pace or a test's."""


@pytest.mark.parametrize("size", some([(80, 24), (120, 36)], 2))
def test_the_tour_goes_through_a_real_session_and_touches_its_folder_alone(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    home, temporary, here = tmp_path / "home", tmp_path / "tmp", tmp_path / "here"
    for folder in (home, temporary, here):
        folder.mkdir()
    environment = {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TERM": "xterm-256color",
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    begun = time.monotonic()
    command = [sys.executable, "-m", "tui_agent", "--demo"]
    with Terminal(command, cwd=here, environment=environment, size=size) as terminal:
        terminal.wait(r"> in report\.py replace 8\.2f(?s:.*)tour 1/6")
        time.sleep(0.6)  # words that were put there unasked are not sent by an Enter that was on its way
        terminal.keys("Enter")
        pane = terminal.wait(r"make this change(?s:.*)tour 2/6")
        if "Tab to answer" in pane:
            terminal.keys("Tab")
            terminal.wait(r"-? answer -?[─╯]+|answer [─]+╯")
        time.sleep(0.6)  # a card swallows keys for half a second after it came to the front
        terminal.keys("y")
        terminal.wait(r"tour 3/6")
        terminal.wait(r"ready")
        terminal.keys("C-x", "i")
        terminal.wait(r"tour 4/6")
        terminal.keys("Right")
        terminal.wait(r"your words")
        terminal.keys("C-x", "i")
        terminal.wait(r"tour 5/6")
        terminal.keys("C-x", "g")
        terminal.wait(r"Enter goes back")
        terminal.keys("Enter")
        terminal.wait(r"tour 6/6")
        terminal.keys("C-x", "u")
        terminal.wait(r"That is all of it")
        terminal.keys("C-x", ".")
        terminal.wait(r"tour", gone=True)
        terminal.keys("C-q")
        terminal.wait(r"To work on something of yours")
    assert time.monotonic() - begun < _TWO_MINUTES
    (root,) = temporary.iterdir()
    assert re.fullmatch(r"tui-agent-demo-\w+", root.name)
    assert [path for path in (*home.rglob("*"), *here.rglob("*")) if path.is_file()] == []
    (log,) = root.rglob("context.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert any(record["role"] == "_checkpoint" and record.get("turn") for record in records)
    calls = [
        block["name"]
        for record in records
        if record["role"] == "assistant"
        for block in record["content"]
        if block["type"] == "tool_use"
    ]
    assert "edit_file" in calls
    assert log.with_name("context_1.jsonl").is_file()
    assert "10.2f" in (root / "shop" / "report.py").read_text()
