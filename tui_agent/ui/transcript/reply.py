"""The reply that is being written, as entries of the transcript: thinking, answers, and the calls it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent.ui.transcript.entries import Answer, Aside, Entry, Note, Thinking, ToolCall

if TYPE_CHECKING:
    from tui_agent import events
    from tui_agent.ui.transcript.calls import Calls
    from tui_agent.ui.transcript.live import Shown


class Reply:
    """The open reply, if there is one. `clock` gives seconds; the calls it writes are made known to `calls`."""

    def __init__(self, shown: Shown, clock: Callable[[], float], calls: Calls) -> None:
        self._shown = shown
        self._clock = clock
        self._calls = calls
        self._answer: Answer | None = None
        self._thinking: Thinking | None = None
        self._block = 0
        self._entries: list[Entry] = []
        """What it has put on the screen, in order."""

    def __iter__(self) -> Iterator[Entry]:
        """What of it may still change."""
        yield from self._entries
        yield from (entry for entry in (self._answer, self._thinking) if entry is not None)

    def begin(self, block: int) -> None:
        """What comes belongs to that block of the reply: what was open of another one is whole."""
        if block != self._block:
            self._end_thinking()
            self._end_answer()
            self._block = block

    def text(self, text: str) -> None:
        """More of an answer came."""
        self._end_thinking()
        if self._answer is None:
            self._answer = Answer.begun()
        self._answer.body.feed(text)
        if self._answer in self._entries:
            self._shown.changed(self._answer)
        elif self._answer.body.source.strip():
            self._put(self._answer)

    def think(self, text: str) -> None:
        """More thinking came."""
        self._end_answer()
        if self._thinking is None:
            self._thinking = Thinking("", open=True, started=self._clock())
            self._put(self._thinking)
        self._thinking.text += text
        self._shown.changed(self._thinking)

    def write(self, call: str, tool: str, size: int) -> None:
        """`size` bytes of a call are written."""
        self._end_thinking()
        self._end_answer()
        entry = self._calls.find(call)
        if entry is None:
            entry = ToolCall(call, tool, state="writing")
            self._calls.begin(entry)
            self._put(entry)
        entry.size = size
        self._shown.changed(entry)

    def _put(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._shown.put(entry)

    def _end_answer(self) -> None:
        if self._answer is not None:
            self._answer.body.finish()
            self._shown.changed(self._answer)
            self._answer = None

    def _end_thinking(self) -> None:
        if self._thinking is not None:
            self._thinking.open = False
            self._thinking.seconds = self._clock() - self._thinking.started
            self._shown.changed(self._thinking)
            self._thinking = None

    def close(self) -> None:
        """Nothing more comes of the open reply; calls it had begun to write will not run."""
        self._end_answer()
        self._end_thinking()
        for entry in self._entries:
            if isinstance(entry, ToolCall) and entry.state == "writing":
                entry.state = "interrupted"
                self._shown.changed(entry)
                self._calls.forget(entry.call)
        self._entries = []

    def ended(self, event: events.ReplyEnded) -> None:
        """It is whole, or was cut off, and is kept."""
        self._end_answer()
        self._end_thinking()
        for entry in self._entries:
            entry.record = event.record
        answers = [entry for entry in self._entries if isinstance(entry, Answer)]
        shown = "\n".join(entry.body.source for entry in answers)
        if event.text and shown.split() != event.text.split():
            answers = [self._replace(answers, event.text, event.record)]
        if event.partial and answers:
            answers[-1].partial = True
            self._shown.changed(answers[-1])
        elif event.partial:
            self._shown.put(Note("The answer was cut off here.", "warning"))
        if event.partial:
            self.close()
        for entry in self._entries:
            if isinstance(entry, ToolCall) and entry.state == "writing":
                entry.state, entry.size = "waiting", 0
                self._shown.changed(entry)
        self._entries = []

    def _replace(self, answers: Sequence[Answer], text: str, record: str) -> Answer:
        """What was kept is not what was streamed: show what was kept."""
        for entry in answers[1:]:
            self._shown.drop(entry)
        if answers:
            answers[0].body = Answer.whole(text).body
            self._shown.changed(answers[0])
            return answers[0]
        answer = Answer.whole(text, record=record)
        self._put(answer)
        return answer

    def dropped(self, reason: str) -> None:
        """Nothing of it is kept."""
        self._end_answer()
        self._end_thinking()
        dropped, self._entries = self._entries, []
        if not dropped:
            return
        texts = []
        for entry in dropped:
            self._shown.drop(entry)
            match entry:
                case Answer(body=body):
                    texts.append(body.source)
                case Thinking(text=text):
                    texts.append(text)
                case ToolCall(call=call, tool=tool, size=size):
                    self._calls.forget(call)
                    texts.append(f"[{tool}: {size} bytes of a call]")
                case _:
                    pass
        self._shown.put(Aside(f"not kept: {reason}", "\n\n".join(text for text in texts if text)))
