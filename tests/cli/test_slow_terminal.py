"""A terminal that takes little: the program neither waits for it nor lets it fall behind."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.cli import terminal
from tests.cli.terminal import Terminal
from tests.support.script import Reply
from tests.support.served import Served

RATE, FAST = 20_000, 20_000_000
"""Bytes a second."""

WATCHED = """
import asyncio, sys, time
from tui_agent.ui.app import TuiAgent
from tui_agent.cli.main import main

lags, measured = [], []

async def watch(app):
    while True:
        if app.session is not None and app.session.busy and not measured:
            lags.clear()  # the start is not what is measured
            measured.append(True)
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - began - 0.005)

mounted = TuiAgent.on_mount

def on_mount(self):
    mounted(self)
    self.watching = asyncio.create_task(watch(self))

TuiAgent.on_mount = on_mount
code = main(sys.argv[1:])
lags.sort()
print("lag", *(f"{lags[int(len(lags) * part)] * 1000:.1f}" for part in (0.5, 0.99, 0.999)), "end")
sys.exit(code)
"""
"""The program, with a watch on its loop: how much later than asked it comes round, in milliseconds."""


def answer(words: int) -> Reply:
    """A long answer, at 200 words a second."""
    prose = [f"word{number} of prose " + ("\n\n" if number % 30 == 29 else "") for number in range(words)]
    return Reply.blocks({"type": "text", "text": prose}).paced(0.005)  # type: ignore[dict-item]


def echoed(screen: Terminal, keys: bytes, rate: int) -> float:
    """Seconds until keys are shown, on a slow line."""
    began, start = time.monotonic(), len(screen.shown)
    screen.press(keys)
    screen.read_slowly(30, rate, lambda: keys in screen.shown[start:])
    assert keys in screen.shown[start:]
    return time.monotonic() - began


def on_a_slow_line(
    server: Served, shop: Path, words: int, keys: int, rate: int = RATE
) -> tuple[list[float], list[float]]:
    """Loop lag in milliseconds (median, p99, p99.9) and seconds until keys were shown, while an answer streams."""
    server.script(answer(words))
    with terminal.python(WATCHED, ["--profile", "scripted"], shop) as screen:
        screen.until(b"ready")
        screen.press(b"go\r")
        screen.read_slowly(20, rate, lambda: b"word9" in screen.shown)
        seconds = []
        for number in range(keys):
            screen.read_slowly(0.7, rate)
            seconds.append(echoed(screen, b"k%d" % number, rate))
        screen.press(b"\x03\x11")
        assert screen.end() == 0
    lags = re.search(rb"lag ([\d. ]+) end", screen.shown)
    assert lags is not None
    return [float(figure) for figure in lags[1].split()], seconds


def test_keys_are_shown_while_an_answer_streams_over_a_slow_line(server: Served, shop: Path) -> None:
    _, seconds = on_a_slow_line(server, shop, words=2_000, keys=3)
    assert len(seconds) == 3


@pytest.mark.slow
def test_a_slow_line_stalls_nothing(server: Served, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a busy machine the loop is late on a fast line too: a slow one adds nothing to that."""
    found = {rate: on_a_slow_line(server, shop, words=8_000, keys=15, rate=rate) for rate in (FAST, RATE)}
    with capsys.disabled():
        for rate, (lags, seconds) in found.items():
            print(f"\nread at {rate:,} B/s: loop lag p50 {lags[0]} p99 {lags[1]} p99.9 {lags[2]} ms;", end="")
            print(f" echo median {sorted(seconds)[7]:.2f} s, longest {max(seconds):.2f} s")
    assert found[RATE][0][1] <= max(20, 1.5 * found[FAST][0][1])
    assert max(found[RATE][1]) <= 2


def test_a_terminal_that_takes_nothing_does_not_stop_the_program(server: Served, shop: Path) -> None:
    server.script(answer(3_000))
    with terminal.run("--profile", "scripted", cwd=shop) as screen:
        screen.until(b"ready")
        screen.press(b"go\r")
        screen.until(b"word9")
        # nobody reads any more: the end is not waited for
        screen.process.terminate()
        assert screen.process.wait(terminal.SECONDS) == 128 + 15
