"""Compaction in a real session: by hand, by itself, after an overflow; what is kept, what is told, what undo brings back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.context.compare import check
from tests.support.engine import Run, engine, scripted_settings
from tests.support.server import Hold, Reply, ScriptedServer
from tui_agent import events
from tui_agent.agent.replies import requests
from tui_agent.events import CompactionCompleted, CompactionFailed, CompactionSkipped
from tui_agent.settings.schema import Compaction, Settings

SUMMARY = """\
## Goal and current request
The user wants the parser mended in alpha.py.

## Done
- alpha.py was read.

## In progress
None.

## Decisions and why
None.

## Failed approaches
None.

## Open questions
None.

## Files and their state
- alpha.py: read, not changed.
"""


def settings(server: ScriptedServer, *, window: int = 200_000, **keys: Any) -> Settings:
    """Settings of the scripted server's profile with these keys of compaction."""
    from msgspec.structs import replace

    made = scripted_settings(server, context_window=window, max_output_tokens=1024)
    return replace(made, compaction=Compaction(**{"ahead": "off", **keys}))


async def talked(run: Run, server: ScriptedServer, turns: int = 4, size: int = 40) -> None:
    """Some turns about the parser in alpha.py, each with a call and an answer of some length."""
    for number in range(turns):
        server.script(
            Reply.tools(("bash", {"command": f"echo parser {number}"})),
            Reply.text(f"alpha.py part {number}: " + "the parser reads each line of the file. " * size),
        )
        await run.say(f"mend the parser in alpha.py, part {number}")


async def compacted(run: Run, *words: str) -> events.Event:
    """Compact by hand; how it ended."""
    await run.session.perform("compact", *words)
    await run.session.until_idle()
    return next(event for event in reversed(run.heard) if isinstance(event, _ENDS))


_ENDS = (CompactionCompleted, CompactionFailed, CompactionSkipped)


def texts(run: Run) -> list[str]:
    return [message.text for message in run.context.history]


async def test_compact_puts_a_summary_in_force_and_undo_brings_the_history_back(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        async with engine(tmp_path, server, settings=settings(server), allow=["bash"]) as run:
            await talked(run, server)
            before, sent = texts(run), len(server.requests)
            server.script(Reply.text(SUMMARY))
            ended = await compacted(run)
            assert isinstance(ended, CompactionCompleted)
            assert len(server.requests) == sent + 1
            assert server.requests[-1]["messages"][:-1] == server.requests[-1]["messages"][:-1]
            assert ended.before > ended.after == run.context.weigh().total
            assert "mended in alpha.py" in texts(run)[0]
            assert [m for m in run.context.history if m.is_words][-1].text.endswith("part 3")
            server.script(Reply.text("and on"))
            await run.say("go on")
            assert "mended in alpha.py" in str(server.requests[-1]["messages"][0])
            await check(run.context)
            assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
            await run.session.perform("undo", "later")
            assert texts(run) == [*before, "go on", "and on"]
            await check(run.context)
