"""What a session came to, in words: requests, tokens, what the provider's cache served, money by the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tui_agent.commands import Outcome
from tui_agent.literal import one_line
from tui_agent.llm.models import DEMO
from tui_agent.llm.money import amount, figures

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.llm.money import Spent


async def cost(session: Session) -> Outcome:
    """Add up what the requests of this session took: tokens, what the cache served, money by the model"""
    tally = await session.spending.tally()
    total, summaries = tally.total, session.spending.summaries
    if not total.requests:
        return Outcome("no requests yet", figures(tally, summaries))
    models = tally.models
    lines = [f"{_requests(total)}{_among(summaries)}: {_tokens(total)}", *_cached(total)]
    if len(models) > 1:
        lines += [f"  {one_line(one.model) or 'a model without a name'}: {_of_model(one)}" for one in models]
        at_least = "at least " if total.unpriced else ""
        lines += [f"together {at_least}{amount(total.dollars)}"] if total.dollars else []
    else:
        lines.append(_money(models[0]))
    if session.spending.lost:
        lines.append(f"without {session.spending.lost:,} requests whose backup is no longer kept")
    return Outcome("\n".join(lines), figures(tally, summaries))


def _of_model(spent: Spent) -> str:
    rate = "" if spent.hit_rate is None else f" ({100 * spent.hit_rate:.1f} % of it from the cache)"
    return f"{_requests(spent)}, {spent.sent:,} tokens in{rate}, {spent.output:,} out, {_money(spent)}"


def _requests(spent: Spent) -> str:
    return f"{spent.requests:,} request{'' if spent.requests == 1 else 's'}"


def _tokens(spent: Spent) -> str:
    return f"{spent.sent:,} tokens in, {spent.output:,} out"


def _cached(spent: Spent) -> list[str]:
    """The hit rate, and how it was predicted, in words."""
    rate, rates = spent.hit_rate, spent.rates
    if rate is None or not (spent.cache_read or spent.cache_write):
        return []
    words = f"cache: {100 * rate:.1f} % of the input read from it, {spent.cache_write:,} tokens written to it"
    if rates is not None:
        predicted, served = rates
        if spent.asked == spent.sent:
            words += f"; predicted {100 * predicted:.1f} %"
        else:
            words += f"; where it was foretold {100 * predicted:.1f} % predicted, {100 * served:.1f} % read"
    return [words]


def _money(spent: Spent) -> str:
    if spent.model == DEMO:
        return "the demo model costs nothing"
    if spent.dollars is None:
        return f"no price is set ([prices.{json.dumps(spent.model)}] in settings)"
    if spent.unpriced:
        return f"{amount(spent.dollars)} without {spent.unpriced:,} tokens of the cache, which have no price"
    return amount(spent.dollars)


def _among(summaries: int) -> str:
    return f" ({summaries} of them for {'a summary' if summaries == 1 else 'summaries'})" if summaries else ""
