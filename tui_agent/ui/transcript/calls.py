"""The calls that are made, and the questions about them, as entries of the transcript.

A call is known from its first written byte, or from its start, until its end has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent import events
from tui_agent.literal import one_line
from tui_agent.ui.transcript.entries import Note, ToolCall, is_short, main_argument
from tui_agent.ui.transcript.said import plain_text

if TYPE_CHECKING:
    from tui_agent.ui.transcript.live import Shown

_RULES = {"session": "allowed for this session", "always": "allowed from now on"}
_SAID = 200
"""Characters of an answer, or of what it was about, that its line tells."""


class Calls:
    """The calls whose end has not come. `clock` gives seconds."""

    def __init__(self, shown: Shown, clock: Callable[[], float]) -> None:
        self._shown = shown
        self._clock = clock
        self._open: dict[str, ToolCall] = {}
        self._questions: dict[str, events.Question] = {}

    def __iter__(self) -> Iterator[ToolCall]:
        return iter(self._open.values())

    @property
    def running(self) -> Sequence[ToolCall]:
        """The calls that run now."""
        return [call for call in self if call.state == "running"]

    def go_on_from(self, before: Calls) -> None:
        """The history was read anew: questions that wait, and commands of a person's own that run, are as they were."""
        self._questions = before._questions
        for call in before:
            if call.tool == events.OWN_COMMAND:
                self._open[call.call] = call
                self._shown.put(call)

    def find(self, call: str) -> ToolCall | None:
        """The entry of a call, if its end has not come."""
        return self._open.get(call)

    def begin(self, entry: ToolCall) -> None:
        """A call is begun to be written."""
        self._open[entry.call] = entry

    def forget(self, call: str) -> None:
        """It will not run."""
        self._open.pop(call, None)

    def waits(self, call: str, tool: str, title: str) -> None:
        """It is written and waits for its turn."""
        entry = self._entry(call, tool)
        entry.tool = tool
        entry.title = entry.title or title
        if entry.state in ("running", "writing"):  # a call of which nobody has heard is made as one that runs
            entry.state, entry.size = "waiting", 0
        self._shown.changed(entry)

    def started(self, event: events.ToolStarted) -> None:
        """It runs."""
        entry = self._entry(event.call, event.tool)
        entry.tool = event.tool  # a call may stand for one of another tool
        entry.title = event.title or entry.title or main_argument(event.arguments)
        if entry.state not in ("running", "asks"):
            entry.size, entry.text = 0, ""
        entry.state, entry.started = "running", self._clock()
        entry.opened = entry.opened or event.tool == events.OWN_COMMAND
        self._shown.changed(entry)

    def progress(self, call: str, text: str) -> None:
        """More of its output came."""
        entry = self._open.get(call)
        if entry is None:
            return
        entry.size += len(text.encode("utf-8", "replace"))
        entry.add_output(text)
        self._shown.changed(entry)

    def ended(self, event: events.ToolEnded) -> None:
        """Its end has come."""
        entry = self._entry(event.call, event.tool)
        self._open.pop(event.call, None)
        entry.tool, entry.title = event.tool, event.title or entry.title
        entry.state, entry.summary = event.outcome, event.summary
        self._retell(entry, event.text)
        entry.diff, entry.size = event.diff, event.size
        entry.seconds, entry.result = event.seconds, event.record
        if event.tool == events.OWN_COMMAND:
            entry.opened = is_short(event.text)
        self._shown.changed(entry)

    def interrupt(self) -> None:
        """The turn has ended: what runs in it does no longer."""
        for call in list(self):
            if call.tool == events.OWN_COMMAND:
                continue  # no turn's: it goes on, or its own end says how it ended
            if call.state in ("waiting", "running", "asks"):
                call.state = "interrupted"
                self._shown.changed(call)
            self.forget(call.call)

    def asked(self, question: events.Question) -> None:
        """A question waits for a person."""
        self._questions[question.id] = question
        if (entry := self._open.get(question.call)) is not None:
            entry.state = "asks"
            self._shown.changed(entry)

    def answered(self, question: str, answer: events.Answer) -> None:
        """It was answered."""
        asked = self._questions.pop(question, None)
        if asked is None:
            return
        entry = self._open.get(asked.call)
        if entry is not None and entry.state == "asks":
            entry.state, entry.started = "running", self._clock()
            self._shown.changed(entry)
        if said := _answer_words(asked, answer):
            self._shown.put(Note(said))

    def _entry(self, call: str, tool: str) -> ToolCall:
        entry = self._open.get(call)
        if entry is None:
            entry = self._shown.find_call(call)
            if entry is None:
                entry = ToolCall(call, tool)
                self._shown.put(entry)
            self._open[call] = entry
        return entry

    def _retell(self, entry: ToolCall, text: str) -> None:
        """All of a call's output has come, or what was kept of it."""
        before, after = plain_text(entry.text), plain_text(text)[entry.begins :]
        if not after.startswith(before):
            alike = (at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
            self._shown.retold(entry, entry.begins + next(alike, min(len(before), len(after))))
        entry.text, entry.begins = text, 0


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
