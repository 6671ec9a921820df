"""A model as a compaction strategy may ask it: whole replies, failures waited out in sight, figures summed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from tui_agent.changes import CompactionStage
from tui_agent.events import Event, RetryWaiting
from tui_agent.llm.provider import ProviderError, Reply, Usage
from tui_agent.llm.retry import Retrying
from tui_agent.messages.tokens import Estimator

if TYPE_CHECKING:
    from tui_agent.events import Emit
    from tui_agent.llm.provider import Provider
    from tui_agent.messages.request import Request


class Asking:
    """A provider as `strategy.Model`.

    What is streamed is shown nowhere: a summary counts when it is whole. A wait before another attempt is told as a
    stage of the compaction, since a turn's own events may come at the same time. `options` are those of
    `Retrying` (attempts, sleep, clock, chance).

    Args:
        provider: who is asked; prepared, so that its limits are known.
        emit: told of stages.
        estimator: counts tokens, best the one that was calibrated on this conversation.
        answered: told of each request that was answered.
    """

    def __init__(
        self,
        provider: Provider,
        emit: Emit,
        *,
        estimator: Estimator | None = None,
        answered: Callable[[Request], object] = lambda request: None,
        **options: Any,
    ) -> None:
        self._provider = provider
        self._emit = emit
        self._estimator = estimator or Estimator(provider.model)
        self._answered = answered
        self._asking = Retrying(provider, self._hear, **options)
        self.usage: Usage | None = None
        """The exact figures of all requests so far, those of a strategy that failed among them; None: none told."""

    @property
    def name(self) -> str:
        """The model's name, as a request takes it."""
        return self._provider.model

    @property
    def window(self) -> int:
        """Tokens."""
        return self._provider.window

    @property
    def max_output(self) -> int:
        """Tokens."""
        return self._provider.max_output_tokens

    def count(self, value: Any) -> int:
        """The estimated tokens of text, a block, a message or a list of them."""
        return self._estimator.count(value)

    def say(self, stage: str) -> None:
        """Tell the person what is being done now."""
        self._emit(CompactionStage(stage))

    async def ask(self, request: Request) -> Reply:
        """Send a request and wait for the whole reply.

        Raises:
            ProviderError: the model could not answer.
        """
        async with aclosing(self._asking.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, Reply):
                    self._answered(request)
                    self.usage = summed(self.usage, delta.usage)
                    return delta
        raise ProviderError("the stream ended without a reply", kind="cut")

    def _hear(self, event: Event) -> None:
        if isinstance(event, RetryWaiting):
            self.say(
                f"asking again in {max(1, round(event.seconds))} s "
                f"(attempt {event.attempt} of {event.attempts}): {event.reason}"
            )


def summed(one: Usage | None, other: Usage | None) -> Usage | None:
    """Two requests' figures together; None where neither has any."""
    if one is None or other is None:
        return one or other
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
    )
