"""Assembling a log: what is appended is all that is read of it, and the outcome is that of a fresh process."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import sessions
from tests.support.engine import engine, scripted_settings
from tests.support.examples import examples
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.building import assemble
from tui_agent.agent.past import requests
from tui_agent.context import Context
from tui_agent.context.source import Source
from tui_agent.messages.blocks import text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.assembler import Limits

MODEL = "claude-sonnet-5-5"
LIMITS = Limits(MODEL, 10_000_000, 4_096)
FEW = 12
"""What one step may touch, however long the session is."""


def build(context: Context, last: Request | None = None, limits: Limits = LIMITS) -> Request:
    return assemble(context, limits, last=last)[0]


async def opened(path: Path, **options: Any) -> Context:
    context = Context(path, durability="off", model=MODEL, **options)
    await context.restore()
    return context


def answer(text: str, *calls: str) -> dict[str, Any]:
    uses = [{"type": "tool_use", "id": call, "name": "bash", "input": {}} for call in calls]
    return {"role": "assistant", "content": [text_block(text), *uses], "model": MODEL}


def result(call: str, text: str = "ok") -> dict[str, Any]:
    return {"role": "user", "content": [tool_result(call, text)], "origin": "tool", "meta": {"tool": "bash"}}


def long_session(messages: int) -> Iterator[dict[str, Any]]:
    """So many short messages, each step with its usage."""
    yield {"role": "_system_prompt", "content": "be good", "blocks": []}
    yield {"role": "_tools", "sha256": "0" * 64, "tools": []}
    yield {"role": "user", "content": "begin", "id": "u"}
    for step in range(messages // 2):
        yield {"role": "_checkpoint", "id": step, "uid": f"c{step}", "at": "", "turn": False}
        yield {**answer("on", f"toolu_{step}"), "id": f"a{step}"}
        yield {
            "role": "_usage", "token_count": 100 + 40 * step, "exact": True, "through": f"c{step}",
            "produced": f"a{step}", "input": 1, "output": 20, "cache_read": 0, "cache_write": 0,
            "params": {"model": MODEL, "max_tokens": 9, "thinking": None}, "request": "0" * 64,
        }  # fmt: skip
        yield {**result(f"toolu_{step}"), "id": f"r{step}"}


class Counts:
    """How often lines are read from the disk and values are estimated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = self.estimates = 0
        read, weigh = Source.read, Estimator.weigh

        def counted_read(source: Source, offset: int, length: int) -> bytes:
            self.reads += 1
            return read(source, offset, length)

        def counted_weigh(estimator: Estimator, value: object) -> float:
            self.estimates += 1
            return weigh(estimator, value)

        monkeypatch.setattr(Source, "read", counted_read)
        monkeypatch.setattr(Estimator, "weigh", counted_weigh)

    def take(self) -> tuple[int, int]:
        found, self.reads, self.estimates = (self.reads, self.estimates), 0, 0
        return found


async def test_a_step_in_a_session_of_ten_thousand_messages_touches_a_few_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "context.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in long_session(10_000)))
    context = await opened(path)
    counts = Counts(monkeypatch)
    last = build(context)
    assert counts.take()[0] > 10_000
    for step in range(3):
        await context.checkpoint()
        (said,) = await context.append_message(answer("and on", f"new_{step}"))
        uid = context.checkpoints()[-1].uid
        params = {"model": MODEL, "max_tokens": 4_096, "thinking": None}
        await context.update_token_count(
            300_000 + step, through=uid, produced=said.id, output=9, params=params, request=last.sha256
        )
        await context.append_message(result(f"new_{step}"))
        counts.take()
        made = build(context, last)
        reads, estimates = counts.take()
        anew = len(made.pieces) - sum(a is b for a, b in zip(last.pieces, made.pieces, strict=False))
        assert (reads <= FEW, estimates <= FEW, anew <= FEW) == (True, True, True), (reads, estimates, anew)
        assert made.messages[5] is last.messages[5]  # the long beginning is in memory once
        last = made
    assert last.encode() == build(context).encode()
    await context.close()


