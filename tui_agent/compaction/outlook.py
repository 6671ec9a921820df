"""Whether what is in force fits the model's window, and what happens before the next request if it does not.

For whoever has just changed what is sent: an edited summary, a compaction that is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.compaction.making import ANSWER_TOKENS, ORIGIN, Skipped, Wanted, look

if TYPE_CHECKING:
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context


class Outlook(Struct, frozen=True):
    """`fits`: the next request can be sent as it is. `words` say so, how much it has, and what follows."""

    fits: bool
    words: str


def is_held(context: Context) -> bool:
    """True while nothing is compacted unasked, because a person took a compaction back."""
    head = context.head
    return head is not None and head.op == "undo" and head.figures.get("undid") == "compaction"


def outlook(context: Context, policy: Policy, window: int) -> Outlook:
    """How a log stands to a window of so many tokens. May read much of the history: call it in a thread."""
    total, limit = context.weigh().total, policy.limit(window)
    fits = total + ANSWER_TOKENS <= window
    size = f"about {total:,} of {window:,} tokens"
    if total < limit:
        return Outlook(fits, f"{size}: it fits")
    state = f"it fits, but compacting is due at {limit:,}" if fits else "it does not fit"
    return Outlook(fits, f"{size}: {state}. {_follows(context, policy, window)}")


def _follows(context: Context, policy: Policy, window: int) -> str:
    """What happens before the next request, and what a person has to do."""
    try:
        found = look(context, Wanted("auto"), policy, window=window, thinking=None)
    except Skipped as skipped:
        return f"Nothing makes that less by itself: {skipped}"
    if is_held(context) or not policy.settings.auto:
        why = "you took a compaction back" if policy.settings.auto else "compaction.auto is off"
        return f"Nothing is compacted by itself, since {why}: /compact does"
    if not found.retained.replaced:
        return "Long results will be cut to their heads and tails before the next request"
    summaries = sum(message.origin == ORIGIN for message in found.retained.replaced)
    what = "The summary" if summaries == len(found.retained.replaced) else "The history"
    return f"{what} is summarised{' again' if summaries else ''} before the next request"
