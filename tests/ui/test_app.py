"""The app: the first frame before the engine, type-ahead, failures that are shown, and the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from tests.ui.context import FakeContext, conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, folder, stage
from tui_agent.settings.schema import Settings
from tui_agent.ui import engine
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.chat.answering import WAYS_OUT
from tui_agent.ui.farewell import farewell
from tui_agent.ui.inspect import LogApp
from tui_agent.ui.looks import style_sheets


def test_the_style_sheets_are_found_in_a_checkout() -> None:
    assert {Path(sheet).name for sheet in style_sheets()} >= {
        "app.tcss",
        "chat.tcss",
        "cards.tcss",
        "inspector.tcss",
    }


async def test_the_style_sheets_are_not_read_again_before_the_first_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = Stylesheet.reparse

    def counted(self: Stylesheet) -> None:
        read.append(1)
        original(self)

    monkeypatch.setattr(Stylesheet, "reparse", counted)
    async with stage(tmp_path):
        assert not read


class Slow:
    """An opener that waits until it is let, and fails as often as it is told."""

    def __init__(self, tmp_path: Path, failures: int = 0) -> None:
        self.place = folder(tmp_path)
        self.let = asyncio.Event()
        self.failures = failures
        self.wanted: list[Wanted] = []
        self.sessions: list[FakeSession] = []
        self.context: FakeContext | None = None
        """The log of the session, if it was read before."""

    async def __call__(self, wanted: Wanted, listen: Callable[[Any], None]) -> Any:
        self.wanted.append(wanted)
        await self.let.wait()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("[red]the session[/] is open in process 4711")
        session = FakeSession(self.place, listen)
        session.context = self.context or session.context
        self.sessions.append(session)
        return session


async def test_the_history_is_shown_before_the_session_is_open_and_stays_as_it_was_left(
    tmp_path: Path,
) -> None:
    opener = Slow(tmp_path)
    app = TuiAgent(Wanted(opener.place.parent / "shop"), Settings(), opener=opener)
    async with app.run_test(size=(80, 24)) as pilot:
        made = Stage(app, pilot, opener.sessions)
        log = FakeSession(opener.place, lambda event: None).context
        conversation(log)
        opener.context = log
        made.chat.preview(log)
        await made.until(lambda: "prints the rows as JSON" in made.text)
        assert made.chat.session is None
        assert made.chat.transcript.open_output()
        await made.until(lambda: "def report" in made.text, "a result, opened meanwhile")
        opener.let.set()
        await made.until(lambda: made.chat.session is not None and "ready" in made.lines[0])
        assert "def report" in made.text


async def test_words_typed_and_sent_before_the_session_is_open_are_kept(tmp_path: Path) -> None:
    opener = Slow(tmp_path)
    app = TuiAgent(Wanted(opener.place.parent / "shop"), Settings(), opener=opener)
    async with app.run_test(size=(80, 24)) as pilot:
        made = Stage(app, pilot, opener.sessions)
        await made.type("first words")
        await made.press("enter")
        await made.type("and more")
        await made.until(lambda: "waits, when the session is open: first words" in made.text)
        assert "starting" in made.lines[0]
        opener.let.set()
        await made.until(lambda: opener.sessions and made.session.submitted == [("first words", "step")])
        assert made.chat.composer.text == "and more"
        assert "ready" in made.lines[0]


@pytest.mark.usefixtures("quick")
async def test_a_session_that_cannot_be_opened_says_why_and_offers_ways_out(tmp_path: Path) -> None:
    opener = Slow(tmp_path, failures=1)
    opener.let.set()
    app = TuiAgent(Wanted(opener.place.parent / "shop", resume="latest"), Settings(), opener=opener)
    async with app.run_test(size=(80, 24)) as pilot:
        made = Stage(app, pilot, opener.sessions)
        await made.until(lambda: "no session is open; what now?" in made.text)
        assert "[red]the session[/] is open in process 4711" in made.text, "literally"
        for way in WAYS_OUT:
            assert way in made.text
        await made.type("mend it")
        await made.press("enter")
        await made.until(lambda: made.chat.composer.text == "mend it", "words that are no way out")
        await made.until(lambda: made.chat.dock.waiting, "it still asks")
        await made.press("tab")
        await made.until(lambda: made.chat.dock.has_keys)
        await made.press("down", "down", "enter")
        await made.until(lambda: made.chat.session is not None, "the new session")
        assert [wanted.resume for wanted in opener.wanted] == ["latest", None]
        assert "ready" in made.lines[0]


@pytest.mark.usefixtures("quick")
async def test_the_demo_model_is_a_way_out(tmp_path: Path) -> None:
    opener = Slow(tmp_path, failures=1)
    opener.let.set()
    app = TuiAgent(Wanted(opener.place.parent / "shop"), Settings(), opener=opener)
    async with app.run_test(size=(80, 24)) as pilot:
        made = Stage(app, pilot, opener.sessions)
        await made.until(lambda: "what now?" in made.text)
        await made.press("down", "down", "down", "enter")
        await made.until(lambda: made.chat.session is not None)
        assert opener.wanted[-1].demo


async def test_quitting_writes_the_draft_and_closes_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("half a thought")
        await made.press("ctrl+q")
        await made.until(lambda: made.session.closed)
        assert made.session.folder.draft_path.exists()
        assert made.app.return_value == 0
        assert "To go on: tui-agent --resume 01SESSION" in made.app.farewell


def test_nothing_is_said_at_the_end_of_a_session_without_words(tmp_path: Path) -> None:
    session: Any = FakeSession(folder(tmp_path), lambda event: None)
    assert farewell(session) == ""
    conversation(session.context)
    assert "10 messages" in farewell(session) or "8 messages" in farewell(session)


async def test_what_a_worker_raises_is_shown_and_the_app_goes_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:

        async def broken(name: str, *arguments: str) -> Any:
            raise ZeroDivisionError("[/]boom")

        made.session.perform = broken  # type: ignore[method-assign]
        await made.type("/context")
        await made.press("escape", "enter")
        await made.until(lambda: "ZeroDivisionError: [/]boom" in made.text)
        await made.type("still here")
        assert made.chat.composer.text == "still here"


async def test_help_shows_every_key_and_command(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(100, 240)) as made:
        await made.press("f1")
        await made.until(lambda: "keys and commands" in made.text)
        shown = (
            "^x g  F6",
            "Going back",
            "/revert CHECKPOINT",
            "(also /rewind)",
            "~1,204",
            "in settings.toml: an action",
        )
        for words in shown:
            assert words in made.text, words
        await made.press("escape")
        await made.until(lambda: "keys and commands" not in made.text)


async def test_the_palette_finds_actions_and_commands(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(100, 36)) as made:
        await made.press("ctrl+x", "p")
        await made.until(lambda: len(made.app.screen_stack) == 2, "the palette")
        await made.type("holds and weighs")
        await made.until(lambda: "say what the context holds and weighs" in made.text)
        await made.until(lambda: "/context" in made.text)
        await made.press("down", "enter")
        await made.until(lambda: made.session.performed == [("context",)])


async def test_the_inspector_alone_shows_a_log_and_changes_nothing(tmp_path: Path) -> None:
    session: Any = FakeSession(folder(tmp_path), lambda event: None)
    conversation(session.context)

    async def read(path: Path) -> Any:
        return session.context, session.requests

    app = LogApp(tmp_path / "context.jsonl", style_sheets(), read=read)
    async with app.run_test(size=(100, 30)) as pilot:
        made = Stage(app, pilot)  # type: ignore[arg-type]
        await made.until(lambda: "read-only" in made.lines[0] and "question 1" in made.text)
        await made.press("right")
        await made.until(lambda: "2 turns, 2 steps" in made.text)
        await made.press("q")
        await made.until(lambda: not app.is_running)


async def test_a_log_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    from tui_agent.ui.inspect import read_with_engine

    app = LogApp(tmp_path / "nothing.jsonl", style_sheets(), read=read_with_engine)
    async with app.run_test(size=(140, 30)) as pilot:
        made = Stage(app, pilot)  # type: ignore[arg-type]
        await made.until(lambda: "there is no such file" in made.text)


def test_the_engine_is_imported_without_a_collection_in_between() -> None:
    import gc

    assert gc.isenabled()
    assert engine.imported("tui_agent.wiring").open_session
    assert gc.isenabled()
