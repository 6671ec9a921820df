"""Results that are too large for the window: they are cut where a summary would gain nothing, or cannot be had."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.running import Windowed, compacted, compacting
from tests.support.engine import Run, engine, reread
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, CompactionFailed, CompactionSkipped, MicroCompacted
from tui_agent.events import RequestFailed

LINE = "the parser reads each line of the file\n"
FILES = {"small.txt": "ok\n", "some.txt": LINE * 60, "huge.txt": LINE * 1_500}
TOO_SHORT = Reply.text("Read it.")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


def reading(*steps: str) -> Callable[[dict[str, Any]], Reply]:
    """A model that reads a file in each step, `huge.txt*3` three times at once, and says then that it has seen them."""
    left = list(steps)

    def work(body: dict[str, Any]) -> Reply:
        if not left:
            return Reply.text("I have seen it all")
        name, _, times = left.pop(0).partition("*")
        return Reply.tools(*[("read_file", {"path": name})] * int(times or 1))

    return work


def prepare(workspace: Path) -> None:
    for name, text in FILES.items():
        (workspace / name).write_text(text)


async def rebuilt(run: Run) -> None:
    """Every request that was answered can be built again from the files."""
    assert all(usage["request"] == built.sha256 for usage, built in requests(await reread(run)))


@pytest.mark.parametrize(
    ("window", "huge"), [(8_000, "huge.txt"), (8_000, "huge.txt*3"), (32_000, "huge.txt*4")]
)
async def test_a_first_turn_with_a_huge_result_has_it_cut_where_a_summary_would_gain_nothing(
    tmp_path: Path, server: ScriptedServer, window: int, huge: str
) -> None:
    prepare(tmp_path)
    model = Windowed(window, TOO_SHORT, reading("small.txt", "small.txt", "small.txt", huge))
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=window)) as run:
        ended = await run.say("read huge.txt")
        assert ended.reason == "end_turn"
        assert model.summaries == 0 and not run.all(CompactionFailed) and not run.all(RequestFailed)
        (batch,) = run.all(MicroCompacted)
        assert batch.after < batch.before and set(batch.items) == {"a long result, cut to its head and tail"}
        cut = run.context.record(batch.elide).body["items"]
        assert all(item["as"] for item in cut)  # all messages stay
        told = run.all(CompactionSkipped)[-1]
        assert "next to nothing to summarise" in told.detail and "cut to their heads and tails" in told.detail
        await run.session.perform("unelide", batch.elide)
        assert not any(run.context.elided(item["record"]) for item in cut)
        await rebuilt(run)


async def test_where_the_summary_is_rejected_long_results_are_cut_if_that_alone_is_enough(
    tmp_path: Path, server: ScriptedServer
) -> None:
    prepare(tmp_path)
    model = Windowed(8_000, TOO_SHORT, reading("some.txt", "small.txt", "huge.txt"))
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=8_000)) as run:
        ended = await run.say("read huge.txt")
        assert ended.reason == "end_turn" and not run.all(RequestFailed)
        assert model.summaries == 1 and not run.all(CompactionCompleted) and not run.all(CompactionFailed)
        (told,) = run.all(CompactionSkipped)
        assert told.reason == "cut" and "now the next request fits" in told.detail
        assert "too few for" in told.detail and "'Read it.'" in told.detail
        assert run.session.shrinking.compactor.fruitless == 1
        (batch,) = run.all(MicroCompacted)
        assert batch.before > 8_000 > batch.after
        await run.session.perform("unelide", batch.elide)
        assert run.context.weigh().total > 7_000
        await rebuilt(run)


async def test_a_result_that_was_pinned_is_not_cut_where_the_summary_is_rejected(
    tmp_path: Path, server: ScriptedServer
) -> None:
    prepare(tmp_path)
    model = Windowed(8_000, TOO_SHORT, reading("some.txt", "small.txt", "huge.txt"))
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=8_000, auto=False)) as run:
        await run.say("read huge.txt")
        result = next(message for message in reversed(run.context.history) if message.origin == "tool")
        await run.session.perform("pin", result.id)
        ended = await compacted(run)
        assert isinstance(ended, CompactionFailed) and "too few for" in ended.reason
        assert not run.context.elided(result.id) and not run.all(MicroCompacted)


async def test_a_request_that_fits_is_not_cut_because_a_summary_is_rejected(
    tmp_path: Path, server: ScriptedServer
) -> None:
    prepare(tmp_path)
    model = Windowed(20_000, TOO_SHORT, reading("some.txt", "small.txt", "huge.txt"))
    server.always(model)
    async with engine(tmp_path, server, settings=compacting(server, window=20_000)) as run:
        await run.say("read huge.txt")
        ended = await compacted(run)
        assert isinstance(ended, CompactionFailed) and not run.all(MicroCompacted)
