"""A terminal that goes away, is given to somebody else and comes back: with a real terminal and a real process."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli import terminal
from tests.cli.command import session
from tests.cli.terminal import Terminal
from tests.support.script import Hold, Reply
from tests.support.served import Served
from tui_agent.context import Context
from tui_agent.sessions.catalog import Catalog

IGNORING = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "tui_agent", *sys.argv[1:]])
"""
"""Starts the program as nohup does."""
CTRL_Q, CTRL_Z = b"\x11", b"\x1a"
HUNG_UP = 128 + signal.SIGHUP
TO_CARD = b"\x18a"
ARMED_S = 0.6
"""A card takes no keys before."""
AT_ONCE_S = 20.0
"""Far more than the two seconds it may take, and far less than for ever: the machine may be busy."""


@pytest.fixture
def screen(server: Served, shop: Path) -> Iterator[Terminal]:
    """The screen, with a model that has begun to answer and holds."""
    hold = Hold()
    server.script(Reply.text("begun and never ended").holding(hold, after=1))
    with terminal.run("--profile", "scripted", cwd=shop, controls=True) as made:
        made.until(b"ready")
        made.press(b"go\r")
        server.wait(hold.reached)
        made.until(b"answering")
        yield made


async def whole(shop: Path) -> Context:
    """The log of the only session: read without a damaged line."""
    (entry,) = Catalog().list(shop)
    context = Context(entry.folder.context_path, read_only=True)
    await context.restore()
    assert not context.damage
    assert [message.text for message in context.history if message.is_words] == ["go"]
    return context


async def test_a_closed_window(screen: Terminal, shop: Path) -> None:
    screen.hang_up()
    assert screen.process.wait(AT_ONCE_S) == HUNG_UP
    await whole(shop)


async def test_a_closed_window_of_a_program_that_hears_no_hangup(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("begun and never ended").holding(hold, after=1))
    with terminal.python(IGNORING, ["--profile", "scripted"], shop) as screen:
        screen.until(b"ready")
        screen.press(b"go\r")
        server.wait(hold.reached)
        screen.until(b"answering")
        screen.hang_up()
        assert screen.process.wait(AT_ONCE_S) == HUNG_UP
    await whole(shop)


def test_the_inspector_alone_ends_with_its_terminal_too(shop: Path) -> None:
    made = session(shop, "some words")
    with terminal.python(IGNORING, ["inspect", str(made.context_path)], shop) as screen:
        screen.until(b"some words")
        screen.hang_up()
        assert screen.process.wait(AT_ONCE_S) == HUNG_UP


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
async def test_a_signal(screen: Terminal, shop: Path, number: signal.Signals) -> None:
    screen.process.send_signal(number)
    assert screen.end() == 128 + number
    if number == signal.SIGTERM:
        assert b"\x1b[?1049l" in screen.shown
    await whole(shop)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_what_does_not_end_in_time_is_not_left_behind(shop: Path, number: signal.Signals) -> None:
    with terminal.run(".", "--demo", cwd=shop) as screen:
        screen.until(b"ready")
        screen.press(b"!trap '' TERM; echo begun-$((40 + 2)); while :; do sleep 0.1; done\r")
        screen.until(b"begun-42")
        (command,) = psutil.Process(screen.process.pid).children()
        screen.process.send_signal(number)
        screen.end()
        assert not psutil.wait_procs([command], AT_ONCE_S)[1]


