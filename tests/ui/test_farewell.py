"""What the shell shows at the end."""

from __future__ import annotations

import pytest

from tui_agent import changes
from tui_agent import events as said
from tui_agent.settings.schema import Price
from tui_agent.ui.farewell import Totals


def used(*figures: int, model: str = "m-1") -> said.UsageReported:
    return said.UsageReported(*figures, total=0, model=model)


def test_nothing_is_said_of_nothing() -> None:
    assert Totals({}).line(10) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1.2, "1 s"), (59, "59 s"), (61, "1 min 1 s"), (3_600, "1 h 0 min"), (7_325, "2 h 2 min")],
)
def test_tokens_and_time(seconds: float, words: str) -> None:
    totals = Totals({})
    totals.hear(used(100, 20, 900, 0))
    expected = f"this time: 1 request, 1,000 tokens in, 900 of them from the cache, 20 out, {words}\n"
    assert totals.line(seconds) == expected


def test_the_cost_where_prices_are_known() -> None:
    totals = Totals({"m-1": Price(input=3, output=15, cache_read=0.3, cache_write=3.75)})
    for _ in range(2):
        totals.hear(used(100_000, 10_000, 1_000_000, 100_000))
    # 0.3 + 0.15 + 0.3 + 0.375 each
    assert totals.line(5).endswith("20,000 out, 5 s, $ 2.25\n")


def test_each_model_has_its_own_price_and_one_without_is_said() -> None:
    totals = Totals({"m-1": Price(input=3, output=15), "m-2": Price(input=1, output=5)})
    totals.hear(used(1_000_000, 0, 0, 0))
    totals.hear(used(1_000_000, 0, 0, 0, model="m-2"))
    assert totals.line(5).endswith("5 s, $ 4.00\n")
    totals.hear(used(1, 1, 0, 0, model="unknown"))
    assert totals.line(5).endswith("5 s, $ 4.00+\n")


def test_without_a_price_and_from_the_demo_model_no_money_is_shown() -> None:
    for model in ("unknown", "demo"):
        totals = Totals({})
        totals.hear(used(1_000_000, 0, 0, 0, model=model))
        assert "$" not in totals.line(5)


def test_a_summary_is_paid_for_too() -> None:
    totals = Totals({"m-1": Price(input=3, output=15, cache_read=0.3)})
    totals.hear(
        changes.CompactionCompleted(
            "manual", "summary", 9, 3, 1.0, "context_1.jsonl", "s", "text", 4,
            input=1_100_000, output=100_000, cache_read=100_000, model="m-1",
        )
    )  # fmt: skip
    assert totals.line(5).endswith(
        "1,100,000 tokens in, 100,000 of them from the cache, 100,000 out, 5 s, $ 4.53\n"
    )
