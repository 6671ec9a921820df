"""The driver, the writer and the app that minds them, in parts; whole programs are tried in tests/cli."""

from __future__ import annotations

import inspect
import os
import threading
import time
from pathlib import Path

import pytest
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen

from tests.ui.stage import stage
from tui_agent.settings.schema import Settings, Terminal
from tui_agent.ui import terminal
from tui_agent.ui.transcript import sheet
from tui_agent.ui.writer import Writer

PATIENCE = 20.0


def test_what_we_use_of_textual_is_there() -> None:
    """Names that Textual does not promise to keep: if one is gone, ui/terminal.py and ui/hosted.py have to follow."""
    source = inspect.getsource(LinuxDriver)
    for name in ("_writer_thread", "_must_signal_resume", "exit_event", "_debug", "input_tty", "fileno"):
        assert f"self.{name}" in source, name
    for kind, names in {
        LinuxDriver: ("run_input_thread", "_run_input_thread", "suspend_application_mode", "process_message"),
        App: ("_display", "_begin_batch", "_end_batch", "get_line_filters", "copy_to_clipboard"),
        Screen: ("check_idle", "_compositor_refresh"),
    }.items():
        for name in names:
            assert callable(getattr(kind, name)), name
    assert "_batch_count" in inspect.getsource(App._begin_batch)
    assert "self.app._batch_count" in inspect.getsource(Screen._on_timer_update)
    assert "driver.flush()" in inspect.getsource(App._display)


class Line:
    """A pipe to write to, which somebody may read."""

    def __init__(self) -> None:
        self.reads, writes = os.pipe()
        self.caught_up, self.gone = threading.Event(), threading.Event()
        self.writer = Writer(writes, self.caught_up.set, self.gone.set)
        self.writer.start()

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += os.read(self.reads, count - len(data))
        return data


def test_a_writer_never_waits_and_says_when_it_is_behind() -> None:
    line = Line()
    text = "x" * 5_000
    behind = False
    frames = 0
    began = time.monotonic()
    while not behind or frames < 100:
        line.writer.write(text)
        behind = line.writer.end_frame()
        frames += 1
    assert time.monotonic() - began < PATIENCE
    assert line.writer.behind
    assert not line.caught_up.is_set()
    assert line.read(frames * 5_000) == b"x" * frames * 5_000
    assert line.caught_up.wait(PATIENCE)
    assert not line.writer.behind
    line.writer.write("last")
    line.writer.stop()
    assert line.read(4) == b"last"


def test_a_writer_whose_terminal_is_gone_says_so_once_and_takes_no_more() -> None:
    line = Line()
    os.close(line.reads)
    line.writer.write("x")
    line.writer.end_frame()
    assert line.gone.wait(PATIENCE)
    line.writer.join(PATIENCE)
    line.writer.write("y" * 100_000)
    assert not line.writer.end_frame()
    line.writer.stop()


def test_a_writer_that_is_not_read_can_be_stopped() -> None:
    line = Line()
    line.writer.write("x" * 1_000_000)
    line.writer.stop()
    assert line.writer.is_alive(), "it waits for ever, which nobody waits for"
    line.read(1_000_000)
    line.writer.join(PATIENCE)


async def test_what_changes_while_the_terminal_is_behind_is_drawn_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:
        frames: list[str] = []
        draw = made.chat._compositor_refresh

        def drawn() -> None:
            frames.append(made.chat.composer.text)
            draw()

        monkeypatch.setattr(made.chat, "_compositor_refresh", drawn)
        made.app.hold_frames()
        made.app.hold_frames()
        for _ in range(5):
            made.chat.composer.insert("x")
            await made.settle()
        assert frames == []
        made.app.release_frames()
        await made.until(lambda: frames)
        assert frames[0] == "xxxxx"
        made.app.release_frames()
        made.chat.composer.insert("y")
        await made.until(lambda: frames[-1] == "xxxxxy")


async def test_the_bell_rings_for_a_card_and_can_be_turned_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.ui.attention.AWAY_S", 0.0)
    for bell in (True, False):
        async with stage(tmp_path / str(bell), settings=Settings(terminal=Terminal(bell=bell))) as made:
            rung: list[bool] = []
            monkeypatch.setattr(made.app, "bell", lambda rung=rung: rung.append(True))
            made.session.begin()
            made.session.ask()
            await made.until(lambda made=made: made.chat.dock.waiting)
            assert rung == ([True] if bell else [])


def test_far_away_there_are_fewer_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_TTY", raising=False)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert terminal.frame_seconds() == 0.05
    monkeypatch.setenv("SSH_CONNECTION", "a b c d")
    assert terminal.frame_seconds() == 0.1
    assert sheet.FRAME_S in (0.05, 0.1)
