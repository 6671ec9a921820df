"""What the shell shows at the end: how to go on, and what the conversation came to."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent import events as said
from tui_agent.ui import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.llm.money import Tally
    from tui_agent.settings.schema import Price

_MINUTE, _HOUR = 60, 3_600


class Totals:
    """Adds up what the requests of this run took; `clock` readings in seconds say how long it has been."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices

    @cached_property
    def _tally(self) -> Tally:
        from tui_agent.llm.money import Tally  # not needed before something was said

        return Tally(self._prices)

    def hear(self, event: Event) -> None:
        """Something happened."""
        if isinstance(event, said.UsageReported):
            self._tally.add(
                event.model,
                input=event.input,
                output=event.output,
                cache_read=event.cache_read,
                cache_write=event.cache_write,
                predicted=event.predicted,
            )
        elif isinstance(event, changes.CompactionCompleted) and event.output:
            self._tally.add(
                event.model,
                input=max(0, event.input - event.cache_read - event.cache_write),
                output=event.output,
                cache_read=event.cache_read,
                cache_write=event.cache_write,
            )

    def line(self, seconds: float) -> str:
        """The totals in words; empty if nothing was asked."""
        total = self._tally.total
        if not total.requests:
            return ""
        cached = f", {total.cache_read:,} of them from the cache" if total.cache_read else ""
        cost = f", {total.price}" if total.dollars else ""
        times = "1 request" if total.requests == 1 else f"{total.requests:,} requests"
        tokens = f"{total.sent:,} tokens in{cached}, {total.output:,} out"
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
