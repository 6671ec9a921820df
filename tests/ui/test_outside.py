"""Another program on the screen's terminal, while the screen's own work goes on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from textual.app import App, SuspendNotSupported

from tests.cli import terminal
from tui_agent.ui.outside import run_outside

_SCREEN = """
import fcntl, sys, termios
from textual.app import App
from textual.widgets import Static
from tui_agent.ui.outside import run_outside
from tui_agent.ui.terminal import Terminal

class Screen(App):
    BINDINGS = [("e", "leave", ""), ("q", "quit", "")]
    ticks = 0

    def __init__(self):
        super().__init__(driver_class=Terminal)

    def compose(self):
        yield Static("here I am")

    async def action_leave(self):
        self.ticking = self.set_interval(0.005, self.tick)
        self.run_worker(self.outside())

    async def outside(self):
        try:
            code = await run_outside(self, sys.argv[2:])
        except OSError as error:
            code = error.strerror
        self.ticking.stop()
        self.query_one(Static).update(f"back with {code}")

    def tick(self):
        self.ticks += 1
        self.query_one(Static).update(f"tick {self.ticks}")
        self.bell()
        if self.ticks == 200:
            self.run_worker(lambda: open(sys.argv[1], "w").write("it went on"), thread=True)

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
Screen().run()
"""


def test_the_screen_goes_on_while_another_program_has_the_terminal(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = f'trap "echo caught" INT; cat "{pipe}"; echo waiting; until read line; do :; done; exit 3'
    with terminal.python(_SCREEN, [str(pipe), "sh", "-c", child], Path.cwd()) as program:
        program.until(b"here I am", b"\x1b[>4;1m")
        program.press(b"e")
        program.until(b"it went on", b"waiting")
        drawn = program.shown.rpartition(b"\x1b[?1049l")[2]
        assert b"tick" not in drawn
        program.press(b"\x03")
        program.until(b"caught")
        place = program.shown.index(b"caught")
        program.press(b"\n")
        program.until_after(place, b"back with 3", b"\x1b[?1049h", b"\x1b[?2004h", b"\x1b[>4;1m")
        program.press(b"q")
        assert program.end() == 0


async def test_a_program_that_is_not_there_gives_the_terminal_back(tmp_path: Path) -> None:
    with terminal.python(_SCREEN, [str(tmp_path), "/nowhere/editor"], Path.cwd()) as program:
        program.until(b"here I am", b"\x1b[>4;1m")
        program.press(b"e")
        program.until(b"back with No such file or directory")
        program.press(b"q")
        assert program.end() == 0


async def test_without_a_terminal_there_is_nothing_to_give() -> None:
    app: App[None] = App()
    async with app.run_test():
        with pytest.raises(SuspendNotSupported):
            await run_outside(app, [sys.executable, "-c", ""])
