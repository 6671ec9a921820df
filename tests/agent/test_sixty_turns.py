"""Sixty turns with everything on, against an endpoint that simulates the provider's cache."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.agent.conftest import Clock
from tests.support import validity
from tests.support.engine import Run, engine
from tests.support.longtalk import LongTalk, Weather, prepare
from tests.support.server import ScriptedServer
from tui_agent.events import Notice, UsageReported


async def test_sixty_turns_are_valid_extend_each_other_and_are_read_from_the_cache(
    tmp_path: Path, clock: Clock, weather: Weather
) -> None:
    prepare(tmp_path)
    async with ScriptedServer() as server:
        cache = server.caching(clock=clock.server)
        async with engine(tmp_path, server, allow=["bash:echo *"]) as run:
            async for _ in LongTalk(run, server, weather).turns(60):
                clock.seconds += 20
            usages = run.all(UsageReported)
            surprises = [notice.text for notice in run.all(Notice) if notice.source == "cache"]
            told = _told(run)
        bodies = server.requests
    for number, (before, after) in enumerate(pairwise(bodies)):
        assert not validity.extends(before, after), f"request {number + 2} parts from the one before"
    assert surprises == [] and not any(usage.parted for usage in usages)
    assert {_breakpoints(body) for body in bodies} == {3, 4}
    assert [(u.cache_read, u.cache_write, u.input) for u in usages] == cache.figures
    assert {"memory", "weather", "goal", "plan", "mode"} <= told
    asked = sum(figures.total for figures in cache.figures)
    served = sum(figures.read for figures in cache.figures) / asked
    foretold = sum(usage.predicted or 0 for usage in usages) / asked
    assert served >= 0.95
    assert abs(foretold - served) <= 0.02


def _breakpoints(body: dict[str, Any]) -> int:
    parts = [*body["tools"], *body["system"], *(b for m in body["messages"] for b in m["content"])]
    return sum("cache_control" in part for part in parts)


def _told(run: Run) -> set[str]:
    """The sources of injections that the log tells of."""
    bodies = [record.body for record in run.context.records if record.role]
    return {str(source["name"]) for body in bodies for source in body.get("sources") or ()}
