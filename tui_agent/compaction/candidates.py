"""What of a history may be shortened without a model, and what would stand in its place.

Looked at is the log as it is sent now: what an elision is in force on is not found again, what a person brought back
is left alone, whatever the texts say. Records are grouped as the API sees them: a *run* is the records of one role in
a row, one message there. Nothing that is found makes a run empty, but for a whole exchange, whose two runs go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tui_agent.compaction.placeholders import acknowledges, is_nothing, shortened, squeezed
from tui_agent.compaction.priority import CRITICAL, TRIVIAL, renewed_by, sources_of
from tui_agent.literal import one_line
from tui_agent.messages.blocks import result_text, tool_called
from tui_agent.messages.wellformed import SIGNED

if TYPE_CHECKING:
    from tui_agent.compaction.priority import Priorities
    from tui_agent.context import Context
    from tui_agent.context.elisions import Elision
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.settings.schema import Compaction

Kind = Literal["superseded", "expired", "exchange", "acknowledgement", "blank", "result"]
KINDS: tuple[Kind, ...] = ("superseded", "expired", "exchange", "acknowledgement", "blank", "result")
"""In the order in which they go, among those of one priority."""

_BLANK_GAIN = 200
"""Characters of blank lines from which on it pays to write a result down without them."""


_NAME_CHARACTERS = 100


class Item(Struct, frozen=True):
    """An item of an `_elide`: a record, a place in its content (None: all of it), and what stands there then."""

    record: str
    block: int | None
    text: str | None

    def api(self) -> dict[str, Any]:
        """The item as it is written."""
        whole = (
            {"record": self.record} if self.block is None else {"record": self.record, "block": self.block}
        )
        return {**whole, "as": self.text}


class Candidate(Struct, frozen=True):
    """Something that may be shortened, all of it or nothing.

    `place` is where its first message stands in the history, `run` the number of that message's run, `drops` the
    blocks that would be gone from it (0 where texts take their place, or where the whole run goes). `words` tell a
    person what it is.
    """

    kind: Kind
    priority: int
    place: int
    run: int
    items: tuple[Item, ...]
    words: str
    drops: int = 0

    @property
    def order(self) -> tuple[int, int, int]:
        """What goes first: the least priority, then what says least, then the oldest."""
        return self.priority, KINDS.index(self.kind), self.place


class Seen(Struct):
    """A message as it is sent, and what decides about it."""

    place: int
    message: Message
    blocks: list[Block]
    """As they are on disk: their places are what an elision names."""
    body: Mapping[str, Any]
    priority: int
    ttl: int | None
    fixed: bool
    elided: Mapping[int | None, Elision]
    returned: frozenset[int | None]
    sent: list[tuple[int, Block]]
    """The blocks that are sent, with their places."""

    @property
    def id(self) -> str:
        return self.message.id

    @property
    def free(self) -> bool:
        """True if all of it may go: nothing fixes it, nobody brought any of it back, no person elided any of it."""
        if self.fixed or self.returned or None in self.elided:
            return False
        return all(elision.by == "auto" for elision in self.elided.values())

    def is_free(self, block: int) -> bool:
        """True if a block may be shortened: no elision is in force on it, and nobody brought it back."""
        return not {None, block} & (self.elided.keys() | self.returned) and not self.fixed


class Run(Struct):
    """The records that are one message to the API."""

    role: str
    seen: list[Seen]
    answers: int = 0
    """How many runs of the model come behind it."""
    old: bool = False
    """Calls and their results: beyond the newest that are never touched, and followed by an answer."""

    @property
    def results(self) -> bool:
        return self.role == "user" and any(
            b.get("type") == "tool_result" for s in self.seen for b in s.blocks
        )


class Candidates:
    """What may be shortened in a history."""

    def __init__(self, context: Context, settings: Compaction, priorities: Priorities) -> None:
        self._context = context
        self._settings = settings
        self._priorities = priorities
        self.names: list[str] = []
        """The records of the history, in order."""
        self.runs = self._read()
        self.left = [sum(len(seen.sent) for seen in run.seen) for run in self.runs]
        """By run, how many blocks are sent of it: at least one has to stay."""

    def find(self) -> list[Candidate]:
        """All of them, what goes first in front."""
        found = [*self._superseded(), *self._expired(), *self._exchanges()]
        found += [*self._acknowledgements(), *self._results()]
        return sorted(found, key=lambda candidate: candidate.order)

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self) -> list[Run]:
        seen = (self._see(place, message) for place, message in enumerate(self._context.history))
        said = (one for one in seen if one.sent)
        runs = [Run(role, list(group)) for role, group in groupby(said, lambda one: one.message.role)]
        answers = touched = 0
        for run in reversed(runs):
            run.answers = answers
            answers += run.role == "assistant"
            touched += run.results
            # Calls are as old as their results, which were looked at just before.
            run.old = touched > self._settings.micro_keep and run.answers > 0
        return runs

    def _see(self, place: int, message: Message) -> Seen:
        context, priorities = self._context, self._priorities
        self.names.append(message.id)
        body = context.record(message.id).body
        elided = {elision.block: elision for elision in context.elided(message.id)}
        marks = context.marks(message.id)
        priority = priorities.priority_of(body, marks)
        blocks = _blocks_of(body) if elided else list(message.content)
        return Seen(
            place,
            message,
            blocks,
            body,
            priority,
            priorities.ttl_of(priority, marks),
            fixed=marks.get("pinned") is True or marks.get("compressible") is False,
            elided=elided,
            returned=context.brought_back(message.id),
            sent=_sent(blocks, elided),
        )

    # --- what goes whole -----------------------------------------------------------------------------------------

    def _superseded(self) -> Iterator[Candidate]:
        """Injections all of whose sources told something newer."""
        newer: set[str] = set()
        for number in range(len(self.runs) - 1, -1, -1):
            for seen in reversed(self.runs[number].seen):
                if seen.message.origin != "injection":
                    continue
                sources = sources_of(seen.body)
                if sources and sources <= newer and self.runs[number].answers and seen.free:
                    words = f"an older reminder ({', '.join(sorted(sources))})"
                    yield self._whole("superseded", self._priorities.superseded, number, seen, words)
                newer |= renewed_by(seen.body)

    def _expired(self) -> Iterator[Candidate]:
        """Messages of no priority or past their time that are neither a person's words nor calls and results."""
        for number, run in enumerate(self.runs):
            for seen in run.seen:
                ttl = seen.ttl
                if ttl is None or seen.message.is_words or seen.priority >= CRITICAL or not seen.free:
                    continue
                if is_paired(seen) or any(block.get("type") in SIGNED for block in seen.blocks):
                    continue
                if run.answers >= ttl or (
                    seen.priority == TRIVIAL and run.answers > self._settings.micro_keep
                ):
                    yield self._gone(number, seen)

    def _gone(self, number: int, seen: Seen) -> Candidate:
        size = len(seen.message.text)
        words = f"an expired {seen.message.origin or 'answer'}, {_characters(size)}"
        if seen.message.role == "user":
            return self._whole("expired", TRIVIAL, number, seen, words)
        text = f"[truncated: answer, {size} chars]\n(in full: record {seen.id})"
        item = Item(seen.id, None, text)
        return Candidate("expired", TRIVIAL, seen.place, number, (item,), words)

    def _whole(self, kind: Kind, priority: int, number: int, seen: Seen, words: str) -> Candidate:
        item = Item(seen.id, None, None)
        return Candidate(kind, priority, seen.place, number, (item,), words, drops=len(seen.sent))

    def _exchanges(self) -> Iterator[Candidate]:
        """Calls with their results that are past their time, and with which nothing else was said."""
        for number in range(len(self.runs) - 2):
            asked, told = self.runs[number], self.runs[number + 1]
            if not (asked.role == "assistant" and told.old and is_closed(asked, told)):
                continue
            if not all(seen.free and seen.priority < CRITICAL for seen in (*asked.seen, *told.seen)):
                continue
            late = all(seen.ttl is not None and told.answers >= seen.ttl for seen in told.seen)
            if late and all(map(_says_nothing, asked.seen)) and all(map(only_results, told.seen)):
                items = tuple(Item(seen.id, None, None) for seen in (*asked.seen, *told.seen))
                words = said_of(asked, told.seen)
                yield Candidate("exchange", TRIVIAL, asked.seen[0].place, number, items, words)

    # --- blocks --------------------------------------------------------------------------------------------------

    def _acknowledgements(self) -> Iterator[Candidate]:
        """Texts beside a call that only say that it is made."""
        for number, run in enumerate(self.runs):
            if run.role != "assistant" or not run.old:
                continue
            for seen in run.seen:
                if seen.fixed or seen.priority >= CRITICAL or not _calls(seen):
                    continue
                for place, block in seen.sent:
                    if acknowledges(block) and seen.is_free(place):
                        item = Item(seen.id, place, None)
                        words = f'"{block["text"].strip()}"'
                        yield Candidate(
                            "acknowledgement", TRIVIAL, seen.place, number, (item,), words, drops=1
                        )

    def _results(self) -> Iterator[Candidate]:
        """Results of earlier calls, and those with many blank lines."""
        for number, run in enumerate(self.runs):
            if run.role != "user" or not run.old:
                continue
            names = _names(self.runs[number - 1]) if number else {}
            for seen in run.seen:
                if seen.fixed or seen.priority >= CRITICAL:
                    continue
                for place, block in seen.sent:
                    if block.get("type") == "tool_result":
                        yield from self._result(number, seen, place, block, names)

    def _result(
        self, number: int, seen: Seen, place: int, block: Block, names: Mapping[str, str]
    ) -> Iterator[Candidate]:
        text, content = result_text(block), block.get("content")
        tight = squeezed(text) if isinstance(content, str) else text
        free = seen.is_free(place)
        elision = seen.elided.get(place)
        # What lacks only its blank lines may be shortened further.
        squeezed_only = (
            elision is not None and elision.placeholder == tight and not seen.returned & {None, place}
        )
        if not (free or (squeezed_only and None not in seen.elided)):
            return
        title = _title(seen, block, names)
        if free and len(text) - len(tight) >= _BLANK_GAIN:
            item = Item(seen.id, place, tight)
            words = f"blank lines in {title}"
            yield Candidate("blank", TRIVIAL, seen.place, number, (item,), words)
        short = shortened(_tool(seen, block, names), block, self._settings.micro_long, seen.id)
        item = Item(seen.id, place, short)
        words = f"{title}, {_characters(len(text))}"
        yield Candidate("result", seen.priority, seen.place, number, (item,), words)


