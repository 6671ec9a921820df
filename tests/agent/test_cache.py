"""What a session says of the provider's cache: predictions beside figures, named breaks, a restart, money."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.agent.conftest import Clock
from tests.compaction.running import SUMMARY, compacted
from tests.support.engine import Run, engine, reread, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted
from tui_agent.events import Notice, TextDelta, UsageReported
from tui_agent.settings.schema import Price

PROSE = "the parser reads each line of the file. " * 60


async def talked(run: Run, server: ScriptedServer, turns: int = 4) -> None:
    for number in range(turns):
        server.script(Reply.text(f"alpha.py part {number}: {PROSE}"))
        await run.say(f"mend the parser in alpha.py, part {number}")


async def asked(run: Run, server: ScriptedServer, words: str = "and now?") -> UsageReported:
    """One more turn with one request, and what was told of it."""
    server.script(Reply.text("done"))
    await run.say(words)
    return run.all(UsageReported)[-1]


async def test_each_usage_carries_what_was_predicted_and_no_hash_does(tmp_path: Path, clock: Clock) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server)
            told = run.all(UsageReported)
            written = run.context.usages()
            again = [(usage["request"], built.sha256) for usage, built in requests(await reread(run))]
    assert told[0].predicted == 0 and all(usage.predicted == usage.cache_read > 0 for usage in told[1:])
    assert [usage["predicted"] for usage in written] == [usage.predicted for usage in told]
    assert [usage["at"] for usage in written] == ["2026-01-01T00:00:00.000+00:00"] * 4
    assert {usage.model for usage in told} == {"scripted-1"}
    assert len(again) == 4 and all(stored == built for stored, built in again)


async def test_the_next_request_shows_how_far_it_is_cached(tmp_path: Path, clock: Clock) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            assert (await run.session.manifest()).served is None
            await talked(run, server, 2)
            manifest = await run.session.manifest()
            assert manifest.served == ("message", 2, 0)
            items = [item for item in manifest.items if item.section != "frame"]
            assert [item.cached for item in items] == [(item.message or 0) <= 2 for item in items]
            assert len({item.message for item in items if not item.cached}) == 2
            clock.seconds += 301
            assert (await run.session.manifest()).served is None


@pytest.mark.parametrize(("away", "is_cached"), [(200, True), (299, True), (400, False)])
async def test_after_a_restart_the_prediction_is_that_of_the_log(
    tmp_path: Path, clock: Clock, away: int, is_cached: bool
) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server)
        clock.seconds += away
        async with engine(tmp_path, server, resume="latest") as run:
            usage = await asked(run, server)
            assert usage.predicted == usage.cache_read
            assert bool(usage.predicted) is is_cached
            usage = await asked(run, server)
            assert usage.predicted == usage.cache_read > 0


async def test_another_model_after_a_restart_is_no_surprise(tmp_path: Path, clock: Clock) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other"}]
        async with engine(tmp_path, server) as run:
            await talked(run, server)
        settings = scripted_settings(server, model="other")
        async with engine(tmp_path, server, settings=settings, resume="latest") as run:
            usage = await asked(run, server)
            assert (usage.predicted, usage.cache_read, usage.parted) == (0, 0, "another model")
            assert not [notice for notice in run.all(Notice) if notice.source == "cache"]


async def test_after_a_restart_a_summary_leaves_what_it_leaves(tmp_path: Path, clock: Clock) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server, 6)
        clock.seconds += 100
        async with engine(tmp_path, server, resume="latest") as run:
            (tmp_path / "AGENTS.md").write_text("Mind the parser.")
            await run.session.perform("refresh")
            assert (await asked(run, server)).parted == "the history was changed (refresh)"
        async with engine(tmp_path, server, resume="latest") as run:
            server.script(Reply.text(SUMMARY))
            assert isinstance(await compacted(run), CompactionCompleted)
            usage = await asked(run, server)
    assert usage.parted == "a compaction"
    assert usage.predicted == pytest.approx(usage.cache_read, rel=0.15)
    assert usage.cache_read > 1_024


@pytest.mark.parametrize("how", ["compact", "revert"])
async def test_a_rewrite_just_before_a_restart_is_minded(tmp_path: Path, clock: Clock, how: str) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server, 6)
            if how == "compact":
                server.script(Reply.text(SUMMARY))
                assert isinstance(await compacted(run), CompactionCompleted)
            else:
                await run.session.perform("revert", str(run.session.timeline.turns()[-2].id))
        clock.seconds += 100
        async with engine(tmp_path, server, resume="latest") as run:
            usage = await asked(run, server)
            assert not [notice for notice in run.all(Notice) if notice.source == "cache"]
    assert usage.predicted == pytest.approx(usage.cache_read, rel=0.15)
    assert usage.cache_read > 1_024


async def test_announced_breaks_are_named_and_foretold(tmp_path: Path, clock: Clock) -> None:
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other"}]
        async with engine(tmp_path, server, allow=["bash"]) as run:
            await talked(run, server)
            parted: list[str] = []
            for command in (
                ("elide", run.context.history[3].id),
                ("unelide", run.context.history[3].id),
                ("revert", str(run.session.timeline.turns()[-1].id)),
                ("undo",),
                ("thinking", "medium"),
                ("model", "other"),
            ):
                clock.seconds += 10
                await run.session.perform(*command)
                parted.append((await asked(run, server)).parted)
                await talked(run, server, 1)
            server.script(Reply.text(SUMMARY))
            assert isinstance(await compacted(run), CompactionCompleted)
            parted.append((await asked(run, server)).parted)
            usages, notices = run.all(UsageReported), run.all(Notice)
            many = await run.session.requests.follow()
            sent = [run.session.requests[place] for place in range(many)]
    assert [(one.parted, one.predicted) for one in sent] == [(u.parted, u.predicted) for u in usages]
    assert parted == [
        "something was left out",
        "something was brought back",
        "the history was changed (revert)",
        "the history was changed (undo)",
        "another thinking setting",
        "another model",
        "a compaction",
    ]
    assert not [notice.text for notice in notices if notice.source == "cache"]
    asked_for = sum(u.input + u.cache_read + u.cache_write for u in usages)
    off = sum(abs((u.predicted or 0) - u.cache_read) for u in usages)
    assert off / asked_for <= 0.02
    assert [u.predicted == u.cache_read for u in usages].count(False) <= 4


async def test_an_interrupted_answer_counts_as_cached(tmp_path: Path, clock: Clock) -> None:
    hold = Hold()
    async with ScriptedServer() as server:
        cache = server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server, 2)
            server.script(Reply.text(PROSE).holding(hold, after=3))
            await run.session.submit("a long question " * 200)
            await run.until(TextDelta, lambda delta: bool(delta.text))
            await run.session.cancel()
            usage = await asked(run, server, "go on")
    assert usage.cache_read == cache.figures[-2].total
    assert usage.predicted == pytest.approx(usage.cache_read, rel=0.05)


async def test_the_cost_of_a_session_is_that_of_all_its_files(tmp_path: Path, clock: Clock) -> None:
    prices = {"scripted-1": Price(input=3, output=15, cache_read=0.3, cache_write=3.75)}
    async with ScriptedServer() as server:
        cache = server.caching(clock=clock.server)
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other"}]
        chosen = replace(scripted_settings(server), prices=prices)
        async with engine(tmp_path, server, settings=chosen) as run:
            await talked(run, server)
            server.script(Reply.text(SUMMARY))
            assert isinstance(await compacted(run), CompactionCompleted)
            await asked(run, server)
            await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
            await run.session.perform("model", "other")
            await asked(run, server)
        async with engine(tmp_path, server, settings=chosen, resume="latest") as run:
            found = await run.session.perform("cost")
            assert (await run.session.perform("cost")).data == found.data, "nothing is counted twice"
            assert re.fullmatch(r"cache \d\d %, \$ \d\.\d\d\+", await run.session.spending.line())
    first, other = found.data["models"]
    own = cache.figures[:-1]
    assert (first["model"], first["requests"], other["requests"]) == ("scripted-1", 6, 1)
    assert first["input"] == sum(figures.input for figures in own)
    assert first["cache_read"] == sum(figures.read for figures in own)
    assert first["cache_write"] == sum(figures.written for figures in own)
    tokens = {kind: first[kind] for kind in ("input", "output", "cache_read", "cache_write")}
    price = prices["scripted-1"]
    assert first["dollars"] == pytest.approx(
        sum(count * (getattr(price, kind) or 0) for kind, count in tokens.items()) / 1e6, abs=1e-6
    )
    assert other["dollars"] is None
    assert found.data["requests"] == 7 and found.data["summaries"] == 1
    lines = found.text.splitlines()
    assert lines[0].startswith("7 requests (1 of them for a summary): ")
    assert re.search(
        r"  scripted-1: 6 requests, [\d,]+ tokens in \(\d\d\.\d % of it from the cache\)", found.text
    )
    assert "predicted" in found.text and "other" in found.text and "no price" in found.text


async def test_the_demo_model_costs_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        await run.say("hello")
        found = await run.session.perform("cost")
    assert found.data["models"][0]["dollars"] == 0
    assert "$" not in found.text and "costs nothing" in found.text


async def test_nothing_is_said_of_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        assert (await run.session.perform("cost")).text == "no requests yet"


async def test_a_long_session_is_added_up_when_somebody_asks(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.agent.spending._AT_ONCE", 10)
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        async with engine(tmp_path, server) as run:
            await talked(run, server, 2)
            assert await run.session.spending.line() == ""
            await run.session.perform("cost")
            assert (await run.session.spending.line()).startswith("cache ")
