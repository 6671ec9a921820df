"""Second names of keys, as a default tmux sends them: new lines, function keys, the leader key in a burst."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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


def test_every_key_for_a_new_line_makes_one_and_none_sends(terminal: Terminal) -> None:
    terminal.type("one")
    terminal.keys("M-Enter")
    terminal.type("two")
    terminal.keys("C-j")
    terminal.type("three\\")
    terminal.keys("Enter")
    terminal.type("four")
    terminal.wait(r"(?m)^ > one\n   two\n   three\n   four$")


def test_function_keys_and_letters_reach_the_same(terminal: Terminal) -> None:
    terminal.keys("F6")
    terminal.wait("there is no checkpoint yet")
    terminal.keys("F7")
    terminal.wait("no card waits for an answer")
    terminal.type("say hello")
    terminal.keys("Enter")
    terminal.wait("checkpoint 0")
    terminal.wait("ready")
    for keys in (("F6",), ("C-x", "g")):
        terminal.keys(*keys)
        terminal.wait("go back to before")
        terminal.keys("Escape")
        terminal.wait("go back to before", gone=True)
    for keys in (("F1",), ("C-x", "h")):
        terminal.keys(*keys)
        terminal.wait("Here: the composer")
        terminal.keys("Escape")
        terminal.wait("Here: the composer", gone=True)


def test_a_letter_in_the_same_write_as_the_leader_key_acts_from_a_place(terminal: Terminal) -> None:
    terminal.keys("C-x", ",")
    terminal.wait("durability")
    terminal.type("\x18h")
    terminal.wait("Here: the composer")
    assert "durability" not in terminal.pane()
