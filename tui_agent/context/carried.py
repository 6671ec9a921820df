"""What a log weighs after a rewrite, in the measure that it had before.

A rewritten log was never counted by an endpoint. If all of it were estimated anew, the weight after would be an
estimate beside a count, and both could not be compared: what stays would seem lighter or heavier without having
changed. So what stays keeps the figures that it had, and where these were estimates they are corrected by what the
endpoint counted for all of them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.context.accounting import Accounting
    from tui_agent.context.projection import Projection
    from tui_agent.messages.tokens import Tokens

_LEAST, _MOST = 0.5, 2.0
"""Estimates are corrected by no less and no more than this."""


def carried(old: Accounting, new: Accounting) -> int:
    """The tokens of the log of `new`, which was made of that of `old`. Looks at every message of both."""
    ratio = correction(old)
    were = {old.log.id(index): index for index in old.log.visible}
    total = sum(_corrected(part, ratio) for part in (new.system, new.tools))
    for index in new.log.visible:
        before = were.get(new.log.id(index))
        if before is None or _shape(old.log, before) != _shape(new.log, index):
            total += new.tokens(index).count
        else:
            total += _corrected(old.tokens(before), 1.0 if old.is_pending(before) else ratio)
    return max(0, round(total))


def correction(accounting: Accounting) -> float:
    """What the estimates in the last count have to be multiplied by, so that with what is known they come to it."""
    known, estimated = 0, 0
    log = accounting.log
    covered = (accounting.tokens(index) for index in log.visible if not accounting.is_pending(index))
    for part in (*covered, accounting.system, accounting.tools):
        if part.mark == "estimated":
            estimated += part.count
        else:
            known += part.count
    if not log.usages or not estimated:
        return 1.0
    return min(_MOST, max(_LEAST, (accounting.token_count - known) / estimated))


def _corrected(part: Tokens, ratio: float) -> float:
    return part.count * ratio if part.mark == "estimated" else part.count


def _shape(log: Projection, index: int) -> list[tuple[int | None, str | None]]:
    """What is left out of a message, and what stands in its place."""
    return [(elision.block, elision.placeholder) for elision in log.elisions.on(index)]
