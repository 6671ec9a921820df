"""Whether shortening pays: what is saved on later requests, against writing the provider's cache anew.

A request reads what it shares with the last one from the cache and writes the rest to it. Shortening something old
parts the two there: all that stands behind it is written once more. Figures are tokens of plain input: what is read
from the cache counts a tenth, what is written to it five quarters, or as the prices in settings have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.prompt.cache import LASTS

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.settings.schema import Price

READ, WRITE = 0.1, 1.25
"""What a token costs that is read from the cache or written to it, where plain input costs 1."""
_LOOKED_AT = 16
"""So many of the newest requests tell how the context grows and whether it is cached."""
_NEAR = 5
"""With fewer requests than this until a summary is due, room counts more than the cache."""


class Habits(Struct, frozen=True):
    """What the newest requests tell: whether they were `cached`, how many tokens each added to the context (None if
    they do not tell), and when the last was answered."""

    cached: bool = False
    growth: float | None = None
    last: datetime | None = None

    @classmethod
    def of(cls, context: Context) -> Habits:
        """Those of a log."""
        usages = context.usages()
        newest = [
            usage for usage in usages[max(0, len(usages) - _LOOKED_AT) :] if usage.get("exact") is not False
        ]
        sizes = [size for usage in newest if type(size := usage.get("token_count")) is int]
        steps = [after - before for before, after in pairwise(sizes) if after > before]
        return cls(
            cached=any(_count(usage, "cache_read") or _count(usage, "cache_write") for usage in newest),
            growth=sum(steps) / len(steps) if steps else None,
            last=_answered(context, newest[-1]) if newest else None,
        )


class Case(Struct, frozen=True):
    """A batch to be judged, in tokens: the weight `before` it, what it frees, what stands `behind` the first thing it
    touches when it is done, and the `limit` at which a summary is due."""

    before: int
    freed: int
    behind: int
    limit: int


class Verdict(Struct, frozen=True):
    """Whether a batch pays, and the arithmetic in words."""

    pays: bool
    words: str


def judge(case: Case, habits: Habits, now: datetime, price: Price | None = None) -> Verdict:
    """Whether a batch pays.

    Without figures of a cache, or when it is known to have lapsed, nothing is written twice: it does. So it does when
    a summary is near, which would write all of it anew.
    """
    frees = f"frees {case.freed:,} of {case.before:,} tokens"
    if not habits.cached:
        return Verdict(True, f"{frees}; the endpoint tells of no cache that would be lost")
    if habits.last is not None and now - habits.last > LASTS:
        minutes = (now - habits.last) // timedelta(minutes=1)
        return Verdict(True, f"{frees}; the last request was {minutes:,} minutes ago, so its cache is gone")
    if habits.growth is None:
        return Verdict(True, f"{frees}; how fast the context grows is not known yet")
    near = (case.limit - case.before) / habits.growth
    if near < _NEAR:
        return Verdict(True, f"{frees}; a summary would be due {_soon(near)}")
    return _weighed(case, habits.growth, *_rates(price), frees)


def _weighed(case: Case, growth: float, read: float, write: float, frees: str) -> Verdict:
    requests = max(0.0, (case.limit - case.before + case.freed) / growth)
    saved, lost = case.freed * read * requests, case.behind * (write - read)
    words = (
        f"{frees}: {case.freed:,} x {read:g} x {requests:,.0f} requests until a summary is due = {saved:,.0f} saved; "
        f"{case.behind:,} behind it are cached anew: x ({write:g} - {read:g}) = {lost:,.0f}"
    )
    return Verdict(saved >= lost, words)


def _soon(requests: float) -> str:
    """When so many requests are left."""
    count = max(0, round(requests))
    return f"in about {count} request{'' if count == 1 else 's'}" if count else "at once"


def _rates(price: Price | None) -> tuple[float, float]:
    """What reading from the cache and writing to it cost, plain input being 1."""
    if price is None or price.input <= 0:
        return READ, WRITE
    return (
        price.cache_read / price.input if price.cache_read else READ,
        price.cache_write / price.input if price.cache_write else WRITE,
    )


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int else 0


def _answered(context: Context, usage: Mapping[str, Any]) -> datetime | None:
    """When the answer of a request was written down, if that can be read."""
    try:
        at = context.record(str(usage.get("produced"))).at
        found = datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
