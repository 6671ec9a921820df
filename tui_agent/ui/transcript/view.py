"""The transcript: one widget over everything that was said and done, whatever its length.

It takes a history (`load`) and events (`feed`) and posts `CheckpointChosen`, `WayChosen`, `WaysWanted`, `AnswerChosen`,
`LinkChosen` and `NewLines`. Blocks fold and open by a click, or by Enter and Space under the cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.ui.themes import UNICODE, Glyphs
from tui_agent.ui.transcript import code
from tui_agent.ui.transcript.entries import Entry, Failure, Gap, Mark, Note, Result, ToolCall
from tui_agent.ui.transcript.history import History
from tui_agent.ui.transcript.layout import Placed, Spot
from tui_agent.ui.transcript.live import Live
from tui_agent.ui.transcript.pointing import Pointing
from tui_agent.ui.transcript.said import way_command, way_lines
from tui_agent.ui.transcript.spare import Sparing

if TYPE_CHECKING:
    from textual import events
    from textual.timer import Timer

    from tui_agent.context import Checkpoint
    from tui_agent.events import Event
    from tui_agent.messages.blocks import Message as Said
    from tui_agent.ui.transcript.anchor import Anchor
    from tui_agent.ui.transcript.paint import Row

_RECENT = 200
"""Entries from the end among which a call is looked for."""
_WARM_AFTER_S = 0.3
"""Seconds after code was first shown until the highlighter is loaded: the first frames come first."""


class Transcript(Pointing, Sparing):
    """The conversation.

    Args:
        glyphs: The signs to use.
    """

    FOCUS_ON_CLICK = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"transcript--{name}"
        for name in (
            *("words", "sign", "dim", "mark", "heading", "inline", "code", "link", "thinking", "checkpoint"),
            *("selected", "hit", "current"),
            *(
                "tool",
                "title",
                "output",
                "added",
                "removed",
                "changed",
                "busy",
                "ok",
                "warning",
                "error",
                "cursor",
            ),
        )
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "choose", "Open", id="transcript.toggle", tooltip="Open or fold the block"),
        Binding("n", "hit(1)", "Next hit", id="transcript.next_hit", show=False),
        Binding("N", "hit(-1)", "Hit before", id="transcript.previous_hit", show=False),
        Binding("slash,tab", "words", "Other words", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("home,ctrl+home", "scroll_home", "Top", show=False),
        Binding("end,ctrl+end", "scroll_end", "Bottom", show=False),
    ]

    class CheckpointChosen(Message):
        """A checkpoint was chosen. `id` is its number."""

        def __init__(self, id: int) -> None:
            super().__init__()
            self.id = id

    class NewLines(Message):
        """So many rows came below since the user scrolled up; 0 when they are back at the end."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class HitWanted(Message):
        """The next hit (1) or the one before (-1) is wanted; 0: other words."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class WayChosen(Message):
        """A way out of a failure was clicked. `command` is the command it names, such as `/model`."""

        def __init__(self, command: str) -> None:
            super().__init__()
            self.command = command

    class WaysWanted(Message):
        """What can be done about a failure is asked for. `ways` name a command each."""

        def __init__(self, ways: Sequence[str]) -> None:
            super().__init__()
            self.ways = ways

    class AnswerChosen(Message):
        """A letter of what can be done about a result was clicked."""

        def __init__(self, result: Result, letter: str) -> None:
            super().__init__()
            self.result = result
            self.letter = letter

    class LinkChosen(Message):
        """A link to the web was clicked. `target` is its address, safe to hand to a browser or a terminal."""

        def __init__(self, target: str) -> None:
            super().__init__()
            self.target = target

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        name: str | None = None,
        id: str | None = "transcript",
        classes: str | None = None,
    ) -> None:
        super().__init__(glyphs=glyphs, name=name, id=id, classes=classes)
        self._live = Live(self, monotonic)
        self._toggled: Placed | None = None
        """What the last click opened or folded."""
        self._seconds: Timer | None = None
        self._warming = False

    # --- what is shown

    def load(
        self,
        history: Sequence[Said],
        checkpoints: Sequence[Checkpoint],
        *,
        notes: Sequence[str] = (),
        summary: Callable[[Said], Entry] | None = None,
        hold: bool = False,
    ) -> None:
        """Show a history from its end. Nothing of it is read before it is needed; `notes` are lines after it.

        `summary` makes the entry of a summary in it. `hold`: it is the one that was shown, rewritten, and whoever had
        scrolled up stays at the same row; if that is summarised now, at the summary.
        """
        top = self._top() if hold and not self.follow else None
        self._history = History(history, checkpoints, summary)
        before, self._live = self._live, Live(self, monotonic)
        self._cursor = None
        self._forget_selection()
        self.forget_places()
        gap: list[Entry] = [Gap(0, len(history))] if len(history) else []
        self._load([*gap, *(Note(note) for note in notes)])
        self._live.go_on_from(before)
        if top is not None:
            self._stay_at(top)

    def _top(self) -> Anchor | None:
        from tui_agent.ui.transcript.anchor import Anchor  # not needed before a history is rewritten

        return Anchor.at(self._sheet, self._spot) if self._spot is not None else None

    def _stay_at(self, top: Anchor) -> None:
        place = self._history.find(top.message)
        if place is not None:
            self._sheet.read_message(place)
        spot = top.find(self._sheet)
        if spot is None and len(self._history) and self._history[0].origin == "summary":
            spot = self._sheet.first()
        if spot is not None:
            self._let_go()
            self._spot = spot
            self.flush()

    def feed(self, event: Event) -> None:
        """Show what happened."""
        self._live.feed(event)
        if self._seconds is not None:
            if self._live.running:
                self._seconds.resume()
            else:
                self._seconds.pause()

    @property
    def entries(self) -> list[Entry]:
        """What is shown, in order; messages that were not near the screen yet are left out."""
        return [placed.entry for placed in self._sheet if not isinstance(placed.entry, Gap)]

    @property
    def running(self) -> Sequence[ToolCall]:
        """The calls that run now, and commands of the person's own."""
        return self._live.running

    @property
    def result(self) -> Result | None:
        """The result under the cursor, while the keys come here."""
        # not `has_focus`, which is told later: the next key may already be meant for somebody else
        mine = self.is_attached and self.screen.focused is self
        entry = self._cursor.entry if mine and self._cursor is not None else None
        return entry if isinstance(entry, Result) else None

    @property
    def waiting(self) -> Result | None:
        """The newest result that waits for a person."""
        results = (p.entry for p in self._sheet.newest(_RECENT) if isinstance(p.entry, Result))
        return next((result for result in results if result.waits), None)

    @property
    def all_waiting(self) -> Sequence[Result]:
        """Every result that waits for a person, from above."""
        return [p.entry for p in self._sheet if isinstance(p.entry, Result) and p.entry.waits]

    def open_result(self, result: Result) -> None:
        """Show all of a result."""
        self.go_to_result(result)
        if not result.opened:
            self.toggle()
            self._reveal()

    def go_to_result(self, result: Result) -> None:
        """Put the cursor on a result and bring it into view."""
        self.flush()
        placed = self._sheet.find(result)
        if placed is not None:
            self._cursor = placed
            self._reveal()
            self.refresh()

    def go_to_message(self, record: str) -> bool:
        """Put the cursor on the first entry of a message and bring it to the top; False if it is not in the history."""
        self.flush()
        place = self._history.find(record)
        if place is not None:
            self._sheet.read_message(place)
        placed = next((placed for placed in self._sheet if placed.entry.record == record), None)
        if placed is None:
            return False
        self._cursor = placed
        self._let_go()
        self._spot = Spot(placed, 0, 0)
        self.flush()
        self.refresh()
        return True

    def find_call(self, call: str) -> ToolCall | None:
        """The newest entry of a call."""
        for placed in self._sheet.newest(_RECENT):
            if isinstance(placed.entry, ToolCall) and placed.entry.call == call:
                return placed.entry
        return None

    def _held(self) -> Iterator[Placed]:
        yield from super()._held()
        if self._toggled is not None:
            yield self._toggled
        yield from filter(None, map(self._sheet.find, self._live.open))

    def toggle(self, index: int | None = None) -> None:
        """Open or fold an entry: the one with that number in `entries`, or the one under the cursor."""
        placed = self._cursor if index is None else self._sheet.find(self.entries[index])
        if placed is None or not placed.entry.foldable:
            return
        placed.entry.opened = not placed.entry.opened
        self.touched(placed.entry)
        self._sheet.change(placed.entry)
        if self._spot is not None and self._spot.placed is placed and self._spot.part > 0:
            self._spot = Spot(placed, 0, 0)
        # what opens pushes the end down: the block stays where it is, and nothing of it counts as new
        self._let_go()
        self.flush()

    def _new_lines_changed(self, count: int) -> None:
        self.post_message(self.NewLines(count))

    def on_mount(self) -> None:
        """Count seconds while calls run."""
        self._seconds = self.set_interval(1.0, self._tick, pause=True)

    def _rows_now(self) -> list[tuple[Placed, Row]]:
        rows = super()._rows_now()
        if code.wants_warming() and not self._warming:
            self._warming = True
            self.set_timer(_WARM_AFTER_S, self._start_warming)
        return rows

    def _start_warming(self) -> None:
        self.run_worker(self._warm, thread=True, name="transcript colours", exit_on_error=False)

    def _warm(self) -> None:
        code.warm()
        self.app.call_from_thread(self._forget_rows)

    def _tick(self) -> None:
        """A second has passed for the calls that run."""
        for call in self._live.running:
            self.changed(call)

    # --- what is chosen

    def open_output(self) -> bool:
        """Open or fold the block under the cursor, else the newest call on the screen; False if there is none."""
        placed = self._cursor if self.has_focus else None
        if placed is None:
            calls = (p for p, _ in reversed(self._screen_rows) if isinstance(p.entry, ToolCall))
            placed = next((call for call in calls if call.entry.foldable), None)
        if placed is None or not placed.entry.foldable:
            return False
        self._cursor = placed
        self.toggle()
        self._reveal()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for hits are bound while there may be some."""
        return self.marks_hits if action in ("hit", "words") else super().check_action(action, parameters)

    def action_hit(self, by: int) -> None:
        """Ask for the next hit or the one before."""
        self.post_message(self.HitWanted(by))

    def action_words(self) -> None:
        """Ask for other words to look for."""
        self.post_message(self.HitWanted(0))

    def action_choose(self) -> None:
        """Open or fold the block under the cursor; choose a checkpoint, or what is to be done about a failure."""
        if self._cursor is None:
            return
        entry = self._cursor.entry
        if isinstance(entry, Failure) and (
            ways := [way for way in way_lines(entry.ways) if way_command(way)]
        ):
            self.post_message(self.WaysWanted(ways))
        else:
            self._choose(self._cursor)
            if isinstance(entry, Result):
                self._reveal()  # a summary is longer than the rest of the screen

    def _choose(self, placed: Placed) -> None:
        if isinstance(placed.entry, Mark):
            self.post_message(self.CheckpointChosen(placed.entry.number))
        else:
            self._cursor = placed
            self.toggle()
            self._toggled = placed

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        if not self._dragged and 0 <= event.y < len(self._screen_rows):
            self._click(event)
        self._clicked()

    def _click(self, event: events.Click) -> None:
        placed, row = self._screen_rows[event.y]
        if event.chain > 1:
            self._click_again(event, placed)
            return
        self._toggled = None
        target, way = event.style.meta.get("link"), event.style.meta.get("way")
        answer, entry = event.style.meta.get("answer"), placed.entry
        if isinstance(answer, str) and isinstance(entry, Result):
            self.post_message(self.AnswerChosen(entry, answer))
        elif isinstance(target, str):
            self.post_message(self.LinkChosen(target))
        elif isinstance(way, str):
            self.post_message(self.WayChosen(way))
        elif row.line >= 0 and (not placed.entry.opened or self._first_row(event.y)):
            self._choose(placed)

    def _click_again(self, event: events.Click, placed: Placed) -> None:
        """The second click selects a word, the third its block; what the first one opened is folded again."""
        if event.chain == 2 and self._toggled is placed:
            self._choose(placed)
        self._select_clicked(event.x, event.y, block=event.chain > 2)
