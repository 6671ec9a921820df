"""The status line: what it says and what it gives up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from tui_agent.ui.chat.status import Facts, StatusLine, line, weight

FACTS = Facts(
    name="shop",
    path="~/work/shop",
    model="claude-sonnet-5-5",
    total=19_938,
    exact=18_734,
    pending=1_204,
    mark="estimated",
    window=200_000,
    state="ready",
)
WIDTHS = (40, 60, 80, 100, 117, 120, 148, 200)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("waiting", [0, 2])
@pytest.mark.parametrize("demo", [False, True])
def test_number_state_and_demo_label_are_never_given_up(width: int, waiting: int, demo: bool) -> None:
    model = "demo model - no AI" if demo else FACTS.model
    text = line(replace(FACTS, waiting=waiting, demo=demo, model=model), width, 0.0).plain
    assert "18,734 ~+1,204" in text
    assert ("2 to answer" if waiting else "ready") in text
    if demo:
        assert "demo model - no AI" in text
    if width >= 60:
        assert len(text) <= width


def test_it_gives_up_name_path_bar_and_window_in_this_order() -> None:
    parts = ("NAME", "~/work/place", "[=", "/ 200,000")
    shown = []
    for extra in range(60):
        facts = replace(FACTS, name="NAME", path="~/work/place", model="m" * 20, state="r" * (10 + extra))
        text = line(facts, 120, 0.0).plain
        shown.append(tuple(part in text for part in parts))
    assert shown[0] == (True, True, True, True)
    for before, after in pairwise(shown):
        assert before >= after, "what was given up does not come back"
    assert {sum(state) for state in shown} >= {4, 3, 2, 1}
    for state in shown:
        assert list(state) == sorted(state), "the name goes first, then the path, the bar, the window"


def test_a_model_that_says_nothing_is_told_of() -> None:
    now = 0.0
    status = StatusLine(clock=lambda: now)
    status.begin("answering", streams=True)

    def shown() -> str:
        return str(status.render())

    now = 9.0
    assert "answering 9 s" in shown()
    now = 12.0
    assert "no bytes for 12 s" in shown()
    status.begin("answering", streams=True)
    assert "answering 12 s" in shown()
    status.begin("running bash")
    now = 60.0
    assert "running bash 48 s" in shown()


def test_the_line_of_80_columns() -> None:
    text = line(replace(FACTS, waiting=2), 80, 0.0).plain
    assert text == " shop  claude-sonnet-5-5  ask        18,734 ~+1,204 / 200,000 10%   2 to answer "


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ((18_734, 18_734, 0, "exact"), "18,734"),
        ((19_938, 18_734, 1_204, "estimated"), "18,734 ~+1,204"),
        ((18_034, 18_734, -700, "estimated"), "18,734 ~-700"),
        ((1_204, 0, 1_204, "estimated"), "~1,204"),
        ((690, 0, 690, "reconciled"), "≃690"),
    ],
)
def test_every_number_carries_its_mark(figures: tuple[int, int, int, str], words: str) -> None:
    assert weight(*figures) == words


def test_what_runs_is_shown_with_its_seconds() -> None:
    facts = replace(FACTS, state="running bash", since=100.0)
    assert "running bash 12 s" in line(facts, 80, 112.4).plain
    assert "running bash 2 m 05 s" in line(facts, 100, 225.0).plain


def test_trouble_stands_before_everything_else() -> None:
    text = line(replace(FACTS, trouble="not saved", waiting=2), 80, 0.0).plain
    assert "not saved" in text and "to answer" not in text


def test_a_hostile_name_is_literal_and_short() -> None:
    text = line(replace(FACTS, name="\x1b[31m[bold]" + "x" * 500), 120, 0.0).plain
    assert "\x1b" not in text
    assert "[bold]" in text
    assert len(text) <= 120
