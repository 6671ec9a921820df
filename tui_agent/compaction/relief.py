"""When the context is made smaller by itself: micro first, a summary where that is not enough, and when not to.

Where no summary is made though the request has no room, the oldest exchanges are left out instead: at once where
summaries are off, and where they failed, when a request did not fit. It is asked before each step and at the end of a
turn, with the number that stands on the status bar.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from tui_agent.changes import CompactionHeld, CompactionSkipped
from tui_agent.compaction.budget import Room
from tui_agent.compaction.burden import too_high
from tui_agent.compaction.making import Wanted
from tui_agent.compaction.outlook import is_held
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS

if TYPE_CHECKING:
    from tui_agent.changes import Trigger
    from tui_agent.compaction.around import Around
    from tui_agent.compaction.budget import Budget
    from tui_agent.compaction.compactor import Compactor
    from tui_agent.context import Context
    from tui_agent.events import Emit

FRUITLESS = 2
"""After so many runs in a row that gained next to nothing, nothing is compacted by itself any more."""
_GROWTH = 0.05
"""A run that came to nothing is not tried again before the context has grown by this part of the window."""


class Shortening(Protocol):
    """Micro-compaction: `relieve` gives the tokens freed (`alone`: no summary will be made, however full it is),
    `escalate` says that its batches free too little."""

    @property
    def escalate(self) -> bool: ...
    async def relieve(self, total: int, window: int, *, alone: bool = False) -> int: ...
    def reset(self) -> None: ...


class Relief:
    """Decides for one log. `room` is what a request may weigh; `run` carries a compaction out and says whether it is in
    force; `free` says that a model is known to cost nothing.
    """

    def __init__(
        self,
        *,
        context: Context,
        compactor: Compactor,
        micro: Shortening,
        around: Around,
        emit: Emit,
        budget: Budget,
        room: Callable[[], Room],
        run: Callable[[Wanted], Awaitable[bool]],
        free: Callable[[], bool],
    ) -> None:
        self._context = context
        self._compactor = compactor
        self._micro = micro
        self._around = around
        self._emit = emit
        self._budget = budget
        self._room = room
        self._run = run
        self._free = free
        self._told: set[str] = set()
        """Why nothing is done, where that was said since it last changed."""
        self._tried = (-1, 0)
        """Generation and weight of a run that came to nothing."""
        self._held = False

    @property
    def held(self) -> bool:
        """True while nothing is compacted unasked, because a person took a compaction back."""
        return is_held(self._context)

    def tell_held(self) -> None:
        """Say whether it is held, if that has changed."""
        if self.held != self._held:
            self._held = self.held
            self._emit(CompactionHeld(self._held))

    async def relieve(self, total: int, *, summaries: bool = True, sending: bool = True) -> bool:
        """Make room if it is due for a next request of so many tokens; True if something was changed.

        `summaries` False leaves those to the next time. `sending`: the request follows at once, so that it has to fit.
        """
        policy, window = self._around.policy(), self._around.window()
        due = policy.due(total, window, floor=self._floor())
        if due is None:
            self._told.clear()
            self._look_ahead(total)
            return False
        if not policy.settings.auto:
            self._leave(due, "off", "compaction.auto is off in settings: /compact compacts")
            return sending and await self._fit(total, _OFF)
        if self.held:
            return self._leave(due, "held", "you took a compaction back: /compact compacts again")
        why = self._why_no_summary(self._floor(), policy.limit(window))
        alone = why is not None or self._is_tried(total)
        freed = await self._micro.relieve(total, window, alone=alone)
        if freed:
            total = self._context.weigh().total
        if not (self._is_full(total) or self._micro.escalate):
            self._look_ahead(total)
            return bool(freed)
        if not summaries:
            return bool(freed)
        if why is not None:
            self._leave("full", *why)
            return (sending and why[0] == "off" and await self._fit(total, why[1])) or bool(freed)
        if self._is_tried(total):
            return bool(freed)
        return await self._compact(Wanted("auto")) or bool(freed)

    async def _fit(self, total: int, why: str) -> bool:
        """Leave out the oldest exchanges, if a request of so many tokens is over its budget; True if that was done."""
        return bool(await self._budget.fit(total, self._room(), why))

    def _why_no_summary(self, floor: int, limit: int) -> tuple[str, str] | None:
        """Reason and detail, where none is made unasked however full the window is."""
        if self._around.policy().settings.strategy == "none":
            return "off", "compaction.strategy is none in settings"
        if floor >= limit:
            return "floor", too_high(floor, limit)
        if self._compactor.fruitless >= FRUITLESS:
            return "no_progress", _NO_PROGRESS
        return None

    async def recover(self, *, tokens: int | None = None, window: int | None = None) -> bool:
        """Make room for a request that did not fit; True if there is more of it. `tokens` and `window` are what the
        endpoint counted and allows, None where it did not tell.
        """
        total = self._context.weigh().total
        window = min(window or self._around.window(), self._around.window())
        # Estimates may be too low: in their measure the window is as much smaller.
        fits = total * window // tokens if tokens else window
        if not tokens and total + MIN_OUTPUT_TOKENS <= window:
            fits = total  # it was refused without figures, though it should fit
        room = _within(self._room(), min(window, fits))
        if not self._around.policy().settings.auto:
            if await self._budget.fit(total, room, _OFF):
                return True
            detail = "compaction.auto is off in settings, so nothing was compacted: /compact does"
            self._emit(CompactionSkipped("overflow", "off", detail))
            return False
        done = await self._compact(Wanted("overflow", window=min(window, fits)))
        if done or self._context.weigh().total < total:
            return True
        return bool(await self._budget.fit(total, room, _FAILED))

    async def _compact(self, wanted: Wanted) -> bool:
        self._tried = (self._context.generation, self._context.weigh().total)
        done = await self._run(wanted)
        if done:
            self._tried = (-1, 0)
            self._micro.reset()
        return done

    def _floor(self) -> int:
        return self._context.system_tokens.count + self._context.tools_tokens.count

    def _is_full(self, total: int) -> bool:
        policy, window = self._around.policy(), self._around.window()
        return policy.due(total, window, floor=self._floor()) == "full"

    def _is_tried(self, total: int) -> bool:
        generation, weight = self._tried
        step = _GROWTH * self._around.window()
        return generation == self._context.generation and total < weight + step

    def _leave(self, due: str, reason: str, detail: str) -> bool:
        """Say once why a summary that is due is not made."""
        if due == "full" and reason not in self._told:
            self._told.add(reason)
            trigger: Trigger = "auto"
            self._emit(CompactionSkipped(trigger, reason, detail))
        return False

    def _look_ahead(self, total: int) -> None:
        policy, window = self._around.policy(), self._around.window()
        wanted = policy.settings.ahead == "on" or (policy.settings.ahead == "free" and self._free())
        if wanted and policy.settings.auto and not self.held and total >= policy.ahead_limit(window):
            self._compactor.ahead.prepare()


def _within(room: Room, window: int) -> Room:
    """The room in a window that is smaller than was thought."""
    whole = room.most + MIN_OUTPUT_TOKENS
    return Room(room.budget * window // whole, room.most * window // whole) if 0 < window < whole else room


_OFF = "compaction.auto is off in settings"
_FAILED = "no summary could be made"
_NO_PROGRESS = (
    f"the last {FRUITLESS} compactions failed or gained next to nothing, so no more are made unasked. /compact tries "
    "again; a larger model (/model) or going back (/revert) helps too"
)
