"""What requests came to: tokens, how many of them the provider's cache served, and money, each model by its own price.

Prices are those of settings, in US dollars per million tokens; none is invented. A model without one has tokens only,
and so have cached tokens of a model whose price does not say what they cost. The demo model costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.llm.models import DEMO

if TYPE_CHECKING:
    from tui_agent.llm.provider import Usage
    from tui_agent.settings.schema import Price

_MILLION = 1_000_000
KINDS = ("input", "output", "cache_read", "cache_write")
"""Of tokens, as a usage tells them."""


class Spent(Struct):
    """What the requests to one model came to, or to all (`model` is empty then). Figures are in tokens.

    `input` is what was neither read from the cache nor written to it. `foreseen` is what was predicted to be read, and
    `served` what was read, of those requests that had a prediction. `dollars` is None where nothing of it has a price;
    `unpriced` counts the tokens that have none.
    """

    model: str = ""
    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    foreseen: int = 0
    served: int = 0
    asked: int = 0
    """All input of the requests that had a prediction."""
    dollars: float | None = None
    unpriced: int = 0

    @property
    def sent(self) -> int:
        """All input tokens."""
        return self.input + self.cache_read + self.cache_write

    @property
    def hit_rate(self) -> float | None:
        """The part of all input that was read from the cache, 0 to 1; None without any input."""
        return self.cache_read / self.sent if self.sent else None

    @property
    def rates(self) -> tuple[float, float] | None:
        """The hit rate as it was predicted, and as it was, of the requests that had a prediction; None if none had."""
        return (self.foreseen / self.asked, self.served / self.asked) if self.asked else None

    @property
    def price(self) -> str:
        """The money in words; empty where nothing has a price. `+`: part of it has none."""
        if self.dollars is None:
            return ""
        return amount(self.dollars) + ("+" if self.unpriced else "")

    def add(self, other: Spent) -> None:
        """Take in another's figures."""
        for key in (*KINDS, "requests", "foreseen", "served", "asked", "unpriced"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        if other.dollars is not None:
            self.dollars = (self.dollars or 0.0) + other.dollars


class Tally:
    """Adds up requests, by model. `prices` are those of settings, by the model's name."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self._models: dict[str, Spent] = {}

    @property
    def models(self) -> tuple[Spent, ...]:
        """The figures by model, in the order in which they were asked first."""
        return tuple(self._models.values())

    @property
    def total(self) -> Spent:
        """The figures of all models together."""
        total = Spent()
        for spent in self._models.values():
            total.add(spent)
        return total

    def copy(self) -> Tally:
        """The same figures, which stay as they are."""
        made = Tally(self._prices)
        for spent in self._models.values():
            made._models.setdefault(spent.model, Spent(spent.model)).add(spent)
        return made

    def add(
        self,
        model: str,
        *,
        requests: int = 1,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        predicted: int | None = None,
    ) -> None:
        """Requests to a model, with the figures that the endpoint told."""
        spent = Spent(model, requests, input, output, cache_read, cache_write)
        if predicted is not None:
            spent.foreseen, spent.served, spent.asked = predicted, cache_read, spent.sent
        spent.dollars, spent.unpriced = self._cost(spent)
        self._models.setdefault(model, Spent(model)).add(spent)

    def _cost(self, spent: Spent) -> tuple[float | None, int]:
        """Dollars, None without a price, and the tokens that have none."""
        if spent.model == DEMO:
            return 0.0, 0
        price = self._prices.get(spent.model)
        if price is None:
            return None, spent.sent + spent.output
        return cost(spent, price), sum(getattr(spent, kind) for kind in KINDS if getattr(price, kind) is None)


def cost(usage: Usage | Spent, price: Price) -> float:
    """US dollars, as far as the price says."""
    parts = (
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    )
    return sum(tokens * (dollars or 0.0) for tokens, dollars in parts) / _MILLION


def amount(dollars: float) -> str:
    """Money in words: cents, or what is less than a cent."""
    if 0 < dollars < 0.005:
        return "under $ 0.01"
    return f"$ {dollars:,.2f}"


def line(spent: Spent) -> str:
    """The figures for a narrow place: `cache 97 %, $ 0.42`; empty where there are none."""
    hit = spent.hit_rate
    parts = [] if hit is None else [f"cache {100 * hit:.0f} %"]
    return ", ".join([*parts, spent.price] if spent.dollars else parts)


def figures(tally: Tally, summaries: int) -> dict[str, Any]:
    """What requests came to as plain data, together and by model; `summaries` of them were for summaries."""
    (together,) = told([tally.total])
    del together["model"]
    return {**together, "summaries": summaries, "models": told(tally.models)}


def told(spent: Iterable[Spent]) -> list[dict[str, Any]]:
    """The figures as plain data."""
    return [
        {
            "model": one.model,
            "requests": one.requests,
            **{kind: getattr(one, kind) for kind in KINDS},
            "hit_rate": None if one.hit_rate is None else round(one.hit_rate, 4),
            "predicted": one.foreseen if one.asked else None,
            "dollars": None if one.dollars is None else round(one.dollars, 6),
            "unpriced": one.unpriced,
        }
        for one in spent
    ]
