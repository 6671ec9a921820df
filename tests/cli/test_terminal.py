from __future__ import annotations

import re
from pathlib import Path

from tests.cli import terminal
from tests.cli.command import session
from tui_agent import paths
from tui_agent.sessions.catalog import Catalog

ALTERNATE_SCREEN = b"\x1b[?1049h"
CTRL_Q = b"\x11"

LOADED_FOR_THE_SCREEN = """
import sys
from tui_agent.cli.main import main
import tui_agent.ui.app as app

def run(**wanted):
    print("loaded", *(name for name in sys.modules if name.startswith("tui_agent.")), "end")
    print("wanted", sorted(wanted), wanted["resume"], wanted["demo"], wanted["workspace"].name, "end")
    return 7

app.run = run
sys.exit(main(sys.argv[1:]))
"""


def test_the_screen_opens_on_a_terminal_and_closes(shop: Path) -> None:
    with terminal.run(".", "--demo", cwd=shop) as screen:
        screen.until(ALTERNATE_SCREEN, b"demo model")
        screen.press(CTRL_Q)
        assert screen.end() == 0
    assert Catalog().list() == []


def test_a_demo_with_broken_settings_names_the_persons_own_file_and_makes_no_folder(
    shop: Path, home: Path, tmp_path: Path
) -> None:
    own = paths.private_folder(home / "config") / "settings.toml"
    own.write_text("theme = [")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with terminal.run("--demo", cwd=shop, changes={"TMPDIR": str(scratch)}) as screen:
        assert screen.end() == 1
    assert str(own) in screen.shown.decode()
    assert list(scratch.iterdir()) == []


def test_inspect_opens_a_screen_on_a_terminal(shop: Path) -> None:
    made = session(shop, "some words")
    before = {path: path.read_bytes() for path in made.path.iterdir()}
    with terminal.run("inspect", str(made.context_path), cwd=shop) as screen:
        screen.until(ALTERNATE_SCREEN, b"some words")
        screen.press(b"q")
        assert screen.end() == 0
    assert {path: path.read_bytes() for path in made.path.iterdir()} == before


def test_inspect_of_nothing_opens_no_screen(shop: Path) -> None:
    with terminal.run("inspect", "nowhere.jsonl", cwd=shop) as screen:
        assert screen.end() == 1
    assert screen.shown.decode().strip() == "tui-agent: nowhere.jsonl does not exist"


def test_the_screen_starts_without_the_reports_and_gets_what_was_asked(shop: Path) -> None:
    with terminal.python(LOADED_FOR_THE_SCREEN, ["--continue", "--demo"], shop) as screen:
        assert screen.end() == 7
    text = screen.shown.decode()
    (loaded,) = re.findall("loaded (.*?) end", text, re.DOTALL)
    reports = {"report", "context", "views", "describe", "sessions", "doctor", "checkup", "headless"}
    assert not set(loaded.split()) & {f"tui_agent.cli.{name}" for name in reports}
    wanted = (
        "['append_system', 'demo', 'mode', 'profile', 'resume', 'settings', 'workspace'] latest True shop"
    )
    assert wanted in " ".join(text.split())


def test_a_question_before_clearing_away_is_asked_on_a_terminal(shop: Path) -> None:
    made = session(shop, "words")
    Catalog().delete(made.id)
    for answer, left in ((b"n\n", 1), (b"\n", 1), (b"y\n", 0)):
        with terminal.run("sessions", "gc", "--all", cwd=shop) as screen:
            screen.until(b"for good? [y/N]")
            screen.press(answer)
            assert screen.end() == 0
        assert len(Catalog().deleted()) == left


def test_tables_are_as_wide_as_the_terminal(shop: Path) -> None:
    session(shop, "a very long title of a session " * 10)
    with terminal.run("sessions", "--all", cwd=shop) as screen:
        assert screen.end() == 0
    assert max(map(len, screen.shown.decode().splitlines())) <= 80


def test_what_the_model_says_cannot_act_on_a_terminal(shop: Path) -> None:
    (shop / "evil.txt").write_text("\x1b]52;c;eA==\x07\x1b[2J \u202e")
    with terminal.run("-p", "read evil.txt", "--demo", cwd=shop) as screen:
        assert screen.end() == 0
    assert b"evil.txt" in screen.shown
    assert b"\x1b" not in screen.shown
    assert "\u202e".encode() not in screen.shown
