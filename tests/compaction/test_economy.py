"""Whether a batch pays: the arithmetic, and what is known of the provider's cache."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import Said, begun
from tui_agent.compaction.economy import Case, Habits, judge
from tui_agent.settings.schema import Price

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CASE = Case(before=100_000, freed=20_000, behind=60_000, limit=150_000)
"""With 1 000 tokens a request it is 70 requests to the limit: 20 000 x 0.1 x 70 against 60 000 x 1.15."""
BUSY = Habits(cached=True, growth=1_000, last=NOW)


@pytest.fixture
async def said(tmp_path: Path) -> AsyncIterator[Said]:
    found = await begun(tmp_path)
    yield found
    await found.context.close()


async def used(said: Said, count: int, **fields: Any) -> None:
    """The figures of a request."""
    answer = await said.answer("so", at=NOW.isoformat())
    await said.context.update_token_count(count, produced=answer, **fields)


def test_what_is_saved_is_held_against_what_is_written_anew() -> None:
    verdict = judge(CASE, BUSY, NOW)
    assert verdict.pays
    assert verdict.words == (
        "frees 20,000 of 100,000 tokens: 20,000 x 0.1 x 70 requests until a summary is due = 140,000 saved; "
        "60,000 behind it are cached anew: x (1.25 - 0.1) = 69,000"
    )
    fast = Habits(cached=True, growth=5_000, last=NOW)
    verdict = judge(CASE, fast, NOW)
    assert not verdict.pays, "14 requests do not bring it in"
    assert "= 28,000 saved" in verdict.words


@pytest.mark.parametrize(
    ("habits", "words"),
    [
        (Habits(), "the endpoint tells of no cache"),
        (Habits(growth=9_000, last=NOW), "the endpoint tells of no cache"),
        (
            Habits(cached=True, growth=9_000, last=NOW - timedelta(minutes=61)),
            "61 minutes ago, so its cache is gone",
        ),
        (Habits(cached=True, last=NOW), "not known yet"),
        (Habits(cached=True, growth=11_000, last=NOW), "a summary would be due in about 5 requests"),
        (Habits(cached=True, growth=50_000, last=NOW), "a summary would be due in about 1 request"),
        (Habits(cached=True, growth=200_000, last=NOW), "a summary would be due at once"),
    ],
)
def test_where_nothing_is_written_twice_or_room_is_short_it_pays(habits: Habits, words: str) -> None:
    verdict = judge(CASE, habits, NOW)
    assert verdict.pays
    assert words in verdict.words


def test_prices_say_what_the_cache_costs() -> None:
    free_to_write = Price(input=2.0, cache_read=1.0, cache_write=1.0)
    fast = Habits(cached=True, growth=5_000, last=NOW)
    assert judge(CASE, fast, NOW, free_to_write).pays
    assert not judge(CASE, fast, NOW, Price()).pays, "without a price the usual shares hold"
    assert not judge(CASE, fast, NOW, Price(input=2.0)).pays


async def test_habits_are_read_from_the_newest_requests(said: Said) -> None:
    assert Habits.of(said.context) == Habits()
    await used(said, 10_000, cache_read=0, cache_write=0)
    assert Habits.of(said.context) == Habits(cached=False, growth=None, last=NOW)
    await used(said, 11_000, cache_read=9_000)
    await used(said, 8_000, cache_read=7_000)  # something was elided
    await used(said, 11_000, cache_read=7_900)
    assert Habits.of(said.context) == Habits(cached=True, growth=2_000, last=NOW)
    await used(said, 99_000, exact=False)
    assert Habits.of(said.context).growth == 2_000, "an estimate is no request"
    for count in range(16):
        await used(said, 20_000 + 100 * count)
    assert Habits.of(said.context) == Habits(cached=False, growth=100, last=NOW)


async def test_what_other_programs_write_does_not_stop_it(said: Said) -> None:
    answer = await said.answer("so", at="some day")
    await said.context.update_token_count(5, produced=answer, cache_read="much")
    assert Habits.of(said.context) == Habits()
    await said.context.update_token_count(9, cache_write=3)
    assert Habits.of(said.context) == Habits(cached=True, growth=4)
