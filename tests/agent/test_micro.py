"""Micro-compaction in a real session: between two steps of a turn, in sight, and taken back by one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.context.compare import check
from tests.support.engine import Run, engine, reread, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import changes, events
from tui_agent.agent.past import requests
from tui_agent.settings.schema import Compaction, Hooks, OwnCompaction, Settings

WINDOW = 40_000
FILE = "".join(f"line {number} of the file that is read again and again\n" for number in range(60))


def settings(server: ScriptedServer, **keys: Any) -> Settings:
    made = scripted_settings(server, context_window=WINDOW, max_output_tokens=1024)
    return replace(made, compaction=Compaction(**{"ahead": "off", "strategy": "none", **keys}))


async def read_often(run: Run, server: ScriptedServer, workspace: Path, steps: int, *parallel: str) -> None:
    """A turn of so many steps, each of which reads a file."""
    names = ("a.py", *parallel)
    for name in names:
        (workspace / name).write_text(FILE)
    calls = [("read_file", {"path": name}) for name in names]
    server.script(*(Reply.tools(*calls) for _ in range(steps)), Reply.text("read"))
    await run.say("read a.py")


async def test_over_half_of_the_window_old_results_are_elided_between_two_steps(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, settings=settings(server)) as run:
        await read_often(run, server, tmp_path, 14, "b.py")
        batches = run.all(changes.MicroCompacted)
        assert batches and all(batch.after <= 0.4 * WINDOW + 1_500 for batch in batches)
        assert batches[0].before > WINDOW / 2
        assert "[truncated: read_file result" in str(server.requests[-1]["messages"])
        shown = [event.total for event in run.all(events.Weighed)]
        assert batches[0].before in shown and batches[0].after in shown, "the number of the status bar"
        said = [notice.text for notice in run.all(events.Notice) if "cache does not serve" in notice.text]
        assert said == [], "a break that was announced is not told as a surprise"
        assert all(usage["request"] == request.sha256 for usage, request in requests(run.context))
        await check(run.context)


async def test_unelide_brings_a_batch_back_and_it_stays(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, settings=settings(server)) as run:
        await read_often(run, server, tmp_path, 12, "b.py")
        batch = run.all(changes.MicroCompacted)[-1]
        items = run.context.record(batch.elide).body["items"]
        await run.session.perform("unelide", batch.elide)
        await read_often(run, server, tmp_path, 1)
        assert not any(run.context.elided(item["record"]) for item in items)
        assert len(run.all(changes.MicroCompacted)) > 1, "others go in their place"


async def test_after_a_restart_the_count_is_the_same_and_nothing_is_elided_again(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        async with engine(tmp_path, server, settings=settings(server)) as run:
            await read_often(run, server, tmp_path, 12, "b.py")
            batches = len(run.all(changes.MicroCompacted))
            total, elided = run.context.weigh().total, await reread(run)
            assert batches and elided.weigh().total == total
        async with engine(tmp_path, server, settings=settings(server), resume="latest") as run:
            assert run.context.weigh().total == total
            assert run.all(events.Weighed)[-1].total == total
            await read_often(run, server, tmp_path, 1)
            assert run.all(changes.MicroCompacted) == []


async def test_what_a_summary_could_not_free_is_shortened_at_the_next_step(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        no = replace(settings(server, strategy="summary"), hooks=Hooks(pre_compact="exit 2"))
        async with engine(tmp_path, server, settings=no) as run:
            server.script(Reply.text("I see."))
            await run.say("these words stay, whatever becomes of the rest. " * 1_500)
            await read_often(run, server, tmp_path, 9, "b.py")
            skipped = run.all(changes.CompactionSkipped)
            assert skipped and skipped[0].reason == "hook"
            last = run.all(changes.MicroCompacted)[-1]
            assert run.heard.index(last) > run.heard.index(skipped[0])
            assert last.before >= 0.75 * WINDOW and last.after > 0.5 * WINDOW, "it could not spare a summary"
            await check(run.context)


async def test_a_profile_says_for_itself_when(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server)
        own = replace(chosen.find_profile(), compaction=OwnCompaction(micro_ratio=0.3))
        chosen = replace(chosen, profiles={"scripted": own})
        async with engine(tmp_path, server, settings=chosen) as run:
            await read_often(run, server, tmp_path, 13)
            first, *_ = run.all(changes.MicroCompacted)
            assert 0.3 * WINDOW < first.before < 0.45 * WINDOW


async def test_settings_that_change_count_from_the_next_step_on(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = settings(server, auto=False)
        async with engine(tmp_path, server, settings=chosen) as run:
            await read_often(run, server, tmp_path, 12, "b.py")
            assert run.context.weigh().total > WINDOW / 2 and not run.all(changes.MicroCompacted)
            run.session.take_settings(replace(chosen, compaction=replace(chosen.compaction, auto=True)))
            await read_often(run, server, tmp_path, 2)
            assert run.all(changes.MicroCompacted)


@pytest.mark.parametrize("cached", [True, False])
async def test_where_the_cache_is_worth_more_it_waits(tmp_path: Path, cached: bool) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, settings=settings(server)) as run:
        (tmp_path / "a.py").write_text(FILE)
        for step in range(12):
            reply = Reply.tools(("read_file", {"path": "a.py"})) if step < 11 else Reply.text("read")
            size = 19_000 + 500 * step
            plain, read = (100, size - 100) if cached else (size, 0)
            server.script(reply.using(input=plain, output=50, cache_read=read))
        await run.say("read a.py")
        assert bool(run.all(changes.MicroCompacted)) is not cached
        if cached:
            assert run.context.weigh().total > WINDOW / 2
