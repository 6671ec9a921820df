"""The inspector: records, checkpoints, backups, tokens, events."""

from __future__ import annotations

import json

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.scenes.compaction import summarised
from tests.ui.scenes.scene import nothing, scene
from tests.ui.stage import Stage
from tui_agent.context import Elision


def _damaged(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.context.line(b'{"role": "user", "content": [', damaged="it is not a JSON object")


async def _inspect(made: Stage, tab: int = 0) -> None:
    await made.press("ctrl+x", "i")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
    for _ in range(tab):
        await made.press("right")
        await made.settle()


@scene("records", "Records", "damaged", "it is not a", "filter", fill=_damaged)
async def _records(made: Stage) -> None:
    await _inspect(made)


@scene("record_open", "as it is on disk", "as it reads", fill=_damaged)
async def _record_open(made: Stage) -> None:
    await _inspect(made)
    await made.press("up", "enter")
    await made.until(lambda: "as it reads" in made.text)


def _picked(session: FakeSession) -> None:
    context = session.context
    conversation(context, 3)
    messages = [record.id for record in context.records if not record.role.startswith("_")]
    context._marks[messages[-1]] = {"pinned": True, "priority": 75}
    context._elided[messages[-2]] = [
        Elision("e1", 0, 0, "[truncated: read_file result, 2061 chars]", "auto", "micro")
    ]
    context._elided[messages[-3]] = [Elision("e2", 0, None, None, "user", "drop")]


@scene("records_picked", "pinned", "shortened", "dropped", "unpin", fill=_picked)
async def _records_picked(made: Stage) -> None:
    await _inspect(made)


@scene("record_shortened", "by itself:", "bring back", fill=_picked)
async def _record_shortened(made: Stage) -> None:
    await _inspect(made)
    await made.press("up", "enter")
    await made.until(lambda: "by itself:" in made.text)


@scene("records_filtered", "json flag", "filter", fill=_damaged)
async def _records_filtered(made: Stage) -> None:
    await _inspect(made)
    await made.press("slash")
    await made.type("json flag")
    await made.until(lambda: made.chat.panel is not None and len(made.chat.panel.tab.rows) == 1)


@scene("records_empty", "Nothing is on disk yet", fill=nothing)
async def _records_empty(made: Stage) -> None:
    await _inspect(made)


@scene("checkpoints", "3 turns, 3 steps", "add a --json flag")
async def _checkpoints(made: Stage) -> None:
    await _inspect(made, 1)
    await made.until(lambda: "3 turns" in made.text)
    await made.press("space")
    await made.until(lambda: "model: I" in made.text)


def _rewound(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.context.rewrite("revert", 8)
    session.context.rewrite("clear", 8)
    session.context._backups[0].pinned = True


@scene("backups", "2 backups", "clear", fill=_rewound)
async def _backups(made: Stage) -> None:
    await _inspect(made, 2)
    await made.until(lambda: "2 backups" in made.text)


@scene("backup_open", "context_2.jsonl", "question 1", fill=_rewound)
async def _backup_open(made: Stage) -> None:
    await _inspect(made, 2)
    await made.until(lambda: "2 backups" in made.text)
    await made.press("enter")
    await made.settle()


@scene("tokens", "Tokens", "18,734", "what fills it")
async def _tokens(made: Stage) -> None:
    await _inspect(made, 3)
    await made.until(lambda: "what fills it" in made.text)


def _saved(session: FakeSession) -> None:
    summarised(session)
    session.context.heads[-1].index = 1
    session.context.heads[-1].figures |= {"input": 149_800, "output": 1_204, "cache_read": 140_000}
    session.context.line({"role": "_elide", "id": "e1", "before": 90_000, "after": 70_000, "items": []})


@scene("tokens_saved", "what makes room next", "shortening", "summary", fill=_saved)
async def _tokens_saved(made: Stage) -> None:
    await _inspect(made, 3)
    await made.until(lambda: "what fills it" in made.text)
    assert made.chat.panel is not None
    rows = made.chat.panel.tab.rows
    rows.move(0)


_TRACE = (
    {"at": "2024-03-05T12:00:00.100Z", "event": "turn_started", "number": 4, "prompt": 17},
    {"at": "2024-03-05T12:00:00.200Z", "event": "step_started", "step": 1},
    {"at": "2024-03-05T12:00:04.000Z", "event": "tool_ended", "tool": "bash", "outcome": "error"}
    | {"title": 9, "size": 2100, "seconds": 3.1},
    {
        "at": "2024-03-05T12:00:05.000Z",
        "event": "turn_ended",
        "reason": "end_turn",
        "steps": 1,
        "seconds": 4.9,
    },
)


@scene("events", "Events", "tool ended")
async def _events(made: Stage) -> None:
    made.session.folder.events_path.write_text("".join(json.dumps(event) + "\n" for event in _TRACE))
    await _inspect(made, 5)
    await made.until(lambda: "tool ended" in made.text)
