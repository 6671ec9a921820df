"""The goal: what a person wants reached over many turns, with its milestones, and a budget that stops the work.

It is kept in the log as `_state` of the key `goal`, so that it reverts, undoes, forks and resumes with the
conversation. What the budget counts is what the goal's own turns took (agent/driver.py): the turns; every token of
their requests, input read from the cache and output included, and of summaries made meanwhile; the time they ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, structs

from tui_agent.literal import clean, one_line

if TYPE_CHECKING:
    from tui_agent.context import Context

STATE_KEY = "goal"
MAX_CHARACTERS = 4_000
MAX_MILESTONES = 30
MAX_MILESTONE_CHARACTERS = 300
MAX_REASON_CHARACTERS = 500
_TENTH = 0.1

Status = Literal["active", "paused", "blocked", "complete"]
Kind = Literal["tokens", "turns", "minutes"]
KINDS: tuple[Kind, ...] = ("tokens", "turns", "minutes")
_MOST = {"tokens": 10**12, "turns": 10**6, "minutes": 10**6}
"""A larger budget is none."""


class GoalError(Exception):
    """A goal cannot be so; the message says why and what to do. Nothing was changed."""


class Milestone(Struct, frozen=True):
    """A part of the goal."""

    text: str
    done: bool = False


class Budget(Struct, frozen=True):
    """What the goal may take; None: as much as it needs."""

    tokens: int | None = None
    turns: int | None = None
    minutes: float | None = None


class Spent(Struct, frozen=True):
    """What the goal's turns took."""

    tokens: int = 0
    turns: int = 0
    seconds: float = 0.0


class State(Struct, frozen=True):
    """A goal. `reason` says why it has its status, `set_at` when a person gave it its text (ISO 8601)."""

    text: str
    status: Status = "active"
    reason: str = ""
    milestones: tuple[Milestone, ...] = ()
    budget: Budget = Budget()
    spent: Spent = Spent()
    set_at: str = ""

    @property
    def done(self) -> int:
        """How many milestones are reached."""
        return sum(milestone.done for milestone in self.milestones)

    def exhausted(self, *, running: bool = False, seconds: float = 0.0) -> str:
        """Which budget is spent, in words, empty if none is: `seconds` more were taken. Of a turn that is `running` the
        number of turns says nothing: it counts since it began.
        """
        spent, budget = self.spent, self.budget
        if budget.turns is not None and spent.turns >= budget.turns and not running:
            return f"{spent.turns:,} of {budget.turns:,} turns are spent"
        if budget.tokens is not None and spent.tokens >= budget.tokens:
            return f"{spent.tokens:,} of {budget.tokens:,} tokens are spent"
        minutes = (spent.seconds + seconds) / 60
        if budget.minutes is not None and minutes >= budget.minutes:
            return f"{amount(minutes)} of {amount(budget.minutes)} minutes are spent"
        return ""

    def figures(self, *, limited: bool = False) -> tuple[str, ...]:
        """What was spent, of what it may take where that is limited, in words; nothing of what is still 0.

        `limited` leaves out minutes that have no limit.
        """
        spent, budget = self.spent, self.budget
        return tuple(
            _of(taken, most, kind)
            for taken, most, kind in (
                (f"{spent.turns:,}", budget.turns, "turns"),
                (f"{spent.tokens:,}", budget.tokens, "tokens"),
                (f"{spent.seconds / 60:,.1f}", budget.minutes, "minutes"),
            )
            if most is not None or (taken.strip("0.") and not (limited and kind == "minutes"))
        )

    def lines(self) -> list[str]:
        """The goal for a person to read: its text, how it stands, its milestones."""
        why = f": {self.reason}" if self.reason else ""
        stands = "; ".join((f"{self.status}{why}", *self.figures()))
        steps = (
            f"  {number}. {'[x]' if milestone.done else '[ ]'} {milestone.text}"
            for number, milestone in enumerate(self.milestones, 1)
        )
        return [self.text, stands, *steps]


def _of(taken: str, most: float | None, kind: str) -> str:
    if most is None:
        return f"{taken} {kind.removesuffix('s') if taken == '1' else kind}"
    return f"{taken} of {amount(most)} {kind}"


def counted(number: float, kind: str) -> str:
    """So many turns, tokens or minutes, to read."""
    return f"{amount(number)} {kind.removesuffix('s') if number == 1 else kind}"


def amount(number: float) -> str:
    """A number of turns, tokens or minutes, to read."""
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.1f}" if number >= _TENTH else f"{number:.2g}"


def read(state: Mapping[str, Any]) -> State | None:
    """The goal among the states of a log; None if there is none, or what another program wrote there is none."""
    try:
        found = msgspec.convert(state.get(STATE_KEY), State)
    except msgspec.ValidationError:
        return None
    return found if found.text.strip() else None


