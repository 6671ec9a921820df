"""The guided demo: a real session of the demo model in a scratch folder, shown one step at a time.

    Tour     two or three rows above the last line: the step, and what to press

Nothing is played: every step waits until the person has done it, by key or by mouse, and sees it done by the session's
own events or by what is open on the screen. Steps may be done ahead of their turn; the tour then goes on behind them.
The files, the settings and the session of the tour lie in the scratch folder alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from tui_agent import paths
from tui_agent.changes import Rotated
from tui_agent.events import Answered, TurnEnded, TurnStarted

if TYPE_CHECKING:
    from tui_agent.events import Event
    from tui_agent.ui.chat.screen import ChatScreen

WORDS = "in report.py replace 8.2f with 10.2f"
"""What the tour puts into the composer; the demo model understands it."""

_FILES = {
    "report.py": '''"""The report of a shop."""


def report(rows):
    return "\\n".join(f"{name:20}{price:8.2f}" for name, price in rows)
''',
    "README.md": "# shop\n\nA folder to try things in.\n",
}
_WIDE = 110
"""Columns from which two rows hold every step."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """The folder of one tour: `workspace` is worked in, `home` holds settings and sessions. `root` holds both."""

    root: Path

    @property
    def workspace(self) -> Path:
        """The folder that is worked in."""
        return self.root / "shop"

    @property
    def home(self) -> Path:
        """Where settings and sessions of the tour lie."""
        return self.root / "home"


def scratch() -> Scratch:
    """Make the folder of a tour, with a few files to work on, and let this process keep everything in it.

    The person's own settings and themes are copied, so that the tour looks and answers to keys as their program does.

    Raises:
        OSError: it cannot be made.
    """
    config = paths.config_dir()
    made = Scratch(Path(tempfile.mkdtemp(prefix="tui-agent-demo-")))
    made.workspace.mkdir()
    for name, text in _FILES.items():
        (made.workspace / name).write_text(text, encoding="utf-8")
    own = paths.private_folder(made.home / "config")
    if (config / "settings.toml").is_file():
        shutil.copyfile(config / "settings.toml", own / "settings.toml")
    if (config / "themes").is_dir():
        shutil.copytree(config / "themes", own / "themes")
    os.environ[paths.HOME_VARIABLE] = str(made.home)
    return made


@dataclass(frozen=True, slots=True)
class Step:
    """What the step says on this screen, and whether it is done. Both look at the tour, whose `seen` has the events."""

    words: Callable[[Tour], str]
    done: Callable[[Tour], bool]


def _key(tour: Tour, action: str) -> str:
    return tour.chat.keys.shown(action)


def _allow(tour: Tour) -> str:
    if not tour.chat.dock.waiting:
        return "The model is at work. Before anything is written or run, a card asks you."
    how = "On the card" if tour.chat.dock.has_keys else "Tab goes to the card:"
    return f"Nothing is written or run before you say so. {how} y allows it once, n refuses."


def _look_around(tour: Tour) -> str:
    panel = tour.chat.panel
    close = _key(tour, "inspect")
    if panel is not None and panel.has_class("-over"):
        close = f"Esc or {close}"
    return (
        "Right and Left change between records, checkpoints, backups, tokens and events. Look around, then close it: "
        f"{close}."
    )


STEPS = (
    Step(
        lambda tour: (
            "The words above are yours to change. Enter sends them to the model (an offline one, no AI)."
        ),
        lambda tour: "sent" in tour.seen,
    ),
    # the words may have been others, that need no leave
    Step(_allow, lambda tour: bool(tour.seen & {"answered", "ended"})),
    Step(
        lambda tour: (
            f"Everything said and done is a line in one file. {_key(tour, 'inspect')} shows it, record by record, "
            "with the tokens of each."
        ),
        lambda tour: tour.chat.panel is not None,
    ),
    Step(_look_around, lambda tour: tour.chat.panel is None),
    Step(
        lambda tour: (
            f"Now go back in time: {_key(tour, 'jump')}, then Enter. The conversation ends before your words again; "
            "files stay as they are."
        ),
        lambda tour: "revert" in tour.seen,
    ),
    Step(
        lambda tour: (
            f"What you left is whole in a backup. {_key(tour, 'undo')} brings it back: no change of history is final."
        ),
        lambda tour: "undo" in tour.seen,
    ),
)
_END = (
    "That is all of it: nothing is lost, and nothing happens unasked. {quit} leaves; tui-agent in a folder of yours "
    "begins, and /connect there asks a real model."
)


class Tour(Static):
    """The rows of the tour."""

    def __init__(self, chat: ChatScreen) -> None:
        super().__init__(id="tour", markup=False)
        # the way out is a key and its words, not a link that is underlined
        self.auto_links = False
        self.chat: ChatScreen = chat
        self.seen: set[str] = set()
        """What the session's events said: sent, answered, ended, and every op that rewrote history."""
        self._at = 0

    @property
    def at(self) -> int:
        """The number of the step, from 0; as many as there are steps at the end."""
        return self._at

    @property
    def rows(self) -> int:
        """Rows it takes on a screen of this width."""
        return 2 if self.chat.size.width >= _WIDE else 3

    def on_mount(self) -> None:
        self.look()

    def heard(self, event: Event) -> None:
        """Something happened in the session."""
        match event:
            case TurnStarted():
                self.seen.add("sent")
            case Answered():
                self.seen.add("answered")
            case TurnEnded():
                self.seen.add("ended")
            case Rotated(op=op):
                self.seen.add(op)
            case _:
                return
        self.look()

    def look(self) -> None:
        """Look at the screen: is the step done, and what does it say now?"""
        while self._at < len(STEPS) and STEPS[self._at].done(self):
            self._at += 1
        self.styles.height = self.rows
        self.update(self.text())

    def text(self) -> Content:
        """The step, and how to leave the tour."""
        skip = f"{_key(self, 'tour')} {'ends' if self._at >= len(STEPS) else 'skips'} the tour"
        if self._at >= len(STEPS):
            head, words = " tour ", _END.format(quit=self.chat.keys.shown("quit"))
        else:
            head, words = f" tour {self._at + 1}/{len(STEPS)} ", STEPS[self._at].words(self)
        way_out = Content.styled(skip, "$text-muted").stylize(
            Style.from_meta({"@click": "screen.act('tour')"})
        )
        return Content.assemble((head, "bold reverse"), " ", words, "  ", way_out)