# --- what is in a message ------------------------------------------------------------------------------------------


def _blocks_of(body: Mapping[str, Any]) -> list[Block]:
    content = body.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _sent(blocks: list[Block], elided: Mapping[int | None, Elision]) -> list[tuple[int, Block]]:
    if None in elided:
        return list(enumerate(blocks)) if elided[None].placeholder is not None else []
    gone = [place for place, elision in elided.items() if elision.placeholder is None]
    return [
        (place, block) for place, block in enumerate(blocks) if place not in gone and not is_nothing(block)
    ]


def is_paired(seen: Seen) -> bool:
    """True if a message holds calls or results."""
    return any(block.get("type") in ("tool_use", "tool_result") for block in seen.blocks)


def _calls(seen: Seen) -> bool:
    return any(block.get("type") == "tool_use" for block in seen.blocks)


def is_closed(asked: Run, told: Run) -> bool:
    """True if these are calls and every one of them has its result."""
    calls = [b.get("id") for s in asked.seen for b in s.blocks if b.get("type") == "tool_use"]
    results = [b.get("tool_use_id") for s in told.seen for b in s.blocks if b.get("type") == "tool_result"]
    return bool(calls) and sorted(map(str, calls)) == sorted(map(str, results))


def _says_nothing(seen: Seen) -> bool:
    """True if a message of the model holds only calls and what acknowledges them."""
    return all(
        block.get("type") == "tool_use" or acknowledges(block) or is_nothing(block) for block in seen.blocks
    )


