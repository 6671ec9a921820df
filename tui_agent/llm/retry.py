"""Ask again, visibly: a provider around a provider that waits and repeats what may succeed later."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from tui_agent.events import ReplyDropped, RetryWaiting
from tui_agent.llm.provider import Provider, ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tui_agent.events import Emit
    from tui_agent.llm.provider import Delta
    from tui_agent.messages.request import Request

ATTEMPTS = 8

_FIRST_WAIT = 1.0
"""Seconds before the second attempt; each further wait is twice as long."""
_LONGEST_WAIT = 60.0
"""Seconds at which waits stop growing."""
_LONGEST_ASKED = 600.0
"""Seconds: an endpoint that asks to wait longer (a spent quota) is not waited for."""
_TICK = 1.0


class Retrying:
    """The same Provider, but failures that may pass are waited out and the request is sent again.

    Only errors marked `retry` (408, 409, 429, 5xx, 529, broken connections). The wait is what the endpoint asked for,
    else it grows from 1 to 60 s, with jitter. `RetryWaiting` is emitted once a second while it waits: `attempt` is the
    one to come. What was streamed of the failed attempt is taken back by `ReplyDropped` first. Cancelling ends a wait
    at once.

    `on_failure` is told of each failure that is waited out, before the wait: its `partial` will not be sent again.
    `sleep`, `clock` (seconds) and `chance` (0 to 1) can be replaced in tests.
    """

    def __init__(
        self,
        provider: Provider,
        emit: Emit,
        *,
        attempts: int = ATTEMPTS,
        on_failure: Callable[[ProviderError], Awaitable[None]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.provider = provider
        self._emit = emit
        self._attempts = attempts
        self._on_failure = on_failure
        self._sleep = sleep
        self._clock = clock
        self._chance = chance

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.provider.model

    @property
    def label(self) -> str:
        """What stands where the model's name is shown."""
        return self.provider.label

    @property
    def window(self) -> int:
        """The model's window, in tokens."""
        return self.provider.window

    @property
    def guessed(self) -> bool:
        """True while nobody has told the window."""
        return self.provider.guessed

    @property
    def max_output_tokens(self) -> int:
        """The longest answer to ask for, in tokens."""
        return self.provider.max_output_tokens

    @property
    def assumed(self) -> Sequence[str]:
        """Limits that nobody told, in words."""
        return self.provider.assumed

    async def prepare(self) -> None:
        """Ask the endpoint for what settings left open; not repeated.

        Raises:
            ProviderError: the endpoint cannot be reached or refuses.
        """
        await self.provider.prepare()

    async def count(self, request: Request) -> int:
        """The endpoint's own estimate of the request's input tokens; not repeated."""
        return await self.provider.count(request)

    async def close(self) -> None:
        """Give back connections."""
        await self.provider.close()

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Send the request, again where it helps; yield deltas, last the Reply.

        Raises:
            ProviderError: it cannot succeed, or the last attempt failed; then `partial` is of that attempt.
        """
        attempt = 1
        while True:
            shown = False
            try:
                async with aclosing(_generator(self.provider.stream(request))) as deltas:
                    async for delta in deltas:
                        shown = True
                        yield delta
                return
            except ProviderError as error:
                if attempt >= self._attempts or not _worth_repeating(error):
                    raise
                failure = error
            attempt += 1
            if shown:
                self._emit(ReplyDropped(reason=str(failure)))
            if self._on_failure is not None:
                await self._on_failure(failure)
            await self._wait(attempt, failure)

    async def _wait(self, attempt: int, failure: ProviderError) -> None:
        until = self._clock() + self._delay(attempt, failure)
        while (left := until - self._clock()) > 0:
            self._emit(
                RetryWaiting(attempt=attempt, attempts=self._attempts, seconds=left, reason=str(failure))
            )
            await self._sleep(min(_TICK, left))

    def _delay(self, attempt: int, failure: ProviderError) -> float:
        if failure.retry_after is not None and failure.retry_after > 0:
            return failure.retry_after
        wait = min(_FIRST_WAIT * 2.0 ** (attempt - 2), _LONGEST_WAIT)
        return wait * (0.5 + self._chance() / 2)


def _worth_repeating(error: ProviderError) -> bool:
    return error.retry and (error.retry_after is None or error.retry_after <= _LONGEST_ASKED)


async def _generator(deltas: AsyncIterator[Delta]) -> AsyncGenerator[Delta, None]:
    """The iterator as a generator, so that it can be closed whatever it is."""
    try:
        async for delta in deltas:
            yield delta
    finally:
        close = getattr(deltas, "aclose", None)
        if close is not None:
            await close()