def test_a_suspended_program_gives_the_terminal_back_and_takes_it_again(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.blocks({"type": "text", "text": ["one ", "two"]}).holding(hold, after=1))  # type: ignore[dict-item]
    with terminal.run("--profile", "scripted", cwd=shop) as screen:
        screen.until(b"ready")
        screen.press(b"go\r")
        server.wait(hold.reached)
        screen.until(b"answering")
        start = len(screen.shown)
        screen.press(CTRL_Z)
        screen.until_after(
            start, b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[>4;0m", b"\x1b[<u", b"\x1b[23;2t"
        )
        wait_for_state(screen, psutil.STATUS_STOPPED)
        server.let_go(hold)
        start = len(screen.shown)
        screen.process.send_signal(signal.SIGCONT)
        modes = (
            b"\x1b[?1049h",
            b"\x1b[?1006h",
            b"\x1b[?2004h",
            b"\x1b[>4;1m",
            b"\x1b[>25u",
            b"\x1b[22;2t",
            b"\x1b]2;go",
        )
        screen.until_after(start, *modes, b"scripted-1", b"one two", b"ready")
        screen.press(b"x")
        screen.until_after(start, b"x")
        screen.press(CTRL_Q)
        assert screen.end() == 0


def test_a_program_that_was_stopped_without_a_word_draws_itself_anew(shop: Path) -> None:
    with terminal.run(".", "--demo", cwd=shop) as screen:
        screen.until(b"ready")
        screen.process.send_signal(signal.SIGSTOP)
        wait_for_state(screen, psutil.STATUS_STOPPED)
        start = len(screen.shown)
        screen.process.send_signal(signal.SIGCONT)
        screen.until_after(start, b"\x1b[?1049h", b"demo model", b"ready")
        threads = [thread.id for thread in psutil.Process(screen.process.pid).threads()]
        assert len(threads) < 12
        screen.press(b"hello")
        screen.until_after(start, b"hello")
        screen.press(CTRL_Q)
        assert screen.end() == 0


def wait_for_state(screen: Terminal, state: str) -> None:
    process = psutil.Process(screen.process.pid)
    end = time.monotonic() + terminal.SECONDS
    while process.status() != state:
        assert time.monotonic() < end, process.status()
        time.sleep(0.02)


def approve(screen: Terminal) -> None:
    """Go to the card and say yes; what was pressed before it could be read is said to be lost, and pressed again."""
    screen.until(b"run this command?")
    answer = b"not taken"
    while answer == b"not taken":
        screen.press(TO_CARD)
        screen.until_quiet()
        time.sleep(ARMED_S)
        start = len(screen.shown)
        screen.press(b"y")
        answer = screen.until_one_of(start, b": working\x07", b": done\x07", b"not taken")


def test_a_legacy_keyboard_is_not_asked_for_more(home: Path, shop: Path) -> None:
    (home / "config").mkdir(mode=0o700)
    for keyboard, kitty, modified in (("legacy", 0, 1), ("kitty", 1, 0), ("auto", 1, 1)):
        (home / "config" / "settings.toml").write_text(f'[terminal]\nkeyboard = "{keyboard}"\n')
        with terminal.run(".", "--demo", cwd=shop) as screen:
            screen.until(b"ready")
            screen.press(CTRL_Q)
            assert screen.end() == 0
        assert len(re.findall(rb"\x1b\[>\d+u", screen.shown)) == kitty
        assert len(re.findall(rb"\x1b\[<u", screen.shown)) == kitty
        assert len(re.findall(rb"\x1b\[>4;1m", screen.shown)) == modified


def test_the_title_tells_the_state_and_is_given_back(server: Served, shop: Path) -> None:
    server.script(Reply.tools(("bash", {"command": "touch made"})), Reply.text("well"))
    with terminal.run("--profile", "scripted", cwd=shop) as screen:
        screen.until(b"\x1b[22;2t", b"ready")
        screen.press(b"\x1b[200~go \xe2\x80\xae on\x1b[201~\r")
        screen.until(b": working\x07", b": waiting for you\x07")
        approve(screen)
        screen.until(b": done\x07")
        screen.press(b"x")
        screen.until(b"on\x07")
        screen.press(CTRL_Q)
        assert screen.end() == 0
    titles = re.findall(rb"\x1b\]2;([^\x07]*)\x07", screen.shown)
    assert b"go <U+202E> on: waiting for you" in titles
    assert titles[-1] == b"go <U+202E> on"
    assert screen.shown.rindex(b"\x1b[23;2t") > screen.shown.rindex(b"\x1b]2;")


def test_commands_hear_that_no_colour_is_wanted(server: Served, shop: Path) -> None:
    server.script(Reply.tools(("bash", {"command": "touch colour=$NO_COLOR"})), Reply.text("well"))
    with terminal.run("--profile", "scripted", cwd=shop, changes={"NO_COLOR": "yes"}) as screen:
        screen.until(b"ready")
        screen.press(b"go\r")
        approve(screen)
        screen.until(b"well")
        screen.press(CTRL_Q)
        assert screen.end() == 0
    assert [path.name for path in shop.iterdir()] == ["colour=yes"]


def test_windows_is_refused_before_anything_is_imported(shop: Path) -> None:
    script = (
        "import os, sys; os.name = 'nt'; before = set(sys.modules)\n"
        "from tui_agent.cli.main import main\n"
        "code = main([])\n"
        "print(*sorted(set(sys.modules) - before))\n"
        "sys.exit(code)"
    )
    with terminal.python(script, [], shop) as screen:
        assert screen.end() == 1
    said, imported = screen.shown.decode().strip().split("\r\n")
    assert said == "tui-agent: Windows is not supported (no process groups, no file locks); use WSL"
    assert not {"fcntl", "termios", "textual"} & set(imported.split())
