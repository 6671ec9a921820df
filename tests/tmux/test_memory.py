"""What the model wants to remember, decided in a real terminal of 80x24: by keys, and by the mouse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tmux.terminal import Terminal, missing
from tests.tmux.walk import program

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


class Desk:
    """The program with the demo model, and the log that it writes."""

    def __init__(self, terminal: Terminal, home: Path) -> None:
        self.terminal = terminal
        self._home = home

    def say(self, words: str, answer: str) -> None:
        """Say something to the model and wait for what it says to that."""
        self.terminal.type(words)
        self.terminal.wait(f"(?m)^ > {words}$")
        self.terminal.keys("Enter")
        self.terminal.wait(answer)

    def reminders(self) -> str:
        """What the model was told besides the words of the person, the newest last."""
        logs = sorted(self._home.rglob("context.jsonl"))
        records = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return "\n".join(json.dumps(r["content"]) for r in records if r.get("origin") == "injection")

    def again(self, act: Callable[[], None], shown: str, *, gone: bool = False) -> str:
        """Answer until it is taken: a card takes nothing before it can have been read."""
        for _ in range(6):
            act()
            try:
                return self.terminal.wait(shown, seconds=3, gone=gone)
            except AssertionError:
                continue
        raise AssertionError(f"never {shown!r}:\n{self.terminal.pane()}")

    def press(self, key: str, shown: str) -> str:
        """Press a key until it is taken."""
        return self.again(lambda: self.terminal.keys(key), shown)

    def click(self, words: str, shown: str) -> str:
        """Click on words until that is taken."""

        def act() -> None:
            rows = self.terminal.pane().split("\n")
            found = [(row, line.index(words)) for row, line in enumerate(rows, 1) if words in line]
            if found:
                row, column = found[-1]
                self.terminal.mouse((0, column + 2, row, True), (0, column + 2, row, False))

        return self.again(act, shown)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (shop := tmp_path / "shop").mkdir()
    home = tmp_path / "home"
    environment = {"TUI_AGENT_HOME": str(home), "HOME": str(tmp_path), "TERM": "tmux-256color"}
    with Terminal([*program(), ".", "--demo"], cwd=shop, environment=environment, size=(80, 24)) as made:
        made.wait("ready")
        yield Desk(made, home)


ASKED = r"remember\?  user  i-use-tabs"


def test_a_proposal_is_edited_accepted_changed_and_taken_back_by_keys(desk: Desk) -> None:
    terminal = desk.terminal
    desk.say("remember that I use tabs", ASKED)
    terminal.wait("1 to answer")
    terminal.keys("Tab")
    desk.press("e", "what to remember: Enter gives it")
    terminal.type(", width 4")
    terminal.keys("Enter")
    terminal.wait("as edited by you")
    desk.press("a", "remembered  user  i-use-tabs")
    terminal.keys("C-x", "b")
    terminal.wait(r"i-use-tabs +I use tabs, width 4")
    terminal.keys("e")
    terminal.wait("Enter saves")
    terminal.type(" always")
    terminal.keys("Enter")
    terminal.wait("saved: i-use-tabs")
    terminal.keys("Escape")
    terminal.wait("Ask, or / for commands")
    desk.say("hello", "checkpoint 2")
    terminal.wait("ready")
    assert "I use tabs, width 4 always" in desk.reminders()
    terminal.keys("F2")
    terminal.wait("Kept 1")
    terminal.keys("u")
    terminal.wait("as it was")
    terminal.keys("F2")
    terminal.wait("Ask, or / for commands")
    desk.say("hello again", "checkpoint 4")
    terminal.wait("ready")
    last = desk.reminders().rsplit("\n", 1)[-1]
    assert "I use tabs, width 4" in last and "always" not in last


def test_a_proposal_is_refused_and_not_asked_again_and_all_of_it_goes_by_the_mouse(desk: Desk) -> None:
    terminal = desk.terminal
    desk.say("remember that I use tabs", ASKED)
    desk.click("[e] edit", "what to remember: Enter gives it")
    terminal.type(", width 4")
    terminal.keys("Enter")
    terminal.wait("as edited by you")
    desk.click("[n] back", "Tab or click to answer")
    desk.click("[r] reject", "not remembered  user  i-use-tabs")
    desk.say("remember that I use tabs", "refused before  user  i-use-tabs")
    terminal.wait("ready")
    terminal.keys("C-x")
    desk.click("b memory", "Kept")
    desk.click("Refused", "I use tabs")
    desk.click("a accept", "remembered: i-use-tabs")
    desk.click("Kept", r"i-use-tabs +I use tabs")
    desk.click("e edit", "Enter saves")
    terminal.type(" always")
    desk.click("Enter save", "saved: i-use-tabs")
    desk.click("u undo", "as it was")
    terminal.wait("always", gone=True)
