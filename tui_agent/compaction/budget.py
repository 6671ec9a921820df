"""The last step before a request is refused: the oldest exchanges are left out, in one batch that can be taken back.

It is taken where no compaction makes room: it is off, or came to nothing. What goes first are closed exchanges, calls
with their results that the model has answered to, the oldest first; then what was said in earlier turns. What never
goes: the system prompt, what is pinned or critical (a goal, a plan), summaries, injections, the exchange that is open,
and the newest words of the person with all that follows them but closed exchanges.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.changes import MicroCompacted
from tui_agent.compaction.candidates import (
    Candidates,
    Item,
    Run,
    Seen,
    is_closed,
    is_paired,
    only_results,
    said_of,
)
from tui_agent.compaction.priority import CRITICAL, Priorities
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context
    from tui_agent.events import Emit

REASON = "budget"
SHARE = 0.7
"""A batch goes down to this part of the budget, so that the next one is not due at once."""
_WORDS_CHARACTERS = 100
_STAYING = ("summary", "injection")
"""Origins of what is never left out here."""


class Room(Struct, frozen=True):
    """What a request may weigh, in tokens: `budget` so that the answer has its room, `most` at all."""

    budget: int
    most: int


class Cut(Struct, frozen=True):
    """What a batch would leave out: the items, what each exchange is in words, and the tokens that are freed."""

    items: tuple[Item, ...] = ()
    words: tuple[str, ...] = ()
    freed: int = 0


class _Unit(Struct):
    """What goes together, and what it is for a person."""

    seen: list[Seen]
    words: str


class Budget:
    """Leaves out the oldest exchanges of one log. `announce` is told when a batch is in the log."""

    def __init__(
        self,
        *,
        context: Context,
        policy: Callable[[], Policy],
        emit: Emit,
        announce: Callable[[], object] = lambda: None,
    ) -> None:
        self._context = context
        self._policy = policy
        self._emit = emit
        self._announce = announce

    async def fit(self, total: int, room: Room, why: str) -> int:
        """Bring a context of `total` tokens under its budget, if it is above and can be; the tokens freed, 0 for none.

        `why` says why nothing else made room.
        """
        if total <= room.budget:
            return 0
        found = await self._planned(total, room)
        if not found.items:
            return 0
        items = [item.api() for item in found.items]
        figures = {"before": total, "after": total - found.freed}
        record = await self._context.elide(items, by="auto", reason=REASON, **figures)
        after = (await asyncio.to_thread(self._context.weigh)).total
        self._announce()
        said = f"left out to fit the {room.budget:,} tokens that a request may have: {why}"
        self._emit(MicroCompacted(record.id, found.words, total, after, said, whole=True))
        return max(0, total - after)

    async def _planned(self, total: int, room: Room) -> Cut:
        """A batch for the log as it is when it is made: a person may pin something meanwhile."""
        while True:
            seen = (self._context.generation, len(self._context.records))
            found = await asyncio.to_thread(cut, self._context, self._policy(), total=total, room=room)
            if seen == (self._context.generation, len(self._context.records)):
                return found


def cut(context: Context, policy: Policy, *, total: int, room: Room) -> Cut:
    """What to leave out of a context of `total` tokens; nothing if even all of it would not let the request be sent.

    Reads the whole history: call it in a thread.
    """
    found = Candidates(context, policy.settings, Priorities(policy.settings.priorities))
    chosen: list[_Unit] = []
    freed, stop = 0, int(SHARE * room.budget)
    for unit in (*_exchanges(found.runs), *_turns(found.runs)):
        if total - freed <= stop:
            break
        chosen.append(unit)
        freed += sum(context.estimated(seen.id) for seen in unit.seen)
    if total - freed > room.most:
        return Cut()
    seen = sorted((seen for unit in chosen for seen in unit.seen), key=lambda one: one.place)
    return Cut(
        tuple(Item(one.id, None, None) for one in seen),
        tuple(one_line(unit.words, _WORDS_CHARACTERS) for unit in chosen),
        freed,
    )


def _exchanges(runs: Sequence[Run]) -> Iterator[_Unit]:
    """Calls with their results that the model has answered to, the oldest first."""
    for asked, told in pairwise(runs):
        if asked.role != "assistant" or not told.answers or not is_closed(asked, told):
            continue
        results = [seen for seen in told.seen if is_paired(seen)]
        if all(map(_may_go, [*asked.seen, *results])) and all(map(only_results, results)):
            yield _Unit([*asked.seen, *results], said_of(asked, results))


def _turns(runs: Sequence[Run]) -> Iterator[_Unit]:
    """What was said before the newest words, turn by turn, the oldest first; calls and results aside."""
    starts = [at for at, run in enumerate(runs) if any(seen.message.is_words for seen in run.seen)]
    for start, stop in zip([0, *starts], starts, strict=False):
        said = [
            seen for run in runs[start:stop] for seen in run.seen if not is_paired(seen) and _may_go(seen)
        ]
        if said:
            yield _Unit(said, _said(said))


def _may_go(seen: Seen) -> bool:
    return seen.free and seen.priority < CRITICAL and seen.message.origin not in _STAYING


def _said(said: Iterable[Seen]) -> str:
    words = next((seen.message.text for seen in said if seen.message.is_words), "")
    return f'"{words}" and what was answered' if words else "an earlier answer"
