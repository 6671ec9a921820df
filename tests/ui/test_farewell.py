"""What the shell shows at the end."""

from __future__ import annotations

import pytest

from tui_agent import events as said
from tui_agent.settings.schema import Price
from tui_agent.ui.farewell import Totals

OPENED = said.SessionOpened("s", "", "/w", "m-1", False, 1_000, False)


def test_nothing_is_said_of_nothing() -> None:
    assert Totals({}).line(10) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1.2, "1 s"), (59, "59 s"), (61, "1 min 1 s"), (3_600, "1 h 0 min"), (7_325, "2 h 2 min")],
)
def test_tokens_and_time(seconds: float, words: str) -> None:
    totals = Totals({})
    totals.hear(OPENED)
    totals.hear(said.UsageReported(100, 20, 900, 0, 1_020))
    expected = f"this time: 1 request, 1,000 tokens in, 900 of them from the cache, 20 out, {words}\n"
    assert totals.line(seconds) == expected


def test_the_cost_where_prices_are_known() -> None:
    totals = Totals({"m-1": Price(input=3, output=15, cache_read=0.3, cache_write=3.75)})
    totals.hear(OPENED)
    for _ in range(2):
        totals.hear(said.UsageReported(100_000, 10_000, 1_000_000, 100_000, 0))
    # 0.3 + 0.15 + 0.3 + 0.375 each
    assert totals.line(5).endswith("20,000 out, 5 s, $ 2.25\n")
    totals.hear(said.ModelChanged("unknown", 1, False))
    totals.hear(said.UsageReported(1, 1, 0, 0, 2))
    assert "$" not in totals.line(5)
