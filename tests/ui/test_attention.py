"""What is told to somebody who looks elsewhere: the state in words, and the bell, once."""

from __future__ import annotations

import pytest

from tui_agent import events as said
from tui_agent.ui.attention import AWAY_S, Attention, title


class Someone:
    """Somebody with a clock."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.attention = Attention(lambda: self.now)

    def hear(self, *events: said.Event) -> None:
        for event in events:
            self.attention.hear(event)

    def later(self, seconds: float) -> float | None:
        """The bell's waiting time after so many seconds."""
        self.now += seconds
        return self.attention.wait()


BEGIN = said.TurnStarted("u", 1, "go")
CARD = said.Asked(said.Question("q", "approval", "run?"))


def end(reason: str = "end_turn") -> said.TurnEnded:
    return said.TurnEnded(reason, 1, 1.0)


def test_the_state_is_in_words() -> None:
    someone = Someone()
    assert title("shop", someone.attention.words) == "shop"
    someone.hear(BEGIN)
    assert title("shop", someone.attention.words) == "shop: working"
    someone.hear(CARD)
    assert someone.attention.words == "waiting for you"
    someone.hear(said.Answered("q", said.Answer("once")))
    assert someone.attention.words == "working"
    someone.hear(end())
    assert someone.attention.words == "done"
    someone.attention.key()
    assert someone.attention.words == ""


@pytest.mark.parametrize(
    ("reason", "words"), [("failed", "failed"), ("cancelled", "stopped"), ("denied", "done")]
)
def test_other_ends(reason: str, words: str) -> None:
    someone = Someone()
    someone.hear(BEGIN, end(reason))
    assert someone.attention.words == words


def pursue(status: str) -> said.StateChanged:
    return said.StateChanged("goal", {"text": "x", "status": status})


@pytest.mark.parametrize("inside", [True, False])
def test_of_a_goal_the_bell_rings_at_its_end_and_at_no_turn_before(inside: bool) -> None:
    someone = Someone()
    someone.hear(pursue("active"))
    assert someone.attention.words == "working"
    for _ in range(3):
        someone.hear(BEGIN, pursue("active"))
        assert someone.later(AWAY_S) is None
        someone.hear(end())
        assert (someone.attention.words, someone.attention.wait()) == ("working", None)
    someone.hear(BEGIN)
    someone.hear(*((pursue("complete"), end()) if inside else (end("budget"), pursue("paused"))))
    assert (someone.attention.words, someone.attention.wait()) == ("done", 0.0)


def test_a_goal_that_is_paused_while_nothing_runs_is_silent() -> None:
    someone = Someone()
    someone.later(AWAY_S)
    someone.hear(pursue("paused"))
    assert (someone.attention.words, someone.attention.wait()) == ("", None)


def test_a_card_rings_once_when_nobody_pressed_a_key_for_a_while() -> None:
    someone = Someone()
    someone.hear(BEGIN)
    assert someone.attention.wait() is None
    someone.hear(CARD)
    assert someone.attention.wait() == AWAY_S
    assert someone.later(10) == 5
    someone.attention.key()
    assert someone.attention.wait() == AWAY_S
    assert someone.later(AWAY_S) == 0
    someone.attention.rang()
    assert someone.later(100) is None


def test_a_card_that_comes_to_an_empty_chair_rings_at_once() -> None:
    someone = Someone()
    someone.hear(BEGIN)
    someone.now += 60
    someone.hear(CARD)
    assert someone.attention.wait() == 0


def test_a_card_that_was_answered_does_not_ring() -> None:
    someone = Someone()
    someone.hear(CARD, said.Answered("q", said.Answer("no")))
    assert someone.later(100) is None


def test_a_long_turn_rings_at_its_end_and_a_short_one_does_not() -> None:
    someone = Someone()
    someone.hear(BEGIN)
    someone.now += 5
    someone.hear(end())
    assert someone.later(100) is None
    someone.hear(BEGIN)
    someone.now += AWAY_S
    someone.hear(end())
    assert someone.attention.wait() == 0
    someone.attention.rang()
    assert someone.attention.wait() is None


def test_a_key_takes_the_bell_of_an_ended_turn_back() -> None:
    someone = Someone()
    someone.hear(BEGIN)
    someone.now += 60
    someone.attention.key()
    someone.hear(end())
    someone.attention.key()
    assert someone.later(100) is None


def test_a_stopped_turn_does_not_ring() -> None:
    someone = Someone()
    someone.hear(BEGIN)
    someone.now += 60
    someone.hear(end("cancelled"))
    assert someone.attention.wait() is None
