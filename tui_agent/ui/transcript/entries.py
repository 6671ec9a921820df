"""What the transcript shows, as entries: one for each thing that was said, done or went wrong.

An entry is plain data with no looks. `History` reads the entries of a stretch of messages when that stretch comes
into view, so that a session of any length opens at once; until then a `Gap` stands for it. What happens while the
program runs becomes entries in `live`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct

from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.context import Checkpoint
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.ui.transcript.stream import Splitter

State = Literal["writing", "waiting", "running", "asks", "ok", "error", "denied", "cancelled", "interrupted"]
"""Where a tool call is. `writing`: the model still writes it; `waiting`: its turn has not come; `asks`: it waits for
a person; `interrupted`: it never came to a result."""

MAIN_ARGUMENTS = ("command", "path", "file_path", "pattern", "query", "url", "prompt", "name")
"""Arguments that tell most about a call, best first."""

ORIGINS: Mapping[str, str] = {
    "summary": "summary of what came before",
    "injection": "reminder",
    "dmail": "message from the future",
    "checkpoint": "checkpoint note",
    "background": "background",
    "repair": "repair",
    "tool": "tool",
}
"""How records of the user's role that no person wrote are labelled."""

OWN = "!bash"
"""How a command that a person ran is called, apart from the model's calls."""
_OWN_LINES = 40
"""A person's own command of so many lines at most shows what it printed."""

_STOPPED: Mapping[str, str] = {
    "max_tokens": "The answer reached the output limit and stops here.",
    "refusal": "The model refused to answer.",
    "model_context_window_exceeded": "The window was full; the answer stops here.",
}
"""Stop reasons a person should read about."""

_WORDS = 60
"""Characters of a turn's words that are compared with its checkpoint's."""


class Entry(Struct, eq=False, kw_only=True):
    """One thing in the transcript. `opened` is set when a person unfolded it.

    `record` names the message of the log that it is a part of; "" while it is in none. `index` is that message's place
    in the history that was loaded, -1 if it came later.
    """

    opened: bool = False
    record: str = ""
    index: int = -1

    @property
    def foldable(self) -> bool:
        """True if it shows more when it is opened."""
        return False


class Gap(Entry, eq=False):
    """Messages `start` to `stop` (exclusive) of the history, not read yet."""

    start: int
    stop: int


class Mark(Entry, eq=False):
    """The checkpoint of a turn: its number, and when it was made (ISO 8601, or empty)."""

    number: int
    at: str = ""


class Words(Entry, eq=False):
    """What a person said; media are placeholders in it. Many lines are folded to the first of them."""

    SHOWN: ClassVar[int] = 16
    LONG: ClassVar[int] = 24

    text: str

    @property
    def foldable(self) -> bool:
        return self.text.count("\n") >= self.LONG


class Answer(Entry, eq=False):
    """The model's text, Markdown, cut into chunks as it comes. `partial`: it was cut off."""

    body: Splitter
    partial: bool = False

    @classmethod
    def begun(cls) -> Answer:
        """An answer of which nothing came yet."""
        return cls(_splitter()())

    @classmethod
    def whole(cls, text: str, *, record: str = "") -> Answer:
        """An answer that is complete."""
        return cls(_splitter().whole(text), record=record)


class Thinking(Entry, eq=False):
    """The model's thinking, folded to a line. `open`: it still goes on; `seconds`: its time, None if unknown."""

    text: str
    open: bool = False
    started: float = 0.0
    seconds: float | None = None

    @property
    def foldable(self) -> bool:
        return bool(self.text)


class ToolCall(Entry, eq=False):
    """A call of a tool: one line that opens to its output or diff. `size` is bytes, `seconds` None if unknown.

    `result` names the message of the log that brought the output. While something in it is looked for, `written` is
    the call with all its arguments, or its output is shown beside a diff too (`whole`).
    """

    call: str
    tool: str
    title: str = ""
    state: State = "running"
    summary: str = ""
    text: str = ""
    diff: str = ""
    size: int = 0
    seconds: float | None = None
    started: float = 0.0
    result: str = ""
    written: str = ""
    whole: bool = False

    @property
    def shows_text(self) -> bool:
        """Does it show its output when it is opened? A diff that could be made says the same better."""
        return bool(self.text) and (self.whole or not self.diff or self.state != "ok")

    @property
    def foldable(self) -> bool:
        return self.state not in ("writing", "waiting")


