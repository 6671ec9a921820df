"""The status line: what it says and what it gives up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

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


def test_a_window_that_nobody_told_is_marked_as_a_guess() -> None:
    assert "/ ~200,000 10%" in line(replace(FACTS, guessed=True), 120, 0.0).plain
    assert "/ 200,000 10%" in line(FACTS, 120, 0.0).plain


def test_it_gives_up_name_path_bar_cost_and_window_in_this_order() -> None:
    parts = ("NAME", "~/work/place", "[=", "cache 96 %, $ 0.42", "/ 200,000")
    shown = []
    for extra in range(60):
        facts = replace(
            FACTS,
            name="NAME",
            path="~/work/place",
            model="m" * 20,
            cost="cache 96 %, $ 0.42",
            state="r" * (1 + extra),
        )
        text = line(facts, 130, 0.0).plain
        shown.append(tuple(part in text for part in parts))
    assert shown[0] == (True, True, True, True, True)
    for before, after in pairwise(shown):
        assert before >= after, "what was given up does not come back"
    assert {sum(state) for state in shown} >= {5, 4, 3, 2, 1}
    for state in shown:
        assert list(state) == sorted(state), (
            "the name goes first, then the path, the bar, the cost, the window"
        )


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


@pytest.mark.parametrize(
    "name", ["n" * 40, "会話の名前はとても長い" * 4, "n会" * 20, "가" * 12, "\u202e会" * 20]
)
def test_a_name_takes_its_cells_and_no_more_in_any_script(name: str) -> None:
    shown = line(replace(FACTS, name=name, path=""), 120, 0.0).plain.split("  ")[0].strip()
    assert 22 <= cell_len(shown) <= 24, shown


def test_a_hostile_name_is_literal_and_short() -> None:
    text = line(replace(FACTS, name="\x1b[31m[bold]" + "x" * 500), 120, 0.0).plain
    assert "\x1b" not in text
    assert "[bold]" in text
    assert len(text) <= 120


COMPACTING = replace(FACTS, compacting=100.0, stage="summarising (2 of 5)")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("demo", [False, True])
def test_a_compaction_is_shown_with_its_seconds_and_never_costs_the_number(width: int, demo: bool) -> None:
    model = "demo model - no AI" if demo else FACTS.model
    text = line(replace(COMPACTING, demo=demo, model=model), width, 112.4).plain
    assert "18,734 ~+1,204" in text and "compacting 12 s" in text
    assert ("compacting 12 s  summarising (2 of 5)" in text) == (width >= 80 or (width == 60 and not demo))
    assert len(text) <= width or width < 60


def test_the_stage_is_given_up_last_of_all() -> None:
    shown = []
    for extra in range(60):
        facts = replace(COMPACTING, name="n" * (10 + extra % 2), model="m" * 20, stage="s" * 20)
        text = line(facts, 100 - extra, 112.4).plain
        shown.append(tuple(part in text for part in ("m" * 20, "s" * 20)))
    assert shown[0] == (True, True) and (False, True) in shown and shown[-1] == (False, False)
    assert (True, False) not in shown


def test_what_waits_for_a_person_stands_before_a_compaction() -> None:
    text = line(replace(COMPACTING, waiting=1), 80, 112.4).plain
    assert "1 to answer" in text and "compacting" not in text and "summarising" not in text


def test_a_summary_made_ahead_of_time_hides_nothing_that_runs() -> None:
    ahead = replace(COMPACTING, ahead=True)
    assert "preparing a summary 12 s" in line(ahead, 80, 112.4).plain
    text = line(replace(ahead, state="answering", since=110.0), 80, 112.4).plain
    assert "answering 2 s" in text and "summar" not in text
    text = line(replace(COMPACTING, state="asking", since=110.0), 80, 112.4).plain
    assert "compacting 12 s" in text and "asking" not in text


@pytest.mark.parametrize("width", WIDTHS)
def test_that_compaction_is_held_is_said_while_nothing_runs_and_beside_what_runs(width: int) -> None:
    held = "auto-compaction held: /compact"
    assert held in line(replace(FACTS, held=True), width, 0.0).plain
    text = line(replace(FACTS, held=True, state="answering", since=0.0), width, 3.0).plain
    assert "answering 3 s" in text and (held in text) == (width >= 80)
    assert "18,734 ~+1,204" in text


def test_a_retry_of_the_summary_is_a_stage() -> None:
    now = 0.0
    status = StatusLine(clock=lambda: now)
    status.compact()
    status.tell(stage="try 2/5 in 3 s")
    now = 4.0
    assert "compacting 4 s" in str(status.render())
    status.compacted()
    assert "compacting" not in str(status.render()) and status.facts.stage == ""
