"""Sixty turns with everything on, against an endpoint that simulates the provider's cache."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.agent.conftest import Clock
from tests.compaction.running import SUMMARY, is_compaction
from tests.support import validity
from tests.support.engine import Run, engine, scripted_settings
from tests.support.longtalk import LongTalk, Weather, prepare
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, MicroCompacted
from tui_agent.events import Notice, UsageReported
from tui_agent.settings.schema import Compaction


@pytest.mark.parametrize(
    ("window", "thinking", "batches", "summaries"),
    [
        (200_000, "off", 0, 0),
        pytest.param(200_000, "medium", 0, 0, marks=pytest.mark.slow),
        pytest.param(40_000, "off", 1, 0, marks=pytest.mark.slow),
        pytest.param(24_000, "off", 0, 2, marks=pytest.mark.slow),
    ],
    ids=["plain", "thinking", "shortened", "compacted"],
)
async def test_sixty_turns_are_valid_extend_each_other_and_are_read_from_the_cache(
    tmp_path: Path,
    clock: Clock,
    weather: Weather,
    window: int,
    thinking: str,
    batches: int,
    summaries: int,
) -> None:
    prepare(tmp_path)
    async with ScriptedServer() as server:
        cache = server.caching(clock=clock.server)
        server.aside = lambda body: Reply.text(SUMMARY) if is_compaction(body) else None
        longest = 2_000 if thinking == "off" else 8_000
        made = scripted_settings(server, context_window=window, thinking=thinking, max_output_tokens=longest)
        chosen = replace(made, compaction=Compaction(ahead="off"))
        async with engine(tmp_path, server, settings=chosen, allow=["bash:echo *"]) as run:
            async for _ in LongTalk(run, server, weather).turns(60):
                clock.seconds += 20
            usages, surprises = run.all(UsageReported), [n for n in run.all(Notice) if n.source == "cache"]
            made_shorter, told = (len(run.all(MicroCompacted)), len(run.all(CompactionCompleted))), _told(run)
    breaks = sum(made_shorter)
    answered = _answered(server.requests)
    for (before, after), usage in zip(pairwise(answered), usages[1:], strict=True):
        assert bool(validity.extends(before, after)) == bool(usage.parted), usage
    assert sum(bool(usage.parted) for usage in usages) == breaks and surprises == []
    assert made_shorter == (batches, summaries)
    assert {_breakpoints(body) for body in server.requests} <= {2, 3, 4}
    assert breaks or {"memory", "weather", "goal", "plan", "mode"} <= told
    figures = [(usage.cache_read, usage.cache_write, usage.input) for usage in usages]
    assert breaks or figures == cache.figures
    served = sum(one.read for one in cache.figures) / sum(one.total for one in cache.figures)
    assert served >= 0.95
    asked, read = sum(map(sum, figures)), sum(read for read, _, _ in figures)
    assert abs(sum(usage.predicted or 0 for usage in usages) - read) / asked <= 0.02


def _answered(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the conversation, each once: without summaries, and without what was refused and sent again."""
    own = [body for body in bodies if not is_compaction(body)]
    return [body for body, after in zip(own, [*own[1:], None], strict=True) if body != after]


def _breakpoints(body: dict[str, Any]) -> int:
    parts = [*body["tools"], *body["system"], *(b for m in body["messages"] for b in m["content"])]
    return sum("cache_control" in part for part in parts)


def _told(run: Run) -> set[str]:
    """The sources of injections that the log tells of."""
    bodies = [record.body for record in run.context.records if record.role]
    return {str(source["name"]) for body in bodies for source in body.get("sources") or ()}