class Note(Entry, eq=False):
    """A line the program says."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class Failure(Entry, eq=False):
    """What went wrong, and the ways out."""

    text: str
    ways: Sequence[str] = ()


class Retry(Entry, eq=False):
    """The request is sent again in `seconds`; `over` once it was; `stopped` if no answer was waited for."""

    attempt: int
    attempts: int
    seconds: float
    reason: str
    over: bool = False
    stopped: bool = False


class Aside(Entry, eq=False):
    """Text that neither a person nor the model said: a summary, a reminder, an answer not kept. Folded to a line."""

    label: str
    text: str

    @property
    def foldable(self) -> bool:
        return bool(self.text)


def _splitter() -> type[Splitter]:
    from tui_agent.ui.transcript.stream import Splitter  # not needed before the first frame

    return Splitter


class _Turns:
    """The checkpoints of turns, findable by time and by words; each is read when it is asked for."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._times: dict[int, str] = {}

    def before(self, message: Message, previous: Message | None) -> Checkpoint | None:
        """The checkpoint that was made right before this message."""
        words = _squeezed(message.text)
        if not message.at:
            return self._alone.get(words)
        place = bisect_right(range(len(self._checkpoints)), message.at, key=self._time) - 1
        while place >= 0 and not self._checkpoints[place].turn:
            place -= 1
        if place < 0 or not self._time(place):
            return self._alone.get(words)
        found = self._checkpoints[place]
        if previous is not None and previous.at and previous.at > self._time(place):
            return None
        return found if words.startswith(_squeezed(found.words or "")) else None

    def _time(self, place: int) -> str:
        time = self._times.get(place)
        if time is None:
            time = self._times[place] = str(self._checkpoints[place].at or "")
        return time

    @cached_property
    def _alone(self) -> dict[str, Checkpoint | None]:
        """By the turn's words; None where two turns begin alike."""
        alone: dict[str, Checkpoint | None] = {}
        for checkpoint in self._checkpoints:
            if checkpoint.turn:
                words = _squeezed(checkpoint.words or "")
                alone[words] = None if words in alone else checkpoint
        return alone


def _squeezed(text: str) -> str:
    return " ".join(text[: _WORDS * 2].split())[:_WORDS].rstrip(".… ")


class History:
    """The messages of a session, read as entries a stretch at a time."""

    def __init__(self, messages: Sequence[Message], checkpoints: Sequence[Checkpoint]) -> None:
        self._messages = messages
        self._turns = _Turns(checkpoints)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: int) -> Message:
        return self._messages[index]

    def is_words(self, index: int) -> bool:
        """Did a person write that message?"""
        return index < len(self._messages) and self._messages[index].is_words

    def read(self, gap: Gap, start: int, stop: int) -> tuple[int, int, list[Entry]]:
        """The entries of messages `start` to `stop`, widened inside the gap so that no call is parted from its result.

        Returns what was read: first message, end, entries. A history that was rewritten meanwhile gives what is left.
        """
        end = min(gap.stop, len(self._messages))
        start, stop = max(gap.start, min(start, end)), min(stop, end)
        while gap.start < start < end and gives_results(self._messages[start]):
            start -= 1
        while stop < end and gives_results(self._messages[stop]):
            stop += 1
        entries: list[Entry] = []
        calls: dict[str, ToolCall] = {}
        previous = self._messages[start - 1] if 0 < start < end else None
        for index in range(start, stop):
            message = self._messages[index]
            name = record_name(message, index)
            for entry in self._entries(message, previous, calls):
                entry.record, entry.index = name, index
                entries.append(entry)
            for block in message.content if gives_results(message) else ():
                if (call := calls.get(str(block.get("tool_use_id", "")))) is not None:
                    call.result = name
            previous = message
        return start, stop, entries

    def _entries(
        self, message: Message, previous: Message | None, calls: dict[str, ToolCall]
    ) -> Iterator[Entry]:
        if message.role == "assistant":
            yield from _reply(message, calls)
        elif gives_results(message):
            yield from _results(message, calls)
        elif message.origin == "command":
            yield _own_command(message)
        elif message.origin is not None:
            yield Aside(ORIGINS.get(message.origin, message.origin), plain(message.content))
        else:
            checkpoint = self._turns.before(message, previous)
            if checkpoint is not None:
                yield Mark(checkpoint.id, str(checkpoint.at or ""))
            yield Words(plain(message.content))


def record_name(message: Message, index: int) -> str:
    """What the message at that place of the history is called in entries."""
    return message.id or f"#{index}"


def gives_results(message: Message) -> bool:
    """Does it bring results of calls?"""
    return message.role == "user" and any(block.get("type") == "tool_result" for block in message.content)


