"""The screen over a real session: the demo model, and a scripted server that speaks the Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tests.ui.stage import Stage
from tui_agent.settings.schema import Profile, Settings
from tui_agent.tools.permission import Mode
from tui_agent.ui.app import TuiAgent, Wanted

pytestmark = pytest.mark.usefixtures("quick")


@asynccontextmanager
async def opened(
    workspace: Path,
    settings: Settings | None = None,
    *,
    resume: str | None = None,
    mode: Mode | None = None,
    size: tuple[int, int] = (100, 36),
) -> AsyncIterator[Stage]:
    """The app over the real engine."""
    workspace.mkdir(exist_ok=True)
    app = TuiAgent(
        Wanted(workspace, resume=resume, mode=mode), settings or Settings(file=workspace / "settings.toml")
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        made = Stage(app, pilot)
        await made.until(lambda: made.chat.session is not None, "the session")
        await made.until(lambda: "ready" in made.lines[0], "that it is ready")
        yield made
        if app.session is not None:
            await app.action_quit()


async def _idle(made: Stage) -> None:
    await made.until(
        lambda: made.chat.session is not None and not made.chat.session.busy, "the end of the turn"
    )


async def _say(made: Stage, words: str, shown: str) -> None:
    await made.type(words)
    await made.press("enter")
    await made.until(lambda: shown in made.text, shown)


async def _allow(made: Stage) -> None:
    await made.until(lambda: made.chat.dock.card is not None, "the card")
    if not made.chat.dock.has_keys:
        await made.press("tab")
    await made.press("y")
    await made.until(lambda: made.chat.dock.card is None, "no card")
    await _idle(made)


async def test_without_a_key_the_demo_model_answers_and_says_what_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop") as made:
        await made.until(lambda: "demo model - no AI" in made.lines[0])
        await _say(made, "hello", "> hello")
        await _idle(made)


async def test_the_mode_that_was_asked_for_is_that_of_the_first_session_alone(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop", mode="plan") as made:
        await made.until(lambda: "  plan  " in made.lines[0])
        await _say(made, "hello", "> hello")
        await _idle(made)
        assert "  plan  " in made.lines[0]
        await made.press("ctrl+x", "n")
        await made.until(lambda: "  ask  " in made.lines[0], "the next session begins as ever")


async def test_read_run_edit_go_back_undo_redo_restore(tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "report.py").write_text('def report():\n    return "rows"\n')
    async with opened(workspace) as made:
        session = made.chat.session
        assert session is not None
        await _say(made, "read report.py", "lines came back")
        await _idle(made)
        await _say(made, "run echo hello there", "run this command?")
        await _allow(made)
        await made.until(lambda: "exit code 0" in made.text)
        await _say(made, "edit report.py: replace rows with table", "make this change?")
        await _allow(made)
        assert '"table"' in (workspace / "report.py").read_text()
        whole = [message.api() for message in session.context.history]

        await made.press("ctrl+x", "g")
        await made.until(lambda: "messages leave the chat" in made.text)
        await made.press("down", "enter")
        await made.until(lambda: "context_1.jsonl" in made.text, "what going back did")
        assert made.chat.composer.text == "run echo hello there"
        assert "hello there" not in "\n".join(message.text for message in session.context.history)

        await made.press("ctrl+x", "u")
        await made.until(lambda: "is undone" in made.text)
        assert [message.api() for message in session.context.history] == whole
        assert made.chat.composer.text == "", "the words are in the chat again"
        await made.press("ctrl+x", "r")
        await made.until(lambda: "is made again" in made.text)

        await made.press("ctrl+x", "i", "right", "right")
        await made.until(lambda: "3 backups" in made.text)
        await made.press("down", "down", "r")
        await made.until(lambda: "context_1.jsonl is the history again" in made.text)
        assert [message.api() for message in session.context.history] == whole


async def test_a_session_is_taken_up_again_with_its_chat_and_its_draft(tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    async with opened(workspace) as made:
        await _say(made, "hello", "> hello")
        await _idle(made)
        await made.type("half a thought")
    async with opened(workspace, resume="latest") as made:
        await made.until(lambda: "> hello" in made.text)
        assert made.chat.composer.text == "half a thought"
        await made.press("ctrl+c")
        await made.press("up", "up")
        assert made.chat.composer.text == "hello", "what was sent before is remembered"


async def test_a_session_without_words_leaves_no_folder(tmp_path: Path, home: Path) -> None:
    async with opened(tmp_path / "shop") as made:
        assert made.chat.session is not None
        place = made.chat.session.folder.path
    assert not place.exists()


async def test_two_screens_on_one_session_one_writes_the_other_reads(tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    async with opened(workspace) as first:
        await _say(first, "hello", "> hello")
        await _idle(first)
        assert first.chat.session is not None
        settings = Settings(file=workspace / "settings.toml")
        app = TuiAgent(Wanted(workspace, resume=first.chat.session.id), settings)
        async with app.run_test(size=(100, 36)) as pilot:
            second = Stage(app, pilot)
            await second.until(lambda: "read-only" in second.lines[0], "that it is read-only")
            await second.until(lambda: "> hello" in second.text)
            await second.type("me too")
            await second.press("enter")
            await second.until(lambda: second.chat.composer.text == "me too", "the words come back")


async def test_a_shift_to_a_rule_runs_the_like_without_asking(tmp_path: Path) -> None:
    async with opened(tmp_path / "shop") as made:
        await _say(made, "run echo one", "run this command?")
        await made.until(lambda: made.chat.dock.card is not None)
        if not made.chat.dock.has_keys:
            await made.press("tab")
        await made.press("w")
        await made.until(lambda: "for this session" in made.text)
        await made.press("y")
        await made.until(lambda: "printed 1 line" in made.text)
        await _idle(made)
        await _say(made, "run echo two", "echo two printed")
        assert made.chat.dock.card is None


def _served(server: ScriptedServer, workspace: Path) -> Settings:
    profile = Profile(
        name="scripted",
        base_url=server.url,
        auth="none",
        model="scripted",
        context_window=100_000,
        max_output_tokens=4_000,
    )
    return Settings(profile="scripted", profiles={"scripted": profile}, file=workspace / "settings.toml")


async def test_a_model_that_is_slow_fails_and_comes_back_is_told_step_by_step(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.script(
            Reply.error(429, retry_after=1),
            Reply.text("Here is **the answer**.").using(input=18_000, output=734).holding(hold),
        )
        async with opened(tmp_path / "shop", _served(server, tmp_path)) as made:
            await _say(made, "a question", "> a question")
            await made.until(lambda: "try 2/" in made.lines[0] or "try 1/" in made.lines[0], "the retry")
            await made.until(lambda: len(server.requests) == 2)
            hold.release.set()
            await made.until(lambda: "Here is the answer." in made.text)
            await _idle(made)
            await made.until(lambda: "18,734 / 100,000" in made.lines[0], "the exact number")


async def test_stopping_an_answer_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.script(Reply.text("one two three").holding(hold, after=1), Reply.text("Sure."))
        async with opened(tmp_path / "shop", _served(server, tmp_path)) as made:
            await _say(made, "a question", "> a question")
            await made.until(lambda: "stop" in made.lines[-1] and len(server.requests) == 1)
            await made.press("ctrl+c")
            await _idle(made)
            await made.until(lambda: "ready" in made.lines[0])
            hold.release.set()
            await _say(made, "again", "Sure.")


async def test_a_request_that_does_not_fit_names_the_ways_out(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("Good day."), Reply.overflow(), Reply.text("Shorter is fine."))
        async with opened(tmp_path / "shop", _served(server, tmp_path)) as made:
            await _say(made, "hello", "Good day.")
            await _idle(made)
            await _say(made, "a question", "a window of 213,369 tokens or more (/model)")
            await _idle(made)
            await _say(made, "another", "Shorter is fine.")


async def test_another_session_a_new_one_and_back_with_the_real_engine(tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    async with opened(workspace) as made:
        await _say(made, "hello", "> hello")
        await _idle(made)
        first = made.chat.session
        assert first is not None
        await made.type("half a thought")
        await made.press("ctrl+x", "n")
        await made.until(
            lambda: made.chat.session is not None and made.chat.session is not first, "a new one"
        )
        await made.until(lambda: "ready" in made.lines[0])
        assert "> hello" not in made.text
        assert made.chat.composer.text == ""
        assert not first.folder.lock_path.read_bytes(), "the old one's log is given back"
        await _say(made, "good day", "> good day")
        await _idle(made)
        second = made.chat.session
        assert second is not None
        await made.press("f4")
        await made.until(lambda: "hello" in made.text and "open" in made.text)
        await made.press("down", "enter")
        await made.until(
            lambda: made.chat.session is not None and made.chat.session.id == first.id, "the first"
        )
        await made.until(lambda: "> hello" in made.text)
        assert made.chat.composer.text == "half a thought"
        await made.press("ctrl+c")
        await made.type("/resume good")
        await made.press("enter")
        await made.until(lambda: made.chat.session is not None and made.chat.session.id == second.id)
        await made.app.action_quit()
        assert f"--resume {second.id}" in made.app.farewell
        assert first.id not in made.app.farewell


async def test_a_running_turn_is_stopped_only_when_told_and_what_waits_stays_with_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.script(Reply.text("one two three").holding(hold, after=1))
        async with opened(tmp_path / "shop", _served(server, tmp_path)) as made:
            await _say(made, "hello", "> hello")
            await made.until(lambda: "stop" in made.lines[-1] and len(server.requests) == 1)
            await made.type("and then this")
            await made.press("enter")
            await made.until(lambda: "waits" in made.text)
            first = made.chat.session
            assert first is not None
            await made.press("ctrl+x", "n")
            await made.until(lambda: "the model is still working" in made.text)
            if not made.chat.dock.has_keys:
                await made.press("tab")
            await made.press("down", "down", "enter")
            await made.until(lambda: made.chat.session is not None and made.chat.session is not first)
            assert b"and then this" in first.folder.draft_path.read_bytes()
