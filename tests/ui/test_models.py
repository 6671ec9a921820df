"""The model screen: profiles, what an endpoint lists, switching while the session stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tests.ui.stage import Stage, stage
from tui_agent.events import ModelChanged
from tui_agent.settings.schema import Profile, Settings
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.models import ModelScreen

MODELS = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other", "max_input_tokens": 50_000}]


def settings(server: ScriptedServer) -> Settings:
    profile = Profile(name="scripted", model="scripted-1", base_url=server.url, auth="none")
    far = Profile(name="far", model="unreachable", base_url="http://127.0.0.1:9", auth="none")
    return Settings(profile="scripted", profiles={"scripted": profile, "far": far})


@asynccontextmanager
async def opened(tmp_path: Path, server: ScriptedServer) -> AsyncIterator[tuple[Stage, ModelScreen]]:
    """The screen over a real session."""
    workspace = tmp_path / "shop"
    workspace.mkdir()
    app = TuiAgent(Wanted(workspace), replace(settings(server), file=tmp_path / "settings.toml"))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        made = Stage(app, pilot)
        await made.until(lambda: made.chat.session is not None, "the session")
        yield made, await open_list(made)
        await app.action_quit()


async def open_list(made: Stage) -> ModelScreen:
    await made.press("f9")
    await made.until(lambda: isinstance(made.app.screen, ModelScreen))
    assert isinstance(made.app.screen, ModelScreen)
    return made.app.screen


def row(place: ModelScreen, name: str) -> int:
    return [row.name for row in place._list].index(name)


async def test_profiles_and_listed_models_are_shown_with_windows_and_the_one_in_force(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = MODELS
        async with opened(tmp_path, server) as (made, place):
            await made.until(lambda: "other" in made.text, "what the endpoint lists")
            assert "50,000" in made.text and "200,000" in made.text
            (marked,) = [line for line in made.lines if " now " in line]
            assert "scripted-1" in marked
            assert "far" in made.text and "unreachable" in made.text and "demo" in made.text
            assert place.rows.cursor == row(place, "scripted scripted-1")


async def test_enter_switches_and_the_session_goes_on(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = MODELS
        server.script(Reply.text("at your service"))
        async with opened(tmp_path, server) as (made, place):
            session = made.app.session
            assert session is not None
            await made.until(lambda: "other" in made.text)
            place.rows.move(row(place, "scripted other"))
            await made.press("enter")
            await made.until(lambda: made.app.screen is made.chat)
            assert made.app.session is session and session.model == "other"
            await made.until(lambda: "other answers from now on" in made.text)
            await made.type("hi")
            await made.press("enter")
            await made.until(lambda: "at your service" in made.text)
            assert server.requests[0]["model"] == "other"
            place = await open_list(made)
            await made.until(lambda: any(" now " in line and "other" in line for line in made.lines))


async def test_while_a_turn_runs_the_model_waits_for_the_next_one(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.models = MODELS
        server.script(Reply.text("one").holding(hold))
        async with opened(tmp_path, server) as (made, place):
            await made.press("escape")
            await made.until(lambda: made.app.screen is made.chat)
            await made.type("hi")
            await made.press("enter")
            await hold.reached.wait()
            place = await open_list(made)
            await made.until(lambda: "other" in made.text)
            place.rows.move(row(place, "scripted other"))
            await made.press("enter")
            await made.until(lambda: made.app.screen is made.chat)
            await made.until(lambda: "other answers from the next turn on" in made.text)
            assert made.app.session is not None and made.app.session.model == "scripted-1"
            await open_list(made)
            await made.until(lambda: "scripted-1, then other" in made.text)
            hold.release.set()
            await made.app.session.until_idle()
            assert made.app.session.model == "scripted-1", "it is the next turn that changes it"


async def test_one_that_cannot_be_asked_leaves_the_old_one(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = MODELS
        async with opened(tmp_path, server) as (made, place):
            place.rows.move(row(place, "far"))
            await made.press("enter")
            await made.until(lambda: "cannot be asked" in made.text)
            assert made.app.session is not None and made.app.session.model == "scripted-1"
            await made.press("l")
            await made.until(lambda: "its models are not known" in made.text)


async def test_thinking_is_shown_and_changed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await open_list(made)
        assert "thinking: off" in made.text
        await made.press("t")
        await made.until(lambda: "thinking: low" in made.text)
        assert made.session.thinking == "low"


async def test_slash_model_with_a_name_switches_without_the_list(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/model demo")
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("model", "demo")])
        await made.type("/model")
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.screen, ModelScreen))
        await made.press("o")
        await made.until(lambda: type(made.app.screen).__name__ == "ConnectScreen")


async def test_a_change_while_the_list_is_open_is_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await open_list(made)
        made.session.model = "claude-other"
        made.session.emit(ModelChanged("claude-other", 200_000, False))
        await made.until(lambda: "claude-other" in made.text)
