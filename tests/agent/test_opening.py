"""Opening a long session costs what its end costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import sessions
from tests.support.engine import engine
from tui_agent.context import views
from tui_agent.events import SessionOpened, TurnStarted
from tui_agent.sessions.folder import SessionFolder


async def test_opening_reads_the_messages_at_the_end_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person waits for the last message; the thousands before it are read when somebody looks at them."""
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "home"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    folder = SessionFolder.create(workspace)
    sessions.write(folder.context_path, 2_000, seed=3)
    read: list[int] = []
    original = views.message_at

    def counted(*args: Any) -> Any:
        read.append(1)
        return original(*args)

    monkeypatch.setattr(views, "message_at", counted)
    async with engine(workspace, resume=folder.id) as run:
        assert len(run.context.history) == 2_000
        assert 0 < len(read) < 100


async def test_a_log_whose_checkpoints_have_gaps_goes_on(tmp_path: Path) -> None:
    """Checkpoints that cannot be read leave gaps: the number of the next one is not how many there are."""
    folder = SessionFolder.create(tmp_path)
    lines = [
        {"role": "_checkpoint", "id": 40, "uid": "C40", "turn": True},
        {"role": "user", "content": "first", "id": "U1"},
        {"role": "assistant", "content": [{"type": "text", "text": "heard"}], "id": "A1"},
    ]
    folder.context_path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    async with engine(tmp_path, resume=folder.id) as run:
        assert (await run.say("hello")).reason == "end_turn"
        (started,) = run.all(TurnStarted)
        assert (started.number, started.checkpoint) == (41, run.context.checkpoints()[1].uid)


async def test_a_log_that_is_taken_in_is_checked_and_what_is_mended_is_counted_by_rule(
    tmp_path: Path,
) -> None:
    """Another program's file: the copy stays as it was, and what the API would refuse is said once."""
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    lost = {"type": "tool_result", "tool_use_id": "t9", "content": "lost"}
    lines = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": [call, {**call, "id": "t2"}]},
        {"role": "user", "content": [lost, {"type": "text", "text": "second"}]},
        {"role": "assistant", "content": "heard"},
    ]
    log = tmp_path / "elsewhere" / "context.jsonl"
    log.parent.mkdir()
    log.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    async with engine(tmp_path, resume=str(log)) as run:
        (opened,) = run.all(SessionOpened)
        head, *rules = opened.repaired
        assert "taken in breaks 2 rules" in head
        assert rules[0].startswith("2 x missing_result: ") and rules[0].endswith("(record 2)")
        assert rules[1].startswith("1 x orphan_result: ")
        assert rules[1].endswith("(record 3): a tool result is left out: there is no call that it answers")
        name = run.session.id
    async with engine(tmp_path, resume=name) as run:
        assert run.all(SessionOpened)[0].repaired == ()


async def test_a_sound_log_is_taken_in_without_a_word(tmp_path: Path) -> None:
    log = tmp_path / "elsewhere" / "context.jsonl"
    log.parent.mkdir()
    lines = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "heard"}]
    log.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    async with engine(tmp_path, resume=str(log)) as run:
        assert run.all(SessionOpened)[0].repaired == ()
