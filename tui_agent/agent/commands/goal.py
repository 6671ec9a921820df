"""What can be asked of the goal: set, look at, pause, resume, change or drop it, give it a budget and milestones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tui_agent.agent.allowing import allowed
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.planning.goal import (
    Budget,
    GoalError,
    State,
    afforded,
    checked,
    counted,
    is_budget,
    milestones,
    reached,
)

if TYPE_CHECKING:
    from tui_agent.agent.session import Session

_NONE = "there is no goal: /goal TEXT sets one"
_CLEARED = "the goal is dropped; a jump back to before brings it back"


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    commands.add(Command("goal", goal, "[TEXT or pause, resume, ...]"))


async def goal(session: Session, *words: str) -> Outcome:
    """Show the goal, or set one: it is worked on turn by turn until it is reached or its budget (turns=10) is spent

    First words that are none: pause, resume, complete, clear, edit TEXT, budget turns=20, milestone TEXT (or done 1).
    """
    text = " ".join(words).strip()
    first, rest = _parted(text)
    try:
        if not text:
            return _shown(session.goal.now)
        if session.read_only:
            raise CommandError(session.read_only)
        if not rest and first in _ALONE:
            return await _ALONE[first](session)
        if first in _WITH:
            return await _WITH[first](session, rest)
        return await _set(session, rest if first == "--" else text)
    except GoalError as error:
        raise CommandError(str(error)) from error


def _parted(text: str) -> tuple[str, str]:
    """The first word, and the rest as it stands."""
    first = next(iter(text.split(maxsplit=1)), "")
    return first, text[len(first) :].strip()


async def _set(session: Session, text: str) -> Outcome:
    """Set a goal; words such as `turns=10` before its text are its budget."""
    budget = Budget()
    while is_budget(word := _parted(text)[0]):
        budget, text = afforded(budget, [word]), _parted(text)[1]
    known = await allowed(session, checked(text))
    state = await session.pursue(lambda: session.driver.set(text, budget))
    limits = _limits(budget) or "no budget: /goal budget turns=10 sets one"
    said = f"the goal is set ({limits}); ctrl+c or /goal pause stops the work on it"
    return Outcome(_with(said, known), _data(state))


async def _pause(session: Session) -> Outcome:
    if _state(session).status != "active":
        raise CommandError(f"the goal is not active: it is {_state(session).status}")
    await session.driver.move("paused", "you paused it")
    ends = "when this turn has ended" if session.busy else "now"
    return _now(session, f"the goal is paused {ends}; /goal resume goes on with it")


async def _resume(session: Session) -> Outcome:
    state = await session.pursue(session.driver.resume)
    return Outcome("the work on the goal goes on", _data(state))


async def _complete(session: Session) -> Outcome:
    if _state(session).status == "complete":
        raise CommandError("the goal is complete already")
    await session.driver.move("complete", "you said so")
    return _now(session, "the goal is complete")


async def _clear(session: Session) -> Outcome:
    _state(session)
    await session.goal.clear()
    return Outcome(_CLEARED, _data(None))


async def _edit(session: Session, text: str) -> Outcome:
    known = await allowed(session, checked(text), _state(session).text)
    await session.goal.change(text=checked(text))
    return _now(session, _with("the goal is changed; the model is told at its next turn", known))


async def _budget(session: Session, words: str) -> Outcome:
    state = _state(session)
    if words:
        budget = afforded(state.budget, words.split())
        await session.goal.change(budget=budget)
    state = _state(session)
    goes_on = "; /goal resume goes on with it" if state.status == "paused" and not state.exhausted() else ""
    return _now(session, (_limits(state.budget) or "no budget: /goal budget turns=10 sets one") + goes_on)


async def _milestone(session: Session, words: str) -> Outcome:
    state = _state(session)
    how, rest = _parted(words)
    if not words:
        return _shown(state)
    if how in ("done", "open", "drop") and rest:
        made = _moved(state, how, rest)
    else:
        made = milestones(state.milestones, [words])
    await session.goal.change(milestones=made)
    return _shown(session.goal.now)


def _moved(state: State, how: str, numbers: str) -> Any:
    if not all(number.isdecimal() for number in numbers.split()):
        raise CommandError(f"usage: /goal milestone {how} NUMBER")
    chosen = [int(number) for number in numbers.split()]
    made = reached(state.milestones, chosen, done=how != "open")
    if how != "drop":
        return made
    return tuple(one for number, one in enumerate(state.milestones, 1) if number not in chosen)


_ALONE: dict[str, Callable[[Session], Awaitable[Outcome]]] = {
    "pause": _pause,
    "resume": _resume,
    "complete": _complete,
    "clear": _clear,
}
_WITH: dict[str, Callable[[Session, str], Awaitable[Outcome]]] = {
    "edit": _edit,
    "budget": _budget,
    "milestone": _milestone,
}


def _state(session: Session) -> State:
    state = session.goal.now
    if state is None:
        raise CommandError(f"{_NONE} (/goal -- TEXT whatever its first word)")
    return state


def _limits(budget: Budget) -> str:
    found = ((budget.turns, "turns"), (budget.tokens, "tokens"), (budget.minutes, "minutes"))
    return ", ".join(f"at most {counted(most, kind)}" for most, kind in found if most is not None)


def _shown(state: State | None) -> Outcome:
    return Outcome(_NONE if state is None else "\n".join(state.lines()), _data(state))


def _with(said: str, known: str) -> str:
    return f"{said}. But {known}" if known else said


def _now(session: Session, text: str) -> Outcome:
    return Outcome(text, _data(session.goal.now))


def _data(state: State | None) -> dict[str, Any]:
    import msgspec

    return {"goal": None if state is None else msgspec.to_builtins(state)}
