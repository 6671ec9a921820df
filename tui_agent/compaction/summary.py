"""A summary by the model.

First in the form that the provider's cache serves: the live request with one instruction at its end. Where that does
not fit or is not taken, the history goes as text, in chunks if need be, each with the summary of those before it.
What comes back is checked; a text that is no summary of the source is refused. `asking` puts each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.compaction import checks, instructions
from tui_agent.compaction.asking import LEAST_OUTPUT, Asking, NoRoom, room_for, thoughts_of
from tui_agent.compaction.originals import restored
from tui_agent.compaction.sections import GOAL, heading, placed
from tui_agent.compaction.source import chunks, cut, items, rendered, tag_of
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.literal import clean
from tui_agent.llm.provider import ContextOverflow, ProviderError
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_agent.compaction.source import Item
    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.llm.provider import Reply, Usage
    from tui_agent.messages.request import Breakpoint

_WORTHWHILE = 1_000
"""Tokens: where the live request leaves less for a summary, the history goes as text."""
_SMALLER = 0.6
"""What is tried of the room after the endpoint found a request too long."""
_ATTEMPTS_TO_FIT = 4
_SHARE = 6
"""A summary gets at most this part of what a chunk's request may take (1/6)."""
_TAIL_SHARE = 8
"""What stays is shown beside the text in at most this part of the room (1/8), each message in `_TAIL_ITEM` tokens."""
_TAIL_ITEM = 200


class Summary:
    """The strategy `summary`."""

    name = "summary"

    async def compact(self, source: Source, model: Model) -> CompactionResult:
        """Summarise with the model.

        Raises:
            CompactionFailed: what the model gave cannot be used, or it has no room for a summary.
            ProviderError: the model could not answer.
        """
        kept = tuple(message.id for message in source.kept)
        if not source.replaced:
            return CompactionResult("", kept, source.tokens, Tokens(0, "exact"))
        work = _Work(source, model)
        text = await work.summary()
        return CompactionResult(
            summary=text,
            preserved=kept,
            before=source.tokens,
            after=Tokens(model.count(text), "estimated"),
            usage=work.usage,
            notes=tuple(work.notes),
        )


