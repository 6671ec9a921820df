"""What the shell shows at the end: how to go on, and what the conversation came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent import events as said
from tui_agent.ui import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.settings.schema import Price

_MILLION = 1_000_000
_MINUTE, _HOUR = 60, 3_600


class Totals:
    """Adds up what the requests of this run took; `clock` readings in seconds say how long it has been."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self._model = ""
        self.requests = self.input = self.output = self.cached = 0
        self._cost = 0.0
        self._priced = True

    def hear(self, event: Event) -> None:
        """Something happened."""
        match event:
            case said.SessionOpened(model=model) | said.ModelChanged(model=model):
                self._model = model
            case said.UsageReported():
                self.requests += 1
                self.input += event.input + event.cache_read + event.cache_write
                self.cached += event.cache_read
                self.output += event.output
                self._pay(event)
            case _:
                pass

    def _pay(self, event: said.UsageReported) -> None:
        price = self._prices.get(self._model)
        if price is None:
            self._priced = False
            return
        self._cost += (
            event.input * price.input
            + event.output * price.output
            + event.cache_read * price.cache_read
            + event.cache_write * price.cache_write
        ) / _MILLION

    def line(self, seconds: float) -> str:
        """The totals in words; empty if nothing was asked."""
        if not self.requests:
            return ""
        cached = f", {self.cached:,} of them from the cache" if self.cached else ""
        cost = f", $ {self._cost:,.2f}" if self._priced else ""
        times = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        tokens = f"{self.input:,} tokens in{cached}, {self.output:,} out"
        return f"this time: {times}, {tokens}, {_duration(seconds)}{cost}\n"


def farewell(session: Session, totals: str = "") -> str:
    """What the shell shows; empty if nothing was said."""
    context = session.context
    if not len(context.history):
        return ""
    weight = context.weigh()
    counts = f"{len(context.history):,} messages, {words.number(weight.total, weight.mark)} tokens"
    return f"To go on: tui-agent --resume {session.id}\n{counts}, kept in {session.folder.path}\n{totals}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
