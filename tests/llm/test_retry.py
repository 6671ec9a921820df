"""Waiting and asking again, with an injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.llm.asking import hear, profile, request, text_of
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.events import Event, ReplyDropped, RetryWaiting
from tui_agent.llm.anthropic import AnthropicProvider
from tui_agent.llm.provider import Provider, ProviderError
from tui_agent.llm.retry import Retrying


class Waiting:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Asked:
    """A provider that is asked again, what it emitted, and its clock."""

    def __init__(self, server: ScriptedServer, **options: Any) -> None:
        self.events: list[Event] = []
        self.time = Waiting()
        inner = AnthropicProvider(profile(server.url), None)
        clock: dict[str, Any] = {
            "sleep": self.time.sleep,
            "clock": self.time.clock,
            "chance": lambda: 1.0,
        }
        self.provider = Retrying(inner, self.events.append, **(clock | options))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as running:
        yield running


@pytest.fixture
async def asked(server: ScriptedServer) -> AsyncIterator[Asked]:
    made = Asked(server)
    yield made
    await made.provider.close()


async def test_it_is_the_same_protocol_and_passes_everything_on(server: ScriptedServer, asked: Asked) -> None:
    assert isinstance(asked.provider, Provider)
    await asked.provider.prepare()
    assert (asked.provider.model, asked.provider.label) == ("scripted-1", "scripted-1")
    assert (asked.provider.window, asked.provider.max_output_tokens) == (200_000, 8_192)
    server.tokens = 5
    assert await asked.provider.count(request()) == 5


async def test_success_emits_nothing(server: ScriptedServer, asked: Asked) -> None:
    server.script(Reply.text("hi"))
    await hear(asked.provider)
    assert asked.events == []


async def test_retry_after_is_respected_and_counted_down_each_second(
    server: ScriptedServer, asked: Asked
) -> None:
    server.script(Reply.error(429, "slow down", retry_after=2.5), Reply.text("hi"))
    deltas, _ = await hear(asked.provider)
    assert text_of(deltas) == "hi"
    waits = asked.of(RetryWaiting)
    assert [wait.seconds for wait in waits] == [2.5, 1.5, 0.5]
    assert asked.time.slept == [1.0, 1.0, 0.5]
    assert {(wait.attempt, wait.attempts) for wait in waits} == {(2, 8)}
    assert all("slow down" in wait.reason for wait in waits)
    assert asked.of(ReplyDropped) == []


async def test_waits_grow_to_a_minute_and_the_last_error_is_raised(
    server: ScriptedServer, asked: Asked
) -> None:
    server.script(*(Reply.error(529, f"busy {number}") for number in range(1, 9)))
    with pytest.raises(ProviderError, match="busy 8"):
        await hear(asked.provider)
    firsts = {wait.attempt: wait.seconds for wait in reversed(asked.of(RetryWaiting))}
    assert [round(firsts[attempt]) for attempt in range(2, 9)] == [1, 2, 4, 8, 16, 32, 60]
    assert server.remaining == 0


async def test_jitter_takes_off_up_to_half(server: ScriptedServer) -> None:
    asked = Asked(server, chance=lambda: 0.0)
    server.script(Reply.error(500), Reply.text("hi"))
    await hear(asked.provider)
    assert asked.of(RetryWaiting)[0].seconds == 0.5
    await asked.provider.close()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_asked_again(server: ScriptedServer, asked: Asked, status: int) -> None:
    server.script(Reply.error(status), Reply.text("hi"))
    assert text_of((await hear(asked.provider))[0]) == "hi"


@pytest.mark.parametrize(
    "reply", [*(Reply.error(status) for status in (400, 401, 402, 403, 404, 413, 422)), Reply.overflow()]
)
async def test_what_will_not_pass_is_not(server: ScriptedServer, asked: Asked, reply: Reply) -> None:
    server.script(reply)
    with pytest.raises(ProviderError):
        await hear(asked.provider)
    assert asked.events == []


async def test_a_wait_of_an_hour_is_not_waited(server: ScriptedServer, asked: Asked) -> None:
    server.script(Reply.error(429, retry_after=3_600))
    with pytest.raises(ProviderError) as caught:
        await hear(asked.provider)
    assert caught.value.retry_after == 3_600 and asked.events == []


@pytest.mark.parametrize("broken", ["cut", "failing", "without_message_stop"])
async def test_what_was_streamed_is_taken_back_before_it_is_asked_again(
    server: ScriptedServer, asked: Asked, broken: str
) -> None:
    server.script(getattr(Reply.text("half of it"), broken)(), Reply.text("whole"))
    deltas, reply = await hear(asked.provider)
    assert reply.content == [{"type": "text", "text": "whole"}]
    assert text_of(deltas) == "half of itwhole"
    assert isinstance(asked.events[0], ReplyDropped) and asked.events[0].reason
    assert len(asked.of(ReplyDropped)) == 1


async def test_the_partial_of_the_last_attempt_is_kept_and_not_taken_back(server: ScriptedServer) -> None:
    asked = Asked(server, attempts=2)
    server.script(Reply.text("first half").cut(), Reply.text("second half").cut())
    with pytest.raises(ProviderError) as caught:
        await hear(asked.provider)
    assert caught.value.partial == [{"type": "text", "text": "second half"}]
    assert len(asked.of(ReplyDropped)) == 1
    await asked.provider.close()


async def test_each_failure_that_is_waited_out_is_told_with_its_partial(server: ScriptedServer) -> None:
    told: list[tuple[ProviderError, int]] = []

    async def on_failure(error: ProviderError) -> None:
        told.append((error, len(asked.of(RetryWaiting))))

    asked = Asked(server, attempts=3, on_failure=on_failure)
    server.script(Reply.text("half").cut(), Reply.error(529), Reply.error(500))
    with pytest.raises(ProviderError):
        await hear(asked.provider)
    assert [error.kind for error, _ in told] == ["cut", "overloaded"]
    assert told[0][0].partial == [{"type": "text", "text": "half"}] and told[0][1] == 0
    await asked.provider.close()


async def test_cancelling_ends_a_wait_at_once(server: ScriptedServer) -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    asked = Asked(server, sleep=sleep)
    server.script(Reply.error(529))
    task = asyncio.create_task(hear(asked.provider))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asked.provider.close()


async def test_closing_the_stream_hangs_up(server: ScriptedServer, asked: Asked) -> None:
    hold = Hold()
    server.script(Reply.text("one two three").holding(hold, after=1))
    stream = asked.provider.stream(request())
    await anext(stream)
    await hold.reached.wait()
    await stream.aclose()
    await asyncio.wait_for(hold.gone.wait(), 5)
