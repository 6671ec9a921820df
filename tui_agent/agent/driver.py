"""The driver of a goal: turn after turn without a person's words, until it is complete, blocked or out of budget.

It runs in the task that runs the turns, behind prompts that wait and compactions that are wanted. An interrupt, a turn
that failed and a call that was refused pause the goal with the reason; so does whatever ends the program, and a change
of the history: what the log calls active is worked on only if a person said so in this program.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui_agent.agent.bus import now
from tui_agent.changes import CompactionCompleted, LogFailed
from tui_agent.context import ContextError
from tui_agent.events import Emit, Event, Level, Notice, TurnEnded, UsageReported
from tui_agent.messages.blocks import text_block
from tui_agent.planning import briefing
from tui_agent.planning.goal import MAX_REASON_CHARACTERS, STATE_KEY, GoalError, read

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.planning.goal import Budget, Goal, Spent, State

IDLE_TURNS = 3
"""So many turns in a row in which no tool is called pause the goal: nothing is done in them but talk."""

CLOSED = "the program was closed"
STOPPED = "you stopped it"
REWRITTEN = "the history was changed"
_ENDED = {
    "denied": "you refused a call",
    "planned": "a plan waits for a person",
    "refusal": "the model refused to answer",
    "model_context_window_exceeded": "the answer filled the model's window",
}
"""Reasons of a turn's end that need a person."""


