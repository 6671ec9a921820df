"""What answers propose to remember: hidden while they come, read once they are on disk, stored, and told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui_agent.agent.outside import outside
from tui_agent.events import Emit, Notice, TextDelta
from tui_agent.literal import one_line
from tui_agent.memory.markers import Malformed, Marker, MarkerParser, clean, may_hold
from tui_agent.memory.proposals import Proposals, Source, Taken

if TYPE_CHECKING:
    from tui_agent.agent.recall import Recall
    from tui_agent.context import Context, Record
    from tui_agent.memory.markers import Fed, Found

_NAMED = 60
"""Characters of a key in a notice."""
_SAID = 3
"""Notices about markers of one answer that cannot be stored; more are counted."""
_IN_PLACE = "[proposed something to remember]"
"""Sent in the place of a text that was nothing but markers."""


class Visible:
    """The text of one answer while it comes: told without its markers. `raw` is all of it, `found` the markers."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.begin()

    def begin(self) -> None:
        """Another answer comes; what was held back of the last one is not told."""
        self.raw: list[str] = []
        self.found: list[Found] = []
        self._parser = MarkerParser()
        self._block = 0

    def feed(self, text: str, block: int) -> None:
        """More text of a block."""
        if block != self._block:
            self.end_block()
            self._block = block
        self.raw.append(text)
        self._tell(self._parser.feed(text))

    def end_block(self) -> None:
        """The block that came is complete, or nothing more comes of it."""
        self._tell(self._parser.finish())
        self._parser = MarkerParser(self._parser.ordinal)

    def _tell(self, fed: Fed) -> None:
        self.found += fed.found
        if fed.visible:
            self._emit(TextDelta(fed.visible, self._block))


class Proposing:
    """Takes what the answers of one session propose.

    `redact` takes our own credentials out of what is stored; `keep` says whether the model is sent its markers again.
    """

    def __init__(
        self,
        *,
        recall: Recall,
        context: Context,
        emit: Emit,
        redact: Callable[[str], str],
        keep: Callable[[], bool],
    ) -> None:
        self._recall = recall
        self._context = context
        self._emit = emit
        self._redact = redact
        self._keep = keep
        self._proposals = Proposals(recall.store)

    async def take(self, record: str) -> None:
        """Store what the answer in this record proposes, and tell of it and of what cannot be stored.

        It is seen through even if whoever waits is cancelled: the answer is on disk.

        Raises:
            ContextError: the log could not be written.
        """
        found = list(_found(self._context.record(record)))
        if found:
            await asyncio.shield(asyncio.create_task(self._take(record, found), name="memory"))

    async def _take(self, record: str, found: Sequence[Found]) -> None:
        self._complain([each.notice for each in found if isinstance(each, Malformed)])
        await self._store(record, [each for each in found if isinstance(each, Marker)])
        if not self._keep():
            await self._leave_out(record)

    def _complain(self, notices: Sequence[str]) -> None:
        more = len(notices) - _SAID
        said = [*notices[:_SAID], f"{more} more <memory> markers of this answer are not stored"]
        for text in said if more > 0 else notices:
            self._emit(Notice(text, "warning", "memory"))

    async def _store(self, record: str, markers: Sequence[Marker]) -> None:
        if not markers:
            return
        read = await asyncio.to_thread(outside, self._context, record)
        for marker in markers:
            marker = replace(marker, key=self._redact(marker.key), body=self._redact(marker.body))
            source = Source(self._recall.session, record, marker.ordinal, self._recall.workspace, read)
            taken = await self._recall.guarded(partial(self._proposals.take, marker, source))
            if taken is not None:
                await self._tell(taken, record)

    async def _tell(self, taken: Taken, record: str) -> None:
        memory, key = taken.memory, one_line(taken.memory.key, _NAMED)
        match taken.outcome:
            case "proposed" | "refused":
                here, refused = replace(memory, source_record=record), taken.outcome == "refused"
                told = await self._recall.guarded(partial(self._recall.proposal, here, refused=refused))
                if told is not None:
                    self._emit(told)
            case "accepted":
                self._recall.changed("accepted", memory)
            case "same":
                self._emit(Notice(f"remembered already: {key}", "info", "memory"))
            case "waiting":
                self._emit(Notice(f"proposed already, and waits for an answer: {key}", "info", "memory"))

    async def _leave_out(self, record: str) -> None:
        """Let the model be sent its answer as a person sees it."""
        items = [
            {"record": record, "block": index, "as": clean(text).strip() or _IN_PLACE}
            for index, text in _texts(self._context.record(record))
            if clean(text) != text
        ]
        if items:
            await self._context.elide(items, by="auto", reason="marker")

    def ignored(self, found: Sequence[Found], why: str) -> None:
        """Tell what an answer that does not count had proposed."""
        names = [f"{each.scope} {each.key}".strip() for each in found if isinstance(each, Marker)]
        if names:
            listed = ", ".join(one_line(name, _NAMED) for name in names)
            self._emit(Notice(f"not proposed to be remembered, since {why}: {listed}", "warning", "memory"))

    async def reopen(self) -> None:
        """Take what the last turn had proposed, if the program was killed before it was stored."""
        for record in await asyncio.to_thread(self._last_answers):
            markers = [each for each in _found(self._context.record(record)) if isinstance(each, Marker)]
            await self._store(record, markers)

    def _last_answers(self) -> list[str]:
        """The answers of the last turn that this very session got: not those of a copy or an import."""
        found: list[str] = []
        for record in reversed(self._context.records):
            if record.role == "_checkpoint" and record.body.get("turn"):
                break
            # ids and the session's name are ULIDs: the time, then chance; other programs' records begin with a letter
            ours = self._recall.session < record.id < "8"
            if record.role == "assistant" and ours and _counts(record):
                found.append(record.id)
        return found[::-1]


def _found(record: Record) -> Iterator[Found]:
    """The markers in an answer, counted through all of its text."""
    ordinal = 0
    for _, text in _texts(record):
        if not may_hold(text):
            continue
        parser = MarkerParser(ordinal)
        yield from parser.feed(text).found
        yield from parser.finish().found
        ordinal = parser.ordinal


def _texts(record: Record) -> Iterator[tuple[int, str]]:
    """The blocks of text in an answer, with their places."""
    content: Any = record.body.get("content") or ()
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for index, block in enumerate(content):
        if block.get("type") == "text":
            yield index, str(block.get("text", ""))


def _counts(record: Record) -> bool:
    """True if an answer is whole: one that was cut off, or a refusal, proposes nothing."""
    body = record.body
    return not body.get("partial") and not body.get("origin") and body.get("stop_reason") != "refusal"
