"""With everything on, every request that was answered is found in the log and its backups by another process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from tests.agent.conftest import Clock
from tests.compaction.running import SUMMARY, compacted
from tests.support import mcp_small
from tests.support.engine import Run, engine, scripted_settings
from tests.support.longtalk import LongTalk, Weather, prepare
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, MicroCompacted, Rotated
from tui_agent.events import Event, ToolEnded, UsageReported
from tui_agent.settings.schema import Compaction, Mcp, McpServer, Tools

E = TypeVar("E", bound=Event)

ROOT = Path(__file__).parent.parent.parent
_READER = """
import asyncio, json, sys
from pathlib import Path
from tui_agent.agent.past import requests
from tui_agent.context import Context

async def main():
    found = []
    for path in sorted(Path(sys.argv[1]).glob("context*.jsonl")):
        context = Context(path, read_only=True)
        await context.restore()
        for usage, request in requests(context):
            found.append([json.dumps(usage, sort_keys=True), usage["request"], request.sha256])
    print(json.dumps(found))

asyncio.run(main())
"""


def hash_of(body: dict[str, Any]) -> str:
    """The hash of a body that the server got, by the rule of the log: canonical JSON of its parts, no cache_control."""
    parts = {
        "messages": _bare(body["messages"]),
        "params": {key: body.get(key) for key in ("model", "max_tokens", "thinking")},
        "system": _bare(body.get("system", [])),
        "tools": _bare(body.get("tools", [])),
    }
    plain = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if key != "cache_control"}
    return [_bare(item) for item in value] if isinstance(value, list) else value


class Sittings:
    """One session, opened again and again; what all of it told."""

    def __init__(self, workspace: Path, server: ScriptedServer, weather: Weather) -> None:
        small = McpServer(command=sys.executable, args=(mcp_small.__file__,), timeout=20)
        self._settings = replace(
            scripted_settings(server, context_window=30_000, max_output_tokens=2_048),
            compaction=Compaction(ahead="off", micro_ratio=0.25, trigger_ratio=0.9),
            mcp=Mcp(servers={"small": small}),
            tools=Tools(defer="on"),
        )
        self._workspace = workspace
        self._server = server
        self._weather = weather
        self.folder = workspace
        self.heard: list[Event] = []

    @asynccontextmanager
    async def sit(self, resume: str | None = "latest") -> AsyncIterator[tuple[Run, LongTalk]]:
        """Open the session."""
        async with engine(
            self._workspace, self._server, settings=self._settings, resume=resume, allow=["bash:echo *"]
        ) as run:
            self.folder = run.session.folder.path
            yield run, LongTalk(run, self._server, self._weather, served="small")
            self.heard += run.heard

    def all(self, kind: type[E]) -> list[E]:
        """Every event of a kind."""
        return [event for event in self.heard if isinstance(event, kind)]


async def test_micro_full_revert_undo_refresh_restart_mcp_memories_goal_and_plan(
    tmp_path: Path, clock: Clock, weather: Weather
) -> None:
    prepare(tmp_path)
    async with ScriptedServer() as server:
        server.caching(clock=clock.server)
        sittings = Sittings(tmp_path, server, weather)
        async with sittings.sit(resume=None) as (run, talk):
            async for number in talk.turns(14):
                if number == 9:
                    await run.session.perform("revert", str(run.session.timeline.turns()[-3].id))
                elif number == 11:
                    await run.session.perform("undo")
        async with sittings.sit() as (run, talk):
            server.script(Reply.text(SUMMARY))
            assert isinstance(await compacted(run), CompactionCompleted)
            async for number in talk.turns(8, 14):
                if number == 16:
                    await run.session.perform("revert", str(run.session.timeline.turns()[-2].id))
                elif number == 18:
                    await run.session.perform("elide", run.context.history[-3].id)
        async with sittings.sit() as (run, talk):
            (tmp_path / "AGENTS.md").write_text("- mind the tests\n" * 50)
            await run.session.perform("refresh")
            async for _ in talk.turns(6, 22):
                pass
        sent = {hash_of(body) for body in server.requests}
    found = again(sittings.folder)
    assert sittings.all(MicroCompacted) and weather.compacted
    results = [event.text for event in sittings.all(ToolEnded)]
    assert "part 12" in results and any("exit code 3" in text for text in results)
    assert {"compaction", "revert", "undo", "refresh"} <= {event.op for event in sittings.all(Rotated)}
    assert all(stored == rebuilt for _, stored, rebuilt in found)
    assert {stored for _, stored, _ in found} <= sent, "what is found is what was sent"
    assert len({identity for identity, *_ in found}) == len(sittings.all(UsageReported)) > 50


def again(folder: Path) -> list[tuple[str, str, str]]:
    """Every request with a usage as another process finds it: the usage, the hash stored, the hash of what is built."""
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(folder)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [tuple(one) for one in json.loads(done.stdout)]
