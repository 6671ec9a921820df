"""Pictures of the real program with the demo model, in three sizes.

    python -m tests.screenshots [NAME ...] [--check] [--png DIR]

Without names all scenes are drawn into screenshots/NAME-WIDTHxHEIGHT.svg. `--check` draws them anew and fails if one
differs from the file. `--png` also writes PNG files (with rsvg-convert, which librsvg2-bin brings). Times, durations
and ids are masked, so that the same program always draws the same picture.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import time_machine
from textual.pilot import Pilot

from tests.ui.stage import Stage
from tui_agent.settings.schema import Settings
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.cards import card
from tui_agent.ui.chat import screen
from tui_agent.ui.transcript import code

FOLDER = Path(__file__).resolve().parents[1] / "screenshots"
SIZES = ((80, 24), (120, 36), (200, 50))
_REPORT = '''"""The report of a shop."""


def report(rows):
    return "\\n".join(f"{name:20}{price:8.2f}" for name, price in rows)
'''
_MASKS = (
    (re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}"), "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    (re.compile(r"\b\d+\.\d(?=(?: |&#160;)s\b)"), "0.1"),
    (re.compile(r"terminal-\d+"), "terminal-1"),
)


async def _say(made: Stage, words: str, shown: str) -> None:
    await made.type(words)
    await made.press("enter")
    await made.until(lambda: shown in made.text, shown)


async def _allow(made: Stage, shown: str) -> None:
    await made.until(lambda: made.chat.dock.card is not None, "a card")
    if not made.chat.dock.has_keys:
        await made.press("tab")
    await made.press("y")
    await made.until(lambda: made.chat.dock.card is None and shown in made.text, shown)
    await _idle(made)


async def _idle(made: Stage) -> None:
    await made.until(
        lambda: made.chat.session is not None and not made.chat.session.busy, "the end of the turn"
    )


async def _tour(made: Stage) -> None:
    await _say(made, "read report.py", "lines came back")
    await _idle(made)
    await _say(made, "run python3 -m py_compile report.py", "run this command?")
    await _allow(made, "exit code 0")
    await _say(made, "edit report.py: replace rows with items", "make this change?")
    await _allow(made, "is now")


async def _welcome(made: Stage) -> None:
    await made.settle()


async def _approval(made: Stage) -> None:
    await _say(made, "read report.py", "lines came back")
    await _idle(made)
    await _say(made, "run python3 -m py_compile report.py", "run this command?")
    if not made.chat.dock.has_keys:
        await made.press("tab")


async def _jump(made: Stage) -> None:
    await _tour(made)
    await made.press("ctrl+x", "g")
    await made.until(lambda: "messages leave the chat" in made.text, "the preview")
    await made.press("down")
    await made.settle()


async def _records(made: Stage) -> None:
    await _tour(made)
    await made.press("f3")
    await made.until(lambda: "first words" in made.text, "the inspector")


async def _backups(made: Stage) -> None:
    await _jump(made)
    await made.press("enter")
    await made.until(lambda: "context_1.jsonl" in made.text, "the backup")
    await made.press("ctrl+x", "u")
    await made.until(lambda: "is undone" in made.text, "the undo")
    await made.press("f3", "right", "right")
    await made.until(lambda: "2 backups" in made.text, "the backups")


async def _help(made: Stage) -> None:
    await made.press("f1")
    await made.until(lambda: "keys and commands" in made.text, "the help")


SCENES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "welcome": _welcome,
    "approval": _approval,
    "chat": _tour,
    "jump": _jump,
    "records": _records,
    "backups": _backups,
    "help": _help,
}


@dataclass
class Picture:
    """A scene at a size."""

    name: str
    size: tuple[int, int]

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}-{self.size[0]}x{self.size[1]}.svg"


async def draw(picture: Picture) -> str:
    """Run the program in a fresh home and draw the scene."""
    home = Path(tempfile.mkdtemp(prefix="tui-agent-"))
    try:
        workspace = home / "work" / "shop"
        workspace.mkdir(parents=True)
        (workspace / "report.py").write_text(_REPORT)
        os.environ |= {"HOME": str(home), "TUI_AGENT_HOME": str(home / "agent"), "TZ": "UTC"}
        time.tzset()
        app = TuiAgent(Wanted(workspace), Settings(file=home / "settings.toml"))
        with time_machine.travel(datetime(2026, 3, 5, 12, 4, tzinfo=UTC), tick=False):
            async with app.run_test(size=picture.size) as pilot:
                return await _scene(app, pilot, picture.name)
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _scene(app: TuiAgent, pilot: Pilot[Any], name: str) -> str:
    made = Stage(app, pilot)
    await made.until(lambda: made.chat.session is not None, "the session")
    await made.until(lambda: "demo model - no AI" in made.lines[0], "the model")
    await made.settle()
    await SCENES[name](made)
    await made.settle()
    made.chat.transcript.flush()
    await made.settle()
    drawn = app.export_screenshot(title="tui-agent")
    await app.action_quit()
    for pattern, mask in _MASKS:
        drawn = pattern.sub(mask, drawn)
    return drawn


def _quick() -> None:
    """No waiting: cards are armed at once, letters act at once, an empty composer is idle, code is in colours."""
    code.warm()
    card.ARMING = 0.0
    card.ALONE = 0.001
    screen._IDLE = 0.0
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN"))]:
        del os.environ[name]


def _png(picture: Picture, drawn: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # librsvg drops spaces at the ends of a text unless it is told to keep them
    spaced = drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)
    target = folder / picture.file.with_suffix(".png").name
    subprocess.run(["rsvg-convert", "-o", str(target)], input=spaced.encode(), check=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.screenshots", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("names", nargs="*", choices=[*SCENES, []], metavar="NAME", help=", ".join(SCENES))
    parser.add_argument("--check", action="store_true", help="fail if a picture differs from its file")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also write PNG files into this folder")
    options = parser.parse_args()
    if options.png and shutil.which("rsvg-convert") is None:
        parser.error("--png needs rsvg-convert (Debian: librsvg2-bin)")
    _quick()
    different = []
    for name in options.names or SCENES:
        for size in SIZES:
            picture = Picture(name, size)
            drawn = asyncio.run(draw(picture))
            if options.png:
                _png(picture, drawn, options.png)
            if not options.check:
                FOLDER.mkdir(exist_ok=True)
                picture.file.write_text(drawn)
                print(picture.file.name)
            elif not picture.file.exists() or picture.file.read_text() != drawn:
                different.append(picture.file.name)
                old = picture.file.read_text().splitlines() if picture.file.exists() else []
                print(*list(difflib.unified_diff(old, drawn.splitlines(), lineterm="", n=0))[:12], sep="\n")
    if different:
        print(
            f"differ: {', '.join(different)}; draw them anew with python -m tests.screenshots",
            file=sys.stderr,
        )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
