"""What happened in the session: the trace on disk, live, in figures and words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual import work
from textual.content import Content

from tui_agent import literal
from tui_agent.ui import words
from tui_agent.ui.inspector.tab import Around, Key, Tab
from tui_agent.ui.inspector.trace import Trace, decoded
from tui_agent.ui.leaf import Leaf
from tui_agent.ui.rows import Cell, Column, Rows

if TYPE_CHECKING:
    from textual.widget import Widget

    from tui_agent.context import Context

_TROUBLE = ("request_failed", "log_failed", "reply_dropped", "retry_waiting")
_LENGTHS = ("text", "body", "diff", "prompt", "prompts", "arguments", "editable", "value", "words", "title")
"""Fields of which the trace keeps the length alone."""
_MOST_WORDS = 400


def told(event: Mapping[str, Any]) -> str:
    """The figures of an event, in words."""
    match event.get("event"):
        case "session_opened":
            again = "resumed" if event.get("resumed") else "new"
            return f"{again}, {event.get('model')}, window {_number(event.get('window'))}"
        case "turn_started":
            return f"turn {event.get('number')}, {_number(event.get('prompt'))} characters"
        case "turn_ended":
            error = f": {event['error']}" if event.get("error") else ""
            return f"{event.get('reason')}{error}, {_steps(event.get('steps'))}, {_seconds(event.get('seconds'))}"
        case "step_started":
            return f"step {event.get('step')}"
        case "weighed":
            mark = event.get("mark")
            total = event.get("total")
            weight = words.number(total, str(mark)) if isinstance(total, int) else "?"
            return f"{weight} of {_number(event.get('window'))} tokens"
        case "usage_reported":
            return (
                f"{_number(event.get('total'))} tokens: new {_number(event.get('input'))}, "
                f"cache read {_number(event.get('cache_read'))}, written {_number(event.get('cache_write'))}, "
                f"answer {_number(event.get('output'))}"
            )
        case "reply_ended":
            if event.get("partial"):  # the trace does not know how much had come
                return f"{event.get('stop_reason')}, partial"
            return f"{event.get('stop_reason')}, {_number(event.get('text'))} characters"
        case "tool_waiting":
            return str(event.get("tool"))
        case "tool_started":
            accepted = ": arguments accepted" if event.get("title") else ""
            return f"{event.get('tool')}{accepted}"
        case "tool_ended":
            size = event.get("size")
            amount = words.size(size) if isinstance(size, int) else "?"
            return f"{event.get('tool')} {event.get('outcome')}, {amount}, {_seconds(event.get('seconds'))}"
        case "asked" if isinstance(question := event.get("question"), Mapping):
            about = f" of {question['tool']}" if question.get("tool") else ""
            return f"{question.get('id')}: {question.get('kind')}{about}"
        case "answered" if isinstance(answer := event.get("answer"), Mapping):
            noted = ", with words" if answer.get("note") else ""
            return f"{event.get('question')}: {answer.get('verdict')}{noted}"
        case "appended":
            return f"{event.get('role')} in line {_number(event.get('line'))}"
        case "rotated":
            return (
                f"{event.get('op')}, before: {event.get('backup')}, {_number(event.get('records'))} records"
            )
        case "retry_waiting":
            return f"try {event.get('attempt')} of {event.get('attempts')}: {event.get('reason')}"
        case "request_failed" | "log_failed":
            return f"{event.get('kind', '')} {event.get('message', '')}".strip()
        case "":
            return str(event.get("line", ""))
    return _plainly({key: value for key, value in event.items() if key not in ("at", "event")})


def _plainly(fields: Mapping[str, Any]) -> str:
    """An event without words of its own: its fields, one after the other."""
    parts = []
    for key, value in fields.items():
        if isinstance(value, Mapping):
            parts.append(_plainly(value))
        elif key in _LENGTHS:
            parts.append(f"{key} of {_number(value)} characters" if value else "")
        elif value is True:
            parts.append(key.replace("_", " "))
        elif value not in (None, "", [], False):
            parts.append(f"{key.replace('_', ' ')} {value}")
    return ", ".join(filter(None, parts))


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def _steps(value: object) -> str:
    return f"{value} step{'' if value == 1 else 's'}"


def _seconds(value: object) -> str:
    return f"{value:.1f} s" if isinstance(value, int | float) else "?"


class Events(Tab):
    """The events, the newest last. Enter shows one whole."""

    NAME = "Events"

    def __init__(self, context: Context, around: Callable[[], Around]) -> None:
        rows = Rows(self.cells, key=self._identity, text=self._text, empty="Nothing has happened yet.")
        super().__init__(context, rows, around)
        self._trace: Trace | None = None
        self._lines: Sequence[bytes] = ()
        self._dropped = 0
        self._reading = asyncio.Lock()

    def columns(self) -> Sequence[Column]:
        name = 15 if self.narrow else 18
        return (Column("time", 8), Column("event", name), Column("figures"))

    def __len__(self) -> int:
        return len(self._lines)

    def detail(self) -> Widget:
        return Leaf()

    def load(self) -> None:
        path = self.around.trace
        if self._trace is None and path is not None:
            self._trace = Trace(path)
        self._read()

    def follow(self) -> None:
        """Records are told of in the trace as well."""
        self._read()

    def heard(self) -> None:
        self.grew()

    @work(group="read", exit_on_error=False)
    async def _read(self) -> None:
        async with self._reading:
            await self._read_on()

    async def _read_on(self) -> None:
        first = not len(self._lines)
        if self._trace is None:
            self.rows.empty = "There is no events.jsonl beside this log: nobody traced it."
            self.rows.redraw()
            return
        try:
            new = await asyncio.to_thread(self._trace.read)
        except FileNotFoundError:
            self.rows.empty = "There is no trace yet: what happens is written to events.jsonl."
            self.rows.redraw()
            return
        if not new:
            return
        last = self.rows.cursor == len(self._lines) - 1
        self._lines = list(self._trace.lines)
        if self._trace.dropped != self._dropped or first:
            self._dropped = self._trace.dropped
            self.rows.show(self.cells, len(self._lines), columns=self.columns())
            if last:
                self.rows.move(len(self._lines) - 1)
        else:
            self.rows.grow(len(self._lines))
        self._sums(self._trace)

    def _sums(self, trace: Trace) -> None:
        count = f"{len(self._lines):,} event{'' if len(self._lines) == 1 else 's'}"
        self.say(Content(f"the last {count}; all of them: {trace.path.name}" if trace.earlier else count))

    def _identity(self, index: int) -> int:
        return index + self._dropped

    def _text(self, index: int) -> str:
        event = decoded(self._lines[index])
        return f"{event.get('event', '')} {told(event)} {' '.join(_values(event))}"

    def cells(self, index: int) -> Sequence[Cell]:
        event = decoded(self._lines[index])
        name = str(event.get("event", ""))
        bad = (
            name in _TROUBLE or event.get("level") in ("warning", "error") or event.get("outcome") == "error"
        )
        style = "bold $text-error" if bad else "$text-primary"
        said = literal.one_line(told(event)[:_MOST_WORDS], _MOST_WORDS)
        return (
            words.clock_seconds(event.get("at")),
            Content.styled(literal.one_line(name.replace("_", " "), 40) or "no event", style),
            said,
        )

    def open(self, index: int) -> None:
        event = decoded(self._lines[index])
        said = json.dumps(event, ensure_ascii=False, indent=1, default=str)
        title = f"{event.get('event', '')}  {event.get('at', '')}"
        self.query_one(Leaf).show([(title, "bold"), (told(event), ""), ("", ""), (said, "")])

    def keys(self) -> Sequence[Key]:
        if not len(self):
            return []
        return [*self.reading_keys(), Key("/", "filter", "filter")]


def _values(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _values(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _values(inner)]
    return [str(value)]