async def test_a_turn_of_a_long_session_reads_a_few_records_from_its_words_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer() as server:
        settings = scripted_settings(server, model=MODEL, context_window=10_000_000)
        server.script(*(Reply.text("so") for _ in range(2)))
        async with engine(tmp_path, server, settings=settings) as run:
            await run.say("first")
            path = run.context.path
        with path.open("a") as log:
            log.writelines(json.dumps(record) + "\n" for record in list(long_session(300))[2:])
        async with engine(tmp_path, server, settings=settings, resume="latest", allow=["bash"]) as run:
            await run.say("here the whole is read once")
            counts = Counts(monkeypatch)
            server.script(Reply.tools(("bash", {"command": "true"})), Reply.text("done"))
            await run.say("again")
            reads, estimates = counts.take()
            assert (reads <= 4 * FEW, estimates <= 4 * FEW) == (True, True), (reads, estimates)
            assert len(run.context.history) > 300
            assert len(server.requests[-1]["messages"]) > 250


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it is seen by the files that are open")
async def test_of_a_log_that_was_rewritten_nothing_is_kept(tmp_path: Path) -> None:
    server = ScriptedServer()
    server.script(Reply.text("one"), Reply.text("two"))
    async with server, engine(tmp_path, server) as run:
        await run.say("first")
        await run.say("second")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        log = run.context.path
        files = {os.stat(link).st_ino for link in Path("/proc/self/fd").iterdir() if link.exists()}
        assert log.stat().st_ino in files
        assert log.with_name("context_1.jsonl").stat().st_ino not in files


OPERATIONS = (
    "say",
    "answer",
    "step",
    "elide",
    "drop",
    "back",
    "revert",
    "model",
    "prompt",
    "picture",
    "undo",
)


async def _do(context: Context, operation: str, number: int) -> None:
    history, batches = context.history, context.batches
    match operation:
        case "say":
            await context.checkpoint(turn=True)
            await context.append_message({"role": "user", "content": f"words {number} é 漢字"})
        case "answer":
            await context.append_message(answer(f"answer {number}"))
        case "step":
            calls = [f"toolu_{number % 3}", f"toolu_{number}"][: 1 + number % 2]
            await context.checkpoint()
            await context.append_message(answer("I look", *calls))
            for call in reversed(calls):
                await context.append_message(result(call, "line\n" * number))
        case "picture":
            source = {
                "type": "blob",
                "sha256": "a" * 64,
                "media_type": "image/png",
                "bytes": 9,
                "width": 3000,
            }
            pictures = [{"type": "image", "source": source}] * (1 + number % 9)
            await context.append_message({"role": "user", "content": pictures})
        case "elide" if history:
            item = {"record": history[number % len(history)].id, "as": "[truncated]"}
            await context.elide([item], by="auto", reason="micro")
        case "drop" if history:
            item = {"record": history[number % len(history)].id, "block": 0, "as": None}
            await context.elide([item], by="user", reason="drop")
        case "back" if batches:
            await context.restore_elided(batches[number % len(batches)].id)
        case "revert" if points := context.checkpoints():
            await context.revert_to(points[number % len(points)].uid)
        case "undo" if context.can_undo:
            await context.undo()
        case "prompt":
            await context.write_system_prompt(f"be good, {number}")


async def _follows(operations: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in sessions.records(20, seed=len(operations))))
        context = await opened(path)
        limits = LIMITS
        last = build(context)
        for operation, number in operations:
            if operation == "model":
                limits = Limits(("other", MODEL)[number % 2], limits.window, limits.max_output)
            await _do(context, operation, number)
            last = build(context, last, limits)
            other = build(await opened(path, read_only=True), limits=limits)
            assert last.encode() == other.encode()
            assert (last.blocks, last.changes) == (other.blocks, other.changes)
        await context.close()


@examples(25)
@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 40)), min_size=3, max_size=12))
def test_whatever_becomes_of_a_log_it_is_assembled_as_by_a_fresh_process(
    operations: list[tuple[str, int]],
) -> None:
    asyncio.run(_follows(operations))


async def test_past_requests_are_built_one_upon_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "context.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in long_session(60)))
    context = await opened(path, read_only=True)
    found = [request for _, request in requests(context)]
    assert len(found) == 30
    assert all(b.messages[at] is a.messages[at] for a, b in pairwise(found[2:]) for at in range(2))
    assert found[-1].encode() == next(_rebuilt_last(context)).encode()


def _rebuilt_last(context: Context) -> Iterator[Request]:
    """The last request, by the records that it covered alone."""
    usage = [record for record in context.records if record.role == "_usage"][-1]
    past = context.before(context.records[usage.index - 1].id)
    yield Request.make(
        model=MODEL,
        system=past.system_blocks,
        history=list(past.history),
        max_tokens=9,
        tools=past.tools or [],
    )
