"""A session's messages read as entries, a stretch at a time, when it comes into view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tui_agent.events import OWN_COMMAND
from tui_agent.messages.blocks import result_text
from tui_agent.ui.transcript.entries import (
    GOAL,
    Answer,
    Aside,
    Entry,
    Gap,
    Mark,
    Note,
    Thinking,
    ToolCall,
    Words,
    is_short,
    main_argument,
    plain,
    stopped,
    told_words,
    unwrapped,
)

if TYPE_CHECKING:
    from tui_agent.context import Checkpoint
    from tui_agent.messages.blocks import Block, Message

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

_WORDS = 60
"""Characters of a turn's words that are compared with its checkpoint's."""


class _Turns:
    """The checkpoints of turns, findable by time and by words; each is read when it is asked for."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._times: dict[int, str] = {}

    def grow(self, checkpoints: Sequence[Checkpoint]) -> None:
        """There are more of them."""
        self._checkpoints = checkpoints
        self.__dict__.pop("_alone", None)

    def before(self, message: Message, previous: Message | None) -> Checkpoint | None:
        """The checkpoint that was made right before these words."""
        words = _squeezed(message.text)
        place = self._place(message)
        if place is None:
            return self._alone.get(words)
        found = self._right_before(place, previous)
        said = _squeezed(found.words) if found is not None else ""
        return found if (words.startswith(said) if said else not words) else None

    def begun_by(self, message: Message, previous: Message | None) -> Checkpoint | None:
        """The checkpoint that was made right before what begins a turn in which nobody spoke."""
        place = self._place(message)
        return self._right_before(place, previous) if place is not None else None

    def _place(self, message: Message) -> int | None:
        """The place of the newest turn's checkpoint before a message; None where times do not tell."""
        if not message.at:
            return None
        place = bisect_right(range(len(self._checkpoints)), message.at, key=self._time) - 1
        while place >= 0 and not self._checkpoints[place].turn:
            place -= 1
        return place if place >= 0 and self._time(place) else None

    def _right_before(self, place: int, previous: Message | None) -> Checkpoint | None:
        """The checkpoint at that place, if it came behind the message before."""
        if previous is not None and previous.at and previous.at > self._time(place):
            return None
        return self._checkpoints[place]

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
    """The messages of a session, read as entries a stretch at a time. `summary` makes the entry of a summary."""

    def __init__(
        self,
        messages: Sequence[Message],
        checkpoints: Sequence[Checkpoint],
        summary: Callable[[Message], Entry] | None = None,
    ) -> None:
        self._messages = messages
        self._summary = summary
        self._turns = _Turns(checkpoints)
        self._named = len(messages)
        """The first message that was not asked for its name."""
        self._places: dict[str, int] = {}
        self._thought: dict[str, tuple[float | None, ...]] = {}

    def grow(self, messages: Sequence[Message], checkpoints: Sequence[Checkpoint]) -> Moves | None:
        """More was said; returns where messages stand now if some were left out since, or came back.

        Nothing changes if none of those that were there is there any more: that is another history.
        """
        moves = self._moves(messages)
        if moves is not None and not moves.places:
            return None
        self._messages = messages
        self._turns.grow(checkpoints)
        if moves is not None:
            self._named = moves.before(self._named)
            names = {name: moves.where.get(name) for name in self._places}
            self._places = {name: place for name, place in names.items() if place is not None}
        return moves

    def _moves(self, messages: Sequence[Message]) -> Moves | None:
        known = len(self)
        begins_as = getattr(messages, "begins_as", None)
        if begins_as is not None and begins_as(self._messages, known):
            return None
        old, new = _record_names(self._messages), _record_names(messages)
        return None if old == new[:known] else Moves(old, new)

    def place(self, name: str) -> int | None:
        """The number of a message that came after this was made, until it is forgotten; None if there is none."""
        while name not in self._places and self._named < len(self):
            self._places[record_name(self[self._named], self._named)] = self._named
            self._named += 1
        return self._places.get(name)

    def forget(self, name: str) -> None:
        """Nobody asks for that message's number any more."""
        self._places.pop(name, None)

    def remember(self, name: str, seconds: Sequence[float | None]) -> None:
        """How long each thinking of that message took: the log does not hold it."""
        self._thought[name] = tuple(seconds)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: int) -> Message:
        return self._messages[index]

    def find(self, name: str) -> int | None:
        """The number of a message, whenever it came; None if there is none of that name."""
        names = _record_names(self._messages)
        return names.index(name) if name in names else None

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
            thought = iter(self._thought.get(name, ()))
            for entry in self._entries(message, previous, calls):
                entry.record, entry.index = name, index
                if isinstance(entry, Thinking):
                    entry.seconds = next(thought, None)
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
        elif message.origin == "summary" and self._summary is not None:
            yield self._summary(message)
        elif message.origin == "injection" and "turn" in message.meta:
            if (turn := self._turns.begun_by(message, previous)) is not None:
                yield Mark(turn.id, str(turn.at or ""))
            yield Aside(GOAL, unwrapped(message.text))
        elif message.origin == "injection" and (told := _text(message.meta, "told")):
            yield Aside(told_words(told), unwrapped(message.text))
        elif message.origin is not None:
            yield Aside(ORIGINS.get(message.origin, message.origin), plain(message.content))
        else:
            checkpoint = self._turns.before(message, previous)
            if checkpoint is not None:
                yield Mark(checkpoint.id, str(checkpoint.at or ""))
            yield Words(plain(message.content))


