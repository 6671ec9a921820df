"""`tui-agent context request`: the exact JSON of a request, what it is made of, and what differs between two.

A request is named by its number, from 1 in the order in which they were sent (`--list`); without a number it is the
one that the next prompt would send.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tui_agent.agent.requests import Built, NotBuilt, Requests
from tui_agent.cli.describe import repairs_of, words_of
from tui_agent.cli.failures import Failed, Usage
from tui_agent.cli.report import Column, complain, facts, say, say_json, table, tokens, when
from tui_agent.cli.ways import with_ways
from tui_agent.literal import one_line
from tui_agent.sessions.folder import SessionFolder
from tui_agent.settings.load import load
from tui_agent.ui.inspector.grouping import LEFT_OUT, groups_of, in_order, percent, stays_of, sums_of

if TYPE_CHECKING:
    import argparse

    from tui_agent.context import Context
    from tui_agent.context.sent import Sent
    from tui_agent.messages.request import Request
    from tui_agent.prompt.difference import Change, Difference
    from tui_agent.prompt.manifest import Item, Manifest

NEXT = "next"
_SIGNS = {"added": "+", "gone": "-", "shortened": "<", "longer": ">", "changed": "~", "moved": "%"}


async def request(options: argparse.Namespace, context: Context, workspace: Path) -> int:
    """Print what was asked of one request, of two, or of all; returns the exit code.

    Raises:
        Failed: there is no such request, or it cannot be built.
    """
    from tui_agent.wiring import OpenError, preview_request

    place = SessionFolder(context.path.parent).meta.workspace

    async def upcoming() -> tuple[Request, Manifest]:
        return await preview_request(
            context,
            Path(place) if place else workspace,
            load(),
            profile=options.profile,
            append_system=options.append_system,
        )

    requests = Requests(context, upcoming=upcoming)
    try:
        if options.list:
            if options.number == NEXT:
                raise Usage("--list is of those that were sent: give a number, or none for all")
            only = await _place(requests, options.number) if options.number else None
            if only is not None:
                return _list(options, [requests[only]])
            return _list(options, [requests[place] for place in range(await requests.follow())])
        if options.diff:
            places = [await _place(requests, name) for name in options.diff]
            return _difference(options, await requests.diff(*places))
        which = await _place(requests, options.number or NEXT)
        if options.manifest:
            return _made_of(options, await requests.look(which))
        return _one(await requests.build(which), context)
    except NotBuilt as error:
        raise Failed(with_ways(str(error), error.ways)) from error
    except OpenError as error:
        raise Failed(str(error)) from error


async def _place(requests: Requests, name: str) -> int | None:
    """The place of the request of a number; None is the next one."""
    if name == NEXT:
        return None
    many = await requests.follow()
    if not (name.isascii() and name.isdecimal()):
        raise Usage(f"{name!r} is no request: give its number, or {NEXT}")
    if not 1 <= int(name) <= many:
        there = f"there are 1 to {many:,}, and {NEXT}" if many else f"none was sent yet; there is {NEXT}"
        raise Failed(f"there is no request {name}: {there}")
    return int(name) - 1


def _one(built: Built, context: Context) -> int:
    if built.sent is None:
        for text in repairs_of(built.request.changes, context):
            complain(text)
    say_json(built.request.body())
    return 0


# --- every request


def _list(options: argparse.Namespace, sent: Sequence[Sent]) -> int:
    if options.json:
        say_json([_sent_json(one) for one in sent])
        return 0
    if not sent:
        say("no request was sent yet")
        return 0
    columns: list[Column | str] = [
        Column("NO", "right"),
        Column("TURN", "right"),
        "TIME",
        "MODEL",
        Column("TOKENS IN", "right"),
        Column("CACHE", "right"),
        Column("FORESEEN", "right"),
        Column("WRITTEN", "right"),
        Column("OUT", "right"),
        "FILE",
    ]
    rows = [
        (
            one.n,
            "" if one.turn is None else one.turn,
            when(one.at),
            one.model,
            f"{one.total_input:,}",
            percent(one.cache_read, one.total_input),
            "" if one.predicted is None else percent(one.predicted, one.total_input),
            f"{one.cache_write:,}",
            f"{one.output:,}",
            one.file,
        )
        for one in sent
    ]
    say(table(columns, rows))
    return 0


def _sent_json(sent: Sent) -> dict[str, Any]:
    return {**asdict(sent), "total_input": sent.total_input}


# --- what one is made of


def _made_of(options: argparse.Namespace, built: Built) -> int:
    """Print what a request is made of; why it would be refused, with the ways out, comes before that."""
    refusal = built.refusal
    if refusal is not None:
        complain(with_ways(str(refusal), refusal.ways))
    if options.json:
        say_json(_manifest_json(built))
    else:
        say(_manifest_text(built))
    return 0 if refusal is None else Failed.code


def _manifest_json(built: Built) -> dict[str, Any]:
    manifest, refusal = built.manifest, built.refusal
    refused = (
        None if refusal is None else {"why": str(refusal), "excess": refusal.excess, "ways": refusal.ways}
    )
    return {
        "request": None if built.sent is None else _sent_json(built.sent),
        "sha256": built.request.sha256,
        "model": built.request.model,
        "total": asdict(manifest.total),
        "window": manifest.window,
        "window_guessed": manifest.guessed,
        "reserve": manifest.reserve,
        "refused": refused,
        "stays": built.stays,
        "items": [_item_json(item) for item in built.items],
        "left_out": [_item_json(item) for item in built.left_out],
    }


def _item_json(item: Item) -> dict[str, Any]:
    return {**asdict(item), "tokens": item.tokens.count, "mark": item.tokens.mark}


def _manifest_text(built: Built) -> str:
    """The items by section and kind, largest groups unfolded as far as they are of one item, and sums that close."""
    items, total = [*built.items, *built.left_out], built.manifest.total
    groups, rows = groups_of(items), []
    for place in in_order(groups):
        section, name = place
        group = groups[place]
        share = (
            f"{100 * group.tokens.count / total.count:.0f} %"
            if total.count > 0 < group.tokens.count and section != LEFT_OUT
            else ""
        )
        cached = "" if not group.cached else "yes" if group.cached >= group.tokens.count else "part"
        if built.refusal is not None:
            cached = stays_of((items[number] for number in group.items), built.stays)
        said = _words(built, items[group.items[0]]) if len(group.items) == 1 and name else ""
        weight = tokens(group.tokens.count, group.tokens.mark)
        rows.append((f"  {name}" if name else section, len(group.items), weight, share, cached, said))
    columns: list[Column | str] = [
        Column("WHAT IS SENT" if built.refusal is None else "WHAT WOULD BE SENT", shrink=True),
        Column("ITEMS", "right"),
        Column("TOKENS", "right"),
        Column("SHARE", "right"),
        "CACHED" if built.refusal is None else "STAYS",
        Column("WORDS", shrink=True),
    ]
    closing: list[tuple[str, object]] = [(name, f"{part.count:,}") for name, part in sums_of(groups)]
    closing.append(("total", tokens(total.count, total.mark)))
    if built.refusal is not None:
        closing.append(("too many", tokens(built.refusal.excess, total.mark)))
    return "\n\n".join([_which(built), table(columns, rows), facts(closing)])


def _which(built: Built) -> str:
    sent, manifest = built.sent, built.manifest
    if sent is None:
        window = tokens(manifest.window, "estimated" if manifest.guessed else "exact")
        of = f" of {window}" if manifest.window else ""
        total = tokens(manifest.total.count, manifest.total.mark)
        which = (
            "the next request, refused: it does not fit" if built.refusal is not None else "the next request"
        )
        return f"{which}, {built.request.model}: {total}{of} tokens, {manifest.reserve:,} kept for the answer"
    turn = "" if sent.turn is None else f", turn {sent.turn}"
    foreseen = "" if sent.predicted is None else f" ({sent.predicted:,} foreseen)"
    uncached = f"\n{one_line(sent.uncached)}" if sent.uncached else ""
    return (
        f"request {sent.n}{turn}, {when(sent.at)}, {built.request.model}: {sent.cache_read:,} tokens read from the "
        f"cache{foreseen}, {sent.cache_write:,} written, {sent.input:,} plain; {sent.output:,} answered{uncached}"
    )


def _words(built: Built, item: Item) -> str:
    """The first words of an item of a message, or why it is not sent."""
    if not item.kept:
        return item.name
    if item.message is None:
        return ""
    request = built.request
    blocks = zip(request.messages[item.message]["content"], request.blocks[item.message], strict=True)
    return words_of(block for block, record in blocks if record == item.record)


# --- what differs between two


def _difference(options: argparse.Namespace, found: Difference) -> int:
    if options.json:
        say_json(
            {
                "before": asdict(found.before),
                "after": asdict(found.after),
                "same": found.same,
                "counted_anew": found.counted_anew,
                "changes": [_change_json(change) for change in found.changes],
            }
        )
        return 0
    weight, item, why = Column("TOKENS", "right"), Column("ITEM", shrink=True), Column("WHY", shrink=True)
    columns: list[Column | str] = ["", "WHAT", weight, item, why]
    rows = [
        (
            _SIGNS[change.what],
            change.what,
            f"{change.after.count - change.before.count:+,}",
            " ".join(filter(None, (change.item.section, change.item.name, change.item.source))),
            change.why,
        )
        for change in found.changes
    ]
    closing: list[tuple[str, object]] = [("before", tokens(found.before.count, found.before.mark))]
    for what in _SIGNS:
        if any(change.what == what for change in found.changes):
            closing.append((what, f"{found.tokens(what):+,}"))  # type: ignore[arg-type]
    if found.counted_anew:
        closing.append(("counted anew", f"{found.counted_anew:+,}"))
    closing += [("after", tokens(found.after.count, found.after.mark)), ("the same", f"{found.same:,} items")]
    head = table(columns, rows) if rows else "nothing differs"
    say(f"{head}\n\n{facts(closing)}")
    return 0


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "what": change.what,
        "why": change.why,
        "before": change.before.count,
        "after": change.after.count,
        "item": _item_json(change.item),
    }
