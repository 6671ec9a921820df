"""Nothing that a model, a tool or a file says makes a memory of a person or of a workspace by itself.

Markers stand in every answer, result, summary and old log here. A tool or an event that is not in the tables below
fails the test: say first what it may bring.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.test_compaction import SUMMARY, compacted, settings
from tests.support.engine import Run, engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent import changes, events, paths
from tui_agent.changes import MemoryProposed
from tui_agent.events import Event
from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore

CALLS: dict[str, tuple[Callable[[str], dict[str, Any]], bool]] = {
    "read_file": (lambda marker: {"path": "notes.md"}, True),
    "write_file": (lambda marker: {"path": "new.md", "content": marker}, True),
    "edit_file": (lambda marker: {"path": "notes.md", "old": "first", "new": marker}, True),
    "glob": (lambda marker: {"pattern": "*"}, True),
    "grep": (lambda marker: {"pattern": "memory"}, True),
    "bash": (lambda marker: {"command": "cat notes.md"}, True),
    "todo": (lambda marker: {"items": [{"text": marker, "status": "active"}]}, False),
    "present_plan": (lambda marker: {"title": "t", "text": marker, "steps": [marker]}, False),
    "goal": (lambda marker: {}, False),
}
"""A call of every tool whose result holds a marker where it can, and whether it brings text from outside."""

SEEN: tuple[type[Event], ...] = (
    *(events.SessionOpened, events.TitleChanged, events.QueueChanged, events.Notice, events.StateChanged),
    *(events.TurnStarted, events.StepStarted, events.TurnEnded, events.Weighed, events.TextDelta),
    *(events.ThinkingDelta, events.ToolUseDelta, events.ReplyEnded, events.UsageReported, events.ToolWaiting),
    *(
        events.ToolStarted,
        events.ToolProgress,
        events.ToolEnded,
        events.Asked,
        events.Answered,
        changes.Appended,
    ),
    *(changes.Rotated, changes.MemoryProposed, changes.MemoryChanged, changes.CompactionStarted),
    *(changes.CompactionStage, changes.CompactionSummary, changes.CompactionCompleted, events.Reminded),
)
"""What happens in the tests below: after each of these the store is looked at."""

OTHERS: tuple[type[Event], ...] = (
    *(events.ModelChanged, events.ReplyDropped, events.RetryWaiting, events.RequestFailed),
    *(changes.LogFailed, changes.LogRecovered),
    *(changes.CompactionFailed, changes.CompactionSkipped, changes.CompactionHeld, changes.MicroCompacted),
)
"""What brings nothing that was not brought by one of the others."""


def markers(name: str) -> str:
    """A marker of every scope, with a key of its own."""
    scopes = ("user", "workspace", "session")
    return "\n".join(f'<memory scope="{scope}" key="{name}">{name} {scope}</memory>' for scope in scopes)


def stored() -> list[Memory]:
    return list(MemoryStore(paths.memory_db()).list())


class Watched(list[Event]):
    """What was heard; the store is looked at after every event before which it was written."""

    def __init__(self, before: Iterable[Event]) -> None:
        super().__init__(before)
        self._seen: list[tuple[int, int]] = []

    def append(self, event: Event) -> None:
        super().append(event)
        files = [paths.memory_db().with_name(f"memory.db{end}") for end in ("", "-wal")]
        there = [file.stat() for file in files if file.exists()]
        seen, self._seen = self._seen, [(status.st_size, status.st_mtime_ns) for status in there]
        if seen == self._seen:
            return
        agreed = [m for m in stored() if m.status == "accepted" and m.scope != "session"]
        assert not agreed, (event, agreed)


async def tried(run: Run, server: ScriptedServer, name: str) -> list[MemoryProposed]:
    """A turn with a call of that tool between two answers with markers; what was proposed."""
    arguments = CALLS[name][0](markers(f"in {name}"))
    server.script(
        Reply.tools((name, arguments), text=markers(f"before {name}"), thinking=markers("thought")),
        Reply.text(markers(f"after {name}")),
    )
    (run.session.workspace / "notes.md").write_text("first\n" + markers("file"))
    before = len(run.all(MemoryProposed))
    await run.say(f"use {name}: {markers('words')}")
    return run.all(MemoryProposed)[before:]


async def test_no_tool_and_no_event_agrees_for_a_person_and_what_was_read_is_said(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        run.heard = Watched(run.heard)
        for name, (_, taints) in CALLS.items():
            found = await tried(run, server, name)
            assert [(event.scope, event.key) for event in found] == [
                (scope, f"{when} {name}") for when in ("before", "after") for scope in ("user", "workspace")
            ]
            assert [bool(event.outside) for event in found] == [False, False, taints, taints]
        assert {m.tainted for m in stored() if m.key == "after bash"} == {True}
        await run.session.perform("run", f"echo '{markers('printed')}'")
        server.script(Reply.text("seen"))
        await run.say("look")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        await run.session.perform("undo")
        assert not [m for m in stored() if not m.key.startswith(("before", "after"))]
        assert {type(event) for event in run.heard} <= set(SEEN)
        assert {tool["name"] for tool in run.context.tools or ()} == set(CALLS), "a tool without a case here"


async def test_no_summary_and_no_old_log_proposes_anything(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        async with engine(tmp_path, server, settings=settings(server)) as run:
            run.heard = Watched(run.heard)
            for number in range(3):
                server.script(Reply.text("the parser reads each line of the file. " * 100))
                await run.say(f"mend the parser in alpha.py, part {number}")
            server.script(Reply.text(SUMMARY + markers("summary")))
            assert isinstance(await compacted(run), changes.CompactionCompleted)
            await run.session.perform("summary", f"The parser of alpha.py. {markers('edited')}")
            assert not stored() and {type(event) for event in run.heard} <= set(SEEN)
            path = run.context.path
        old = tmp_path / "old.jsonl"
        line = json.dumps({"role": "assistant", "content": markers("old")}) + "\n"
        old.write_bytes(path.read_bytes() + line.encode())
        async with engine(tmp_path, server, resume=str(old)):
            assert not stored()


def test_every_event_is_looked_at() -> None:
    told = {**vars(events), **vars(changes)}
    kinds = {kind for kind in told.values() if isinstance(kind, type) and issubclass(kind, Event)}
    assert kinds - {Event} == {*SEEN, *OTHERS}, (
        "an event that nobody looked at: put it into one of the tables"
    )


@pytest.mark.parametrize("outcome", ["accept", "reject", "forget"])
async def test_a_persons_word_is_what_decides(tmp_path: Path, outcome: str) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server) as run:
        server.script(Reply.text('<memory scope="user" key="k">v</memory>'))
        await run.say("go")
        await run.session.perform(outcome, run.all(MemoryProposed)[0].id)
        assert [m.status for m in stored()] == {"accept": ["accepted"], "reject": ["rejected"], "forget": []}[
            outcome
        ]
