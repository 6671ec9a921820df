"""What a scripted server is told to answer: a `Reply` for each request, made and refined by its methods.

At a `Hold` a reply stops until the test lets it go on.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Ending = Literal["stop", "cut", "error", "no_stop_reason", "no_message_stop"]
Wording = Literal["anthropic", "output", "bedrock", "llama", "ollama", "openai", "kimi", "glm", "generic"]

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

_OVERFLOWS: dict[Wording, str] = {
    "anthropic": "prompt is too long: {tokens} tokens > {window} maximum",
    "output": "input length and `max_tokens` exceed context limit: {tokens} + 8192 > {window}, "
    "decrease input length or `max_tokens` and try again",
    "bedrock": "Input is too long for requested model.",
    "llama": "the request exceeds the available context size, try increasing it",
    "ollama": "prompt too long; exceeded max context length by {over} tokens",
    "openai": "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{tokens} tokens. Please reduce the length of the messages.",
    "kimi": "Invalid request: Your request exceeded model token limit: {window} (requested: {tokens})",
    "glm": "The input exceeds the context window of the model: {tokens} tokens, at most {window}",
    "generic": "context_length_exceeded",
}

_CALLS = itertools.count(1)


class Hold:
    """A place where a reply stops until the test lets it go on.

    `reached` is set when the server is there, `release` lets it go on, `gone` is set if the client hung up meanwhile.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.release = asyncio.Event()
        self.gone = asyncio.Event()

    async def wait(self) -> None:
        """Stop here; called by the server."""
        self.reached.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.gone.set()
            raise


@dataclass(frozen=True)
class Reply:
    """One step of a script: what the server answers. Made by the class methods, refined by the others.

    `content` holds blocks as the API would return them; a tool_use whose `input` is a string streams that string as its
    arguments, whether it is JSON or not; a text that is a list of texts streams these as its deltas.
    """

    content: tuple[Mapping[str, Any], ...] = ()
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, int] | None = None
    ending: Ending = "stop"
    failure: str = "overloaded_error"
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_events: tuple[Mapping[str, Any], ...] = ()
    held: Hold | None = None
    held_after: int = -1
    pace: float = 0.0
    named: bool = True

    # --- answers ------------------------------------------------------------------------------------------------

    @classmethod
    def blocks(cls, *content: Mapping[str, Any], stop_reason: str = "end_turn") -> Reply:
        """These blocks, of any type, known or not."""
        return cls(content=content, stop_reason=stop_reason)

    @classmethod
    def text(cls, text: str, *, stop_reason: str = "end_turn") -> Reply:
        """One text block."""
        return cls.blocks({"type": "text", "text": text}, stop_reason=stop_reason)

    @classmethod
    def thinking(cls, thinking: str, text: str = "", *, signature: str = "c2lnbmVk") -> Reply:
        """A signed thinking block, then text if there is any."""
        first = {"type": "thinking", "thinking": thinking, "signature": signature}
        return cls.blocks(first, *([{"type": "text", "text": text}] if text else []))

    @classmethod
    def tools(cls, *calls: tuple[str, Mapping[str, Any] | str], text: str = "", thinking: str = "") -> Reply:
        """Parallel tool calls (name, arguments), with thinking and text before them where given.

        Arguments given as a string are streamed as they are: malformed JSON, for instance.
        """
        before: list[Mapping[str, Any]] = []
        if thinking:
            before.append({"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"})
        if text:
            before.append({"type": "text", "text": text})
        uses = [
            {"type": "tool_use", "id": f"toolu_{next(_CALLS):06d}", "name": name, "input": arguments}
            for name, arguments in calls
        ]
        return cls.blocks(*before, *uses, stop_reason="tool_use")

    @classmethod
    def truncated(cls, tool: str, arguments: str, *, text: str = "") -> Reply:
        """A call that max_tokens cut inside its arguments."""
        return replace(cls.tools((tool, arguments), text=text), stop_reason="max_tokens")

    @classmethod
    def refusal(cls, text: str = "") -> Reply:
        """The model declines; usually without content."""
        return replace(cls.text(text) if text else cls(), stop_reason="refusal")

    @classmethod
    def error(
        cls, status: int, message: str = "", *, kind: str = "", retry_after: float | None = None
    ) -> Reply:
        """An HTTP error in the API's form."""
        kind = kind or _KINDS.get(status, "api_error")
        body = {
            "type": "error",
            "error": {"type": kind, "message": message or kind.replace("_", " ")},
            "request_id": "req_scripted",
        }
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        return cls(status=status, body=body, headers=headers)

    @classmethod
    def overflow(
        cls, wording: Wording = "anthropic", *, tokens: int = 212_345, window: int = 200_000
    ) -> Reply:
        """400: the request does not fit the window, in one of the wordings that endpoints use."""
        message = _OVERFLOWS[wording].format(tokens=tokens, window=window, over=tokens - window)
        reply = cls.error(400, message)
        if wording == "llama":
            error = {
                "code": 400,
                "message": message,
                "type": "exceed_context_size_error",
                "n_prompt_tokens": tokens,
                "n_ctx": window,
            }
            return replace(reply, body={"error": error})
        return reply

    @classmethod
    def page(cls, status: int, text: str) -> Reply:
        """Not the protocol at all: a proxy's HTML page."""
        return cls(status=status, body=text)

    # --- refinements --------------------------------------------------------------------------------------------

    def using(self, *, input: int, output: int, cache_read: int = 0, cache_write: int = 0) -> Reply:
        """With these usage figures."""
        return replace(
            self,
            usage={
                "input_tokens": input,
                "output_tokens": output,
                "cache_read_input_tokens": cache_read,
                "cache_creation_input_tokens": cache_write,
            },
        )

    def cut(self) -> Reply:
        """The connection breaks inside the last block."""
        return replace(self, ending="cut")

    def failing(self, kind: str = "overloaded_error") -> Reply:
        """An SSE `error` event comes inside the last block."""
        return replace(self, ending="error", failure=kind)

    def without_stop_reason(self) -> Reply:
        """message_stop comes, but no message_delta before it."""
        return replace(self, ending="no_stop_reason")

    def without_message_stop(self) -> Reply:
        """The stream ends properly after the last block; message_delta and message_stop never come."""
        return replace(self, ending="no_message_stop")

    def stopping(self, reason: str) -> Reply:
        """With another stop_reason."""
        return replace(self, stop_reason=reason)

    def with_events(self, *events: Mapping[str, Any]) -> Reply:
        """With these events, of any type, before the message ends."""
        return replace(self, extra_events=events)

    def holding(self, hold: Hold, *, after: int = 0) -> Reply:
        """Stop at `hold` after so many deltas; -1: before the response's headers."""
        return replace(self, held=hold, held_after=after)

    def paced(self, seconds: float) -> Reply:
        """With so much time from one delta to the next; what is late is made up for."""
        return replace(self, pace=seconds)

    def nameless(self) -> Reply:
        """Without the `event:` lines, as some compatible endpoints stream."""
        return replace(self, named=False)


Step = Reply | Callable[[dict[str, Any]], Reply | Awaitable[Reply]]
