"""What is imported when the first frame is shown: the person waits for every module of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_OF_OURS = 83
"""Modules of this program before the first frame. A new one belongs behind it, unless the frame shows it."""

ROOMS = ("agent", "compaction", "context", "memory", "planning", "process", "prompt", "retrieval", "sessions")
MORE_ROOMS = ("timeline", "tools", "llm", "wiring", "workspace", "database", "fulltext")
PLACES = (
    "inspector",
    "palette",
    "help",
    "settings",
    "sessions",
    "browser",
    "connect",
    "models",
    "waiting",
    "theme_list",
    "engine",
)
MORE_PLACES = (
    *("own_themes", "contrast", "tour", "plain", "inspect", "listing", "rows", "table", "leaf", "memory"),
    *("chat.find_bar", "chat.shelf", "chat.remembering", "cards.memory"),
)
LATER = {
    *(f"tui_agent.{room}" for room in (*ROOMS, *MORE_ROOMS)),
    *(f"tui_agent.ui.{place}" for place in (*PLACES, *MORE_PLACES, "cards.jump", "cards.approval")),
    *(f"tui_agent.ui.transcript.{part}" for part in ("render", "markdown", "stream", "diff", "pages")),
    *("anthropic", "httpx", "httpx2", "pydantic", "anyio", "aiofiles", "PIL", "pathspec", "sqlite3"),
    *("markdown_it", "pygments", "tomllib", "tomli_w", "hashlib", "multiprocessing", "keyring"),
    *("mcp", "mcp_types"),
}
"""What the first frame does not need, with all that lies in it."""

_SCRIPT = """
import sys
from pathlib import Path
from tui_agent.cli import main
from tui_agent.settings.load import load
settings = load()
from tui_agent.ui import app

def opened(self):
    print(chr(10).join(sys.modules), file=sys.__stdout__)
    self.exit(0)

app.TuiAgent._open = opened
app.TuiAgent(app.Wanted(Path.cwd(), demo=True), settings).run(headless=True, size=(80, 24))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules there are when the first frame is shown and the session is about to be opened."""
    place = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "TUI_AGENT_HOME": str(place), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stdout.split()
    assert "tui_agent.ui.chat.screen" in modules
    return modules


def test_nothing_is_imported_that_the_first_frame_does_not_show(imported: list[str]) -> None:
    early = [
        name for name in imported if any(name == later or name.startswith(f"{later}.") for later in LATER)
    ]
    assert not early


def test_few_modules_of_ours_come_before_the_first_frame(imported: list[str]) -> None:
    ours = [name for name in imported if name.startswith("tui_agent.")]
    assert len(ours) <= MOST_OF_OURS, sorted(ours)
