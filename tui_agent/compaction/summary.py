"""A summary by the model.

First in the form that the provider's cache serves: the live request with one instruction at its end. Where that does
not fit or is not taken, the history goes as text, in chunks if need be, each with the summary of those before it.
What comes back is checked; a text that is no summary of the source is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.compaction import checks, instructions
from tui_agent.compaction.model import summed
from tui_agent.compaction.originals import restored
from tui_agent.compaction.sections import GOAL, heading, placed
from tui_agent.compaction.source import chunks, cut, items, rendered, tag_of
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.literal import clean, one_line
from tui_agent.llm.provider import ContextOverflow, ProviderError
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from tui_agent.compaction.source import Item
    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.llm.provider import Reply, Usage
    from tui_agent.messages.request import Breakpoint

    _AskFor = Callable[[str], Awaitable[Reply]]
    """Asks with an instruction."""

_LONGEST = 12_000
"""Tokens of a summary, however large the window: beyond that it is no summary any more."""
_LEAST_OUTPUT = 256
"""Tokens: with less room for it a summary is not asked for."""
_WORTHWHILE = 1_000
"""Tokens: where the live request leaves less for a summary, the history goes as text."""
_THOUGHTS = 8_000
"""Tokens of room for a model that decides by itself how much it thinks."""
_SPARE = 0.04
"""Part of the window that estimates may be wrong by."""
_WORDS_PER_TOKEN = 0.5
"""On the safe side: a finer tokenizer needs two tokens for an English word."""
_SMALLER = 0.6
"""What is tried of the room after the endpoint found a request too long."""
_ATTEMPTS_TO_FIT = 4
_VOICE, _LEAST_VOICE = 120, 6
"""Characters of a person's words that show their language, and how many there must be."""
_CUT = ("max_tokens", "model_context_window_exceeded")
_REFUSED = ("refusal", "content_filter", "sensitive")
"""Stop reasons: of the API, and of endpoints that speak like it."""
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
        self._longest = max(
            1, min(source.budget, source.tokens.count - 1, model.max_output * 4 // 5, _LONGEST)
        )
        self._items: list[Item] = []
        """What goes and what stays among it, as it was shown to the model."""
        self._before: Sequence[Message] = ()
        self._stays: set[str] = set()
        self._behind: Sequence[Message] = ()
        """What stays behind everything that goes."""
        self._factor = 1.0
        """What this conversation really weighs, over what the model's estimate says of it."""
        self.usage: Usage | None = None
        self.notes: list[str] = []

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
            return await self._whole(lambda told: self._live(told, most), most)
        except _NoRoom:
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
            _NoRoom: too few.
        """
        told = self._model.count(self._told(self._longest))
        left = self._window() - self._live_weight(self._source.history) - told
        most = min(self._longest, left * 4 // 5)
        if most < min(self._longest, _WORTHWHILE):
            raise _NoRoom
        return most

    async def _live(self, told: str, most: int) -> Reply:
        history = [*self._source.history, Message("user", [text_block(told)])]
        reply = await self._ask(await asyncio.to_thread(self._live_request, history, most))
        calls = [block for block in reply.content if block.get("type") == "tool_use"]
        if not calls:
            return reply
        refusals = [tool_result(str(call.get("id")), instructions.REFUSAL, error=True) for call in calls]
        history += [
            Message("assistant", list(reply.content), model=self._model.name),
            Message("user", refusals, origin="tool"),
        ]
        reply = await self._ask(await asyncio.to_thread(self._live_request, history, most))
        if any(block.get("type") == "tool_use" for block in reply.content):
            raise _NoRoom
        return reply

    def _live_request(self, history: Sequence[Message], most: int) -> Request:
        source, thinking = self._source, self._source.thinking
        thoughts = _thoughts(thinking)
        max_tokens = self._output(self._live_weight(history), most, thoughts)
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
                return await self._chunks(int(self._window() * share))
            except (ContextOverflow, _NoRoom):
                share *= _SMALLER
        raise CompactionFailed(
            f"the history does not fit the window of {self._model.name} ({self._model.window:,} tokens), not even in "
            "parts",
            ways=checks.WAYS,
        )

    async def _chunks(self, size: int) -> str:
        """Summarise in as few requests as there have to be, none of them larger than `size` tokens."""
        most = min(self._longest, size // _SHARE)
        around = self._model.count(self._told(most)) + self._model.count(instructions.SYSTEM)
        # the summary so far, and the one that is written
        room = int((size - around - 2 * _room(most)) / self._factor)
        tail = await asyncio.to_thread(self._tail, room // _TAIL_SHARE)
        room -= room // _TAIL_SHARE
        if room < _LEAST_OUTPUT:
            raise _NoRoom
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
            return await self._ask(await asyncio.to_thread(self._text_request, request(told), most))

        found = tidied(await self._whole(ask, most))
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
            max_tokens=self._output(weight, most, 0),
            tools=[],
        )

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _whole(self, ask: _AskFor, most: int) -> str:
        """The text of an answer that came to its end; one that was too long is asked for once more, shorter."""
        reply = await ask(self._told(most))
        if _refused(reply):
            raise CompactionFailed(
                f"the model declined to summarise this conversation (stop reason: {reply.stop_reason})",
                ways=checks.WAYS,
            )
        text = _text(reply)
        if not self._too_long(reply, text):
            return text
        self._model.say("summarising again, shorter")
        reply = await ask(self._told(most, shorter=True))
        text = _text(reply)
        if _refused(reply) or self._too_long(reply, text):
            why = (
                f"it is longer than it may be ({most:,} tokens)"
                if text.strip()
                else "its thinking left no room"
            )
            raise CompactionFailed(f"the summary was not used: {why}, twice", ways=checks.WAYS)
        return text

    def _too_long(self, reply: Reply, text: str) -> bool:
        size = self._model.count(text)
        return reply.stop_reason in _CUT or self._source.budget < size < self._source.tokens.count

    def _told(self, most: int, *, shorter: bool = False) -> str:
        source = self._source
        words = round(most * _WORDS_PER_TOKEN * (2 / 3 if shorter else 1), -1)
        return instructions.instruction(
            words=max(20, int(words)),
            voice=_voice(source.history),
            kept=_kept(source.kept),
            ledger=source.ledger,
            pending=source.pending,
            focus=source.instruction,
            shorter=shorter,
        )

    async def _ask(self, request: Request) -> Reply:
        reply = await self._model.ask(request)
        self.usage = summed(self.usage, reply.usage)
        return reply

    def _output(self, weight: int, most: int, thoughts: int) -> int:
        """The `max_tokens` of a request that weighs so much.

        Raises:
            _NoRoom: the window has no room for a summary behind it.
        """
        left = self._window() - weight
        if left < _LEAST_OUTPUT:
            raise _NoRoom
        return min(_room(most) + thoughts, self._model.max_output, left)

    def _window(self) -> int:
        """The tokens of the window that are counted on."""
        return int(self._model.window * (1 - _SPARE))


class _NoRoom(Exception):
    """The request and a summary do not fit the window together."""


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


def _room(most: int) -> int:
    """Tokens for a summary: what it may have, and some more, so that a wrong guess cuts nothing off."""
    return max(_LEAST_OUTPUT, most * 5 // 4)


def _thoughts(thinking: Mapping[str, Any] | None) -> int:
    """The tokens of an answer that its thinking may take."""
    if thinking is None or thinking.get("type") == "disabled":
        return 0
    budget = thinking.get("budget_tokens")
    return budget if isinstance(budget, int) else _THOUGHTS


def _text(reply: Reply) -> str:
    return "\n".join(str(block.get("text", "")) for block in reply.content if block.get("type") == "text")


def _refused(reply: Reply) -> bool:
    return reply.stop_reason in _REFUSED


def _kept(kept: Sequence[Message]) -> str:
    """Which messages stay, in words."""
    if not kept:
        return ""
    count = f"{len(kept)} message{'' if len(kept) == 1 else 's'}"
    asked = [one_line(message.text, 120) for message in kept if message.is_words and message.text.strip()]
    if not asked:
        return f"the newest {count}"
    return f"{count}, the newest among them; the user's last request of these begins: {asked[-1]!r}"


def _voice(history: Sequence[Message]) -> str:
    """The beginning of the newest words of a person that are more than a nod."""
    said = (one_line(message.text.strip(), _VOICE) for message in reversed(history) if message.is_words)
    return next((words for words in said if len(words) >= _LEAST_VOICE), "")


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
