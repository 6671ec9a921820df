"""The todo panel: the model's list above the composer, as many rows of it as there is room for.

The steps of an accepted plan are a part of that list, and its title stands above it. A goal stands over both, with its
milestones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from textual.content import Content
from textual.widget import Widget

from tui_agent import literal

if TYPE_CHECKING:
    from textual.app import RenderResult

    from tui_agent.ui.chat.goal import Goal

MOST_ROWS = 8
_SIGNS = {"pending": "[ ]", "active": "[>]", "done": "[x]"}
_STYLES = {"pending": "", "active": "bold", "done": "$text-muted"}
_LONGEST = 400
"""Characters of an item that are looked at."""
_EMPTY = "The todo list is empty. The model keeps one when a task has several steps."


class Item(Protocol):
    """One thing to do."""

    @property
    def text(self) -> str: ...
    @property
    def status(self) -> Literal["pending", "active", "done"]: ...
    @property
    def step(self) -> int: ...


def rows(
    items: Sequence[Item], width: int, height: int, *, plan: str = "", goal: Goal | None = None
) -> list[Content]:
    """The list in at most `height` rows: a line that counts, then the items around the first one that is not done.

    `plan` is the title of the accepted plan. What is worked on over many turns stands above, and gives its milestones
    to the list where rows are scarce; where there is one row for all, it is the list.
    """
    above = _goal_rows(goal, items, height)
    made = (
        above if goal is not None and above and not items else above + _rows(items, height - len(above), plan)
    )
    return [row.truncate(max(1, width), ellipsis=True) for row in made]


def _goal_rows(goal: Goal | None, items: Sequence[Item], height: int) -> list[Content]:
    if goal is None or (height < 2 and items):
        return []
    from tui_agent.ui.chat import goal as section  # not needed before there is one

    head, *parts = section.rows(goal)
    room = max(0, height - 1 - (1 + len(items) if items else 0))
    start = next((at for at, one in enumerate(goal.milestones) if not one.done), len(parts))
    first = max(0, min(start - int(room > 1), len(parts) - room))
    return [head, *parts[first : first + room]]


def _rows(items: Sequence[Item], height: int, plan: str) -> list[Content]:
    if not items:
        return [Content.styled(f" {_EMPTY}", "$text-muted")]
    done = sum(item.status == "done" for item in items)
    head = f" {'plan' if plan else 'todo'}  {done} of {len(items)} done"
    room = height - 1
    start = next((index for index, item in enumerate(items) if item.status != "done"), len(items) - 1)
    if room < 1:
        return [Content.assemble((head, "bold"), "  ", literal.one_line(items[start].text, _LONGEST))]
    before = 1 if room > 1 else 0
    first = max(0, min(start - before, len(items) - room))
    shown = items[first : first + room]
    hidden = len(items) - len(shown)
    more = f"  ({hidden} not shown)" if hidden else ""
    title = f"  {literal.one_line(plan, _LONGEST)}" if plan else ""
    made = [Content.assemble((head, "bold"), (more, "$text-muted"), title)]
    for item in shown:
        number = f"{item.step}. " if plan and item.step else ""
        text = f" {_SIGNS[item.status]} {number}{literal.one_line(item.text, _LONGEST)}"
        made.append(Content.styled(text, _STYLES[item.status]))
    return made


class Todo(Widget):
    """The panel. It is not shown until it is asked for."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: Sequence[Item] = ()
        self._plan = ""
        self._goal: Goal | None = None
        self.display = False

    @property
    def wanted_rows(self) -> int:
        """Rows it would fill; 0 while it is not shown."""
        goal = self._goal
        over = 1 + len(goal.milestones) if goal is not None else 0
        own = 1 + len(self._items) if self._items or not over else 0
        return min(MOST_ROWS, own + over) if self.display else 0

    def tell(self, items: Sequence[Item], *, plan: str = "", goal: Goal | None = None) -> None:
        """The list is this now, under a plan of that title, for that goal."""
        self._items, self._plan, self._goal = tuple(items), plan, goal
        self.refresh()

    def render(self) -> RenderResult:
        return Content("\n").join(
            rows(self._items, self.size.width, self.size.height, plan=self._plan, goal=self._goal)
        )


class GoalLine(Widget):
    """The row above the composer that says how the goal stands, shown while there is one that is not reached."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._goal: Goal | None = None
        self.display = False

    def show(self, goal: Goal | None) -> None:
        """The goal is this now."""
        self._goal = goal if goal is not None and goal.status != "complete" else None
        self.display = self._goal is not None
        self.refresh()

    def render(self) -> RenderResult:
        if self._goal is None:
            return Content("")
        from tui_agent.ui.chat import goal as section  # not needed before there is one

        return section.line(self._goal, self.size.width)
