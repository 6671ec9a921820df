"""Go back to a checkpoint: the list of turns, and the chat as it would be.

    Jump
      Rows          the turns, newest last
      .facts        what going there means
      Transcript    the preview

It posts `Chosen` and `Left`. Nothing is lost by going back: what is left behind becomes a backup, and undo returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

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
        points = context.checkpoints()
        self._points: Sequence[Checkpoint] = [p for p in points if p.turn or p.id == checkpoint]
        found = [index for index, point in enumerate(self._points) if point.id == checkpoint]
        self._start = found[0] if found else len(self._points) - 1
        self._shown: int | None = None
        self.rows = Rows(self._cells, len(self._points), columns=_COLUMNS, empty="No checkpoint yet.")
        self.preview = Transcript(classes="preview")
        self._facts = Static(classes="facts", markup=False)

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self._facts
        yield self.preview

    def on_mount(self) -> None:
        self.border_title = Content("go back to before")
        self.border_subtitle = Content("Enter goes back   Esc stays")
        self.rows.styles.max_height = min(len(self._points) + 1, 8)
        self.rows.move(self._start, tell=False)
        self._show(self._start)

    def enter(self) -> None:
        """Give the list the focus."""
        self.screen.set_focus(self.rows)

    def _cells(self, index: int) -> Sequence[Cell]:
        point = self._points[index]
        said = literal.one_line(point.words, 400) if point.turn else "a step of the turn"
        return (f"{point.id}", words.clock(point.at), words.tokens(point.tokens), said)

    def on_rows_moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._show(event.index)

    def _show(self, index: int) -> None:
        if index >= 0:
            self.run_worker(self._load(index), group="preview", exclusive=True, exit_on_error=False)

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
        self.preview.scroll_end(animate=False)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.post_message(self.Chosen(self._points[event.index].id))

    def action_leave(self) -> None:
        """Stay where we are."""
        self.post_message(self.Left())
