"""`/request` without a screen: what a request is made of, the requests of the session, and what differs between two."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent import literal
from tui_agent.commands import CommandError
from tui_agent.messages.tokens import Tokens
from tui_agent.ui import words
from tui_agent.ui.inspector.grouping import LEFT_OUT, groups_of, in_order, percent
from tui_agent.ui.plain import reading

if TYPE_CHECKING:
    from tui_agent.agent.requests import Built, Requests
    from tui_agent.context.sent import Sent
    from tui_agent.prompt.difference import Difference
    from tui_agent.ui.plain.talk import Talk

USAGE = (
    "usage: /request [N], /request list, /request diff A B, /request count; a request is its number, or next"
)
_NEXT = "next"
_LISTED = 10
"""Requests that are read out, the newest."""
_DIGITS = 10
"""Digits from which on a number is that of no request."""
_CHANGES = 20
"""Changes between two requests that are read out."""


async def request(talk: Talk, *words_: str) -> Sequence[str]:
    """Read what the next request is made of, or the Nth; list: all of them; diff A B: what differs; count: exactly"""
    requests = talk.session.requests
    many = await requests.follow()
    match words_:
        case ("list",):
            return await asyncio.to_thread(_list, requests, many)
        case ("diff", before, after):
            first, second = (
                await requests.look(_place(before, many)),
                await requests.look(_place(after, many)),
            )
            return _difference(await asyncio.to_thread(requests.between, first, second))
        case ("count",):
            built = await requests.look(None)
            total, theirs = built.manifest.total, await requests.count(built.request)
            return [f"the endpoint counts {theirs:,} tokens; here {_said(Tokens(total.count, total.mark))}"]
        case () | (_,):
            return _made_of(await requests.look(_place(words_[0] if words_ else _NEXT, many)))
        case _:
            raise CommandError(USAGE)


def _place(name: str, many: int) -> int | None:
    """The place of the request of a number, counted from 1; None is the next one."""
    if name == _NEXT:
        return None
    if not (name.isascii() and name.isdecimal() and len(name) < _DIGITS and 1 <= int(name) <= many):
        there = f"there are 1 to {many:,}, and {_NEXT}" if many else f"none was sent yet; there is {_NEXT}"
        raise CommandError(f"there is no request {name}: {there}. {USAGE}")
    return int(name) - 1


def _made_of(built: Built) -> list[str]:
    """A request by section and kind; what is left out with the reason."""
    items, total = (
        [*built.items, *built.left_out],
        Tokens(built.manifest.total.count, built.manifest.total.mark),
    )
    groups, said = groups_of(items), [f"{_name(built.sent)}, {built.request.model}: {_said(total)}"]
    if built.sent is not None:
        said.append(_figures(built.sent))
    if built.refusal is not None:
        said += [f"refused: {built.refusal}", *(f"way out: {way}" for way in built.refusal.ways)]
    for section, name in in_order(groups):
        group = groups[section, name]
        weight, many = _said(group.tokens), reading.count(len(group.items), "item", "items")
        if section == LEFT_OUT:
            said += [f"left out, {name}: {many}, {weight}"] if name else []
            continue
        cached = (
            ""
            if not group.cached
            else ", cached"
            if group.cached >= group.tokens.count
            else ", partly cached"
        )
        what = f"of {section}: {name}, " if name else f"{section}: "
        said.append(f"{what}{many}, {weight}{cached}")
    return [*said, USAGE]


def _figures(sent: Sent) -> str:
    foreseen = "" if sent.predicted is None else f", {sent.predicted:,} were foreseen"
    uncached = f"; {literal.one_line(sent.uncached)}" if sent.uncached else ""
    return (
        f"{sent.cache_read:,} tokens read from the cache, {percent(sent.cache_read, sent.total_input)}{foreseen}; "
        f"{sent.cache_write:,} written to it, {sent.input:,} plain, {sent.output:,} answered{uncached}"
    )


def _list(requests: Requests, many: int) -> list[str]:
    rows = [_listed(requests, place) for place in range(max(0, many - _LISTED), many)]
    return [reading.count(many, "request was sent", "requests were sent"), *rows]


def _listed(requests: Requests, place: int) -> str:
    try:
        sent = requests[place]
    except CommandError as error:
        return f"request {place + 1:,}: {error}"
    return f"{_name(sent)}: {sent.total_input:,} tokens, {_figures(sent)}"


def _difference(found: Difference) -> list[str]:
    before, after = (Tokens(total.count, total.mark) for total in (found.before, found.after))
    said = [f"from {_said(before)} to {_said(after)}; {found.same:,} items are the same"]
    for change in found.changes[:_CHANGES]:
        by = change.after.count - change.before.count
        more = f"{by:,} more" if by >= 0 else f"{-by:,} less"
        why = f", {change.why}" if change.why else ""
        name = " ".join(filter(None, (change.item.name, change.item.source)))
        said.append(f"{change.what}: {name} of {change.item.section}, {more}{why}")
    left = len(found.changes) - _CHANGES
    return [*said, f"and {left:,} more"] if left > 0 else said


def _name(sent: Sent | None) -> str:
    if sent is None:
        return "the next request"
    turn = "" if sent.turn is None else f", turn {sent.turn}"
    return f"request {sent.n:,}{turn}, {words.clock(sent.at)}"


def _said(tokens: Tokens) -> str:
    """A count in words: a reader of screens leaves out signs."""
    sign = "minus " if tokens.count < 0 else ""
    return f"{'' if tokens.mark == 'exact' else 'about '}{sign}{abs(tokens.count):,} tokens"
