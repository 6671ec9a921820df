"""What happens while the program runs, as entries: the events of a session told to the transcript.

`Live` gives each event to what is still open of it: the reply that is being written, the calls that run, a retry that
waits. It knows no widget; it adds, changes and removes entries of a `Shown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from tui_agent import changes, events
from tui_agent.messages.blocks import text_block
from tui_agent.ui.transcript.calls import Calls
from tui_agent.ui.transcript.entries import (
    GOAL,
    Aside,
    Entry,
    Failure,
    Mark,
    Note,
    Retry,
    ToolCall,
    Words,
    main_argument,
    plain,
    told_words,
    unwrapped,
)
from tui_agent.ui.transcript.reply import Reply


class Shown(Protocol):
    """Where entries are shown."""

    def put(self, entry: Entry) -> None:
        """Put it at the end."""

    def changed(self, entry: Entry) -> None:
        """It is not what it was."""

    def retold(self, call: ToolCall, place: int) -> None:
        """Its output reads otherwise from that place on."""

    def drop(self, entry: Entry) -> None:
        """Take it out."""

    def find_call(self, call: str) -> ToolCall | None:
        """The newest entry of that call."""


class Live:
    """Turns events into entries. `clock` gives seconds."""

    def __init__(self, shown: Shown, clock: Callable[[], float]) -> None:
        self._shown = shown
        self._calls = Calls(shown, clock)
        self._reply = Reply(shown, clock, self._calls)
        self._retry: Retry | None = None
        self._model = ""
        self._trouble: set[str] = set()
        """What went wrong in this turn and was said."""
        self._queue: dict[str, events.QueuedPrompt] = {}
        self._taken: list[str] = []
        """Words just taken out of the queue; a record that follows at once is one of them."""
        self._delivered: tuple[str, str] | None = None
        """Words that seem to have become this record."""
        self._said = ""
        """The newest record of the user's role."""

    @property
    def running(self) -> Sequence[ToolCall]:
        """The calls that run now."""
        return self._calls.running

    @property
    def open(self) -> Iterator[Entry]:
        """What may still change."""
        yield from self._reply
        yield from self._calls
        if self._retry is not None:
            yield self._retry

    def go_on_from(self, before: Live) -> None:
        """The history was read anew: which prompts wait, and commands of a person's own that run, is as it was."""
        self._queue, self._model = before._queue, before._model
        self._trouble, self._said = before._trouble, before._said
        self._calls.go_on_from(before._calls)

    def feed(self, event: events.Event) -> None:
        """Take an event."""
        self._deliver(event)
        match event:
            case events.TextDelta(text, block):
                self._reply.begin(block)
                self._end_retry()
                self._reply.text(text)
            case events.ThinkingDelta(text, block):
                self._reply.begin(block)
                self._end_retry()
                self._reply.think(text)
            case events.ToolUseDelta(call, tool, size):
                self._end_retry()
                self._reply.write(call, tool, size)
            case events.ReplyEnded():
                self._end_retry()
                self._reply.ended(event)
            case events.ReplyDropped(reason):
                self._reply.dropped(reason)
            case events.RetryWaiting():
                self._waits(event)
            case events.ToolWaiting(call, tool, arguments):
                self._calls.waits(call, tool, main_argument(arguments))
            case events.ToolStarted():
                self._calls.started(event)
            case events.ToolProgress(call, text):
                self._calls.progress(call, text)
            case events.ToolEnded():
                self._calls.ended(event)
            case events.Asked(question):
                self._calls.asked(question)
            case events.Answered(question, answer):
                self._calls.answered(question, answer)
            case events.TurnStarted(_, number, prompt, images, goal, record):
                self._reply.close()
                self._trouble.clear()
                if not (prompt or images or goal):
                    return  # the turn that failed goes on: its request is sent again
                self._shown.put(Mark(number, datetime.now().astimezone().isoformat()))
                if goal:
                    self._shown.put(Aside(GOAL, unwrapped(goal), record=record or self._said))
                else:
                    words = plain([*images, text_block(prompt)])
                    self._shown.put(Words(words, record=record or self._said))
            case events.Reminded(told, left):
                for one in told:
                    text = unwrapped(one.text)
                    self._shown.put(Aside(told_words(one.short), text, record=one.record))
                for missing in left:
                    self._shown.put(Note(f"Not told: {missing.source}: {missing.why}.", "warning"))
            case events.StepStarted():
                self._reply.close()
            case events.TurnEnded():
                self._turn_ended(event)
            case events.RequestFailed(_, message, ways):
                self._end_retry()
                self._fail(message, ways)
            case changes.LogFailed(message, ways):
                self._fail(f"The session could not be written. {message}", ways)
                self._trouble.add(message)
            case changes.LogRecovered():
                self._shown.put(Note("The session is written again."))
            case events.Notice(text, level):
                self._shown.put(Note(text, level))
            case events.SessionOpened():
                self._model = event.model
                for text in event.repaired:
                    self._shown.put(Note(text, "warning"))
            case (
                changes.CompactionStarted()
                | changes.CompactionFailed()
                | changes.CompactionSkipped()
                | changes.CompactionHeld()
                | changes.MicroCompacted()
            ):
                self._compaction(event)
            case events.ModelChanged(model):
                if model != self._model:  # else its window came to be known
                    self._shown.put(Note(f"The next turn asks {model}."))
                self._model = model
            case _:
                pass

    def _compaction(self, event: events.Event) -> None:
        from tui_agent.ui.transcript import compacted  # not needed before the first frame

        if (entry := compacted.told(event)) is not None:
            self._shown.put(entry)

    # --- words that were queued and are delivered inside a turn

    def _deliver(self, event: events.Event) -> None:
        """Show queued words when they become a record.

        No event says so in one piece: the queue lets go of them, and the records that follow at once are theirs
        (unless the next event says that such a record is a tool's result).
        """
        if self._delivered is not None:
            words, record = self._delivered
            self._delivered = None
            if not (isinstance(event, events.ToolEnded) and event.record == record):
                self._shown.put(Words(words, record=record))
        if isinstance(event, changes.Appended) and event.role == "user":
            self._said = event.record
        match event:
            case events.QueueChanged(prompts):
                waiting = {prompt.id: prompt for prompt in prompts}
                gone = [prompt for name, prompt in self._queue.items() if name not in waiting]
                self._taken = [
                    plain([*prompt.images, text_block(prompt.text)])
                    for prompt in gone
                    if prompt.when == "step"
                ]
                self._queue = waiting
            case changes.Appended("user", record) if self._taken:
                self._delivered = self._taken.pop(0), record
            case _:
                self._taken = []

    # --- requests that fail

    def _waits(self, event: events.RetryWaiting) -> None:
        retry = self._retry
        if retry is None or retry.attempt != event.attempt:
            self._end_retry()
            self._retry = Retry(event.attempt, event.attempts, event.seconds, event.reason)
            self._shown.put(self._retry)
            return
        retry.seconds, retry.reason = event.seconds, event.reason
        self._shown.changed(retry)

    def _end_retry(self) -> None:
        if self._retry is not None:
            self._retry.over = True
            self._shown.changed(self._retry)
            self._retry = None

    def _fail(self, message: str, ways: Sequence[str]) -> None:
        self._trouble.add(message)
        self._shown.put(Failure(message, ways))

    def _turn_ended(self, event: events.TurnEnded) -> None:
        if self._retry is not None:
            self._retry.stopped = event.reason == "cancelled"
        self._end_retry()
        self._reply.close()
        self._calls.interrupt()
        if event.reason == "cancelled":
            self._shown.put(Note("Stopped.", "warning"))
        elif event.error and event.error not in self._trouble:
            self._shown.put(Failure(event.error))
