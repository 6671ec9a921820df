"""When a context is shortened: the table of sizes, and the settings behind it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.compaction.policy import Policy, should_auto_compact
from tui_agent.settings.schema import Compaction, OwnCompaction, Profile, Settings

WINDOWS = st.integers(8_000, 2_000_000)


@pytest.mark.parametrize(
    ("tokens", "window", "due"),
    [
        (150_000, 200_000, True),
        (149_999, 200_000, False),
        (140_000, 200_000, False),
        (850_000, 1_000_000, True),
        (849_999, 1_000_000, False),
        (840_000, 1_000_000, False),
        (30_000, 40_000, True),
        (29_999, 40_000, False),
        (900, 40_000, False),
        (0, 40_000, False),
        (149_999, 199_999, False),
        (150_001, 199_999, True),
        (1, 0, False),
    ],
)
def test_a_summary_is_due_by_ratio_or_by_reserve_whichever_comes_first(
    tokens: int, window: int, due: bool
) -> None:
    assert should_auto_compact(tokens, window) is due
    assert (Policy(Compaction()).due(tokens, window) == "full") is due
    if window:
        assert (tokens >= Policy(Compaction()).limit(window)) is due, "the number that is shown decides"


def test_ratio_and_reserve_can_be_given() -> None:
    assert should_auto_compact(700, 1_000, trigger_ratio=0.7, reserved_context_size=0)
    assert not should_auto_compact(699, 1_000, trigger_ratio=0.7, reserved_context_size=0)
    assert should_auto_compact(240_000, 300_000, reserved_context_size=60_000)


def test_prompt_and_tools_alone_do_not_fill_a_small_window() -> None:
    policy = Policy(Compaction())
    assert policy.due(31_000, 40_000) == "full"
    assert policy.due(31_000, 40_000, floor=29_000) == "micro", "only the reserve is touched"
    assert policy.due(34_000, 40_000, floor=29_000) == "full", "the window is full in any case"
    assert policy.due(1_000, 40_000, floor=900) is None


def test_old_results_are_elided_over_half_of_the_window_down_to_four_fifths_of_that() -> None:
    policy = Policy(Compaction())
    assert (policy.micro_limit(200_000), policy.micro_stop(200_000)) == (100_000, 80_000)
    assert policy.due(100_000, 200_000) is None
    assert policy.due(100_001, 200_000) == "micro"
    assert Policy(Compaction(micro_ratio=0.3)).micro_stop(100_000) == 24_000
    assert Policy(Compaction(micro_stop_ratio=0.45)).micro_stop(100_000) == 45_000


def test_the_next_batch_waits_until_there_is_one() -> None:
    policy = Policy(Compaction())
    assert policy.micro_again(200_000, None) == 100_000
    assert policy.micro_again(200_000, 79_000) == 100_000, "the last one got down to where it should"
    assert policy.micro_again(200_000, 95_000) == 115_000, "it could not: the next one is due 20,000 later"


def test_a_profile_has_its_own_sizes() -> None:
    settings = Settings(
        profiles={"small": Profile(name="small", compaction=OwnCompaction(trigger_ratio=0.6))},
        compaction=Compaction(micro_ratio=0.4),
    )
    own = Policy(settings.compaction_of("small"))
    assert own.limit(1_000_000) == 600_000
    assert own.micro_limit(1_000_000) == 400_000
    assert Policy(settings.compaction_of("demo")).limit(1_000_000) == 850_000


def test_a_summary_may_be_prepared_at_seven_tenths_of_the_trigger() -> None:
    assert Policy(Compaction()).ahead_limit(200_000) == 105_000


@given(WINDOWS, st.integers(0, 2_000_000), st.floats(0.1, 0.99), st.integers(0, 200_000))
def test_the_limit_that_is_shown_is_the_least_weight_that_triggers(
    window: int, tokens: int, ratio: float, reserved: int
) -> None:
    policy = Policy(Compaction(trigger_ratio=ratio, reserved_tokens=reserved))
    assert (policy.due(tokens, window) == "full") == (tokens >= policy.limit(window))


@given(WINDOWS, st.integers(0, 2_000_000), st.integers(0, 2_000_000))
def test_what_a_summary_cannot_take_away_never_makes_it_due(window: int, tokens: int, floor: int) -> None:
    policy = Policy(Compaction())
    if policy.due(tokens, window) != "full":
        assert policy.due(tokens, window, floor=floor) != "full"
