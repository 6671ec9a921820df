"""How much a conversation lets its model do: ask before anything is written, edit files, or only look and plan.

The mode is kept in the log as `_state`, so that it reverts and resumes with the conversation; where that is cleared it
stays, since a person set it for what the model may do and not for what was said. Leave to write is not:
`auto-edit` holds only where a person chose it since the program began, and has chosen no other since. A log that says
`auto-edit` for any other reason (a session that is resumed, a fork, a revert or an undo to where it was in force) means
`ask`. `plan` holds whatever it came from, because it takes away and never gives.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from tui_agent.events import Emit, Notice, StateChanged
from tui_agent.planning.reminder import reminder
from tui_agent.prompt.injections import Told
from tui_agent.tools.permission import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.prompt.injections import Moment

STATE_KEY = "mode"
PASSING = 1.0
"""Seconds after which a mode that a key led to is meant to stay."""
MODES: tuple[Mode, ...] = get_args(Mode)
"""In the order in which a key goes through them."""
MEANS: dict[Mode, str] = {
    "ask": "you are asked before anything is written or run",
    "auto-edit": "files of the workspace are written without asking; commands still ask",
    "plan": "nothing is written, commands run only if they just read; the model presents a plan",
}

_IN_PLAN = reminder(
    "Plan mode is on. Look, think and ask, but change nothing: tools that write are refused, commands too unless they "
    "only read. When you know what is to be done, present it with the tool present_plan and wait for the answer; do "
    "not begin the work before the plan is accepted."
)
_OVER = reminder("Plan mode is over: files may be written again, as far as it is allowed.")
LAPSED = "the mode is ask: auto-edit does not come back with a session or a history, it is chosen each time (/mode)"
"""Said where a log has `auto-edit` in force and it does not hold."""


def recorded(context: Shown) -> Mode:
    """The mode as the log has it; what another program wrote and is none of ours is `ask`."""
    value = context.state.get(STATE_KEY)
    return next((mode for mode in MODES if mode == value), "ask")


class Modes:
    """The mode of one session."""

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._granted = False
        """A person chose `auto-edit` here, and none other since."""
        self._unwritten: Mode | None = None
        """What was chosen before the log is begun, which it is by the first turn or command."""
        self._from = float("-inf")
        """When that leave begins."""
        self.order = asyncio.Lock()
        """Held by whoever changes the mode by what it is."""

    @property
    def now(self) -> Mode:
        """The mode in force."""
        mode = self._unwritten or recorded(self._context)
        return "ask" if mode == "auto-edit" and not self._granted else mode

    @property
    def allows(self) -> Mode:
        """The mode by which calls are judged: leave to write that was passed through by a key has not begun."""
        mode = self.now
        return "ask" if mode == "auto-edit" and self._clock() < self._from else mode

    @property
    def lapsed(self) -> bool:
        """True where the log says `auto-edit` and it does not hold."""
        return self._unwritten is None and recorded(self._context) == "auto-edit" and not self._granted

    @property
    def next(self) -> Mode:
        """The mode that follows in their order."""
        return MODES[(MODES.index(self.now) + 1) % len(MODES)]

    @property
    def after_plan(self) -> Mode:
        """The mode in which the work on an accepted plan goes on by itself.

        Behind plan mode that is `ask`: the key that leads there goes through `auto-edit`, so that the mode before says
        nothing of what a person wants.
        """
        return "ask" if self.now == "plan" else self.now

    @contextmanager
    def followed(self, emit: Emit) -> Iterator[None]:
        """Tell of the mode that a rewrite of the history leaves in force."""
        before, lapsed = self.now, self.lapsed
        try:
            yield
        finally:
            if self.now != before:
                emit(StateChanged(STATE_KEY, self.now))
            if self.lapsed and not lapsed:
                emit(Notice(LAPSED, "info", "mode"))

    def begin(self, mode: Mode) -> None:
        """Put a mode in force, as a person chose it with the session; `keep` writes it, before the first turn."""
        self._unwritten, self._granted = mode, mode == "auto-edit"

    async def keep(self, emit: Emit) -> None:
        """Write what `begin` put in force, and tell of it.

        Raises:
            ContextError: it could not be written.
        """
        if self._unwritten is not None:
            emit(await self.set(self._unwritten))

    async def set(
        self, mode: Mode, states: Mapping[str, Any] | None = None, *, passing: bool = False
    ) -> StateChanged:
        """Put a mode in force, as a person chose it; the event that tells of it. `states` go into the same write.

        `passing`: they may be on their way to the next one, so that leave to write begins after `PASSING` seconds.

        Raises:
            ContextError: it could not be written, and the old one stays.
        """
        if mode != "auto-edit":
            self._granted = False
        changed = {STATE_KEY: mode} if recorded(self._context) != mode else {}
        if values := {**changed, **(states or {})}:
            await self._context.set_states(values)
        self._unwritten = None
        self._granted = mode == "auto-edit"
        self._from = self._clock() + PASSING if passing else float("-inf")
        return StateChanged(STATE_KEY, mode)


class ModeSource:
    """Tells the model that plan mode is on, and when it is over."""

    name = "mode"
    priority = 90

    def generate(self, moment: Moment) -> Told:
        """What holds now."""
        return Told(_IN_PLAN if recorded(moment.context) == "plan" else "", _OVER, short="plan mode")

    def on_compacted(self) -> None:
        """Nothing is kept here."""
