"""Go back to a checkpoint: the list of turns, and the chat as it would be.

    Jump
      Rows          the turns, newest first
      Filter        while they are filtered
      .facts        what going there means
      Transcript    the preview; PgUp and PgDn scroll it

It posts `Chosen` and `Left`. Nothing is lost by going back: what is left behind becomes a backup, and undo returns.
Only the conversation goes back; files stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.filter import Filter
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.widgets import Input

    from tui_agent.context import Checkpoint, Context

_MOST_ROWS = 7
"""Checkpoints that are seen at once; the rest of the card is the preview."""


def _columns(points: Sequence[Checkpoint]) -> Sequence[Column]:
    digits, weight = words.checkpoint_widths(points)
    numbers = Column("", digits + 1, "right")
    return (numbers, Column("when", 12), Column("tokens", weight, "right"), Column("your words"))


class Jump(Vertical):
    """The card. It opens on the newest turn, or on the checkpoint it was opened for. `running`: does a turn run?"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("slash", "filter", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """Go back to before this checkpoint."""

        checkpoint: int

    class Left(Message):
        """Stay."""

    def __init__(
        self,
        context: Context,
        checkpoint: int | None,
        *,
        running: Callable[[], bool] = lambda: False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._source = context
        self._wanted = checkpoint
        self._turn_runs = running
        self._points: list[Checkpoint] = []
        self._alike: dict[str, list[int]] = defaultdict(list)
        """Words -> the turns that begin with them, newest first."""
        self._left = 0
        self.rows = Rows(
            self._cells, columns=_columns(()), text=self._text, empty="Looking for checkpoints ..."
        )
        self.filter = Filter()
        self.preview = Transcript(id="jump-preview", classes="preview")
        self._facts = Static(classes="facts", markup=False)

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self.filter
        yield self._facts
        yield self.preview

    def on_mount(self) -> None:
        self.filter.display = False
        self.border_title = Content("go back to before")
        self.border_subtitle = Content("Enter goes back   Esc stays   / filters   PgUp PgDn read")
        self._gather()

    @work(group="gather", exclusive=True, exit_on_error=False)
    async def _gather(self) -> None:
        """Find the turns from the newest on; the list can be used meanwhile."""
        points = self._source.checkpoints()
        self.rows.show(self._cells, 0, columns=_columns(points))
        async for point in words.in_slices(reversed(points)):
            if point.turn or point.id == self._wanted:
                self._points.append(point)
                if point.turn:
                    self._alike[point.words].append(point.id)
                self.rows.grow(len(self._points))
                self.rows.styles.height = min(len(self._points), _MOST_ROWS) + 1
                if point.id == self._wanted or (self._wanted is None and len(self._points) == 1):
                    self.rows.move(len(self._points) - 1, tell=False)
                    self._show(self.rows.cursor)
        self.rows.redraw()

    def enter(self) -> None:
        """Give the list the focus."""
        self.screen.set_focus(self.rows)

    def _cells(self, index: int) -> Sequence[Cell]:
        point = self._points[index]
        said = Content(
            literal.one_line(words.said_at(point.words), 400) if point.turn else "a step of the turn"
        )
        alike = self._alike[point.words] if point.turn else ()
        if len(alike) > 1:
            which = f"{len(alike) - alike.index(point.id)} of {len(alike)} "
            said = Content.styled(which, "$text-muted") + said
        return (f"{point.id}", words.clock(point.at), words.tokens(point.tokens or None), said)

    def _text(self, index: int) -> str:
        return f"{self._points[index].id} {words.said_at(self._points[index].words)}"

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._show(event.index)

    def _show(self, index: int) -> None:
        if 0 <= index < len(self._points):
            self._load(index)
        else:
            self.workers.cancel_group(self, "preview")
            self.preview.load((), ())
            self.tell()

    @work(group="preview", exclusive=True, exit_on_error=False)
    async def _load(self, index: int) -> None:
        point = self._points[index]
        history = await self._source.preview(point.id)
        self._left = len(self._source.history) - len(history)
        self.tell()
        self.preview.load(history, ())

    def tell(self) -> None:
        """Say anew what going back means; a turn may have begun or ended."""
        if not 0 <= self.rows.cursor < len(self._points) or not len(self.rows):
            self._facts.update("")
            return
        many = "message leaves" if self._left == 1 else "messages leave"
        stays = "stays" if self._left == 1 else "stay"
        said = [(f"{self._left:,} {many} the chat and {stays} in a backup; undo returns. ", "")]
        point = self._points[self.rows.cursor]
        if point.turn and point.words:
            said.append(("Your words come back to the composer. ", ""))
        said.append(("Files stay as they are. ", "$text-warning"))
        if self._turn_runs():
            said.append(("The turn that runs is stopped. ", "bold $text-warning"))
        rest = self._left < len(self._source.history)
        below = "Below: the chat as it would be." if rest else "The chat would be empty."
        said.append((below, "$text-muted"))
        self._facts.update(Content.assemble(*said))

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.post_message(self.Chosen(self._points[event.index].id))

    # --- the filter

    def action_filter(self) -> None:
        """Filter the turns by words."""
        self.filter.display = True
        self.screen.set_focus(self.filter)

    def on_key(self, event: events.Key) -> None:
        """`/` opens the filter here, ahead of bindings: keys right behind it are words."""
        if self.screen.focused is not self.filter:
            if event.key != "slash":
                return
            self.action_filter()
        elif event.key in ("up", "down"):
            self.rows.action_step(1 if event.key == "down" else -1)
        elif event.is_printable and event.character:
            self.filter.insert_text_at_cursor(event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.enter()

    def on_filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self._unfilter()

    def _unfilter(self) -> None:
        self.filter.clear()
        self.filter.display = False
        self.rows.filter(None)
        self.enter()

    def action_leave(self) -> None:
        """Take the filter back; else stay where we are."""
        if self.filter.display:
            self._unfilter()
        else:
            self.post_message(self.Left())
