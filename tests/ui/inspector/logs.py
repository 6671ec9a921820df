"""One line to the inspector over a log on disk, read by the real engine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.ui.stage import Stage
from tui_agent.ui.inspect import LogApp, read_with_engine
from tui_agent.ui.inspector.panel import Panel
from tui_agent.ui.looks import style_sheets

TABS = ("Records", "Checkpoints", "Backups", "Tokens", "Request", "Events")
SHORT = ("Records", "Points", "Backups", "Tokens", "Sent", "Events")
"""The names of the tabs where there is little room."""


def is_at(made: Stage, tab: str) -> bool:
    """The inspector shows this tab, and its list has the keys."""
    panel = made.chat.panel
    return panel is not None and tab == panel.tab.NAME and made.app.focused is panel.tab.rows


class Looking(Stage):
    """A stage whose app is the inspector alone."""

    @property
    def panel(self) -> Panel:
        panel = self.app.screen.query_one(Panel)
        assert isinstance(panel, Panel)
        return panel


def write(path: Path, records: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """A log of these records; bytes are lines as they are."""
    lines = [
        record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode()
        for record in records
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@asynccontextmanager
async def looking(
    path: Path, tab: str = "Records", *, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[Looking]:
    """Look into a log, with this tab in front."""
    app = LogApp(path, style_sheets(), read=read_with_engine)
    async with app.run_test(size=size) as pilot:
        made = Looking(app, pilot)  # type: ignore[arg-type]
        await made.until(lambda: app._log_screen.panel is not None and app._log_screen.panel._tabs, "the log")
        for _ in range(TABS.index(tab)):
            await made.press("right")
            await made.settle()
        await made.until(lambda: tab == made.panel.tab.NAME, tab)
        yield made
