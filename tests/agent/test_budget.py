"""What does not fit a window: what goes and in which order, what never goes, and the ways out that are named."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.running import compacting, is_compaction, spoken
from tests.support.engine import Run, engine, reread
from tests.support.examples import some
from tests.support.longtalk import Weather
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.agent.building import assemble, limits_of
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, CompactionFailed, MicroCompacted
from tui_agent.compaction.budget import SHARE
from tui_agent.context import Context
from tui_agent.events import RequestFailed, TurnEnded, TurnStarted
from tui_agent.memory.store import MemoryStore
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS, DoesNotFit, Limits

WINDOWS = (8_000, 32_000, 200_000)
LINE = "the parser reads each line of the file\n"
_MOST_LINES = 280
"""So many of them are not shortened in a result."""
LINE_TOKENS = Estimator("scripted-1").weigh(LINE)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


class Model:
    """A model that counts exactly and refuses what its window has no room for; it answers as it is told."""

    def __init__(self, window: int, work: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        self.window = window
        self.refused = 0
        self._work = work or (lambda body: Reply.text("so it is"))
        self._count = Estimator("scripted-1").count

    def __call__(self, body: dict[str, Any]) -> Reply:
        size = self._count(spoken(body)) + self._count(json.dumps(body.get("tools", [])))
        if size > self.window:
            self.refused += 1
            return Reply.overflow(tokens=size, window=self.window)
        reply = self._work(body)
        return reply.using(input=size, output=1 + self._count(spoken(list(reply.content))))


def reading(lines: int) -> Callable[[dict[str, Any]], Reply]:
    """A model that reads a file of so many lines in each turn, and says what it saw."""

    def work(body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["content"][0]["type"] == "tool_result":
            return Reply.text("I have seen it")
        command = f"seq {min(lines, _MOST_LINES)} | sed 's/.*/{LINE.strip()}/'"
        return Reply.tools(*[("bash", {"command": command})] * -(-lines // _MOST_LINES))

    return work


def tokens(window: int, share: float) -> int:
    """So many lines as are a share of a window."""
    return int(window * share / LINE_TOKENS)


def batches(context: Context) -> list[Any]:
    return [record for record in context.batches if record.body["reason"] == "budget"]


def failed(run: Run) -> RequestFailed:
    return run.all(RequestFailed)[-1]


def way(ways: Sequence[str], command: str) -> str:
    """What to type for the way out that has this command."""
    found = [match[1] for one in ways if (match := re.search(rf"\((/{command}[^)]*)\)", one))]
    assert found, (command, ways)
    return found[0]


async def follow(run: Run, typed: str, *more: str) -> None:
    name, *words = typed.removeprefix("/").split()
    await run.session.perform(name, *words, *more)
    await run.session.until_idle()


async def again(run: Run) -> None:
    """Send the request that failed again; it must be answered."""
    failures = len(run.all(RequestFailed))
    await run.session.perform("retry")
    await run.session.until_idle()
    assert len(run.all(RequestFailed)) == failures
    assert run.context.history[-1].role == "assistant"


async def rebuilt(run: Run) -> None:
    assert all(usage["request"] == built.sha256 for usage, built in requests(await reread(run)))


# --- the oldest exchanges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", some(WINDOWS, 2))
async def test_with_compaction_off_the_oldest_exchanges_go_in_one_batch_that_can_be_taken_back(
    tmp_path: Path, server: ScriptedServer, window: int
) -> None:
    model = Model(window, reading(tokens(window, 0.08)))
    server.always(model)
    settings = compacting(server, window=window, auto=False)
    async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
        await run.say("words 0")
        pinned = run.context.history[2].id
        await run.session.perform("pin", pinned)
        goal = {"role": "user", "content": "reach the harbour"}
        sources = [{"name": "goal", "fp": "0"}]
        await run.context.append_message(goal, origin="injection", sources=sources, priority=100)
        for number in range(1, 40):
            if batches(run.context):
                break
            await run.say(f"words {number}")
        (batch,) = batches(run.context)
        (told,) = [event for event in run.all(MicroCompacted) if event.elide == batch.id]
        budget = limits_of(run.session.provider, "off").budget
        assert told.before > budget and told.after <= SHARE * budget
        assert "compaction.auto is off" in told.arithmetic
        gone = {item["record"] for item in batch.body["items"]}
        _oldest(run.context, gone, pinned)
        sent = str(server.requests[-1])
        assert "words 0" in sent and f"words {number - 1}" in sent and "reach the harbour" in sent
        assert model.refused == 0 and not run.all(RequestFailed)
        await run.session.perform("unelide", batch.id)
        assert not [record for record in gone if run.context.elided(record)]
        await rebuilt(run)


def _oldest(context: Context, gone: set[str], pinned: str) -> None:
    """What is gone are whole exchanges, all that stand in front of the last of them but the one that is pinned."""
    exchanges: list[list[str]] = []
    for record in context.records:
        kinds = {b["type"] for b in record.body.get("content", ()) if record.role in ("user", "assistant")}
        if "tool_use" in kinds:
            exchanges.append([record.id])
        elif "tool_result" in kinds:
            exchanges[-1].append(record.id)
    kept = [exchange for exchange in exchanges if pinned in exchange]
    taken = [set(exchange) <= gone for exchange in exchanges if exchange not in kept]
    assert gone <= {name for exchange in exchanges for name in exchange if exchange not in kept}
    assert len(kept) == 1 and taken == sorted(taken, reverse=True) and 0 < sum(taken) < len(taken)
    assert sum(map(len, exchanges)) > len(gone) == sum(len(e) for e in exchanges if set(e) <= gone)


async def test_words_of_earlier_turns_go_where_there_are_no_calls_and_the_newest_stay(
    tmp_path: Path, server: ScriptedServer
) -> None:
    model = Model(8_000, lambda body: Reply.text(LINE * 40))
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=8_000, auto=False)) as run:
        for number in range(30):
            if batches(run.context):
                break
            await run.say(f"words number {number}.")
        (batch,) = batches(run.context)
        texts = [message.text for message in run.context.history if message.is_words]
        assert texts[-1] == f"words number {number - 1}." and "words number 0." not in texts
        assert not run.all(RequestFailed)
        (told,) = run.all(MicroCompacted)
        assert told.elide == batch.id and told.items[0].startswith('"words number 0."')
        around = [event for event in run.heard if isinstance(event, (TurnStarted, TurnEnded, MicroCompacted))]
        assert isinstance(around[around.index(told) - 1], TurnStarted)  # not before a request needs the room
        await rebuilt(run)


async def test_where_the_summary_fails_and_none_is_made_without_a_model_they_go_before_a_refusal(
    tmp_path: Path, server: ScriptedServer
) -> None:
    window = 8_000
    read = reading(tokens(window, 0.1))
    server.always(Model(window, lambda body: Reply.text("ok") if is_compaction(body) else read(body)))
    settings = compacting(server, window=window, micro_ratio=0.95)
    async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
        for number in range(30):
            if batches(run.context):
                break
            await run.say(f"words {number}")
        (batch,) = batches(run.context)
        assert run.all(CompactionFailed) and not run.all(CompactionCompleted)
        assert not run.all(RequestFailed)
        (told,) = [event for event in run.all(MicroCompacted) if event.elide == batch.id]
        assert "no summary could be made" in told.arithmetic and told.after < told.before
        await rebuilt(run)


async def test_what_a_person_brought_back_is_not_taken_again_and_the_refusal_says_what_helps(
    tmp_path: Path, server: ScriptedServer
) -> None:
    window = 8_000
    model = Model(window, reading(tokens(window, 0.1)))
    server.always(model)
    settings = compacting(server, window=window, auto=False, fallback="extractive")
    async with engine(tmp_path, server, settings=settings, allow=["bash"]) as run:
        for number in range(30):
            if run.all(RequestFailed):
                break
            await run.say(f"words {number}")
            for batch in batches(run.context):
                if any(run.context.elided(item["record"]) for item in batch.body["items"]):
                    await run.session.perform("unelide", batch.id)
        told = failed(run)
        assert told.kind == "overflow" and f"{window:,}" in told.message
        await follow(run, way(told.ways, "compact"))
        await again(run)
        await rebuilt(run)


# --- what is too large by itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("window", some(WINDOWS, 2))
async def test_words_that_are_too_many_are_refused_and_each_way_out_leads_on(
    tmp_path: Path, server: ScriptedServer, window: int
) -> None:
    server.always(Model(window))
    async with engine(tmp_path, server, settings=compacting(server, window=window)) as run:
        await run.say("first")
        for command in ("edit", "revert", "model"):
            await run.say(LINE * tokens(window, 1.1))
            told = failed(run)
            total = run.context.weigh().total
            assert f"{total:,}" in told.message and f"{window:,}" in told.message
            typed = way(told.ways, command)
            assert not batches(run.context) and run.context.history[0].text == "first"
            if command == "model":
                needed = max(int(n.replace(",", "")) for n in re.findall(r"[\d,]{5,}", told.ways[-1]))
                server.always(Model(needed + 2_000))
                wider = compacting(server, window=needed + 2_000)
                run.session.take_settings(wider)
                await run.session.perform("model", "scripted")
                await again(run)
            elif command == "edit":
                await follow(run, typed, "in short")
                await again(run)
            else:
                await follow(run, typed)
                await run.say("in short")
                assert run.context.history[-1].role == "assistant"
        await rebuilt(run)


@pytest.mark.parametrize("window", some(WINDOWS, 2))
async def test_a_result_that_is_too_large_is_named_by_its_number_and_elided(
    tmp_path: Path, server: ScriptedServer, window: int
) -> None:
    model = Model(window)
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=window, auto=False)) as run:
        await run.say("first")
        await run.context.append_message(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]},
            model="scripted-1",
        )
        result = {"type": "tool_result", "tool_use_id": "c1", "content": LINE * tokens(window, 1.1)}
        (large,) = await run.context.append_message(
            {"role": "user", "content": [result]}, origin="tool", meta={"tool": "bash"}
        )
        await run.say("go on")
        told = failed(run)
        assert way(told.ways, "elide") == f"/elide {large.line}"
        assert any("bash" in one and "largest" in one for one in told.ways)
        assert not run.context.elided(large.id)  # nobody had answered to it: it is open
        await follow(run, way(told.ways, "elide"))
        await again(run)
        assert model.refused == 0
        await rebuilt(run)


async def test_instructions_that_are_too_long_are_named_and_a_refresh_puts_shorter_ones_in_force(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.always(Model(8_000))
    file = tmp_path / "AGENTS.md"
    file.write_text(LINE * 800)
    async with engine(tmp_path, server, settings=compacting(server, window=8_000)) as run:
        await run.say("hello")
        told = failed(run)
        assert any("shorten AGENTS.md" in one for one in told.ways)
        assert not any("/elide" in one or "/compact" in one for one in told.ways)
        file.write_text("Mind the parser.")
        await follow(run, way(told.ways, "refresh"))
        await again(run)


async def test_tools_that_are_too_many_are_named_and_fewer_of_them_fit(tmp_path: Path) -> None:
    def offered(count: int) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {}}
        return [
            {"name": f"mcp__files__tool_{n}", "description": LINE * 10, "input_schema": schema}
            for n in range(count)
        ]

    context = Context(tmp_path / "context.jsonl", model="scripted-1")
    await context.restore()
    await context.write_system_prompt("be good")
    await context.write_tools(offered(200))
    await context.append_message({"role": "user", "content": "hello"})
    limits = Limits("scripted-1", 8_000, 2_000)
    with pytest.raises(DoesNotFit) as refused:
        assemble(context, limits)
    assert any("fewer tools" in one and "tools.defer" in one for one in refused.value.ways)
    assert way(refused.value.ways, "refresh")
    await context.write_tools(offered(10))
    _, manifest = assemble(context, limits)
    assert manifest.reserve >= MIN_OUTPUT_TOKENS
    await context.close()


@pytest.mark.parametrize("window", some(WINDOWS, 2))
async def test_memories_and_reminders_that_are_too_many_are_left_out_first(
    tmp_path: Path, server: ScriptedServer, weather: Weather, window: int
) -> None:
    store = MemoryStore(paths.memory_db())
    for number in range(24):
        store.add("user", f"key {number}", LINE * 25)
    model = Model(window)
    server.always(model)
    lines = min(tokens(window, 0.45), 1_600)
    weather.now = LINE * lines
    settings = compacting(server, window=window, auto=False)
    async with engine(tmp_path, server, settings=settings) as run:
        # behind the prompt and these words there is room for about half of the reminder
        await run.say("hello " + LINE * (tokens(window - 4_800, 1.0) - lines // 2))
        manifest = await run.session.manifest()
        left = {item.kind: item for item in manifest.left_out}
        assert "no room" in left["injection"].reason and left["injection"].source == "weather"
        assert "no room" in left["memory"].reason and manifest.memories
        assert "The weather is" not in str(server.requests[-1]) and not batches(run.context)
        weather.now = "dry"
        await run.say("again")
        assert "The weather is dry" in str(server.requests[-1])
        assert model.refused == 0 and not run.all(RequestFailed)
