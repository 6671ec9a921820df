"""Who is asked: the Provider protocol, what it streams, and the ways it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.request import Request


class Text(Struct, frozen=True):
    """A piece of text of the open reply; `block` is the number of its block there."""

    text: str
    block: int = 0


class Thinking(Struct, frozen=True):
    """A piece of thinking of the open reply; `block` is the number of its block there."""

    text: str
    block: int = 0


class ToolUse(Struct, frozen=True):
    """A tool call is being written; `size` is the bytes of its arguments so far."""

    call: str
    tool: str
    size: int


class Usage(Struct, frozen=True):
    """Exact figures of one request, in tokens; `input` does not contain the cache figures (Messages API)."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """The size of the context after the reply: all input, plus the output."""
        return self.input + self.cache_read + self.cache_write + self.output


class Reply(Struct, frozen=True):
    """The whole reply, the last thing a stream yields.

    `content` holds blocks as the API returned them. A tool_use whose arguments were not valid JSON has
    `input` = {} and its raw text in `malformed[call id]`. `usage` is None if the endpoint reported none.
    """

    content: Sequence[Block]
    stop_reason: str
    model: str
    usage: Usage | None = None
    malformed: dict[str, str] = field(default_factory=dict)


Delta = Text | Thinking | ToolUse | Reply


@runtime_checkable
class Provider(Protocol):
    """A model behind an endpoint.

    `label` is what stands wherever the model's name is shown (the demo's says that it is no AI). `window` and
    `max_output_tokens` are in tokens and known after `prepare()`. `guessed`: nobody has told the window.
    """

    @property
    def model(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def guessed(self) -> bool: ...
    @property
    def max_output_tokens(self) -> int: ...
    @property
    def assumed(self) -> Sequence[str]:
        """Limits that nobody told, in words; known after `prepare()`."""
        ...

    async def prepare(self) -> None:
        """Ask the endpoint for what settings left open (model, window, limits).

        Raises:
            ProviderError: the endpoint cannot be reached or refuses.
        """
        ...

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Send the request; yield deltas, last the Reply.

        Raises:
            ProviderError: in one of its kinds. `partial` holds what had arrived of the reply.
        """
        ...

    async def count(self, request: Request) -> int:
        """The endpoint's own estimate of the request's input tokens."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


def window_of(provider: Provider) -> str:
    """The model's window in words, marked as an estimate where nobody has told it: `~32,768`."""
    return f"{'~' if provider.guessed else ''}{provider.window:,}"


class ProviderError(Exception):
    """The model could not answer.

    `kind` is auth, invalid, rate_limit, overloaded, server, connection, cut, timeout or other. `retry` says that
    the same request may succeed later, `retry_after` the seconds the endpoint asked to wait. `partial` holds the
    finished blocks of the half answer that had arrived. `ways` are the ways out, in words.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "other",
        status: int | None = None,
        retry: bool = False,
        retry_after: float | None = None,
        partial: Sequence[Block] = (),
        dropped: Sequence[str] = (),
        ways: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry = retry
        self.retry_after = retry_after
        self.partial = list(partial)
        self.dropped = list(dropped)
        """What of the half answer was not finished: `thinking 812 chars`, `tool_use bash 40 chars`."""
        self.ways = tuple(ways)


class ContextOverflow(ProviderError):
    """The request does not fit the model's window. `tokens` and `window` are None where unknown."""

    def __init__(self, message: str, *, tokens: int | None = None, window: int | None = None) -> None:
        super().__init__(
            message,
            kind="overflow",
            status=400,
            ways=(
                "compact (/compact)",
                "go back to an earlier checkpoint (/revert)",
                "elide the largest item in the inspector",
                "switch to a model with a larger window (/model)",
            ),
        )
        self.tokens = tokens
        self.window = window
