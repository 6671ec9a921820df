"""The points one can go back to: turns first, the steps inside them below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Key, Tab
from tui_agent.ui.rows import Cell, Column, Rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Checkpoint, Context


class Checkpoints(Tab):
    """The checkpoints. Enter opens the card that goes back to one."""

    NAME = "Checkpoints"

    def __init__(self, context: Context, *, writable: bool) -> None:
        rows = Rows(
            self.cells,
            key=lambda index: self._points[index].uid,
            text=self._text,
            empty="No checkpoint yet: each prompt and each step makes one.",
        )
        super().__init__(context, rows, writable=writable)
        self._points: Sequence[Checkpoint] = ()
        self._turn_of: dict[str, int] = {}

    def columns(self) -> Sequence[Column]:
        when = Column("when", 6 if self.narrow else 12)
        return (Column("", 5, "right"), when, Column("tokens", 8, "right"), Column("your words"))

    def __len__(self) -> int:
        return len(self._points)

    def detail(self) -> Widget:
        return Static(markup=False)

    def load(self) -> None:
        self._gather()

    @work(group="gather", exclusive=True, exit_on_error=False)
    async def _gather(self) -> None:
        turns: list[Checkpoint] = []
        steps: list[Checkpoint] = []
        turn_of: dict[str, int] = {}
        turn = -1
        async for point in words.in_slices(self.context.checkpoints()):
            turn = point.id if point.turn else turn
            turn_of[point.uid] = turn
            (turns if point.turn else steps).append(point)
        self._points, self._turn_of = [*reversed(turns), *reversed(steps)], turn_of
        self.rows.show(self.cells, len(self._points))
        self.say(Content(f"{len(turns):,} turns, {len(steps):,} steps"))

    def _text(self, index: int) -> str:
        point = self._points[index]
        return f"{point.id} {point.words}"

    def cells(self, index: int) -> Sequence[Cell]:
        point = self._points[index]
        turn = self._turn_of[point.uid]
        if point.turn:
            said = Content(literal.one_line(point.words, 400))
        else:
            said = Content.styled(f"a step of {turn}" if turn >= 0 else "a step", "$text-muted")
        return (
            f"{point.id}",
            words.clock(point.at, short=self.narrow),
            words.tokens(point.tokens or None),
            said,
        )

    def open(self, index: int) -> None:
        self.post_message(self.JumpWanted(self._points[index].id))

    def chosen(self, index: int) -> None:
        """Enter opens the jump card instead of a detail."""
        if self.writable:
            self.open(index)

    def keys(self) -> Sequence[Key]:
        made = [Key("Enter", "go back there", "choose")] if self.writable else []
        return [*made, Key("/", "filter", "filter")]

    def action_choose(self) -> None:
        """Go back to the checkpoint under the cursor."""
        self.rows.action_choose()
