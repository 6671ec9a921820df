"""How a history is summarised: the Compaction protocol, what a strategy is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.llm.provider import Reply, Usage
    from tui_agent.messages.blocks import Block, Message
    from tui_agent.messages.request import Request
    from tui_agent.messages.tokens import Tokens


class Source(Struct, frozen=True):
    """What is to be summarised. It does not change while a strategy works.

    `replaced` are the messages that will go, oldest first, an earlier summary among them; `kept` those that stay
    word for word behind the summary. `history` is all of them in order, as they are sent now. `system`, `tools` and
    `thinking` are those in force: a request that has them too is served from the provider's cache. `tokens` is the
    weight of `replaced`, `budget` the most tokens a summary may have. `whole` has those of `replaced` of which results
    or answers were shortened to make room, as they were before, by id; they may be many times larger. `ledger` are the
    facts of the session in words (files, commands, failures), `pending` what must stand as not done: open todos, open
    calls. `instruction` is what the person wants the summary to dwell on, or empty.
    """

    replaced: Sequence[Message]
    kept: Sequence[Message]
    history: Sequence[Message]
    tokens: Tokens
    budget: int
    system: Sequence[Block] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    thinking: Mapping[str, Any] | None = None
    ledger: str = ""
    pending: Sequence[str] = ()
    instruction: str = ""
    whole: Mapping[str, Message] = {}


class Model(Protocol):
    """A model as a strategy may use it. `window` and `max_output` are in tokens."""

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int: ...
    @property
    def max_output(self) -> int: ...

    def count(self, value: Any) -> int:
        """The estimated tokens of text, a block, a message or a list of them."""
        ...

    def say(self, stage: str) -> None:
        """Tell the person, in words, what is being done now."""
        ...

    async def ask(self, request: Request) -> Reply:
        """Send a request and wait for the whole reply; failures that may pass are tried again, in sight.

        Raises:
            ProviderError: the model could not answer.
        """
        ...


class CompactionResult(Struct, frozen=True):
    """What a strategy gives back.

    `summary` stands for all of `replaced` ("" with `preserved` equal to everything: nothing is to change).
    `preserved` are the ids of the messages that stay word for word, in order. `before` and `after` are the weights of
    what is replaced and of the summary, each with how sure it is. `usage` are the exact figures of the requests it
    took, summed; None if it took none or the endpoint told nothing. `notes` say in words what a person should know.
    """

    summary: str
    preserved: Sequence[str]
    before: Tokens
    after: Tokens
    usage: Usage | None = None
    notes: tuple[str, ...] = ()


class CompactionFailed(Exception):
    """A strategy could not give a summary that may be used; the message says why, `ways` what can be done."""

    def __init__(self, message: str, *, ways: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.ways = tuple(ways)


@runtime_checkable
class Compaction(Protocol):
    """A strategy. `name` is what settings call it."""

    @property
    def name(self) -> str: ...

    async def compact(self, source: Source, model: Model) -> CompactionResult:
        """Summarise. It is cancelled by cancelling the task it runs in, and may be run again.

        Raises:
            CompactionFailed: there is no summary that may be used.
            ProviderError: the model could not answer.
        """
        ...