def only_results(seen: Seen) -> bool:
    """True if a message holds nothing but results of calls."""
    return all(block.get("type") == "tool_result" for block in seen.blocks)


def said_of(asked: Run, results: Iterable[Seen]) -> str:
    """What an exchange is, for a person."""
    names = _names(asked)
    titles = [_title(seen, block, names) for seen in results for block in seen.blocks]
    return f"{'a call' if len(titles) == 1 else 'calls'} and what came of it: {', '.join(titles)}"


def _names(run: Run) -> dict[str, str]:
    """The tools that a run calls, by call."""
    calls = [block for seen in run.seen for block in seen.blocks if block.get("type") == "tool_use"]
    return {str(block.get("id")): tool_called(block) for block in calls}


def _tool(seen: Seen, block: Block, names: Mapping[str, str]) -> str:
    tool = names.get(str(block.get("tool_use_id"))) or seen.message.meta.get("tool")
    return one_line(tool, _NAME_CHARACTERS) if isinstance(tool, str) and tool else "tool"


def _title(seen: Seen, block: Block, names: Mapping[str, str]) -> str:
    """What a result is of, for a person."""
    title, tool = seen.message.meta.get("title"), _tool(seen, block, names)
    return (
        f"{tool} ({title})"
        if isinstance(title, str) and title and len(seen.blocks) == 1
        else f"{tool} result"
    )


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"
