"""Another model, another profile, another level of thinking: the session stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.engine import engine, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tui_agent.commands import CommandError
from tui_agent.events import ModelChanged, StepStarted, Weighed
from tui_agent.settings.schema import Profile, Settings


async def test_a_model_of_another_profile_is_chosen_by_both_names(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other", "max_input_tokens": 50_000}]
        server.script(Reply.text("one"), Reply.text("two"))
        settings = scripted_settings(server)
        mine = replace(settings.profiles["scripted"], name="my model")
        settings = replace(settings, profiles={**settings.profiles, "my model": mine})
        async with engine(tmp_path, server, settings=settings) as run:
            await run.say("first")
            await run.session.perform("model", "my", "model", "other")
            assert (run.session.profile, run.session.model, run.session.window) == (
                "my model",
                "other",
                50_000,
            )
            await run.say("second")
            assert [request["model"] for request in server.requests] == ["scripted-1", "other"]
            assert len(server.requests[1]["messages"]) == 3, "the conversation goes on"
            assert run.session.picked == ("my model", "other")
        server.script(Reply.text("three"))
        async with engine(tmp_path, server, settings=settings, profile="my model", model="other") as new:
            assert (new.session.profile, new.session.model) == ("my model", "other")
            assert new.session.picked is None
            await new.say("hello")
            assert server.requests[2]["model"] == "other"


async def test_a_window_is_marked_as_a_guess_wherever_it_is_told_until_the_endpoint_has(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        server.models = [{"id": "own-model"}]
        server.script(Reply.text("one"), Reply.text("two"))
        settings = scripted_settings(server, model="own-model", context_window=None)
        async with engine(tmp_path, server, settings=settings) as run:
            session = run.session
            await run.say("first")
            shown = [(await session.perform(name)).text for name in ("context", "status")]
            assert all("~32,768" in text for text in shown)
            assert (await session.perform("context")).data["window_guessed"] is True
            assert run.all(Weighed)[-1].guessed and (await session.manifest()).guessed
            server.models = [{"id": "told-model", "max_input_tokens": 50_000}]
            await session.perform("model", "told-model")
            await run.say("second")
            assert not run.all(Weighed)[-1].guessed and not run.all(ModelChanged)[-1].guessed
            assert "of 50,000" in (await session.perform("context")).text


async def test_settings_taken_later_bring_profiles_to_choose(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("hello"))
        async with engine(tmp_path) as run:
            with pytest.raises(CommandError, match="no profile 'local'"):
                await run.session.use_model("local")
            local = Profile(name="local", base_url=server.url, auth="none", model="scripted-1")
            run.session.take_settings(Settings(profile="local", profiles={"local": local}))
            await run.session.use_model("local")
            assert not run.session.demo
            await run.say("hi")
            assert server.requests[0]["model"] == "scripted-1"


async def test_thinking_changes_from_the_next_turn_on_and_keeps_the_connection(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.script(Reply.text("one").holding(hold), Reply.text("two"))
        settings = scripted_settings(server, max_output_tokens=8_192)
        async with engine(tmp_path, server, settings=settings) as run:
            await run.session.submit("first")
            await run.until(StepStarted)
            await hold.reached.wait()
            outcome = await run.session.perform("thinking", "low")
            assert "from the next turn on" in outcome.text
            hold.release.set()
            await run.session.until_idle()
            assert "thinking" not in server.requests[0]
            await run.say("second")
            assert server.requests[1]["thinking"] == {"type": "enabled", "budget_tokens": 4_096}
            assert run.all(ModelChanged)[-1].model == "scripted-1"
            with pytest.raises(CommandError, match="one of off, low, medium, high"):
                await run.session.perform("thinking", "much")


async def test_a_turn_that_runs_keeps_its_model(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other"}]
        server.script(Reply.text("one").holding(hold))
        async with engine(tmp_path, server) as run:
            await run.session.submit("first")
            await hold.reached.wait()
            await run.session.use_model("other")
            assert (run.session.model, run.session.next_model) == ("scripted-1", "other")
            await run.session.use_thinking("low")
            await run.session.use_model("scripted")
            assert run.session.next_model == "scripted-1"
            hold.release.set()
            await run.session.until_idle()
            assert not hold.gone.is_set()
