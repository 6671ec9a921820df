"""History, system and tools become one request and its manifest. Pure: reads, writes and asks nothing.

Everything that shapes a request is in the log before it is built, so any process can build the same one again
(`rebuild`), byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.messages.request import Request
from tui_agent.prompt.cache import breakpoints
from tui_agent.prompt.manifest import Manifest, Total

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.messages.request import Breakpoint
    from tui_agent.messages.tokens import Estimator
    from tui_agent.prompt.manifest import Books

MIN_OUTPUT_TOKENS = 1024
"""Room an answer must at least have; below it the request is refused."""
_GUESSED = ", which is a guess, since nobody has told it (context_window in the profile does)"


class DoesNotFit(Exception):
    """The request and its answer do not fit the window. Says the numbers and the ways out.

    `manifest` is what would have been sent, to be looked at.
    """

    def __init__(self, manifest: Manifest, ways: Sequence[str] = ()) -> None:
        self.manifest = manifest
        total, window = manifest.total, manifest.window
        self.ways = tuple(ways) or (larger_window(total.count),)
        about = "" if total.mark == "exact" else "about "
        super().__init__(
            f"the next request would be {about}{total.count:,} tokens; with {MIN_OUTPUT_TOKENS:,} for the answer "
            f"that is over the model's window of {window:,}{_GUESSED if manifest.guessed else ''}"
        )

    @property
    def excess(self) -> int:
        """The tokens by which it is too much."""
        return self.manifest.total.count + MIN_OUTPUT_TOKENS - self.manifest.window


def larger_window(tokens: int) -> str:
    """The way out that is always there, for a request of so many tokens."""
    return f"switch to a model with a window of {tokens + MIN_OUTPUT_TOKENS:,} tokens or more (/model)"


class Limits(Struct, frozen=True):
    """What the model takes, in tokens, and the API's thinking parameter for it (None: not sent). `guessed`: nobody has
    told the window.
    """

    model: str
    window: int
    max_output: int
    thinking: Mapping[str, Any] | None = None
    guessed: bool = False

    @property
    def reserve(self) -> int:
        """The room that is kept free for an answer: the longest there may be, at most a quarter of the window."""
        return max(MIN_OUTPUT_TOKENS, min(self.max_output, self.window // 4))

    @property
    def budget(self) -> int:
        """What a request may weigh so that the answer has its room."""
        return max(0, self.window - self.reserve)

    @property
    def most(self) -> int:
        """What a request may weigh at all: an answer gets at least the least room."""
        return max(0, self.window - MIN_OUTPUT_TOKENS)


class Assembler:
    """Builds requests for one model."""

    def __init__(self, limits: Limits, estimator: Estimator) -> None:
        self.limits = limits
        self._estimator = estimator

    def build(
        self,
        *,
        system: Sequence[Block],
        tools: Sequence[Mapping[str, Any]],
        history: Sequence[Message],
        total: Total,
        books: Books,
        last: Request | None = None,
        served: Breakpoint | None = None,
    ) -> tuple[Request, Manifest]:
        """The request that would be sent now, with its cache breakpoints, and its manifest.

        `total` is the weight of the context as the log accounts for it; `books` say what each item is. What is as in
        the `last` request is taken from there; `served` is the last place that the provider's cache should give.

        Raises:
            DoesNotFit: the window has no room for the request and the least answer.
        """
        room = max(MIN_OUTPUT_TOKENS, self.limits.window - total.count)
        max_tokens, thinking = min(self.limits.max_output, room), self.limits.thinking
        budget = (thinking or {}).get("budget_tokens")
        if budget is not None and budget >= max_tokens:
            # The API demands a budget below max_tokens; with so little room left the answer goes first.
            thinking = None
        request = Request.make(
            model=self.limits.model,
            system=system,
            history=history,
            max_tokens=max_tokens,
            tools=[dict(tool) for tool in tools],
            thinking=thinking,
            last=last,
        )
        request = request.marked(breakpoints(request))
        limits, estimator = self.limits, self._estimator
        manifest = Manifest(
            request, total, limits.window, max_tokens, books, estimator, served, limits.guessed
        )
        if total.count > self.limits.most:
            raise DoesNotFit(manifest)
        return request, manifest


def rebuild(
    *,
    system: Sequence[Block],
    tools: Sequence[Mapping[str, Any]],
    history: Sequence[Message],
    params: Mapping[str, Any],
    last: Request | None = None,
) -> Request:
    """The request of a `_usage` record again, from the projection as it stood before the reply was appended.

    What is as in the `last` request is taken from there.
    """
    return Request.make(
        model=str(params["model"]),
        system=system,
        history=history,
        max_tokens=int(params["max_tokens"]),
        tools=[dict(tool) for tool in tools],
        thinking=params.get("thinking"),
        last=last,
    )
