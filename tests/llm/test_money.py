"""What requests came to: tokens, hit rates, money by the model."""

from __future__ import annotations

import pytest

from tui_agent.llm.money import Tally, amount, line
from tui_agent.settings.schema import Price

PRICES = {
    "large": Price(input=15, output=75, cache_read=1.5, cache_write=18.75),
    "small": Price(input=1, output=5),
}


def test_each_model_is_paid_by_its_own_price() -> None:
    tally = Tally(PRICES)
    tally.add("large", input=100_000, output=10_000, cache_read=1_000_000, cache_write=200_000)
    tally.add("small", input=500_000, output=100_000)
    large, small = tally.models
    assert (large.model, large.dollars, large.unpriced) == ("large", pytest.approx(7.5), 0)
    assert (small.model, small.dollars, small.unpriced) == ("small", pytest.approx(1.0), 0)
    assert tally.total.dollars == pytest.approx(8.5) and tally.total.requests == 2
    assert tally.total.price == "$ 8.50"


def test_no_price_is_invented() -> None:
    tally = Tally(PRICES)
    tally.add("unknown", input=10, output=5, cache_read=3)
    assert tally.total.dollars is None and tally.total.price == ""
    assert tally.total.unpriced == 18


def test_cached_tokens_without_a_price_are_counted_and_said() -> None:
    tally = Tally(PRICES)
    tally.add("small", input=1_000_000, cache_read=9_000_000, cache_write=10)
    assert (tally.total.dollars, tally.total.unpriced) == (pytest.approx(1.0), 9_000_010)
    assert tally.total.price == "$ 1.00+"


def test_a_price_of_nothing_is_a_price() -> None:
    tally = Tally({"mine": Price(cache_read=0, cache_write=0)})
    tally.add("mine", input=10, cache_read=10)
    assert (tally.total.dollars, tally.total.unpriced) == (0, 0)


def test_the_demo_model_costs_nothing() -> None:
    tally = Tally({"demo": Price(input=3)})
    tally.add("demo", input=1_000_000)
    assert (tally.total.dollars, tally.total.unpriced) == (0, 0)


def test_the_hit_rate_is_of_all_input_and_the_prediction_of_what_had_one() -> None:
    tally = Tally({})
    assert tally.total.hit_rate is None and tally.total.rates is None
    tally.add("large", input=10, cache_read=60, cache_write=30, predicted=50)
    tally.add("large", input=100)
    assert tally.total.hit_rate == pytest.approx(0.3)
    assert tally.total.rates == (pytest.approx(0.5), pytest.approx(0.6))


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0.0, "$ 0.00"), (0.001, "under $ 0.01"), (0.005, "$ 0.01"), (1234.5, "$ 1,234.50")],
)
def test_money_in_words(dollars: float, words: str) -> None:
    assert amount(dollars) == words


def test_the_line_for_a_narrow_place() -> None:
    tally = Tally(PRICES)
    assert line(tally.total) == ""
    tally.add("demo", input=10, cache_read=90)
    assert line(tally.total) == "cache 90 %"
    tally.add("large", input=100_000)
    assert line(tally.total) == "cache 0 %, $ 1.50"
