"""Text whose width terminals disagree about shifts nothing beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.tmux.terminal import Terminal, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

ODD = "日本 ❤️ 👍🏽 👨‍👩‍👧 🏳️‍🌈 e\u0301"
TYPED = "日本 ❤ 👍 👨👩👧 🏳🌈 é"
"""As the composer shows it, which counts the cells of each character."""
SHOWN = "日本 ❤ 👍 👨 🏳 e\u0301"


def test_emoji_and_marks_keep_their_columns(tmp_path: Path, home: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "odd.txt").write_text(f"{ODD}|\n")
    environment = {
        "TUI_AGENT_HOME": str(home),
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
    }
    command = [sys.executable, "-m", "tui_agent", "--demo", "."]
    with Terminal(command, cwd=shop, environment=environment, size=(80, 24)) as screen:
        screen.wait("ready")
        screen.type("read odd.txt")
        screen.keys("Enter")
        pane = screen.wait(r"came back(.|\n)*\|")
        assert f"{SHOWN}|" in pane
        screen.type(f"{ODD} typed")
        pane = screen.wait("typed")
        assert f"{TYPED} typed" in " ".join(pane.split())
        first, last = pane.splitlines()[0], pane.splitlines()[-1]
        assert first.endswith("ready")
        assert last.endswith("commands")
        for line in pane.splitlines():
            assert not set(line) & set("\ufe0f\u200d\U0001f3fd")
