"""The requests that were sent, built again from the log alone: what was sent can be seen at any time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from tui_agent.context import ContextError
from tui_agent.llm.provider import Usage
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.assembler import rebuild
from tui_agent.prompt.books import LogBooks
from tui_agent.prompt.cache import LASTS, breakpoints
from tui_agent.prompt.manifest import Manifest, Total

if TYPE_CHECKING:
    from tui_agent.context import Record
    from tui_agent.context.reading import Past, Reading, Shown
    from tui_agent.messages.request import Request
    from tui_agent.prompt.cache import PrefixWatch

_RECALLED = 4
"""So many of the newest requests are enough to know where the cache has entries."""


def requests(context: Shown) -> Iterator[tuple[Mapping[str, Any], Request]]:
    """Every request of this log that has a `_usage`, with that usage, whose `request` is its hash; of backups too."""
    last: Request | None = None
    for record in context.records:
        if record.role == "_usage" and record.body.get("request"):
            last, _ = _again(context, record, last)
            yield record.body, last


async def recall_all(watch: PrefixWatch, context: Reading, now: datetime) -> None:
    """`recall`, also where the log was rewritten a moment ago: then the newest requests are in its backup."""
    head = context.heads[-1] if context.heads else None
    before = False
    if head is not None and (at := _time(head.at)) is not None and now - at <= LASTS:
        with contextlib.suppress(ContextError, OSError):  # it may be kept no longer
            before = await asyncio.to_thread(recall, watch, await context.backup(head.backup), now)
    newer = await asyncio.to_thread(recall, watch, context, now)
    if head is not None and before and not newer:
        watch.announce(f"the history was changed ({head.op})")


def recall(watch: PrefixWatch, context: Shown, now: datetime) -> bool:
    """Tell a watch of the newest requests of a log, as far as a cache may still hold them; whether there were any.

    The first one comes before them: it tells best what tools and prompt weigh.
    """
    count = len(context.records)
    newest = list(islice(_sent(context, range(count - 1, -1, -1)), _RECALLED))
    found = list(takewhile(lambda sent: now - sent[1] <= LASTS, newest))[::-1]
    if found:
        first = next(_sent(context, range(count)), found[0])
        found = found if first[0].id == found[0][0].id else [first, *found]
    last: Request | None = None
    for record, at in found:
        last, past = _again(context, record, last)
        request = last.marked(breakpoints(last))
        watch.recall(request, at, _usage(record.body), Estimator(last.model, factor=past.factor))
    return bool(found)


def _sent(context: Shown, places: Iterable[int]) -> Iterator[tuple[Record, datetime]]:
    """The usages of requests among these lines, and when each was sent, up to one that does not tell."""
    for place in places:
        record = context.records[place]
        if record.role == "_usage" and record.body.get("request"):
            at = _sent_at(context, record.body)
            if at is None:
                return
            yield record, at


def request_of(context: Shown, usage: Record, *, window: int = 0) -> tuple[Request, Manifest]:
    """The request of a `_usage` record of this log, and its manifest, whose total is what the endpoint counted.

    `window` is that of its model, in tokens, where it is known.

    Raises:
        ValueError: the usage does not say which request it is of.
    """
    if not isinstance(usage.body.get("params"), Mapping):
        raise ValueError(f"record {usage.id} does not say which request it is of")
    request, past = _again(context, usage)
    total = _counted(usage.body)
    if total is None:
        weight = past.weigh()
        total = Total(weight.total, weight.exact, weight.pending, weight.mark)
    estimator = Estimator(request.model, factor=past.factor)
    return request, Manifest(request, total, window, request.max_tokens, LogBooks(past), estimator)


def _again(context: Shown, record: Record, last: Request | None = None) -> tuple[Request, Past]:
    past = _before(context, record.body, record)
    request = rebuild(
        system=past.system_blocks,
        tools=past.tools or [],
        history=past.history,
        params=record.body["params"],
        last=last,
    )
    return request, past


def _before(context: Shown, usage: Mapping[str, Any], record: Record) -> Past:
    """The context as it was when the request of a usage was built: what came while the answer did is not in it."""
    known = context.find(str(usage.get("through") or ""))
    last = known[0].index if len(known) == 1 else record.index - 1
    # The first record behind it that is whole; the usage itself is one.
    behind = next(r for r in context.records[last + 1 : record.index + 1] if r.role)
    return context.before(behind.id)


def _usage(body: Mapping[str, Any]) -> Usage:
    """The figures that a usage tells, 0 where it does not."""
    kinds = ("input", "output", "cache_read", "cache_write")
    return Usage(**{kind: body[kind] for kind in kinds if type(body.get(kind)) is int})


def _sent_at(context: Shown, usage: Mapping[str, Any]) -> datetime | None:
    """When the request of a usage was sent; where it does not say so, when its answer was written."""
    if at := usage.get("at"):
        return _time(str(at))
    try:
        return _time(context.record(str(usage.get("produced"))).at)
    except ValueError:
        return None


def _time(text: str | None) -> datetime | None:
    """A time as logs write it; None where it is none."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _counted(usage: Mapping[str, Any]) -> Total | None:
    """What the endpoint counted of the request alone; None if the usage does not tell it."""
    parts = [usage.get(key) for key in ("input", "cache_read", "cache_write")]
    if usage.get("exact") is False or not all(type(part) is int for part in parts):
        return None
    count = sum(part for part in parts if isinstance(part, int))
    return Total(count, count, 0, "exact") if count else None
