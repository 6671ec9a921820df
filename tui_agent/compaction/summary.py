"""A summary by the model.

First in the form that the provider's cache serves: the live request with one instruction at its end. Where that does
not fit or is not taken, the history goes as text, in chunks if need be, each with the summary of those before it.
What comes back is checked; a text that is no summary of the source is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.compaction import checks, instructions
from tui_agent.compaction.model import summed
from tui_agent.compaction.sections import GOAL, heading, placed
from tui_agent.compaction.source import chunks, items, rendered, tag_of
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.literal import clean, one_line
from tui_agent.llm.provider import ContextOverflow, ProviderError
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tui_agent.compaction.source import Item
    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.llm.provider import Reply, Usage
    from tui_agent.messages.request import Breakpoint

_LEAST_OUTPUT = 256
"""Tokens: with less room for it a summary is not asked for."""
_THOUGHTS = 8_000
"""Tokens of room for a model that decides by itself how much it thinks."""
_SPARE = 0.05
"""Part of the window that estimates may be wrong by."""
_WORDS_PER_TOKEN = 0.5
"""On the safe side: a finer tokenizer needs two tokens for an English word."""
_SMALLER = 0.6
"""What is tried of the room after the endpoint found a request too long."""
_ATTEMPTS_TO_FIT = 4


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
        self._most = max(1, min(source.budget, source.tokens.count - 1))
        self._items: list[Item] = []
        self.usage: Usage | None = None
        self.notes: list[str] = []

    async def summary(self) -> str:
        """The summary, checked."""
        self._items = await asyncio.to_thread(items, self._source.replaced)
        text = await self._from_live()
        if text is None:
            text = await self._from_text()
        text = placed(tidied(text), self._source.pending)
        await asyncio.to_thread(checks.check, text, self._source, self._items, self._model)
        if missing := checks.missing_sections(text):
            self.notes.append(f"the summary has no section: {', '.join(missing)}")
        return text

    # --- the live request, and one instruction ---------------------------------------------------------------------

    async def _from_live(self) -> str | None:
        """A summary from the request as it is sent anyway; None if it does not fit or is not taken."""
        self._model.say("summarising")
        try:
            return await self._whole(self._live)
        except _NoRoom:
            return None
        except ProviderError as error:
            if error.kind not in ("overflow", "invalid"):
                raise
            self.notes.append(
                f"the conversation was sent as text, since as messages it was not taken: {error}"
            )
            return None

    async def _live(self, told: str) -> Reply:
        history = [*self._source.history, Message("user", [text_block(told)])]
        reply = await self._ask(await asyncio.to_thread(self._live_request, history))
        calls = [block for block in reply.content if block.get("type") == "tool_use"]
        if not calls:
            return reply
        refusals = [tool_result(str(call.get("id")), instructions.REFUSAL, error=True) for call in calls]
        history += [
            Message("assistant", list(reply.content), model=self._model.name),
            Message("user", refusals, origin="tool"),
        ]
        reply = await self._ask(await asyncio.to_thread(self._live_request, history))
        if any(block.get("type") == "tool_use" for block in reply.content):
            raise _NoRoom
        return reply

    def _live_request(self, history: Sequence[Message]) -> Request:
        source, model = self._source, self._model
        weight = model.count([*source.system]) + model.count([*source.tools])
        weight += sum(model.count(message) for message in history)
        thinking = source.thinking
        thoughts = _thoughts(thinking)
        most = self._output(weight, thoughts)
        if thinking is not None and most <= thoughts:
            thinking = None
        request = Request.make(
            model=model.name,
            system=source.system,
            history=history,
            max_tokens=most,
            tools=source.tools,
            thinking=thinking,
        )
        return request.marked(_breakpoints(request, len(source.history)))

    # --- the history as text ---------------------------------------------------------------------------------------

    async def _from_text(self) -> str:
        share = 1.0
        for _ in range(_ATTEMPTS_TO_FIT):
            try:
                return await self._chunks(share)
            except (ContextOverflow, _NoRoom):
                share *= _SMALLER
        raise CompactionFailed(
            f"the history does not fit the window of {self._model.name} ({self._model.window:,} tokens), not even in "
            "parts",
            ways=checks.WAYS,
        )

    async def _chunks(self, share: float) -> str:
        """Summarise in as few requests as fit this share of the window."""
        around = self._model.count(self._told()) + self._model.count(instructions.SYSTEM)
        room = int(self._model.window * (1 - _SPARE) * share) - around - 2 * self._room()
        if room < _LEAST_OUTPUT:
            raise _NoRoom
        parts = await asyncio.to_thread(chunks, self._items, room, self._model.count)
        so_far = ""
        for number, part in enumerate(parts, 1):
            self._model.say(f"summarising ({number} of {len(parts)})" if len(parts) > 1 else "summarising")
            so_far = await self._part(part, number, len(parts), so_far)
        return so_far

    async def _part(self, part: Sequence[Item], number: int, of: int, so_far: str) -> str:
        tag = tag_of(part)
        text = rendered(part, tag)

        async def ask(told: str) -> Reply:
            if of == 1:
                words = instructions.whole(text, tag=tag, told=told)
            else:
                words = instructions.part(text, tag=tag, number=number, of=of, so_far=so_far, told=told)
            return await self._ask(await asyncio.to_thread(self._text_request, words))

        found = tidied(await self._whole(ask))
        checks.check_form(found)
        return found

    def _text_request(self, words: str) -> Request:
        weight = self._model.count(instructions.SYSTEM) + self._model.count(words)
        return Request.make(
            model=self._model.name,
            system=[text_block(instructions.SYSTEM)],
            history=[Message("user", [text_block(words)])],
            max_tokens=self._output(weight, 0),
            tools=[],
        )

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _whole(self, ask: _AskFor) -> str:
        """The text of an answer that came to its end; one that was too long is asked for once more, shorter."""
        reply = await ask(self._told())
        if _refused(reply):
            raise CompactionFailed(
                "the model declined to summarise this conversation (stop reason: refusal)", ways=checks.WAYS
            )
        text = _text(reply)
        if not self._too_long(reply, text):
            return text
        self._model.say("summarising again, shorter")
        reply = await ask(self._told(shorter=True))
        text = _text(reply)
        if _refused(reply) or self._too_long(reply, text):
            raise CompactionFailed(
                f"the summary was not used: it is longer than it may be ({self._most:,} tokens), twice",
                ways=checks.WAYS,
            )
        return text

    def _too_long(self, reply: Reply, text: str) -> bool:
        size = self._model.count(text)
        return bool(text.strip()) and (
            reply.stop_reason == "max_tokens" or self._source.budget < size < self._source.tokens.count
        )

    def _told(self, *, shorter: bool = False) -> str:
        source = self._source
        words = int(self._most * _WORDS_PER_TOKEN)
        return instructions.instruction(
            words=max(20, words * 2 // 3 if shorter else words),
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

    def _room(self) -> int:
        """Tokens for the summary alone: what it may have, and some more, so that it is not cut off by a wrong guess."""
        return max(_LEAST_OUTPUT, self._most + self._most // 4)

    def _output(self, weight: int, thoughts: int) -> int:
        """The `max_tokens` of a request that weighs so much.

        Raises:
            _NoRoom: the window has no room for a summary behind it.
        """
        window = int(self._model.window * (1 - _SPARE))
        if weight + self._room() > window:
            raise _NoRoom
        return max(1, min(self._room() + thoughts, self._model.max_output, window - weight))


class _NoRoom(Exception):
    """The request and a summary do not fit the window together."""


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _AskFor = Callable[[str], Awaitable[Reply]]


def tidied(text: str) -> str:
    """A summary without what models put around it: fences, tags, a preamble before the first heading."""
    text = clean(text).strip()
    for opening, closing in (("<summary>", "</summary>"), ("```markdown", "```"), ("```", "```")):
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening) + len(closing):
            text = text[len(opening) : -len(closing)].strip()
    start = text.find(heading(GOAL))
    return text[start:] if 0 < start <= 400 else text


def _thoughts(thinking: Mapping[str, Any] | None) -> int:
    """The tokens of an answer that its thinking may take."""
    if thinking is None or thinking.get("type") == "disabled":
        return 0
    budget = thinking.get("budget_tokens")
    return budget if isinstance(budget, int) else _THOUGHTS


def _text(reply: Reply) -> str:
    return "\n".join(str(block.get("text", "")) for block in reply.content if block.get("type") == "text")


def _refused(reply: Reply) -> bool:
    return reply.stop_reason == "refusal"


def _kept(kept: Sequence[Message]) -> str:
    """Which messages stay, in words."""
    if not kept:
        return ""
    count = f"{len(kept)} message{'' if len(kept) == 1 else 's'}"
    asked = [one_line(message.text, 120) for message in kept if message.is_words and message.text.strip()]
    if not asked:
        return f"the newest {count}"
    return f"{count}, the newest among them; the user's last request of these begins: {asked[-1]!r}"


def _breakpoints(request: Request, history: int) -> list[Breakpoint]:
    """Where the live request's cache ends: behind its tools, its system prompt, its last user message.

    `history` counts the messages in front of the instruction.
    """
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
