"""How the goal is shown: its status, what was spent of its budget, its words, its milestones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from textual.content import Content

from tui_agent import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLES = {"active": "$text-accent", "paused": "$text-warning", "blocked": "$text-warning"}
WORDS = (
    ("pause", "begin no further turn"),
    ("resume", "go on with it"),
    ("complete", "say that it is reached"),
    ("clear", "drop it"),
    ("edit", "put another text in its place"),
    ("budget", "what it may take: turns=20 tokens=200k minutes=30, none for no limit"),
    ("milestone", "add one; done, open or drop with its number"),
)
"""What may stand behind /goal in the place of a text."""
_LONGEST = 400
"""Characters of a goal's words that are looked at."""
_REASON = 60
"""Characters of a reason that are shown."""


class Milestone(Protocol):
    """A part of the goal."""

    @property
    def text(self) -> str: ...
    @property
    def done(self) -> bool: ...


class Goal(Protocol):
    """A goal as it is shown."""

    @property
    def text(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def milestones(self) -> Sequence[Milestone]: ...
    def figures(self, *, limited: bool = False) -> tuple[str, ...]: ...


def facts(goal: Goal, *, said: str = "") -> str:
    """How far it is: turns, tokens, milestones; nothing of what `said` says already."""
    parts = [figure for figure in goal.figures(limited=True) if figure not in said]
    if goal.milestones:
        parts.append(f"{sum(one.done for one in goal.milestones)} of {len(goal.milestones)} done")
    return ", ".join(parts)


def line(goal: Goal, width: int) -> Content:
    """The row, cut to so many cells: why the work stands still comes before the words."""
    why = _why(goal)
    far = facts(goal, said=why)
    row = Content.assemble(
        (" goal ", "bold"),
        (f"{goal.status}{why}", _STYLES.get(goal.status, "$text-muted")),
        f"  {far}" if far else "",
        (f"  {literal.one_line(goal.text, _LONGEST)}", "$text-muted"),
    )
    return row.truncate(max(1, width), ellipsis=True)


def rows(goal: Goal) -> list[Content]:
    """The goal in the panel of what is to be done: a row that says how it stands, then its milestones."""
    why = _why(goal)
    far = facts(goal, said=why)
    head = Content.assemble(
        (" goal", "bold"),
        f"  {goal.status}{why}",
        f", {far}" if far else "",
        (f"  {literal.one_line(goal.text, _LONGEST)}", "$text-muted"),
    )
    return [head, *(_row(one) for one in goal.milestones)]


def _why(goal: Goal) -> str:
    return f": {literal.one_line(goal.reason, _REASON)}" if goal.reason else ""


def _row(milestone: Milestone) -> Content:
    sign = "[x]" if milestone.done else "[ ]"
    text = f" {sign} {literal.one_line(milestone.text, _LONGEST)}"
    return Content.styled(text, "$text-muted" if milestone.done else "")
