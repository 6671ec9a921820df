"""The demo model as a Provider: its planner's answers, streamed in small pieces, with plausible figures."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tui_agent.llm.models import DEMO as MODEL
from tui_agent.llm.provider import ContextOverflow, ProviderError, Reply, Text, Thinking, ToolUse, Usage
from tui_agent.messages.tokens import Estimator

if TYPE_CHECKING:
    from tui_agent.llm.demo.planner import Answer
    from tui_agent.llm.provider import Delta
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.request import Request

LABEL = "demo model - no AI"

_PIECE = re.compile(r"\s*\S{1,24}|\s+")
_ARGUMENT_PIECE = 16
"""Characters of a call's arguments that come at once."""
_LEAST_CACHED = 1_024
"""Tokens: shorter prefixes are not cached (the API's minimum for most models)."""
_UNCACHED = 3
"""Tokens after the last breakpoint that a cached request is billed as plain input."""


class DemoProvider:
    """The offline demo model. It is deterministic: the same request gets the same answer.

    Args:
        delay: seconds between the pieces of an answer; 0 in tests.
        window: tokens; a larger request is refused as a real endpoint would.
        max_output_tokens: the longest answer it offers, in tokens.
    """

    WINDOW, MAX_OUTPUT = 200_000, 16_000
    """Tokens, where settings name no others."""

    def __init__(
        self, *, delay: float = 0.012, window: int = WINDOW, max_output_tokens: int = MAX_OUTPUT
    ) -> None:
        self._delay = delay
        self._window = window
        self._max_output = max_output_tokens
        self._estimator = Estimator(MODEL)
        self._seen: list[tuple[Any, float]] = []
        """The parts of the last request, and their weight: what a real endpoint would have in its cache."""
        self._failed: str | None = None
        """The hash of the request that was failed on purpose, so that it gets through when it comes again."""

    @property
    def model(self) -> str:
        return MODEL

    @property
    def assumed(self) -> tuple[str, ...]:
        """Nothing: its limits are its own."""
        return ()

    @property
    def label(self) -> str:
        return LABEL

    @property
    def window(self) -> int:
        """Tokens."""
        return self._window

    @property
    def guessed(self) -> bool:
        """Its window is its own."""
        return False

    @property
    def max_output_tokens(self) -> int:
        """Tokens."""
        return self._max_output

    async def prepare(self) -> None:
        """Nothing to ask."""

    async def close(self) -> None:
        """Nothing to give back."""

    async def count(self, request: Request) -> int:
        """An estimate of the request's input tokens."""
        return (await asyncio.to_thread(self._weigh, request))[0]

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer; yield deltas, last the Reply.

        Raises:
            ContextOverflow: the request is larger than the window.
            ProviderError: it was asked to fail.
        """
        answer, usage = await asyncio.to_thread(self._think, request)
        if answer.fault in ("server", "overloaded"):
            raise _failure(answer.fault)
        content: list[Block] = []
        left = float(request.max_tokens)
        cut = False
        for block in _blocks(answer, request):
            left, cut = self._fitted(block, left)
            for delta in _deltas(block):
                await asyncio.sleep(self._delay)
                yield delta
                if answer.fault == "cut" and isinstance(delta, Text) and len(delta.text) > 4:
                    partial = [{"type": "text", "text": delta.text}]
                    raise ProviderError("the demo model was cut off", kind="cut", retry=True, partial=partial)
            content.append(block)
            if cut:
                break
        stop = "max_tokens" if cut else "tool_use" if answer.calls else "end_turn"
        output = max(1, self._estimator.count(content))
        yield Reply(
            content=content,
            stop_reason=stop,
            model=MODEL,
            usage=Usage(usage.input, output, usage.cache_read, usage.cache_write),
        )

    def _think(self, request: Request) -> tuple[Answer, Usage]:
        """The answer and the input's figures. Runs in a thread."""
        total, read = self._weigh(request)
        if total > self._window:
            raise ContextOverflow(
                f"the request has {total:,} tokens, the window of the demo model {self._window:,}",
                tokens=total,
                window=self._window,
            )
        from tui_agent.llm.demo.planner import Answer, plan  # not needed until something is said

        names = frozenset(tool["name"] for tool in request.tools)
        answer = plan(request.messages, names, request.system)
        if answer.fault in ("overloaded", "cut"):
            again = self._failed == request.sha256
            self._failed = None if again else request.sha256
            if again:
                answer = Answer(answer.text, answer.thinking, answer.calls)
        if not request.breakpoints or total < _LEAST_CACHED:
            return answer, Usage(input=total)
        read = read if read >= _LEAST_CACHED else 0
        written = max(0, total - read - _UNCACHED)
        return answer, Usage(input=total - read - written, cache_read=read, cache_write=written)

    def _weigh(self, request: Request) -> tuple[int, int]:
        """The request's tokens, and how many of them are a prefix that the last request had too."""
        parts: list[Any] = [request.tools, list(request.system), *request.messages]
        seen, self._seen = self._seen, []
        shared = True
        read = total = 0.0
        for place, part in enumerate(parts):
            shared = shared and place < len(seen) and seen[place][0] == part
            weight = seen[place][1] if shared else self._estimator.weigh(part)
            total += weight
            read += weight if shared else 0.0
            self._seen.append((part, weight))
        return max(1, round(total)), round(read)

    def _fitted(self, block: Block, left: float) -> tuple[float, bool]:
        """Shorten a text to the tokens that are left, as max_tokens does; what is left after, and if it was cut."""
        cost = self._estimator.weigh(block)
        if cost <= left or block["type"] != "text":
            return left - cost, False
        kept: list[str] = []
        for piece in _PIECE.findall(block["text"]):
            left -= self._estimator.weigh(piece)
            if left < 0 and kept:
                break
            kept.append(piece)
        block["text"] = "".join(kept)
        return 0.0, True


def _failure(fault: str) -> ProviderError:
    if fault == "overloaded":
        return ProviderError(
            "the demo model was asked to be overloaded; the next attempt gets through",
            kind="overloaded",
            status=529,
            retry=True,
            retry_after=3,
        )
    return ProviderError(
        "the demo model was asked to fail this request",
        kind="server",
        status=500,
        ways=("ask it for something else",),
    )


def _blocks(answer: Answer, request: Request) -> Iterator[Block]:
    if answer.thinking:
        digest = hashlib.sha256(answer.thinking.encode()).digest()
        signature = base64.b64encode(digest).decode("ascii")
        yield {"type": "thinking", "thinking": answer.thinking, "signature": signature}
    if answer.text:
        yield {"type": "text", "text": answer.text}
    taken = {str(block.get("id")) for message in request.messages for block in _content(message)}
    number = len(taken)
    for call in answer.calls:
        while (identity := f"toolu_demo_{number:05d}") in taken:
            number += 1
        taken.add(identity)
        yield {"type": "tool_use", "id": identity, "name": call.tool, "input": dict(call.arguments)}


def _content(message: Mapping[str, Any]) -> list[Block]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _deltas(block: Block) -> Iterator[Delta]:
    match block["type"]:
        case "thinking":
            yield from (Thinking(piece) for piece in _PIECE.findall(block["thinking"]))
        case "text":
            yield from (Text(piece) for piece in _PIECE.findall(block["text"]))
        case _:
            size = len(json.dumps(block["input"], ensure_ascii=False).encode())
            for at in [*range(0, size, _ARGUMENT_PIECE), size]:
                yield ToolUse(call=block["id"], tool=block["name"], size=at)