class _Work:
    """One summary on its way."""

    def __init__(self, source: Source, model: Model) -> None:
        self._source = source
        self._model = model
        self._asking = Asking(source, model)
        self._items: list[Item] = []
        """What goes and what stays among it, as it was shown to the model."""
        self._before: Sequence[Message] = ()
        self._stays: set[str] = set()
        self._behind: Sequence[Message] = ()
        """What stays behind everything that goes."""
        self._factor = 1.0
        """What this conversation really weighs, over what the model's estimate says of it."""
        self.notes: list[str] = []

    @property
    def usage(self) -> Usage | None:
        """What the requests came to so far."""
        return self._asking.usage

    async def summary(self) -> str:
        """The summary, checked."""
        await asyncio.to_thread(self._prepare)
        text = await self._from_live()
        if text is None:
            text = await self._from_text()
        text = placed(tidied(text), self._source.pending)
        await asyncio.to_thread(checks.check, text, self._source, self._items, self._model)
        self.notes += await asyncio.to_thread(checks.remarks, text, self._items)
        return text

    def _prepare(self) -> None:
        source = self._source
        gone, stays = {m.id for m in source.replaced}, {m.id for m in source.kept}
        end = max((at + 1 for at, m in enumerate(source.history) if m.id in gone), default=0)
        # what stays among what goes is shown in its place: often it says what the rest is about
        self._before, self._behind = source.history[:end], source.history[end:]
        self._stays = stays
        self._items = items(self._before, stays=stays)
        estimated = sum(self._model.count(message) for message in self._source.replaced)
        self._factor = min(2.0, max(0.5, self._source.tokens.count / max(1, estimated)))

    # --- the live request, and one instruction ---------------------------------------------------------------------

    async def _from_live(self) -> str | None:
        """A summary from the request as it is sent anyway; None if it does not fit or is not taken."""
        self._model.say("summarising")
        try:
            most = await asyncio.to_thread(self._live_room)
            return await self._asking.whole(lambda told: self._live(told, most), most)
        except NoRoom:
            return None
        except ProviderError as error:
            if error.kind not in ("overflow", "invalid"):
                raise
            self.notes.append(
                f"the conversation was sent as text, since as messages it was not taken: {error}"
            )
            return None

    def _live_room(self) -> int:
        """The tokens a summary may have behind the live request.

        Raises:
            NoRoom: too few.
        """
        told = self._model.count(self._asking.told(self._asking.longest))
        left = self._asking.window - self._live_weight(self._source.history) - told
        most = min(self._asking.longest, left * 4 // 5)
        if most < min(self._asking.longest, _WORTHWHILE):
            raise NoRoom
        return most

    async def _live(self, told: str, most: int) -> Reply:
        history = [*self._source.history, Message("user", [text_block(told)])]
        reply = await self._asking.ask(await asyncio.to_thread(self._live_request, history, most))
        calls = [block for block in reply.content if block.get("type") == "tool_use"]
        if not calls:
            return reply
        refusals = [tool_result(str(call.get("id")), instructions.REFUSAL, error=True) for call in calls]
        history += [
            Message("assistant", list(reply.content), model=self._model.name),
            Message("user", refusals, origin="tool"),
        ]
        reply = await self._asking.ask(await asyncio.to_thread(self._live_request, history, most))
        if any(block.get("type") == "tool_use" for block in reply.content):
            raise NoRoom
        return reply

    def _live_request(self, history: Sequence[Message], most: int) -> Request:
        source, thinking = self._source, self._source.thinking
        thoughts = thoughts_of(thinking)
        max_tokens = self._asking.output(self._live_weight(history), most, thoughts)
        if max_tokens <= thoughts:
            thinking = None
        request = Request.make(
            model=self._model.name,
            system=source.system,
            history=history,
            max_tokens=max_tokens,
            tools=source.tools,
            thinking=thinking,
        )
        return request.marked(_breakpoints(request))

    def _live_weight(self, history: Sequence[Message]) -> int:
        count = self._model.count
        around = count(list(self._source.system)) + count(list(self._source.tools))
        return around + int(self._factor * sum(count(message) for message in history))

    # --- the history as text ---------------------------------------------------------------------------------------

    async def _from_text(self) -> str:
        share = 1.0
        for _ in range(_ATTEMPTS_TO_FIT):
            try:
                return await self._chunks(int(self._asking.window * share))
            except (ContextOverflow, NoRoom):
                share *= _SMALLER
        raise CompactionFailed(
            f"the history does not fit the window of {self._model.name} ({self._model.window:,} tokens), not even in "
            "parts",
            ways=checks.WAYS,
        )

    async def _chunks(self, size: int) -> str:
        """Summarise in as few requests as there have to be, none of them larger than `size` tokens."""
        most = min(self._asking.longest, size // _SHARE)
        around = self._model.count(self._asking.told(most)) + self._model.count(instructions.SYSTEM)
        # the summary so far, and the one that is written
        room = int((size - around - 2 * room_for(most)) / self._factor)
        tail = await asyncio.to_thread(self._tail, room // _TAIL_SHARE)
        room -= room // _TAIL_SHARE
        if room < LEAST_OUTPUT:
            raise NoRoom
        parts = await asyncio.to_thread(self._parts, room)
        so_far = ""
        for number, part in enumerate(parts, 1):
            self._model.say(f"summarising ({number} of {len(parts)})" if len(parts) > 1 else "summarising")
            place = instructions.Place(number, len(parts), so_far)
            so_far = await self._part(part, tail if number == len(parts) else (), place, most)
        return so_far

    def _parts(self, room: int) -> list[list[Item]]:
        """The history in pieces of so many tokens; what was shortened to make room is as it was, if it has room."""
        whole = restored(self._before, self._source.whole, room, self._model.count)
        self._items = items(whole, stays=self._stays)
        return chunks(self._items, room, self._model.count)

    async def _part(
        self, part: Sequence[Item], tail: Sequence[Item], place: instructions.Place, most: int
    ) -> str:
        request = await asyncio.to_thread(_worded, part, tail, place)

        async def ask(told: str) -> Reply:
            return await self._asking.ask(await asyncio.to_thread(self._text_request, request(told), most))

        found = tidied(await self._asking.whole(ask, most))
        checks.check_form(found)
        return found

    def _tail(self, room: int) -> list[Item]:
        """The newest of what stays behind, each cut short, in so many tokens."""
        found: list[Item] = []
        for item in reversed(items(self._behind)):
            shorter = replace(item, text=cut(item.text, _TAIL_ITEM, self._model.count))
            room -= self._model.count(shorter.text) + self._model.count(shorter.head)
            if room < 0:
                break
            found.append(shorter)
        return found[::-1]

    def _text_request(self, words: str, most: int) -> Request:
        weight = self._model.count(instructions.SYSTEM) + int(self._factor * self._model.count(words))
        return Request.make(
            model=self._model.name,
            system=[text_block(instructions.SYSTEM)],
            history=[Message("user", [text_block(words)])],
            max_tokens=self._asking.output(weight, most, 0),
            tools=[],
        )


def _worded(part: Sequence[Item], tail: Sequence[Item], place: instructions.Place) -> Callable[[str], str]:
    """What makes the words of a request of an instruction."""
    tag = tag_of([*part, *tail])
    text, stays = rendered(part, tag), rendered(tail, tag)
    return lambda told: instructions.as_text(text, tag=tag, told=told, place=place, stays=stays)


def tidied(text: str) -> str:
    """A summary without what models put around it: fences, tags, a preamble before the first heading."""
    text = clean(text).strip()
    for opening, closing in (("<summary>", "</summary>"), ("```markdown", "```"), ("```", "```")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            text = text[len(opening) : -len(closing)].strip()
    start = text.find(heading(GOAL))
    return text[start:] if 0 < start <= 400 else text


def _breakpoints(request: Request) -> list[Breakpoint]:
    """Where the live request's cache ends: behind tools, system prompt, and what comes before the instruction."""
    found: list[Breakpoint] = []
    if request.tools:
        found.append(("tool", len(request.tools) - 1))
    if request.system:
        found.append(("system", len(request.system) - 1))
    last = len(request.messages) - 1
    content = request.messages[last]["content"]
    if len(content) > 1:
        found.append(("message", last, len(content) - 2))
    else:
        before = next((at for at in range(last - 1, -1, -1) if request.messages[at]["role"] == "user"), None)
        if before is not None:
            found.append(("message", before, len(request.messages[before]["content"]) - 1))
    return found
