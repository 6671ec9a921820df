"""A real session that compacts: real files, the real client, a scripted server for the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.compaction.stories import spoken
from tests.support.engine import WAIT_SECONDS, Run, scripted_settings
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, CompactionFailed, CompactionSkipped
from tui_agent.compaction.instructions import OPENING, REFUSAL
from tui_agent.compaction.sections import DONE, FILES, GOAL, composed
from tui_agent.compaction.strategy import Compaction
from tui_agent.messages.tokens import Estimator
from tui_agent.settings.schema import Compaction as Keys
from tui_agent.settings.schema import Settings

SUMMARY = composed(
    {
        GOAL: ["The user wants the parser mended in alpha.py."],
        DONE: ["alpha.py was read; the parser reads each line of the file."],
        FILES: ["alpha.py: read, not changed."],
    }
)
"""A summary of `talked()` that nobody would refuse."""

ENDS = (CompactionCompleted, CompactionFailed, CompactionSkipped)
Ended = CompactionCompleted | CompactionFailed | CompactionSkipped


def compacting(server: ScriptedServer, *, window: int = 200_000, **keys: Any) -> Settings:
    """Settings of the scripted server's model with this window and these keys of compaction."""
    made = scripted_settings(server, context_window=window, max_output_tokens=2048)
    return replace(made, compaction=Keys(**{"ahead": "off", **keys}))


async def talked(run: Run, server: ScriptedServer, turns: int = 3, size: int = 30) -> None:
    """Some turns about the parser in alpha.py, each with a call and an answer of some length."""
    for number in range(turns):
        server.script(
            Reply.tools(("bash", {"command": f"echo parser {number}"})),
            Reply.text(f"alpha.py part {number}: " + "the parser reads each line of the file. " * size),
        )
        await run.say(f"mend the parser in alpha.py, part {number}")


async def compacted(run: Run, *words: str) -> Ended:
    """Compact by hand; how it ended."""
    heard = len(run.heard)
    await run.session.perform("compact", *words)
    await run.session.until_idle()
    ends = [event for event in run.heard[heard:] if isinstance(event, ENDS)]
    assert len(ends) == 1, ends
    return ends[0]


def is_compaction(body: dict[str, Any]) -> bool:
    """True for a request that asks for a summary."""
    return OPENING in str(body["messages"][-1])


class Windowed:
    """A server's step: a model with a window of so many tokens, which counts exactly and refuses what is larger.

    `summary` is what it answers when it is asked for one (and when its calls meanwhile are refused); `work` is asked
    for each other answer and for no more, so that it can count them. `summaries` counts the former, `refused` what was
    too large.
    """

    def __init__(self, window: int, summary: Reply, work: Callable[[dict[str, Any]], Reply]) -> None:
        self._window, self._summary, self._work = window, summary, work
        self._count = Estimator("scripted-1").count
        self.summaries = 0
        self.refused = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        size = self._count(spoken(body)) + self._count(json.dumps(body.get("tools", [])))
        if size > self._window:
            self.refused += 1
            return Reply.overflow(tokens=size, window=self._window)
        if is_compaction(body) or REFUSAL in str(body["messages"][-1]):
            self.summaries += 1
            reply = self._summary
        else:
            reply = self._work(body)
        return reply.using(input=size, output=1 + self._count(spoken(list(reply.content))))


def files(folder: Path) -> dict[str, bytes]:
    """What a session's folder holds, but for the trace and the session's card, which tell of all that happens."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(("events", "session.toml"))
    }


def offer(monkeypatch: Any, *strategies: Compaction) -> None:
    """Install strategies, each under its own name, as packages would."""

    class Point:
        dist = None

        def __init__(self, strategy: Compaction) -> None:
            self.name = strategy.name
            self._strategy = strategy

        def load(self) -> Compaction:
            return self._strategy

    def points(*, group: str) -> Sequence[Point]:
        return [Point(strategy) for strategy in strategies]

    monkeypatch.setattr("tui_agent.compaction.registry.entry_points", points)


async def idle(run: Run) -> None:
    """Wait until nothing runs in the session."""
    async with asyncio.timeout(WAIT_SECONDS):
        await run.session.until_idle()
