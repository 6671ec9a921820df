"""The points one can go back to: turns, the newest first, and folded below each the steps of the model in it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.cells import GAP
from tui_agent.ui.inspector.folding import Folding
from tui_agent.ui.inspector.tab import FOLLOW, Around, Key, Tab
from tui_agent.ui.inspector.telling import FIRST_WORDS, first_words, who
from tui_agent.ui.rows import Cell, Column
from tui_agent.ui.themes import UNICODE

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Checkpoint, Context

_STEP_RECORDS = 4
"""Records behind a step's checkpoint among which the model's words are looked for."""
_FIRST = 100
"""Turns that are shown as soon as they are found."""
_SIGN = GAP + 2
"""Columns up to the sign that folds, and the space behind it."""


class Checkpoints(Tab):
    """The checkpoints. Enter opens the card that goes back to one; Space shows the steps of a turn, `s` those of all.

    A checkpoint is known by its place among all of them, from 0; what it says is read when it is seen.
    """

    NAME = "Checkpoints"
    SHORT = "Points"
    OF_LOG = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "fold", show=False),
        Binding("s", "fold_all", show=False),
    ]

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Folding(
            model=self.cells,
            signs=_SIGN,
            key=lambda index: self._shown[index],
            text=self._text,
            empty="No checkpoint yet: each prompt and each step makes one.",
        )
        super().__init__(context, rows, around)
        self._points: Sequence[Checkpoint] = ()
        self._digits = 0
        self._turns: list[int] = []
        """The turns that were found, newest first."""
        self._shown: array[int] = array("I")
        self._unfolded: set[int] = set()
        self._all = False
        self._looked = -1
        """Where the search for turns has come to, from the newest back; -1 at its end."""
        self._generation = -1

    def columns(self) -> Sequence[Column]:
        self._digits, weight = words.checkpoint_widths(self._points)
        when = Column("when", 6 if self.narrow else 12)
        return (Column("", 2 + self._digits), when, Column("tokens", weight, "right"), Column("your words"))

    def __len__(self) -> int:
        return len(self._shown)

    def detail(self) -> Widget:
        return Static(markup=False)

    # --- which there are

    def load(self) -> None:
        if self.context.generation != self._generation:
            self._generation = self.context.generation
            self._points = self.context.checkpoints()
            self._turns, self._looked = [], len(self._points) - 1
            self._unfolded.clear()
            self._lay_out()
            self._look()
        else:
            self.follow()
            self.rows.redraw()

    def follow(self) -> None:
        """New checkpoints stand in front."""
        known, self._points = len(self._points), self.context.checkpoints()
        for place in range(known, len(self._points)):
            if self._points[place].turn:
                self._turns.insert(0, place)
        if known != len(self._points):
            self._lay_out()

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Find the turns, from the newest back; what is found is shown meanwhile."""
        points, told = self._points, 0.0
        async for place in words.in_slices(range(self._looked, -1, -1)):
            self._looked = place - 1
            if points[place].turn:
                self._turns.append(place)
                if not self._all:
                    self._add(len(self._turns) - 1)
                    # what fills the screen at once, the rest seldom: the scroll bar is drawn for each
                    if len(self._turns) <= _FIRST or monotonic() >= told + FOLLOW:
                        told = monotonic()
                        self.rows.grow(len(self._shown))
        self._lay_out()

    def _lay_out(self) -> None:
        """Which rows there are: turns, and the steps of those that are unfolded."""
        self._shown = array("I")
        for at in range(len(self._turns)):
            self._add(at)
        if self._looked < 0:
            # steps before the first turn belong to none
            self._shown.extend(range(self._turns[-1] if self._turns else len(self._points)))
        self.rows.show(self.cells, len(self._shown), columns=self.columns())
        self._sums()

    def _add(self, at: int) -> None:
        turn = self._turns[at]
        self._shown.append(turn)
        if self._all or turn in self._unfolded:
            self._shown.extend(range(turn + 1, self._after(at)))

    def _after(self, at: int) -> int:
        """The place behind the last step of a turn."""
        return self._turns[at - 1] if at else len(self._points)

    def _sums(self) -> None:
        turns, count = len(self._turns), len(self._points)
        steps = f"{count - turns:,} steps" if self._looked < 0 else f"of {count:,} checkpoints so far"
        self.say(Content(f"{turns:,} turn{'' if turns == 1 else 's'}, {steps}" if count else ""))

    def _turn_of(self, place: int) -> int:
        """The turn that a checkpoint belongs to; -1 if none."""
        at = bisect_left(self._turns, -place, key=lambda turn: -turn)
        return self._turns[at] if at < len(self._turns) else -1

    # --- how they look

    def _text(self, index: int) -> str:
        point = self._points[self._shown[index]]
        return f"{point.id} {words.said_at(point.words) if point.turn else self._step_words(point)}"

    def cells(self, index: int) -> Sequence[Cell]:
        place = self._shown[index]
        point = self._points[place]
        sign = " "
        if point.turn:
            said = Content(literal.one_line(words.said_at(point.words), FIRST_WORDS))
            if self._has_steps(place):
                sign = UNICODE.opened if self._all or place in self._unfolded else UNICODE.closed
        else:
            text = literal.one_line(self._step_words(point), FIRST_WORDS)
            said = Content.styled(f"  {text}", "$text-muted")
        when = words.clock(point.at, short=self.narrow)
        return (f"{sign} {point.id:>{self._digits}}", when, words.tokens(point.tokens or None), said)

    def _has_steps(self, turn: int) -> bool:
        return turn + 1 < len(self._points) and not self._points[turn + 1].turn

    def _step_words(self, point: Checkpoint) -> str:
        """What the model said first in a step."""
        records = self.context.records
        at = bisect_right(records, point.line, key=lambda record: record.line)
        for record in records[at : at + _STEP_RECORDS]:
            if record.role == "_checkpoint":
                break
            if record.role in ("user", "assistant"):
                return f"{who(record)}: {first_words(record)}"
        return "a step"

    # --- what can be done

    def open(self, index: int) -> None:
        self.post_message(self.JumpWanted(self._points[self._shown[index]].id))

    def chosen(self, index: int) -> None:
        """Enter opens the jump card instead of a detail."""
        if self.writable:
            self.open(index)

    def keys(self) -> Sequence[Key]:
        made = [Key("Enter", "go back there", "choose")] if self.writable else []
        if len(self._points) > len(self._turns):
            made += [Key("Space", "steps", "fold"), Key("s", "all steps", "fold_all", rank=3)]
        return [*made, Key("/", "filter", "filter")]

    def on_folding_folded(self, event: Folding.Folded) -> None:
        event.stop()
        self.action_fold()

    def action_fold(self) -> None:
        """Show the steps of the turn under the cursor, or fold them."""
        if not len(self) or self._all or self.rows.cursor < 0:
            return
        turn = self._turn_of(self._shown[self.rows.cursor])
        if turn >= 0:
            self._unfolded ^= {turn}
            self._put(turn)

    def action_fold_all(self) -> None:
        """Show the steps of every turn, or fold them."""
        turn = self._turn_of(self._shown[self.rows.cursor]) if len(self) and self.rows.cursor >= 0 else -1
        self._all = not self._all
        self._unfolded.clear()
        self._put(turn)

    def _put(self, turn: int) -> None:
        """Lay the rows out with the cursor on a turn."""
        self._lay_out()
        if turn >= 0:
            self.rows.move(self._shown.index(turn))
