"""What the session says, told to the widgets. The transcript hears every event; here the others do."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent import events as said
from tui_agent.commands import CommandError

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.events import Event
    from tui_agent.ui.chat.screen import ChatScreen

_DOING = {
    said.TurnStarted: "asking",
    said.StepStarted: "asking",
    said.ThinkingDelta: "thinking",
    said.TextDelta: "answering",
    said.ToolEnded: "working",
}
_STREAMS = frozenset(("asking", "thinking", "answering"))
"""What is done while the model should be heard."""
_DELTAS = (said.TextDelta, said.ThinkingDelta, said.ToolUseDelta, said.ToolProgress)
"""Events that are not traced."""
_COSTS = (said.UsageReported, changes.CompactionCompleted)
"""Events after which the session has come to more."""
_REMEMBERS = (changes.MemoryProposed, changes.MemoryChanged, said.TurnEnded)
"""Events after which memories may be others; at the end of a turn those of another program."""


class Hearing:
    """The ears of one chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._in_turn = False
        self._resting = False

    async def hear(self, event: Event) -> None:
        """Take one event, in the order they were emitted."""
        screen = self._screen
        if not isinstance(event, changes.Rotated):
            screen.transcript.feed(event)
        if isinstance(event, said.StepStarted | said.TurnEnded) and screen.session is not None:
            context = screen.session.context
            screen.transcript.grow(context.shown, context.checkpoints())
        doing = _DOING.get(type(event))
        if doing is not None:
            screen.status.begin(doing, streams=doing in _STREAMS)
        if isinstance(event, said.TurnStarted | said.TurnEnded):
            self._in_turn = isinstance(event, said.TurnStarted)
        match event:
            case said.SessionOpened() | said.ModelChanged():
                screen.status.tell(
                    model=event.model, demo=event.demo, window=event.window, guessed=event.guessed
                )
            case said.TitleChanged():
                screen.status.tell(name=event.title)
            case said.Weighed():
                screen.status.tell(
                    total=event.total,
                    exact=event.exact,
                    pending=event.pending,
                    mark=event.mark,
                    window=event.window,
                    guessed=event.guessed,
                )
            case said.UsageReported():
                screen.status.tell(total=event.total, exact=event.total, pending=0, mark="exact")
            case said.ToolUseDelta():
                screen.status.begin(f"writing {event.tool}", streams=True)
            case said.ToolStarted():
                screen.status.begin(f"running {event.tool}")
            case said.ToolEnded() if screen.session is not None and not screen.session.busy:
                screen.status.rest()  # a command of the person's own: no end of a turn follows
                screen.show_keys()
            case said.RetryWaiting():
                again = f"try {event.attempt}/{event.attempts} in {event.seconds:.0f} s"
                if screen.status.facts.compacting is not None:
                    screen.status.tell(stage=again)
                else:
                    screen.status.tell(state=again, since=None)
            case said.TurnEnded():
                screen.queue_line.write(False)
                if own := screen.transcript.running:  # a command of the person's own outlives the turn
                    screen.status.begin(f"running {own[0].tool}")
                else:
                    screen.status.rest()
                screen.show_keys()
                self._rest()
            case said.QueueChanged():
                screen.queue_line.show(event.prompts, paused=event.paused)
                screen.keep_soon()
            case said.StateChanged(key="todo" | "plan" | "goal" | "mode"):
                screen.tell_todo()
            case said.Asked():
                await screen.ask(event.question)
            case said.Answered():
                await screen.dock.settle(event.question)
            case changes.Appended():
                if screen.panel is not None:
                    screen.panel.grew()
                screen.find_more()
            case changes.Rotated():
                screen.rotated(event)
                screen.results.rotated(event)
            case changes.CompactionStarted() | changes.CompactionStage() | changes.CompactionHeld():
                self._compacts(event)
            case changes.CompactionCompleted() | changes.CompactionFailed() | changes.CompactionSkipped():
                self._compacted(event)
            case changes.LogFailed():
                screen.status.tell(trouble="not saved")
            case changes.LogRecovered():
                screen.status.tell(trouble="")
            case _:
                pass
        if screen.panel is not None and not isinstance(event, _DELTAS):
            screen.panel.heard()
        screen.results.hear(event)
        if isinstance(event, _COSTS):
            screen.work(self.count(), "cost")
        if screen.sidebar is not None and isinstance(event, _REMEMBERS):
            screen.sidebar.changed()
        if isinstance(event, said.TurnStarted):
            screen.show_keys()
        if screen.guide is not None:
            screen.guide.heard(event)

    async def count(self) -> None:
        """Tell the status line what the session came to."""
        if (session := self._screen.session) is not None:
            # What is wrong with the log is told by who writes it.
            with contextlib.suppress(OSError, CommandError):
                self._screen.status.tell(cost=await session.spending.line())

    def _compacts(
        self, event: changes.CompactionStarted | changes.CompactionStage | changes.CompactionHeld
    ) -> None:
        """The history is being summarised beside what the person does, or that is held."""
        screen = self._screen
        match event:
            case changes.CompactionStarted(trigger=trigger):
                screen.status.compact(ahead=trigger == "ahead")
                screen.queue_line.compact(not self._in_turn)
                screen.show_keys()
            case changes.CompactionStage(stage=stage):
                screen.status.tell(stage=stage)
            case changes.CompactionHeld(held=held):
                screen.status.tell(held=held)

    def _compacted(
        self, event: changes.CompactionCompleted | changes.CompactionFailed | changes.CompactionSkipped
    ) -> None:
        """It is done, or was not to be."""
        screen = self._screen
        screen.status.compacted()
        screen.queue_line.compact(False)
        if not self._in_turn:
            screen.queue_line.write(False)
            self._rest()
        screen.show_keys()

    def _rest(self) -> None:
        """Show what can be pressed once nothing runs: a turn and a summary say their end before it is over."""
        session = self._screen.session
        if not self._resting and session is not None and session.active:
            self._resting = True
            self._screen.work(self._at_rest(session), "at rest")

    async def _at_rest(self, session: Session) -> None:
        try:
            await session.until_idle()
        finally:
            self._resting = False
        self._screen.show_keys()
