"""Micro-compaction: old results and what says nothing any more are elided, in one batch, without a model.

The records stay as they are; one `_elide` names what is left out or shortened, and bringing it back is one record
more (`Context.restore_elided`, whole or by item). What happens is decided by the log alone: a batch that was written
is not written again, and what a person brought back stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.changes import MicroCompacted
from tui_agent.compaction.candidates import Candidate, Candidates, Item
from tui_agent.compaction.economy import Case, Habits, judge
from tui_agent.compaction.priority import Priorities
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from tui_agent.compaction.policy import Policy
    from tui_agent.context import Context
    from tui_agent.events import Emit
    from tui_agent.settings.schema import Price

REASON = "micro"
FRUITLESS = 2
"""After so many batches in a row that free next to nothing, a summary is called for."""
_FRUIT = 0.05
"""The part of the context that a batch has to free so as not to be fruitless."""
_LEAST = 20
"""Tokens: what shortening a single result frees at least, or it stays."""
_WORDS_CHARACTERS = 100


class Plan(Struct, frozen=True):
    """What a batch would do: its items, what it frees, and what stands `behind` the first thing it touches, in tokens.

    `words` say of each thing what it is; a call that goes with its results is one thing.
    """

    items: tuple[Item, ...] = ()
    words: tuple[str, ...] = ()
    freed: int = 0
    behind: int = 0


def plan(context: Context, policy: Policy, *, total: int, window: int) -> Plan:
    """What to elide so that a context of `total` tokens gets down to where `policy` stops; nothing is changed.

    From the least priority up, in each from the oldest on. The figures are estimates. Reads the whole history: call it
    in a thread.
    """
    found = Candidates(context, policy.settings, Priorities(policy.settings.priorities))
    picked = _Picked(context, found.left)
    stop = policy.micro_stop(window)
    for candidate in found.find():
        if total - picked.freed <= stop:
            break
        picked.take(candidate)
    chosen = picked.chosen
    if not chosen:
        return Plan()
    fixed = context.system_tokens.count + context.tools_tokens.count
    before = sum(map(context.estimated, found.names[: chosen[0].place]))
    return Plan(
        items=tuple(item for candidate in chosen for item in candidate.items),
        words=tuple(one_line(candidate.words, _WORDS_CHARACTERS) for candidate in chosen),
        freed=picked.freed,
        behind=max(0, total - picked.freed - fixed - before),
    )


class _Picked:
    """What is chosen so far, and what that leaves of each run."""

    def __init__(self, context: Context, left: list[int]) -> None:
        self._context = context
        self._left = left
        self._chosen: dict[tuple[str, int | None], Candidate] = {}
        """By its first item: of a result that is shortened twice the last form counts."""
        self._freed: dict[tuple[str, int | None], int] = {}
        self.freed = 0

    @property
    def chosen(self) -> list[Candidate]:
        """In the order of the history."""
        return sorted(self._chosen.values(), key=lambda candidate: candidate.place)

    def take(self, candidate: Candidate) -> None:
        """Choose it, if it frees enough and something of its run stays."""
        keys = [(item.record, item.block) for item in candidate.items]
        covered = any((record, None) in self._freed for record, _ in keys)
        if covered or (candidate.drops and candidate.drops >= self._left[candidate.run]):
            return
        frees = [self._frees(item) for item in candidate.items]
        already = sum(self._freed.get(key, 0) for key in keys)
        if sum(frees) - already < (_LEAST if candidate.kind in ("result", "blank") else 1):
            return
        self._freed.update(zip(keys, frees, strict=True))
        self._left[candidate.run] -= candidate.drops
        self.freed += sum(frees) - already
        self._chosen[keys[0]] = candidate

    def _frees(self, item: Item) -> int:
        now = self._context.estimated(item.record)
        return now - self._context.estimated(item.record, {item.block: item.text})


class Micro:
    """Keeps a context below half of its window, as far as eliding can.

    Args:
        policy: the sizes in force.
        announce: told when a batch is in the log: the next request does not extend the last one.
        price: what the model that is asked costs, if settings say it.
        now: the time.
    """

    def __init__(
        self,
        *,
        context: Context,
        policy: Callable[[], Policy],
        emit: Emit,
        announce: Callable[[], object] = lambda: None,
        price: Callable[[], Price | None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._context = context
        self._policy = policy
        self._emit = emit
        self._announce = announce
        self._price = price
        self._now = now
        self._generation = -1
        self._again: int | None = None
        """The weight that the last batch left."""
        self._postponed = self._tried = 0
        """The weights up to which a batch is not looked for again: because it did not pay, or was too small; and
        because it could not take the place of a summary that is due."""
        self._patient = True
        """False once a small batch was put off: the next is made."""
        self._fruitless = 0

    @property
    def escalate(self) -> bool:
        """True if batches were made that freed next to nothing, time after time: a summary is called for."""
        return self._fruitless >= FRUITLESS

    def reset(self) -> None:
        """The history is another one: what was tried on the old one does not count."""
        self._generation, self._fruitless, self._patient = self._context.generation, 0, True
        self._postponed = self._tried = 0
        self._again = _last_batch(self._context)

    def _follow(self) -> None:
        """Begin anew if the log was rewritten since."""
        if self._generation != self._context.generation:
            self.reset()

    async def relieve(self, total: int, window: int, *, alone: bool = False) -> int:
        """Elide, if it is due for a context of so many tokens and pays. Returns the tokens freed; 0: nothing was done.

        `alone` says that no summary will be made, however full the window is.

        Raises:
            ContextError: the log could not be written; nothing is elided.
        """
        self._follow()
        policy = self._policy()
        full = total >= policy.limit(window) and not alone
        if total <= self._next(policy, window, full=full):
            return 0
        found, habits = await self._planned(policy, total, window)
        if not self._is_enough(found, policy, total, window, full=full):
            return 0
        case = Case(total, found.freed, found.behind, policy.limit(window))
        verdict = judge(case, habits, self._now(), self._price())
        if not verdict.pays:
            self._postponed = total + policy.micro_step(window) // 2
            return 0
        return await self._elide(found, total, verdict.words)

    def due_above(self, window: int) -> int:
        """The weight, in tokens, above which the next batch is looked for."""
        self._follow()
        return self._next(self._policy(), window, full=False)

    def _next(self, policy: Policy, window: int, *, full: bool) -> int:
        """The weight above which it is looked for a batch. `full`: a summary is due, which a large batch can spare."""
        if full:
            return self._tried
        return max(policy.micro_again(window, self._again), self._postponed)

    def _is_enough(self, found: Plan, policy: Policy, total: int, window: int, *, full: bool) -> bool:
        """True if it is time for this batch; else it is put off.

        One that takes the place of a summary has to bring the context under the size at which the next one is due. A
        small one is put off once, so that it grows: each batch costs the provider's cache.
        """
        step, after = policy.micro_step(window), total - found.freed
        if full:
            self._tried = total + step // 4
            return bool(found.items) and after <= policy.micro_limit(window)
        small = found.freed < step and after > policy.micro_stop(window)
        if not found.items or (small and self._patient):
            self._postponed, self._patient = total + step, False
            return False
        self._patient = not small
        return True

    async def _planned(self, policy: Policy, total: int, window: int) -> tuple[Plan, Habits]:
        """A plan, and what is known of the requests, for the log as it is when they are made."""

        def look() -> tuple[Plan, Habits]:
            return plan(self._context, policy, total=total, window=window), Habits.of(self._context)

        while True:
            generation, records = self._context.generation, len(self._context.records)
            try:
                found = await asyncio.to_thread(look)
            except ValueError:  # a record that is not there any more
                if generation == self._context.generation:
                    raise
                continue
            if (generation, records) == (self._context.generation, len(self._context.records)):
                return found

    async def _elide(self, found: Plan, total: int, arithmetic: str) -> int:
        items = [item.api() for item in found.items]
        figures = {"before": total, "after": total - found.freed}
        record = await self._context.elide(items, by="auto", reason=REASON, **figures)
        after = (await asyncio.to_thread(self._context.weigh)).total
        self._again, self._postponed, self._tried = after, 0, 0
        self._fruitless = 0 if found.freed >= _FRUIT * total else self._fruitless + 1
        self._announce()
        self._emit(MicroCompacted(record.id, found.words, total, after, arithmetic))
        return max(0, total - after)


def _last_batch(context: Context) -> int | None:
    """The weight that the newest batch since the last rewrite left; None if there was none."""
    rewritten = context.head.index if context.head is not None else -1
    for record in reversed(context.batches):
        if record.index < rewritten:
            return None
        if record.body.get("reason") == REASON:
            after = record.body.get("after")
            return after if type(after) is int else None
    return None
