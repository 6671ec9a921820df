"""Whether what is in force fits the model's window, and what happens before the next request if it does not.

For whoever has just changed what is sent: an edited summary, a compaction that is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.compaction.making import ANSWER_TOKENS, Skipped, Wanted, look

if TYPE_CHECKING:
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context


class Outlook(Struct, frozen=True):
    """`fits`: the next request can be sent as it is. `words` say so, how much it has, and what follows."""

    fits: bool
    words: str


def outlook(context: Context, policy: Policy, window: int, *, held: bool = False) -> Outlook:
    """How a log stands to a window of so many tokens. `held`: nothing is compacted unasked, since a person undid one.

    May read much of the history: call it in a thread.
    """
    total, limit = context.weigh().total, policy.limit(window)
    fits = total + ANSWER_TOKENS <= window
    size = f"about {total:,} of {window:,} tokens"
    if total < limit:
        return Outlook(fits, f"{size}: it fits")
    state = f"it fits, but compacting is due at {limit:,}" if fits else "it does not fit"
    return Outlook(fits, f"{size}: {state}. {_follows(context, policy, window, held=held)}")


def _follows(context: Context, policy: Policy, window: int, *, held: bool) -> str:
    """What happens before the next request, and what a person has to do."""
    try:
        found = look(context, Wanted("auto"), policy, window=window, thinking=None)
    except Skipped as skipped:
        return f"Nothing makes that less by itself: {skipped}"
    if held or not policy.settings.auto:
        why = "you took a compaction back" if held else "compaction.auto is off"
        return f"Nothing is compacted by itself, since {why}: /compact does"
    if not found.retained.replaced:
        return "Long results will be cut to their heads and tails before the next request"
    again = (
        " again, this summary with it" if any(m.origin == "summary" for m in found.retained.replaced) else ""
    )
    return f"The history is summarised{again} before the next request"