class Driver:
    """Works on the goal of one session. `clock` gives seconds; `hear` has to be told every event."""

    def __init__(
        self, *, goal: Goal, context: Context, emit: Emit, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._goal = goal
        self._context = context
        self._emit = emit
        self._engaged = False
        """True while a person wants the goal worked on in this program."""
        self._why = CLOSED
        """Why a goal that the log calls active is not worked on."""
        self._since: float | None = None
        """When what was taken since the last note began; None while no turn of the goal runs."""
        self._tokens = 0
        """Taken since the last note."""
        self._idle = 0
        self._ended: TurnEnded | None = None

    # --- what a person asks ------------------------------------------------------------------------------------------

    async def set(self, text: str, budget: Budget) -> State:
        """Put a goal in force and work on it.

        Raises:
            GoalError: it cannot be one.
            ContextError: it could not be written.
        """
        state = await self._goal.set(text, budget, now())
        self._since, self._tokens = None, 0  # a turn that runs is none of this goal's
        self._engage()
        return state

    async def resume(self) -> State:
        """Work on the goal again.

        Raises:
            GoalError: there is none, or it is complete, worked on or out of budget.
            ContextError: it could not be written.
        """
        state = self._goal.now
        if state is None:
            raise GoalError("there is no goal: /goal TEXT sets one")
        if state.status == "complete":
            raise GoalError("the goal is complete: /goal TEXT sets another one")
        if state.status == "active" and self._engaged:
            raise GoalError("the goal is active already")
        if spent := state.exhausted():
            raise GoalError(f"{spent}: /goal budget gives it more")
        changed = await self._goal.change(status="active", reason="")
        self._engage()
        return changed or state

    async def move(self, status: str, reason: str) -> None:
        """Give the goal another status: what runs goes on to the end of its turn, and no further one begins.

        Raises:
            ContextError: it could not be written.
        """
        self._engaged, self._why = False, reason or self._why
        await self._goal.change(status=status, reason=reason)

    def _engage(self) -> None:
        self._engaged, self._idle = True, 0

    # --- what the session asks ---------------------------------------------------------------------------------------

    @property
    def due(self) -> bool:
        """True if the next turn is the goal's."""
        if not self._engaged:
            return False
        state = self._goal.now
        return state is not None and state.status == "active"

    async def next(self) -> State | None:
        """The goal, if a turn of it is to begin; one that is out of budget is paused instead."""
        state = self._goal.now
        if not self.due or state is None:
            return None
        if spent := state.exhausted():
            await self.pause(f"out of budget: {spent}")
            return None
        if self._idle >= IDLE_TURNS:
            await self.pause(f"no tool was called in {IDLE_TURNS} turns")
            return None
        return state

    async def begin(self, state: State) -> str:
        """Put into the log what begins a turn of the goal, which counts from now on; returns that.

        Raises:
            ContextError: it could not be written.
        """
        state = replace(state, spent=replace(state.spent, turns=state.spent.turns + 1))
        known = await asyncio.to_thread(briefing.known, self._context, state)
        text = briefing.opening(state, known)
        await self._context.append_message(
            {"role": "user", "content": [text_block(text)]},
            origin="injection",
            sources=[briefing.origin(state, text, known)],
            meta={"turn": state.spent.turns},
        )
        kept = self._goal.now
        if kept is not None and kept.set_at == state.set_at:  # else it was dropped just now
            self._since, self._tokens = self.clock(), 0
            await self._note(turns=1)
        return text

    async def may_ask(self) -> bool:
        """False if a budget is spent, so that the turn of the goal that runs sends no further request.

        What was taken is noted before, so that a compaction or the end of the program loses none of it.
        """
        if self._since is None:
            return True
        if self._tokens:
            await self._note()
        state = self._goal.now
        return state is None or not state.exhausted(running=True, seconds=self.clock() - self._since)

    async def after(self) -> None:
        """A turn is over, a person's or the goal's: pause the goal if it ended so that it needs a person."""
        driven = self._since is not None
        await self._settle_up()
        self._tell_reached()
        ended, self._ended = self._ended, None
        if ended is None or ended.reason == "cancelled":
            return  # who cancels says why
        if ended.reason == "failed":
            await self.pause(ended.error or "the turn failed")
        elif ended.reason in _ENDED:
            await self.pause(_ENDED[ended.reason])
        elif driven:
            self._idle = self._idle + 1 if ended.steps <= 1 else 0

    def _tell_reached(self) -> None:
        """Say that the model calls the goal complete or blocked."""
        state = self._goal.now
        if not self._engaged or state is None or state.status not in ("complete", "blocked"):
            return
        self._engaged = False
        why = f": {state.reason}" if state.reason else ""
        way = ". /goal resume goes on with it" if state.status == "blocked" else ""
        level: Level = "info" if state.status == "complete" else "warning"
        figures = ", ".join(state.figures())
        self._emit(Notice(f"the goal is {state.status}{why} ({figures}){way}", level, "goal"))

    async def pause(self, why: str) -> None:
        """Stop working on the goal; nothing happens if nobody does."""
        if not self._engaged:
            return
        self._engaged, self._why = False, why
        await self.settle()

    def rewritten(self) -> None:
        """The history is another one: what it calls active is not worked on by itself."""
        self._engaged, self._why = False, REWRITTEN

    async def settle(self) -> None:
        """Pause a goal that the log calls active and nobody works on. If that cannot be written it is tried again."""
        state = self._goal.now
        if self._engaged or state is None or state.status != "active":
            return
        reason = " ".join(self._why.split())[:MAX_REASON_CHARACTERS]
        try:
            await self._goal.change(status="paused", reason=reason)
        except ContextError as error:
            self._emit(LogFailed(str(error), error.ways))
            return
        way = "/goal budget gives it more" if state.exhausted() else "/goal resume goes on with it"
        self._emit(Notice(f"the goal is paused: {reason}. {way}", "warning", "goal"))

    async def reopen(self) -> None:
        """Pause a goal on which a program worked that is gone, and count what its last turn took."""
        state = self._goal.now
        if state is None or state.status != "active":
            return
        if lost := self._unnoted():
            await self._goal.change(spent=lambda spent: replace(spent, tokens=spent.tokens + lost))
        await self.settle()

    def hear(self, event: Event) -> None:
        """Count what a turn of the goal takes, and know how turns end."""
        match event:
            case UsageReported(total=total) if self._since is not None:
                self._tokens += total
            case CompactionCompleted() if self._since is not None:
                self._tokens += event.input + event.output
            case TurnEnded():
                self._ended = event
            case _:
                pass

    # --- counting ----------------------------------------------------------------------------------------------------

    async def _settle_up(self) -> None:
        """Note what the turn of the goal took; none runs any more."""
        if self._since is None:
            return
        try:
            await self._note()
        except ContextError as error:
            self._emit(LogFailed(str(error), error.ways))
        self._since = None

    async def _note(self, turns: int = 0) -> None:
        if self._since is None:
            return
        at, tokens = self.clock(), self._tokens
        seconds = at - self._since

        def more(spent: Spent) -> Spent:
            seconds_now = round(spent.seconds + seconds, 3)
            return replace(
                spent, turns=spent.turns + turns, tokens=spent.tokens + tokens, seconds=seconds_now
            )

        await self._goal.change(spent=more)
        if self._since is not None:  # else another goal was set meanwhile
            self._since, self._tokens = at, self._tokens - tokens

    def _unnoted(self) -> int:
        """Tokens of requests that no note counts, if the newest turn is the goal's.

        A note that counts something differs from the one before it in what was spent; others change milestones.
        """
        counted: int | None = None
        tokens = pending = 0
        for record in reversed(self._context.records):
            body = record.body
            if record.role == "_usage" and body.get("exact") is not False:
                pending += _taken(body)
            elif record.role == "_state" and body.get("key") == STATE_KEY:
                state = read({STATE_KEY: body.get("value")})
                spent = state.spent.tokens if state is not None else -1
                if counted not in (None, spent):
                    return tokens
                counted, tokens, pending = spent, tokens + pending, 0
            elif record.role == "user" and record.origin is None:
                return 0
            elif record.origin == "injection" and briefing.begins_turn(body):
                return tokens if counted is not None else pending
        return 0


def _taken(usage: Mapping[str, Any]) -> int:
    counts = (usage.get(name) for name in ("input", "output", "cache_read", "cache_write"))
    return sum(count for count in counts if type(count) is int and count > 0)