class Goal:
    """The goal of one session as its log has it. `changed` is told of each change: what is stored, None if it goes.
    `redact` takes credentials out of what is stored.
    """

    def __init__(
        self, context: Context, changed: Callable[[Any], None], redact: Callable[[str], str] = str
    ) -> None:
        self._context = context
        self._changed = changed
        self._redact = redact
        self._order = asyncio.Lock()

    @property
    def now(self) -> State | None:
        """The goal in force; None if there is none."""
        return read(self._context.state)

    async def set(self, text: str, budget: Budget, at: str) -> State:
        """Put a goal in force, in place of one that is complete.

        Raises:
            GoalError: there is one that is not complete, or the text cannot be one.
            ContextError: it could not be written.
        """
        async with self._order:
            if (old := self.now) is not None and old.status != "complete":
                raise GoalError(
                    f"there is a goal already ({old.status}): /goal edit TEXT changes it, /goal clear drops it"
                )
            state = State(checked(text), budget=budget, set_at=at)
            await self._put(state)
            return state

    async def change(self, **fields: Any) -> State | None:
        """Change some of what a goal is (fields of `State`); None, and nothing is written, where there is none.

        A function in the place of a value is given the old one.

        Raises:
            ContextError: it could not be written.
        """
        async with self._order:
            if (old := self.now) is None:
                return None
            values = {
                name: value(getattr(old, name)) if callable(value) else value
                for name, value in fields.items()
            }
            state = structs.replace(old, **values)
            if state != old:
                await self._put(state)
            return state

    async def clear(self) -> None:
        """Drop it.

        Raises:
            ContextError: it could not be written.
        """
        async with self._order:
            await self._put(None)

    async def _put(self, state: State | None) -> None:
        value = None if state is None else msgspec.to_builtins(self._without_credentials(state))
        await self._context.set_state(STATE_KEY, value)
        self._changed(value)

    def _without_credentials(self, state: State) -> State:
        clean_of = self._redact
        parts = tuple(structs.replace(one, text=clean_of(one.text)) for one in state.milestones)
        return structs.replace(
            state, text=clean_of(state.text), reason=clean_of(state.reason), milestones=parts
        )


# --- what it may be --------------------------------------------------------------------------------------------------


def checked(text: str) -> str:
    """The text of a goal, as it is kept.

    Raises:
        GoalError: it is empty or too long; says how long.
    """
    text = clean(text).strip()
    if not text:
        raise GoalError("a goal needs words: /goal TEXT")
    if len(text) > MAX_CHARACTERS:
        raise GoalError(
            f"a goal has at most {MAX_CHARACTERS:,} characters, this one has {len(text):,}: say it shorter, or put "
            "the rest into a file and name that"
        )
    return text


def milestones(old: Sequence[Milestone], texts: Sequence[str]) -> tuple[Milestone, ...]:
    """The milestones with further ones behind them; one that is there already is not added again.

    Raises:
        GoalError: one is empty or too long, or there would be too many.
    """
    made, known = list(old), {milestone.text for milestone in old}
    for text in texts:
        line = " ".join(clean(text).split())
        if not line:
            raise GoalError("a milestone needs words")
        if len(line) > MAX_MILESTONE_CHARACTERS:
            raise GoalError(
                f"a milestone has at most {MAX_MILESTONE_CHARACTERS} characters, this one has {len(line):,}"
            )
        if line not in known:
            known.add(line)
            made.append(Milestone(line))
    if len(made) > MAX_MILESTONES:
        raise GoalError(f"{len(made)} milestones are too many: keep at most {MAX_MILESTONES}")
    return tuple(made)


def reached(old: Sequence[Milestone], numbers: Sequence[int], *, done: bool = True) -> tuple[Milestone, ...]:
    """The milestones with those of these numbers, counted from 1, done or open again.

    Raises:
        GoalError: there is none of that number.
    """
    for number in numbers:
        if not 1 <= number <= len(old):
            have = f"they are 1 to {len(old)}" if old else "there are none yet"
            raise GoalError(f"there is no milestone {number}: {have}")
    return tuple(
        structs.replace(milestone, done=done) if number in numbers else milestone
        for number, milestone in enumerate(old, 1)
    )


def is_budget(word: str) -> bool:
    """True for `turns=10` and its like."""
    kind, sign, _ = word.partition("=")
    return bool(sign) and kind in KINDS


def afforded(old: Budget, words: Sequence[str]) -> Budget:
    """A budget changed by words as `turns=10`, `tokens=50k`, `minutes=none`.

    Raises:
        GoalError: one is no such word; says what is.
    """
    changes = {}
    for word in words:
        kind, _, value = word.partition("=")
        if not is_budget(word):
            raise GoalError(
                f"{word!r} is no budget: say tokens=50000, turns=10 or minutes=30, or none for no limit"
            )
        changes[kind] = None if value == "none" else _amount(kind, value)
    return structs.replace(old, **changes)


def _amount(kind: str, value: str) -> float | int:
    digits, scale = value.replace(",", "").replace("_", ""), 1
    if kind == "tokens" and digits[-1:].lower() in ("k", "m"):
        scale = 1_000 if digits[-1].lower() == "k" else 1_000_000
        digits = digits[:-1]
    whole, dot, part = digits.partition(".")
    decimal = all(piece.isascii() and piece.isdecimal() for piece in ((whole, part) if dot else (whole,)))
    number = float(digits) * scale if decimal else 0.0
    if number <= 0 or (kind != "minutes" and number < _MOST[kind] and number != int(number)):
        whole_one = "" if kind == "minutes" else "whole "
        raise GoalError(f"{kind}={value}: say a {whole_one}number above 0 (or none for no limit)")
    if number > _MOST[kind]:
        raise GoalError(f"{kind}={one_line(value, 30)}: say at most {_MOST[kind]:,}, or none for no limit")
    return number if kind == "minutes" and number != int(number) else int(number)
