"""The model's way to the goal: look at it, report how far it is. Text and budget are the person's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tui_agent.literal import clean
from tui_agent.planning.goal import MAX_REASON_CHARACTERS, GoalError, milestones, reached
from tui_agent.tools.tool import Need, Output, Progress, ToolError

if TYPE_CHECKING:
    from tui_agent.planning.goal import Goal, State

_ARGUMENTS = ("status", "reason", "add", "done")
_NONE = "there is no goal: only the person can set one (/goal TEXT)"


class GoalTool:
    """Shows the goal, adds milestones, marks them done, says that it is complete or blocked."""

    name = "goal"
    read_only = False
    description = (
        "Look at the goal that the person set for this session (no arguments), or report on it: `add` milestones, mark "
        "them `done` by number, set `status` to complete once all of it is reached and checked, or to blocked where "
        "you cannot go on without the person. Its text and its budget are the person's."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["complete", "blocked"]},
            "reason": {"type": "string", "description": "how it was checked, or what is missing"},
            "add": {
                "type": "array",
                "items": {"type": "string"},
                "description": "milestones, in a few words each",
            },
            "done": {"type": "array", "items": {"type": "integer"}, "description": "numbers of milestones"},
        },
        "additionalProperties": False,
    }

    def __init__(self, goal: Goal) -> None:
        self._goal = goal

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """Nothing that has to be allowed: it is a report to the person."""
        return Need("none", _title(_checked(arguments)))

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Report, and give back how the goal stands then; whoever only looks is given its words too."""
        wanted = _checked(arguments)
        state = self._goal.now
        if state is None:
            raise ToolError(_NONE)
        if wanted:
            state = await self._report(state, wanted)
        return Output("\n".join(state.lines()[1:] if wanted else state.lines()), state.status)

    async def _report(self, state: State, wanted: Mapping[str, Any]) -> State:
        changes: dict[str, Any] = {}
        try:
            made = milestones(state.milestones, wanted.get("add", ()))
            made = reached(made, wanted.get("done", ()))
        except GoalError as error:
            raise ToolError(str(error)) from error
        if made != state.milestones:
            changes["milestones"] = made
        if status := wanted.get("status"):
            if state.status == "complete":
                raise ToolError("the goal is complete already")
            changes |= {"status": status, "reason": wanted.get("reason", "")}
        changed = await self._goal.change(**changes) if changes else state
        if changed is None:
            raise ToolError(_NONE)
        return changed


def _checked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something.

    Raises:
        ToolError: one is not as it must be.
    """
    if odd := sorted(arguments.keys() - set(_ARGUMENTS)):
        raise ToolError(
            f"{', '.join(odd)} cannot be set: only {', '.join(_ARGUMENTS)}; the rest is the person's"
        )
    wanted = {name: value for name, value in arguments.items() if value not in (None, "", [])}
    status, reason = wanted.get("status"), wanted.get("reason", "")
    if status not in (None, "complete", "blocked"):
        raise ToolError(f"status is complete or blocked, not {status!r}: the person pauses and resumes")
    if not isinstance(reason, str):
        raise ToolError("reason must be a text")
    if len(reason) > MAX_REASON_CHARACTERS:
        raise ToolError(f"reason has {len(reason):,} characters: keep to {MAX_REASON_CHARACTERS}")
    if reason and not status:
        raise ToolError("a reason belongs to a status: complete or blocked")
    if status == "blocked" and not reason.strip():
        raise ToolError("say under reason what is missing: the person reads it")
    if reason:
        wanted["reason"] = " ".join(clean(reason).split())
    _check_list(wanted, "add", str)
    _check_list(wanted, "done", int)
    return wanted


def _check_list(wanted: Mapping[str, Any], name: str, kind: type) -> None:
    value = wanted.get(name, [])
    if not isinstance(value, list) or not all(type(one) is kind for one in value):
        raise ToolError(f"{name} must be a list of {'texts' if kind is str else 'numbers'}")


def _title(wanted: Mapping[str, Any]) -> str:
    add: Sequence[str] = wanted.get("add", ())
    done: Sequence[int] = wanted.get("done", ())
    parts = [f"{len(add)} milestone{'s' if len(add) > 1 else ''} added"] if add else []
    parts += [f"milestone {', '.join(map(str, done))} done"] if done else []
    parts += [str(wanted["status"])] if "status" in wanted else []
    return "; ".join(parts) or "look"
