"""What happens while the program runs, as entries: the events of a session told to the transcript.

`Live` keeps what is still open: the answer that is being written, the calls that run, a retry that waits. It knows no
widget; it adds, changes and removes entries of a `Shown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from tui_agent import events
from tui_agent.literal import one_line
from tui_agent.messages.blocks import text_block
from tui_agent.ui.transcript.entries import (
    GOAL,
    Answer,
    Aside,
    Entry,
    Failure,
    Mark,
    Note,
    Retry,
    Thinking,
    ToolCall,
    Words,
    is_short,
    main_argument,
    plain,
    told_words,
    unwrapped,
)
from tui_agent.ui.transcript.said import plain_text

_RULES = {"session": "allowed for this session", "always": "allowed from now on"}
_SAID = 200
"""Characters of an answer, or of what it was about, that its line tells."""


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
        self._clock = clock
        self._answer: Answer | None = None
        self._thinking: Thinking | None = None
        self._block = 0
        self._reply: list[Entry] = []
        """What the open reply has put on the screen, in order."""
        self._calls: dict[str, ToolCall] = {}
        self._retry: Retry | None = None
        self._model = ""
        self._questions: dict[str, events.Question] = {}
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
        return [call for call in self._calls.values() if call.state == "running"]

    @property
    def open(self) -> Iterator[Entry]:
        """What may still change."""
        yield from self._reply
        yield from self._calls.values()
        yield from (entry for entry in (self._answer, self._thinking, self._retry) if entry is not None)

    def go_on_from(self, before: Live) -> None:
        """The history was read anew: which prompts wait, and commands of a person's own that run, is as it was."""
        self._queue, self._model, self._questions = before._queue, before._model, before._questions
        self._trouble, self._said = before._trouble, before._said
        for call in before._calls.values():
            if call.tool == events.OWN_COMMAND:
                self._calls[call.call] = call
                self._shown.put(call)

    def feed(self, event: events.Event) -> None:
        """Take an event."""
        self._deliver(event)
        match event:
            case events.TextDelta(text, block):
                self._begin_block(block)
                self._more_text(text)
            case events.ThinkingDelta(text, block):
                self._begin_block(block)
                self._more_thinking(text)
            case events.ToolUseDelta(call, tool, size):
                self._writing(call, tool, size)
            case events.ReplyEnded():
                self._reply_ended(event)
            case events.ReplyDropped(reason):
                self._reply_dropped(reason)
            case events.RetryWaiting():
                self._waits(event)
            case events.ToolWaiting(call, tool, arguments):
                self._tool_waits(call, tool, main_argument(arguments))
            case events.ToolStarted():
                self._tool_started(event)
            case events.ToolProgress(call, text):
                self._tool_progress(call, text)
            case events.ToolEnded():
                self._tool_ended(event)
            case events.Asked(question):
                self._asked(question)
            case events.Answered(question, answer):
                self._answered(question, answer)
            case events.TurnStarted(_, number, prompt, images, goal, record):
                self._close_reply()
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
                self._close_reply()
            case events.TurnEnded():
                self._turn_ended(event)
            case events.RequestFailed(_, message, ways):
                self._end_retry()
                self._fail(message, ways)
            case events.LogFailed(message, ways):
                self._fail(f"The session could not be written. {message}", ways)
                self._trouble.add(message)
            case events.LogRecovered():
                self._shown.put(Note("The session is written again."))
            case events.Notice(text, level):
                self._shown.put(Note(text, level))
            case events.SessionOpened():
                self._model = event.model
                for text in event.repaired:
                    self._shown.put(Note(text, "warning"))
            case (
                events.CompactionStarted()
                | events.CompactionFailed()
                | events.CompactionSkipped()
                | events.CompactionHeld()
                | events.MicroCompacted()
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
        if isinstance(event, events.Appended) and event.role == "user":
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
            case events.Appended("user", record) if self._taken:
                self._delivered = self._taken.pop(0), record
            case _:
                self._taken = []

    # --- the reply

    def _put(self, entry: Entry) -> None:
        self._reply.append(entry)
        self._shown.put(entry)

    def _begin_block(self, block: int) -> None:
        """What comes belongs to that block of the reply: what was open of another one is whole."""
        if block != self._block:
            self._end_thinking()
            self._end_answer()
            self._block = block

    def _more_text(self, text: str) -> None:
        self._end_retry()
        self._end_thinking()
        if self._answer is None:
            self._answer = Answer.begun()
        self._answer.body.feed(text)
        if self._answer in self._reply:
            self._shown.changed(self._answer)
        elif self._answer.body.source.strip():
            self._put(self._answer)

    def _more_thinking(self, text: str) -> None:
        self._end_retry()
        self._end_answer()
        if self._thinking is None:
            self._thinking = Thinking("", open=True, started=self._clock())
            self._put(self._thinking)
        self._thinking.text += text
        self._shown.changed(self._thinking)

    def _writing(self, call: str, tool: str, size: int) -> None:
        self._end_retry()
        self._end_thinking()
        self._end_answer()
        entry = self._calls.get(call)
        if entry is None:
            entry = self._calls[call] = ToolCall(call, tool, state="writing")
            self._put(entry)
        entry.size = size
        self._shown.changed(entry)

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

    def _close_reply(self) -> None:
        """Nothing more comes of the open reply; calls it had begun to write will not run."""
        self._end_answer()
        self._end_thinking()
        for entry in self._reply:
            if isinstance(entry, ToolCall) and entry.state == "writing":
                entry.state = "interrupted"
                self._shown.changed(entry)
                self._calls.pop(entry.call, None)
        self._reply = []

    def _reply_ended(self, event: events.ReplyEnded) -> None:
        self._end_retry()
        self._end_answer()
        self._end_thinking()
        for entry in self._reply:
            entry.record = event.record
        answers = [entry for entry in self._reply if isinstance(entry, Answer)]
        shown = "\n".join(entry.body.source for entry in answers)
        if event.text and shown.split() != event.text.split():
            answers = [self._replace(answers, event.text, event.record)]
        if event.partial and answers:
            answers[-1].partial = True
            self._shown.changed(answers[-1])
        elif event.partial:
            self._shown.put(Note("The answer was cut off here.", "warning"))
        if event.partial:
            self._close_reply()
        for entry in self._reply:
            if isinstance(entry, ToolCall) and entry.state == "writing":
                entry.state, entry.size = "waiting", 0
                self._shown.changed(entry)
        self._reply = []

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

    def _reply_dropped(self, reason: str) -> None:
        self._end_answer()
        self._end_thinking()
        dropped, self._reply = self._reply, []
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
                    self._calls.pop(call, None)
                    texts.append(f"[{tool}: {size} bytes of a call]")
                case _:
                    pass
        self._shown.put(Aside(f"not kept: {reason}", "\n\n".join(text for text in texts if text)))

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
        self._close_reply()
        for call in list(self._calls.values()):
            if call.tool == events.OWN_COMMAND:
                continue  # no turn's: it goes on, or its own end says how it ended
            if call.state in ("waiting", "running", "asks"):
                call.state = "interrupted"
                self._shown.changed(call)
            del self._calls[call.call]
        if event.reason == "cancelled":
            self._shown.put(Note("Stopped.", "warning"))
        elif event.error and event.error not in self._trouble:
            self._shown.put(Failure(event.error))

    # --- tools and questions

    def _call(self, call: str, tool: str) -> ToolCall:
        entry = self._calls.get(call)
        if entry is None:
            entry = self._shown.find_call(call)
            if entry is None:
                entry = ToolCall(call, tool)
                self._shown.put(entry)
            self._calls[call] = entry
        return entry

    def _tool_waits(self, call: str, tool: str, title: str) -> None:
        entry = self._call(call, tool)
        entry.tool = tool
        entry.title = entry.title or title
        if entry.state in ("running", "writing"):  # a call of which nobody has heard is made as one that runs
            entry.state, entry.size = "waiting", 0
        self._shown.changed(entry)

    def _tool_started(self, event: events.ToolStarted) -> None:
        entry = self._call(event.call, event.tool)
        entry.tool = event.tool  # a call may stand for one of another tool
        entry.title = event.title or entry.title or main_argument(event.arguments)
        if entry.state not in ("running", "asks"):
            entry.size, entry.text = 0, ""
        entry.state, entry.started = "running", self._clock()
        entry.opened = entry.opened or event.tool == events.OWN_COMMAND
        self._shown.changed(entry)

    def _tool_progress(self, call: str, text: str) -> None:
        entry = self._calls.get(call)
        if entry is None:
            return
        entry.size += len(text.encode("utf-8", "replace"))
        entry.add_output(text)
        self._shown.changed(entry)

    def _tool_ended(self, event: events.ToolEnded) -> None:
        entry = self._call(event.call, event.tool)
        self._calls.pop(event.call, None)
        entry.tool, entry.title = event.tool, event.title or entry.title
        entry.state, entry.summary = event.outcome, event.summary
        self._retell(entry, event.text)
        entry.diff, entry.size = event.diff, event.size
        entry.seconds, entry.result = event.seconds, event.record
        if event.tool == events.OWN_COMMAND:
            entry.opened = is_short(event.text)
        self._shown.changed(entry)

    def _retell(self, entry: ToolCall, text: str) -> None:
        """All of a call's output has come, or what was kept of it."""
        before, after = plain_text(entry.text), plain_text(text)[entry.begins :]
        if not after.startswith(before):
            alike = (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
            self._shown.retold(entry, entry.begins + next(alike, min(len(before), len(after))))
        entry.text, entry.begins = text, 0

    def _asked(self, question: events.Question) -> None:
        self._questions[question.id] = question
        if (entry := self._calls.get(question.call)) is not None:
            entry.state = "asks"
            self._shown.changed(entry)

    def _answered(self, question: str, answer: events.Answer) -> None:
        asked = self._questions.pop(question, None)
        if asked is None:
            return
        entry = self._calls.get(asked.call)
        if entry is not None and entry.state == "asks":
            entry.state, entry.started = "running", self._clock()
            self._shown.changed(entry)
        if said := _answer_words(asked, answer):
            self._shown.put(Note(said))


def _answer_words(question: events.Question, answer: events.Answer) -> str:
    """What a card that was answered says beside its call's own line: the rule, the reason, the words."""
    if answer.verdict == "dismissed":
        return ""
    if question.kind == "review":
        return f"{question.title} {_reviewed(answer)}"
    if question.kind == "plan":
        return _planned(question, answer)
    if question.kind == "agree":
        return f"{question.title} {one_line(answer.note, _SAID)}"
    if question.kind != "approval":
        return f"{question.title}: {one_line(answer.note, _SAID)}"
    if answer.verdict in _RULES:
        rule = answer.rule or question.rule
        return f"{_RULES[answer.verdict]}: {rule}" if rule else _RULES[answer.verdict]
    if answer.verdict == "no" and answer.note:
        return f"refused: {one_line(answer.note, _SAID)}"
    return f"edited by you: {one_line(answer.edited, _SAID)}" if answer.edited is not None else ""


def _planned(question: events.Question, answer: events.Answer) -> str:
    if answer.verdict == "no":
        return (
            f"the plan is rejected: {one_line(answer.note, _SAID)}" if answer.note else "the plan is rejected"
        )
    edited = ", as edited by you" if answer.edited is not None else ""
    return f"the plan is accepted{edited}; mode {one_line(answer.rule or question.rule, _SAID)}"


def _reviewed(answer: events.Answer) -> str:
    if answer.verdict == "no":
        return f"discarded: {one_line(answer.note, _SAID)}" if answer.note else "discarded"
    return "accepted, as edited by you" if answer.edited is not None else "accepted"
