"""Proposals without a screen: lines, and answers by number that nothing stands still for."""

from __future__ import annotations

import io

import pytest

from tui_agent.changes import MemoryChanged, MemoryProposed
from tui_agent.ui.plain.memory import Proposals
from tui_agent.ui.plain.voice import Voice
from tui_agent.ui.remembering import HANDFUL

ONE = MemoryProposed("m1", "workspace", "commit.style", "Conventional Commits.", outside=("README.md",))


class Heard:
    """What is said and asked for; time passes when the test says so."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.performed: list[tuple[str, ...]] = []
        self.now = 0.0
        self.busy = False
        self.proposals = Proposals(
            Voice(self.out),
            lambda *command: self.performed.append(command),
            lambda: self.now,
            busy=lambda: self.busy,
        )

    def answer(self, line: str) -> bool:
        self.now += 1
        return self.proposals.take(line)

    @property
    def text(self) -> str:
        return self.out.getvalue()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_a_proposal_is_told_with_what_came_before_it(heard: Heard) -> None:
    heard.proposals.hear(ONE)
    for words in (
        "remember in this workspace? commit.style",
        "after reading README.md",
        "| Conventional Commits.",
        "1 remember it",
        "2 do not, and do not ask again",
        "5 later",
    ):
        assert words in heard.text, words


@pytest.mark.parametrize(
    ("lines", "performed"),
    [
        (("1",), [("accept", "m1")]),
        (("2",), [("reject", "m1")]),
        (("3", "Other words."), [("accept", "m1", "Other words.")]),
        (("4", "1"), [("scope", "m1", "user"), ("accept", "m1")]),
        (("3", "", "2"), [("reject", "m1")]),
        (("5",), []),
    ],
)
def test_it_is_answered_by_number(
    lines: tuple[str, ...], performed: list[tuple[str, ...]], heard: Heard
) -> None:
    heard.proposals.hear(ONE)
    assert all(heard.answer(line) for line in lines)
    assert heard.performed == performed and not heard.proposals


@pytest.mark.parametrize("line", ["yes", "6", "0", "1 and more", ""])
def test_any_other_line_is_words_and_the_proposal_is_left_for_later(line: str, heard: Heard) -> None:
    heard.proposals.hear(ONE)
    assert not heard.answer(line)
    assert heard.performed == [] and not heard.proposals
    assert "left for later" in heard.text


def test_a_number_typed_before_it_was_there_is_no_answer(heard: Heard) -> None:
    heard.proposals.hear(ONE)
    assert heard.proposals.take("1")
    assert heard.performed == [] and heard.proposals


def test_one_comes_after_the_other_and_none_while_a_question_waits(heard: Heard) -> None:
    heard.busy = True
    heard.proposals.hear(ONE)
    heard.proposals.hear(MemoryProposed("m2", "user", "indent", "Tabs.", old="Spaces."))
    assert heard.text == ""
    heard.busy = False
    heard.proposals.go_on()
    assert "commit.style" in heard.text and "indent" not in heard.text
    heard.answer("1")
    assert "| - Spaces." in heard.text and "| + Tabs." in heard.text


def test_what_is_decided_elsewhere_is_asked_no_more(heard: Heard) -> None:
    heard.proposals.hear(ONE)
    heard.proposals.changed(MemoryChanged("m1", "accepted", "workspace", "commit.style"))
    assert not heard.proposals and not heard.answer("1")


def test_a_handful_is_asked_and_the_rest_is_a_line_each(heard: Heard) -> None:
    for number in range(HANDFUL + 1):
        heard.proposals.hear(MemoryProposed(f"m{number}", "user", f"key.{number}", "text"))
    heard.proposals.hear(MemoryProposed("noise", "user", "status", "All tests passed.", noise=True))
    heard.proposals.hear(MemoryProposed("old", "user", "again", "text", refused=True))
    assert f"one more: key.{HANDFUL}: text (/accept m{HANDFUL} or /reject m{HANDFUL})" in heard.text
    assert "it only tells how the work stands: status: All tests passed." in heard.text
    assert "refused before: again: text" in heard.text
