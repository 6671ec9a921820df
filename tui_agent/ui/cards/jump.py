"""Go back to a checkpoint: the list of turns, and the chat as it would be.

    Jump
      Rows          the turns, newest first
      .facts        what going there means
      Transcript    the preview

It posts `Chosen` and `Left`. Nothing is lost by going back: what is left behind becomes a backup, and undo returns.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from tui_agent.ui.rows import Cell, Column, Rows
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.context import Checkpoint, Context

_COLUMNS = (Column("", 5, "right"), Column("when", 12), Column("tokens", 8, "right"), Column("your words", 0))

_MOST_ROWS = 7
"""Checkpoints that are seen at once; the rest of the card is the preview."""


class Jump(Vertical):
    """The card. It opens on the newest turn, or on the checkpoint it was opened for."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    @dataclass
    class Chosen(Message):
        """Go back to before this checkpoint."""

        checkpoint: int

    class Left(Message):
        """Stay."""

    def __init__(self, context: Context, checkpoint: int | None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source = context
        self._wanted = checkpoint
        self._points: list[Checkpoint] = []
        self.rows = Rows(self._cells, columns=_COLUMNS, empty="Looking for checkpoints ...")
        self.preview = Transcript(id="jump-preview", classes="preview")
        self._facts = Static(classes="facts", markup=False)

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self._facts
        yield self.preview

    def on_mount(self) -> None:
        self.border_title = Content("go back to before")
        self.border_subtitle = Content("Enter goes back   Esc stays")
        self._gather()

    @work(group="gather", exclusive=True, exit_on_error=False)
    async def _gather(self) -> None:
        """Find the turns from the newest on; the list can be used meanwhile."""
        async for point in words.in_slices(reversed(self._source.checkpoints())):
            if point.turn or point.id == self._wanted:
                self._points.append(point)
                self.rows.grow(len(self._points))
                self.rows.styles.height = min(len(self._points), _MOST_ROWS) + 1
                if point.id == self._wanted or (self._wanted is None and len(self._points) == 1):
                    self.rows.move(len(self._points) - 1, tell=False)
                    self._show(self.rows.cursor)

    def enter(self) -> None:
        """Give the list the focus."""
        self.screen.set_focus(self.rows)

    def _cells(self, index: int) -> Sequence[Cell]:
        point = self._points[index]
        said = literal.one_line(point.words, 400) if point.turn else "a step of the turn"
        return (f"{point.id}", words.clock(point.at), words.tokens(point.tokens or None), said)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._show(event.index)

    def _show(self, index: int) -> None:
        if 0 <= index < len(self._points):
            self._load(index)

    @work(group="preview", exclusive=True, exit_on_error=False)
    async def _load(self, index: int) -> None:
        point = self._points[index]
        history = await self._source.preview(point.id)
        left = len(self._source.history) - len(history)
        self._facts.update(
            Content.assemble(
                (f"{left:,} messages leave the chat and stay in a backup; undo returns. ", ""),
                ("Your words come back to the composer. " if point.turn else "", ""),
                ("Below: the chat as it would be.", "$text-muted"),
            )
        )
        self.preview.load(history, ())

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.post_message(self.Chosen(self._points[event.index].id))

    def action_leave(self) -> None:
        """Stay where we are."""
        self.post_message(self.Left())
