"""Opening a long session costs what its end costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import sessions
from tests.support.engine import engine
from tui_agent.context import views
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