def _reply(message: Message, calls: dict[str, ToolCall]) -> Iterator[Entry]:
    answer: Answer | None = None
    for block in message.content:
        match block.get("type"):
            case "text":
                text = str(block.get("text", ""))
                if text.strip():
                    answer = Answer.whole(text)
                    yield answer
            case "thinking":
                yield Thinking(str(block.get("thinking", "")))
            case "redacted_thinking":
                yield Thinking("")
            case "tool_use":
                arguments = block.get("input")
                call = ToolCall(
                    str(block.get("id", "")),
                    str(block.get("name", "")),
                    main_argument(arguments if isinstance(arguments, Mapping) else {}),
                    "interrupted",
                )
                calls[call.call] = call
                yield call
            case _:
                yield Aside(f"block of type {block.get('type')}", plain([block]))
    if answer is not None:
        answer.partial = message.partial
    elif message.partial:
        yield Note("The answer was cut off here.", "warning")
    if (said := stopped(message.stop_reason or "")) is not None:
        yield said


def _results(message: Message, calls: dict[str, ToolCall]) -> Iterator[Entry]:
    results = [block for block in message.content if block.get("type") == "tool_result"]
    for block in results:
        call = calls.get(str(block.get("tool_use_id", "")))
        if call is None:
            yield Aside("result of a call that is not in the context", output_text(block))
            continue
        _settle(call, block, message.meta if len(results) == 1 else {}, repaired=message.origin == "repair")
    if rest := plain([block for block in message.content if block.get("type") != "tool_result"]):
        yield Aside(ORIGINS.get(message.origin or "", message.origin or "beside a result"), rest)


def output_text(block: Mapping[str, Any]) -> str:
    """What a call gave; media are placeholders."""
    content = block.get("content")
    return plain(content) if isinstance(content, list) else result_text(block)


def _settle(call: ToolCall, block: Block, meta: Mapping[str, Any], *, repaired: bool) -> None:
    call.text = output_text(block)
    outcome = meta.get("outcome")
    if outcome in ("ok", "error", "denied", "cancelled"):
        call.state = outcome
    else:
        call.state = "interrupted" if repaired else "error" if block.get("is_error") else "ok"
    call.title = _text(meta, "title") or call.title
    call.summary = _text(meta, "summary")
    call.diff = _text(meta, "diff")
    call.size = len(call.text.encode("utf-8", "replace"))
    ms = meta.get("ms")
    call.seconds = ms / 1000 if isinstance(ms, int | float) else None


def own_command(message: Message) -> tuple[str, str]:
    """A command that a person ran, from its record: a line that says so with the command below; the output."""
    lines = message.text.split("\n", 2)
    return "\n".join(lines[:2]), lines[-1]


def is_short(text: str) -> bool:
    """Is the output of a person's own command shown without being asked for?"""
    return text.count("\n") < _OWN_LINES


def _own_command(message: Message) -> ToolCall:
    call, text = ToolCall(message.id, OWN), own_command(message)[1]
    _settle(call, {"content": text}, message.meta, repaired=False)
    call.opened = is_short(text)
    return call


def _text(meta: Mapping[str, Any], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""


def stopped(reason: str) -> Note | None:
    """What to say about an answer that stopped for that reason; None if there is nothing to say."""
    return Note(_STOPPED[reason], "warning") if reason in _STOPPED else None


def main_argument(arguments: Mapping[str, Any]) -> str:
    """The argument that tells most about a call: one of the usual names, else the first that is text."""
    for name in MAIN_ARGUMENTS:
        if isinstance(value := arguments.get(name), str) and value:
            return value
    return next((value for value in arguments.values() if isinstance(value, str) and value), "")


def plain(blocks: Sequence[Any]) -> str:
    """The text of blocks; media are placeholders, blocks of unknown kinds JSON."""
    return "\n".join(_plain(block) for block in blocks)


def _plain(block: Any) -> str:
    if not isinstance(block, Mapping):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "document" as kind:
            return f"[{_media(kind, block.get('source'))}]"
        case "tool_result":
            return result_text(block)
        case _:
            import json  # not needed before the first frame

            return json.dumps(block, ensure_ascii=False, default=str, indent=1)


def _media(kind: str, source: Any) -> str:
    """`image png 1200x800 34 KB`, as far as it is known."""
    if not isinstance(source, Mapping):
        return kind
    words = [kind]
    if isinstance(media := source.get("media_type"), str):
        words.append(media.rpartition("/")[2])
    width, height = source.get("width"), source.get("height")
    if isinstance(width, int) and isinstance(height, int):
        words.append(f"{width}x{height}")
    if isinstance(size := source.get("bytes"), int):
        words.append(human_size(size))
    return " ".join(words)


def human_size(count: int) -> str:
    """Bytes in words of at most seven characters: `812 B`, `2.1 KB`, `34 KB`."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.5 or unit == "TB":
            break
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:,.0f} {unit}"


def human_time(seconds: float) -> str:
    """A duration in words: `0.1 s`, `12 s`, `3 min 12 s`."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def short_time(seconds: float) -> str:
    """A duration in at most eight characters, up to 999 hours: `0.1 s`, `12 s`, `3m 12s`, `2h 5m`."""
    if seconds < 59.5:
        return human_time(seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"
