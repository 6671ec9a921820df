"""Asking for a summary: how long it may be, what the model is told, and whether the answer is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.compaction import checks, instructions
from tui_agent.compaction.model import summed
from tui_agent.compaction.strategy import CompactionFailed
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.llm.provider import Reply, Usage
    from tui_agent.messages.blocks import Message
    from tui_agent.messages.request import Request

    AskFor = Callable[[str], Awaitable[Reply]]
    """Asks with an instruction."""

_LONGEST = 12_000
"""Tokens of a summary, however large the window: beyond that it is no summary any more."""
LEAST_OUTPUT = 256
"""Tokens: with less room for it a summary is not asked for."""
_THOUGHTS = 8_000
"""Tokens of room for a model that decides by itself how much it thinks."""
_SPARE = 0.04
"""Part of the window that estimates may be wrong by."""
_WORDS_PER_TOKEN = 0.5
"""On the safe side: a finer tokenizer needs two tokens for an English word."""
_VOICE, _LEAST_VOICE = 120, 6
"""Characters of a person's words that show their language, and how many there must be."""
_CUT = ("max_tokens", "model_context_window_exceeded")
_REFUSED = ("refusal", "content_filter", "sensitive")
"""Stop reasons: of the API, and of endpoints that speak like it."""


class Asking:
    """What one summary is asked for with, in as many requests as it takes; `usage` is what they came to."""

    def __init__(self, source: Source, model: Model) -> None:
        self._source = source
        self._model = model
        self.longest = max(
            1, min(source.budget, source.tokens.count - 1, model.max_output * 4 // 5, _LONGEST)
        )
        """The tokens that the summary may have at most."""
        self.usage: Usage | None = None

    async def whole(self, ask: AskFor, most: int) -> str:
        """The text of an answer that came to its end; one that was too long is asked for once more, shorter."""
        reply = await ask(self.told(most))
        if _refused(reply):
            raise CompactionFailed(
                f"the model declined to summarise this conversation (stop reason: {reply.stop_reason})",
                ways=checks.WAYS,
            )
        text = _text(reply)
        if not self._too_long(reply, text):
            return text
        self._model.say("summarising again, shorter")
        reply = await ask(self.told(most, shorter=True))
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

    def told(self, most: int, *, shorter: bool = False) -> str:
        """The instruction for a summary of so many tokens at most."""
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

    async def ask(self, request: Request) -> Reply:
        """The answer to a request, whose figures are added to `usage`."""
        reply = await self._model.ask(request)
        self.usage = summed(self.usage, reply.usage)
        return reply

    def output(self, weight: int, most: int, thoughts: int) -> int:
        """The `max_tokens` of a request that weighs so much.

        Raises:
            NoRoom: the window has no room for a summary behind it.
        """
        left = self.window - weight
        if left < LEAST_OUTPUT:
            raise NoRoom
        return min(room_for(most) + thoughts, self._model.max_output, left)

    @property
    def window(self) -> int:
        """The tokens of the window that are counted on."""
        return int(self._model.window * (1 - _SPARE))


class NoRoom(Exception):
    """The request and a summary do not fit the window together."""


def room_for(most: int) -> int:
    """Tokens for a summary: what it may have, and some more, so that a wrong guess cuts nothing off."""
    return max(LEAST_OUTPUT, most * 5 // 4)


def thoughts_of(thinking: Mapping[str, Any] | None) -> int:
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
