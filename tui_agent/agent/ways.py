"""The ways out for a request that does not fit: what of it weighs too much, and what makes that less.

Only what makes enough room by itself is named, by the same figures that say that the request does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import TYPE_CHECKING

from tui_agent.compaction import picked
from tui_agent.compaction.making import LEAST_SUMMARY, Skipped, Wanted, look, summary_body
from tui_agent.compaction.policy import Policy
from tui_agent.literal import one_line
from tui_agent.messages.tokens import Estimator
from tui_agent.planning.briefing import SOURCE
from tui_agent.planning.goal import read
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS, larger_window
from tui_agent.prompt.books import about
from tui_agent.prompt.injections import newest_of_all
from tui_agent.prompt.manifest import server_of
from tui_agent.settings.schema import Compaction as Keys

if TYPE_CHECKING:
    from tui_agent.context import Context

_LARGEST = 3
"""So many items are named at most."""
_LOOKED_AT = 12
"""Of so many of the heaviest it is worked out what a few words in their place save."""
_SHOWN_CHARACTERS = 60
_FILES = ("workspace", "profile")
"""Layers of the prompt that are files of a person's."""


def ways_out(context: Context, total: int, most: int, *, counted: int | None = None) -> tuple[str, ...]:
    """How a request of `total` tokens comes under `most`, in words with the command of each; the best first.

    `counted` is what the endpoint counted of it, None where it did not tell. Reads the whole history: call it in a
    thread.
    """
    excess = total - most
    found = [
        *_compact(context, total, most),
        *_elide(context, excess),
        *_goal(context, excess),
        *_own_words(context, excess),
        *_back(context, excess, most),
        *_tools(context, excess),
        *_files(context, excess),
        larger_window(counted or total),
    ]
    return tuple(found)


def _compact(context: Context, total: int, most: int) -> Iterator[str]:
    """A summary, if even a long one beside what stays word for word makes enough room, or cutting long results where
    there is nothing to summarise; by the settings' defaults.
    """
    policy, window = Policy(Keys()), most + MIN_OUTPUT_TOKENS
    try:
        found = look(context, Wanted("manual"), policy, window=window, thinking=None)
    except Skipped:
        return
    if found.retained.replaced and found.retained.tokens.count < LEAST_SUMMARY:
        return  # a summary that is no smaller than what it is of is not used
    # What no record accounts for is laid to the prompt and the tools, which a summary leaves as they are.
    floor = found.terms.floor + max(0, context.unattributed)
    if not found.retained.replaced:
        if floor + found.retained.stays <= most:
            yield "cut long results to their heads and tails (/compact)"
        return
    ledger = _estimator(context).count(summary_body("", found.ledger)["content"])
    if floor + found.retained.stays + policy.summary_most(window) + ledger <= most:
        yield "compact (/compact)"


def _elide(context: Context, excess: int) -> Iterator[str]:
    """The largest items, as few as make enough room; not the newest words, nor a goal, which would be told again."""
    lasting = {_newest_words(context), _goal_told(context)}
    weighed = ((context.tokens(m.id).count, m.id) for m in context.history if m.id not in lasting)
    heaviest = nlargest(_LOOKED_AT, weighed)
    freed, found = 0, []
    for saved, name in nlargest(_LARGEST, ((picked.saves(context, name), name) for _, name in heaviest)):
        if saved <= 0 or freed >= excess:
            break
        freed += saved
        record = context.record(name)
        what = one_line(about(record.body, name).name, _SHOWN_CHARACTERS)
        found.append(f"record {record.line} ({what}, about {saved:,} tokens less) (/elide {record.line})")
    if freed < excess:
        return
    if len(found) == 1:
        yield f"elide the largest item, {found[0]}"
    else:
        yield from (f"elide, together with the others named here, {one}" for one in found)


def _goal(context: Context, excess: int) -> Iterator[str]:
    """A goal in fewer words, if its words alone are too much."""
    told = _goal_told(context)
    if told and (weight := context.tokens(told).count) >= excess:
        yield f"say the goal, about {weight:,} tokens, in fewer words (/goal edit TEXT), or drop it (/goal clear)"


def _goal_told(context: Context) -> str:
    """The record that tells the words of the goal that is worked on; "" if there is none."""
    state = read(context.state)
    if state is None or state.status == "complete":
        return ""
    told = newest_of_all(context).get(SOURCE)
    return "" if told is None else context.records[told.place].id


def _own_words(context: Context, excess: int) -> Iterator[str]:
    """The newest words, if they alone are too much."""
    newest = _newest_words(context)
    if newest and (weight := context.tokens(newest).count) >= excess:
        line = context.record(newest).line
        yield f"put a shorter text in the place of your newest words, about {weight:,} tokens (/edit {line})"


def _back(context: Context, excess: int, most: int) -> Iterator[str]:
    """The newest turn behind which there is enough; the first is none, since going back there keeps nothing."""
    messages = reversed(context.history)
    freed = 0
    turns = [point for point in context.checkpoints() if point.turn]
    message = next(messages, None)
    for turn in reversed(turns[1:]):
        while message is not None and context.record(message.id).line > turn.line:
            freed += context.tokens(message.id).count
            message = next(messages, None)
        if freed >= excess and turn.tokens <= most:
            yield f"go back to checkpoint {turn.id}, before what is too much (/revert {turn.id})"
            return


def _estimator(context: Context) -> Estimator:
    return Estimator(context.model, factor=context.factor)


def _newest_words(context: Context) -> str:
    return next((message.id for message in reversed(context.history) if message.is_words), "")


def _tools(context: Context, excess: int) -> Iterator[str]:
    """Fewer tools, if those of servers are too much."""
    estimator = _estimator(context)
    served = [tool for tool in context.tools or () if server_of(str(tool.get("name", "")))]
    weight = estimator.count(served) if served else 0
    if weight >= excess:
        yield (
            f'offer fewer tools, those of MCP servers weigh about {weight:,} tokens: set tools.defer = "on" or '
            "mcp.servers.NAME.enabled = false, then put it in force (/refresh)"
        )


def _files(context: Context, excess: int) -> Iterator[str]:
    """Shorter files of instructions, if one is too much."""
    estimator = _estimator(context)
    for layer in context.system_layers:
        weight = estimator.count(layer["text"])
        if layer["layer"] in _FILES and weight >= excess:
            source = one_line(str(layer["source"]), _SHOWN_CHARACTERS)
            yield f"shorten {source}, which weighs about {weight:,} tokens, and put it in force (/refresh)"
