"""Writing in a real terminal: the cursor stands where tmux has put the characters, pastes and pictures come in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.tmux.terminal import Terminal, missing
from tests.tmux.walk import program

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (shop := tmp_path / "shop").mkdir()
    environment = {"TUI_AGENT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "TERM": "tmux-256color"}
    with Terminal([*program(), ".", "--demo"], cwd=shop, environment=environment, size=(80, 24)) as made:
        made.wait("ready")
        yield made


@pytest.mark.parametrize(
    ("typed", "shown", "cells"),
    [
        ("日本x", "日本x", 5),
        ("e\u0301a", "\u00e9a", 2),
        ("x\u0301q", "x\u0301q", 2),
        ("👩\u200d👩\u200d👧 y", "👩👩👧 y", 8),
        ("❤\ufe0fz", "❤z", 2),
        ("👍\U0001f3fd v", "👍 v", 4),
        ("שלום w", "שלום w", 6),
    ],
)
def test_the_cursor_stands_behind_what_was_typed(
    typed: str, shown: str, cells: int, terminal: Terminal
) -> None:
    terminal.type(typed)
    terminal.wait(f"(?m)^ > {shown}$")
    terminal.wait_cursor(3 + cells)
    terminal.keys("Left")
    terminal.wait_cursor(3 + cells - 1)


def test_a_paste_and_a_dropped_picture_come_in_as_signs_and_are_sent(
    tmp_path: Path, terminal: Terminal
) -> None:
    Image.new("RGB", (3000, 900), "red").save(tmp_path / "shot.png")
    terminal.type("see ")
    terminal.paste("\n".join(f"row {number}" for number in range(60)))
    terminal.wait(r"> see \[Pasted #1, 60 lines\]")
    terminal.type(" and ")
    terminal.paste(str(tmp_path / "shot.png"))
    terminal.wait(r"\[Image #1\]")
    terminal.keys("Enter")
    terminal.wait(r"image png 2000x600")
    terminal.keys("Up")
    terminal.wait(r"> see \[Pasted #1, 60 lines\] and \[Image #1\]")
