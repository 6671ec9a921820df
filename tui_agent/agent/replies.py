"""One reply of the model: build the request, weigh it, stream the answer, store it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.agent.answers import Answers, Stored
from tui_agent.agent.building import assemble, limits_of, total_of
from tui_agent.agent.past import recall_all
from tui_agent.events import (
    Emit,
    Notice,
    RequestFailed,
    ThinkingDelta,
    ToolUseDelta,
    UsageReported,
    Weighed,
)
from tui_agent.llm.provider import ContextOverflow, ProviderError, Reply, Text, Thinking, ToolUse
from tui_agent.llm.retry import ATTEMPTS, Retrying
from tui_agent.messages.lint import repairs
from tui_agent.prompt import cache
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS, DoesNotFit
from tui_agent.prompt.cache import PrefixWatch
from tui_agent.prompt.manifest import Manifest, Total

if TYPE_CHECKING:
    from tui_agent.agent.proposing import Proposing
    from tui_agent.context import Context
    from tui_agent.llm.provider import Provider
    from tui_agent.messages.request import Request
    from tui_agent.prompt.assembler import Limits
    from tui_agent.prompt.cache import Prediction
    from tui_agent.prompt.manifest import Item


class ReplyFailed(Exception):
    """The model could not be asked; the event has been sent and the log is sound."""


class Overflowed(Exception):
    """A request does not fit the model's window; nothing was kept of an answer. `ways` are the ways out, in words.

    `tokens` and `window` are what the endpoint counted and allows, None where it did not tell.
    """

    def __init__(
        self, message: str, *, ways: Sequence[str], tokens: int | None = None, window: int | None = None
    ) -> None:
        super().__init__(message)
        self.ways = tuple(ways)
        self.tokens = tokens
        self.window = window


class Replies:
    """Asks the model, once per `next()`. `level` is how much it may think, as settings say; `proposing` takes what
    answers want remembered.
    """

    def __init__(
        self,
        *,
        context: Context,
        provider: Provider,
        level: str,
        emit: Emit,
        proposing: Proposing,
    ) -> None:
        self._context = context
        self._emit = emit
        self._answers = Answers(context, emit, proposing, lambda: self._provider.model)
        self.watch = PrefixWatch()
        self.lacking = 0
        """The estimated tokens of the prompt and tools that a new log will get before its first turn."""
        self.unsent: Callable[[], Iterable[Item]] = tuple
        """Gives the injections that were due and left out."""
        self._last: Request | None = None
        self._generation = context.generation
        """That of the log which the last request was built of."""
        self._recalled = False
        self.use(provider, level)

    def use(self, provider: Provider, level: str) -> None:
        """Ask this model from now on; called between turns."""
        self._provider = provider
        self._level = level
        self._asking = Retrying(provider, self._emit, attempts=ATTEMPTS, on_failure=self._answers.superseded)
        self._context.model = provider.model

    @property
    def limits(self) -> Limits:
        """What the model takes."""
        return limits_of(self._provider, self._level)

    async def prepare(self) -> None:
        """Learn the model's name and limits where settings leave them open.

        Raises:
            ProviderError: the endpoint cannot be reached, refuses, or names no model.
        """
        await self._provider.prepare()
        if self._context.model != self._provider.model:
            self._context.model = self._provider.model

    async def build(self) -> tuple[Request, Manifest]:
        """The request that would be sent now, from the log alone.

        Raises:
            DoesNotFit: it does not fit the window.
        """
        request, manifest, _ = await self._build()
        return request, manifest

    async def _build(self) -> tuple[Request, Manifest, Prediction]:
        await self.recall()
        request, manifest, predicted = await asyncio.to_thread(self._assembled)
        # what the next one has in common with it is not made again
        self._last, self._generation = request, self._context.generation
        return request, manifest, predicted

    async def recall(self) -> None:
        """Tell the watch, once, of what was sent before the session was opened."""
        if not self._recalled:
            self._recalled = True
            await recall_all(self.watch, self._context, cache.clock())

    def _assembled(self) -> tuple[Request, Manifest, Prediction]:
        """The request, its manifest, and what the provider's cache will do for it if it is sent now."""
        request, manifest = assemble(self._context, self.limits, last=self._last, unsent=self.unsent)
        predicted = self.watch.predict(
            request, cache.clock(), total=manifest.total.count, estimator=manifest.estimator
        )
        return request, replace(manifest, served=predicted.edge), predicted

    def weigh(self) -> Total:
        """The weight of the next request; tells the screen. What a new log still lacks counts as pending."""
        if self._generation != self._context.generation:
            self._last = None  # it is of a log that was rewritten, and would keep all of that in memory
        total = total_of(self._context)
        if self.lacking and self._context.system_prompt is None:
            count, pending = total.count + self.lacking, total.pending + self.lacking
            total = Total(count, total.exact, pending, "estimated")
        provider = self._provider
        self._emit(
            Weighed(total.count, total.exact, total.pending, total.mark, provider.window, provider.guessed)
        )
        return total

    async def next(self) -> Stored:
        """Ask for one reply and put it on disk.

        Raises:
            Overflowed: the request does not fit the window.
            ReplyFailed: the model could not answer; what had arrived is kept as far as it is whole.
            ContextError: the log could not be written.
        """
        await self._know_limits()
        self.weigh()
        try:
            request, through, predicted = await self._built()
        except DoesNotFit as error:
            raise Overflowed(str(error), ways=error.ways) from error
        if broken := self.watch.sent(request, cache.clock(), predicted):
            self._emit(Notice(f"the provider's cache does not serve this request: {broken}", "info", "cache"))
        self._answers.begin()
        try:
            reply = await self._stream(request)
        except ContextOverflow as error:
            ways = error.ways
            if error.tokens:
                ways = await asyncio.to_thread(self._ways_out, error.tokens, error.window)
            raise Overflowed(str(error), ways=ways, tokens=error.tokens, window=error.window) from error
        except ProviderError as error:
            await self._answers.broke_off(error)
            from tui_agent.agent.failing import failure  # not needed to open a session

            failed = failure(error, request, self._context)
            self._emit(failed)
            raise ReplyFailed(failed.message) from error
        except asyncio.CancelledError:
            await self._answers.interrupted()
            raise
        return await self._store(reply, request, through)

    def _ways_out(self, tokens: int, window: int | None) -> tuple[str, ...]:
        """What makes a request fit of which the endpoint says that it does not, in the measure of the estimates."""
        total, most = total_of(self._context).count, self.limits.most
        if window is not None:
            most = min(most, max(0, window - MIN_OUTPUT_TOKENS))
        from tui_agent.agent.ways import ways_out  # not needed while requests fit

        return ways_out(self._context, total, min(total * most // tokens, total - 1), counted=tokens)

    def give_up(self, overflow: Overflowed) -> ReplyFailed:
        """Tell that a request does not fit and nothing made room for it."""
        self._emit(RequestFailed("overflow", str(overflow), overflow.ways))
        return ReplyFailed(str(overflow))

    async def go_on(self) -> None:
        """Put into the log what asks a model that paused to go on, so that the next request extends the last."""
        blocks = await asyncio.to_thread(repairs, self._context.history, model=self._provider.model)
        if blocks:
            await self._context.append_message({"role": "user", "content": blocks}, origin="repair")

    async def _know_limits(self) -> None:
        try:
            await self.prepare()
        except ProviderError as error:
            # With a model's name at hand the request itself is tried, and what fails then is waited out in sight.
            if not self._provider.model:
                self._emit(RequestFailed(error.kind, str(error), error.ways))
                raise ReplyFailed(str(error)) from error

    async def _built(self) -> tuple[Request, str, Prediction]:
        """The request, the id of the last record that shaped it, and what the cache will do for it.

        No record may come in while it is built.
        """
        while True:
            through = self._context.records[-1].id
            request, _, predicted = await self._build()
            if self._context.records[-1].id == through:
                return request, through, predicted

    async def _stream(self, request: Request) -> Reply:
        began = False
        async for delta in self._asking.stream(request):
            if not began:
                began = True
                self.watch.begun(cache.clock())
            if isinstance(delta, Text):
                self._answers.feed(delta)
                continue
            self._answers.end_block()
            if isinstance(delta, Thinking):
                self._emit(ThinkingDelta(delta.text, delta.block))
            elif isinstance(delta, ToolUse):
                self._emit(ToolUseDelta(delta.call, delta.tool, delta.size))
            elif isinstance(delta, Reply):
                return delta
        raise ProviderError("the stream ended without a reply", kind="cut")

    async def _store(self, reply: Reply, request: Request, through: str) -> Stored:
        produced = await self._answers.append(reply)
        await self._account(reply, request, through, produced)
        stored = await self._answers.end(reply, produced)
        self.weigh()
        return stored

    async def _account(self, reply: Reply, request: Request, through: str, produced: str) -> None:
        usage, predicted, at = reply.usage, *self.watch.answered(reply.usage)
        if usage is None:
            return
        params = {"model": request.model, "max_tokens": request.max_tokens, "thinking": request.thinking}
        await self._context.update_token_count(
            usage.total if produced else usage.total - usage.output,
            exact=True,
            through=through,
            produced=produced or None,
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            params=params,
            request=request.sha256,
            at=at.isoformat(timespec="milliseconds"),
            predicted=predicted.read,
            **({"parted": self.watch.parted} if self.watch.parted else {}),
        )
        told = UsageReported(
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.total,
            request.model,
            predicted.read,
            self.watch.parted,
        )
        self._emit(told)
