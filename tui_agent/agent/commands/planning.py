"""What a person can ask about modes and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.planning.mode import MEANS, MODES

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.tools.permission import Mode

_CLEAR = "clear"


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    commands.add(Command("mode", mode, f"[{', '.join(MODES)} or next]"))
    commands.add(Command("plan", plan, "[WORDS or clear]"))


async def mode(session: Session, *name: str) -> Outcome:
    """Show the mode, or change it: ask, auto-edit, plan, or next"""
    modes, wanted = session.plans.mode, "-".join(name).casefold()
    if not wanted:
        return _all(modes.now)
    async with modes.order:  # a key that is pressed twice goes two modes on
        following = modes.next if wanted == "next" else None
        known = next((mode for mode in MODES if wanted in (mode, mode.replace("-", ""))), following)
        if known is None:
            raise CommandError(f"there is no mode {' '.join(name)!r}; there are {', '.join(MODES)}")
        await _enter(session, known, passing=following is not None)
    return _of(known, later=session.busy)


def _all(now: Mode) -> Outcome:
    others = [f"  {mode}: {MEANS[mode]}" for mode in MODES if mode != now]
    said = [_of(now).text, "other modes, entered with /mode NAME or shift+tab:", *others]
    return Outcome("\n".join(said), {"mode": now, "modes": list(MODES)})


def _of(mode: Mode, *, later: bool = False) -> Outcome:
    when = " from the next call on" if later else ""
    return Outcome(f"mode {mode}{when}: {MEANS[mode]}", {"mode": mode})


async def _enter(session: Session, mode: Mode, *, passing: bool = False) -> None:
    await session.begun()
    session.emit(await session.plans.mode.set(mode, passing=passing))
    session.weigh()


async def plan(session: Session, *words: str) -> Outcome:
    """Show the accepted plan and how far it is; words behind it: enter plan mode and say them"""
    if not words:
        return _shown(session)
    if words == (_CLEAR,):
        return await _cleared(session)
    await _enter(session, "plan")
    await session.submit(" ".join(words))
    return Outcome(f"mode plan: {MEANS['plan']}", {"mode": "plan"})


def _shown(session: Session) -> Outcome:
    now, steps = session.plans.now, session.plans.progress()
    if now is None:
        return Outcome(
            "there is no accepted plan; /plan WORDS enters plan mode and says them", {"plan": None}
        )
    done = sum(step.status == "done" for step in steps)
    lines = [f"{now.title}  ({done} of {len(steps)} steps done)", *(step.line() for step in steps)]
    data = {
        "title": now.title,
        "text": now.text,
        "steps": [{"text": step.text, "status": step.status} for step in steps],
    }
    return Outcome("\n".join(filter(None, [lines[0], now.text, *lines[1:]])), {"plan": data})


async def _cleared(session: Session) -> Outcome:
    if session.plans.now is None:
        return Outcome("there is no accepted plan", {"cleared": False})
    await session.begun()
    await session.plans.clear()
    session.weigh()
    return Outcome("the plan is cleared, its steps are out of the todo list", {"cleared": True})