class Moves:
    """Where the messages of a history stand after some were left out or came back, all in the same order."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.where = {name: place for place, name in enumerate(new)}
        """By name."""
        self.places = {place: self.where[name] for place, name in enumerate(old) if name in self.where}
        """By the place where they stood."""
        self._before: list[int] = []
        end = 1 + max(self.places.values(), default=-1)
        for place in range(len(old), -1, -1):
            end = self.places.get(place, end)
            self._before.append(end)
        self._before.reverse()
        self._before[0] = 0

    def before(self, place: int) -> int:
        """The place before which all stands that stood before this one."""
        return self._before[place]


def _record_names(messages: Sequence[Message]) -> list[str]:
    names = getattr(messages, "names", None)
    if names is not None:
        found: list[str] = names()
        return found
    return [record_name(message, index) for index, message in enumerate(messages)]


def record_name(message: Message, index: int) -> str:
    """What the message at that place of the history is called in entries."""
    return message.id or f"#{index}"


def entry_names(entry: Entry) -> Iterator[str]:
    """The messages of the log that an entry is a part of."""
    if entry.record:
        yield entry.record
    if isinstance(entry, ToolCall) and entry.result:
        yield entry.result


def entry_key(entry: Entry) -> tuple[object, ...]:
    """What tells entries apart, whether they are shown as they happened or read from the log."""
    match entry:
        case Mark():
            return Mark, entry.number
        case ToolCall() if entry.tool == OWN_COMMAND:
            return ToolCall, *list(entry_names(entry))[:1]
        case ToolCall():
            return ToolCall, entry.call
        case _:
            return type(entry), entry.record


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
        meta = message.meta if len(results) == 1 else {}
        call.tool = _text(meta, "tool") or call.tool  # a call may stand for one of another tool
        _settle(call, block, meta, repaired=message.origin == "repair")
    if rest := plain([block for block in message.content if block.get("type") != "tool_result"]):
        yield Aside(ORIGINS.get(message.origin or "", message.origin or "beside a result"), rest)


def output_text(block: Mapping[str, Any]) -> str:
    """What a call gave; media are placeholders."""
    content = block.get("content")
    return plain(content) if isinstance(content, list) else result_text(block)


def _settle(call: ToolCall, block: Block, meta: Mapping[str, Any], *, repaired: bool) -> None:
    call.text = output_text(block)
    outcome = meta.get("outcome")
    if outcome in ("ok", "error", "denied", "cancelled", "interrupted"):
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


def _own_command(message: Message) -> ToolCall:
    call, text = ToolCall(message.id, OWN_COMMAND), own_command(message)[1]
    _settle(call, {"content": text}, message.meta, repaired=False)
    call.opened = is_short(text)
    return call


def _text(meta: Mapping[str, Any], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""
