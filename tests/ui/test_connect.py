"""Connecting to a model, against a real server by the real client: what works, and everything that does not."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.widgets import Input

from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tests.ui.stage import Stage
from tui_agent.llm.connect import PRESETS
from tui_agent.settings import secrets
from tui_agent.settings.load import load
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.connect import ConnectScreen
from tui_agent.ui.connect_form import FIELDS

KEY = "sk-test-0123456789abcdef"
PROFILE = """
[profiles.mine]
provider = "anthropic"
base_url = "http://127.0.0.1:1"
auth = "none"
model = "mine-1"
"""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in PRESETS:
        if preset.api_key_env:
            monkeypatch.delenv(preset.api_key_env, raising=False)
    monkeypatch.setattr(secrets, "has_keyring", lambda: False)
    monkeypatch.setattr(secrets, "_lent", {})


@asynccontextmanager
async def opened(
    tmp_path: Path, text: str = "", *, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[Stage, ConnectScreen, Path]]:
    """The screen over a real session of the demo model."""
    file = tmp_path / "settings.toml"
    if text:
        file.write_text(text)
    workspace = tmp_path / "shop"
    workspace.mkdir()
    app = TuiAgent(Wanted(workspace, demo=True), load(file))
    async with app.run_test(size=size, notifications=True) as pilot:
        made = Stage(app, pilot)
        await made.until(lambda: made.chat.session is not None, "the session")
        await made.type("/connect")
        await made.press("enter")
        await made.until(lambda: isinstance(app.screen, ConnectScreen))
        place = app.screen
        assert isinstance(place, ConnectScreen)
        await made.settle()
        yield made, place, file
        await app.action_quit()


async def begin(made: Stage, place: ConnectScreen, title: str) -> None:
    """Choose an endpoint to begin from."""
    place.rows.move([draft.title for draft in place._drafts].index(title))
    await made.press("enter")
    await made.until(lambda: "test and save" in made.text, "the form")


async def edit(made: Stage, place: ConnectScreen, name: str, text: str) -> None:
    """Type a field of the form."""
    place.rows.move([field.name for field in FIELDS].index(name))
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.focused, Input))
    await made.press("ctrl+u")
    await made.type(text)
    await made.press("enter")
    await made.settle()


async def run_test(made: Stage, place: ConnectScreen) -> None:
    """Enter on `test and save`."""
    place.rows.move(len(FIELDS))
    await made.press("enter")


def said(made: Stage) -> str:
    """The screen's words, whatever line they stand on."""
    return " ".join(made.text.replace("│", " ").split())


async def test_every_endpoint_is_offered_with_its_address_and_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOONSHOT_API_KEY", KEY)
    async with opened(tmp_path) as (made, _, _file):
        for preset in PRESETS:
            assert preset.title in made.text and preset.base_url in made.text
        assert "MOONSHOT_API_KEY: set" in made.text and KEY not in made.text
        assert "demo" in made.text and "no AI" in made.text


async def test_a_good_endpoint_is_tested_saved_and_the_session_goes_on_with_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("ready"), Reply.text("at your service"))
        async with opened(tmp_path) as (made, place, file):
            session = made.app.session
            assert session is not None
            place.leave()
            await made.type("hello")
            await made.press("enter")
            await made.until(lambda: not session.busy and len(session.context.history) > 1)
            await made.press("ctrl+x", "o")
            await made.until(lambda: isinstance(made.app.screen, ConnectScreen))
            place = made.app.screen  # type: ignore[assignment]
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat, "the chat")
            assert made.app.session is session
            assert (session.model, session.profile, session.demo) == ("scripted-1", "mine", False)
            saved = tomllib.loads(file.read_text())
            assert saved["profile"] == "mine"
            assert saved["profiles"]["mine"] == {
                "provider": "anthropic",
                "base_url": server.url,
                "auth": "none",
            }
            await made.until(lambda: "scripted-1 answered in" in said(made))
            await made.type("go on")
            await made.press("enter")
            await made.until(lambda: "at your service" in made.text)
            assert len(server.requests[1]["messages"]) >= 3, "the conversation went on"


async def test_a_wrong_key_is_said_and_nothing_is_saved(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.api_key = "another-key"
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "Kimi")
            await edit(made, place, "base_url", server.url)
            await edit(made, place, "key", KEY)
            assert KEY not in made.text
            await run_test(made, place)
            await made.until(lambda: "not saved:" in made.text)
            assert "401" in said(made)
            assert "let the key be sent as x-api-key" in said(made), "in the words of the form"
            assert not file.exists() and KEY not in made.text


async def test_a_typed_key_serves_until_the_end_and_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer() as server:
        server.api_key = KEY
        server.script(Reply.text("ready"), Reply.text("said"))
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "Kimi")
            await edit(made, place, "base_url", server.url)
            place.rows.move([field.name for field in FIELDS].index("key"))
            await made.settle()
            assert "Set MOONSHOT_API_KEY before the start" in said(made)
            await edit(made, place, "key", KEY)
            assert "typed: until the program ends" in made.text
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            assert "set MOONSHOT_API_KEY for the next time" in said(made)
            await made.type("say it")
            await made.press("enter")
            await made.until(lambda: "said" in made.text)
            assert [headers["authorization"] for headers in server.headers] == [f"Bearer {KEY}"] * 2
        found = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        assert found == []
        assert file.exists() and "api_key_env" in file.read_text()


async def test_a_key_without_a_variable_gets_one_to_be_set_for_the_next_time(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.api_key = KEY
        server.script(Reply.text("ready"))
        async with opened(tmp_path, PROFILE) as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await made.until(lambda: "it wants a key" in said(made))
            await edit(made, place, "key", KEY)
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            assert "set MINE2_API_KEY for the next time" in said(made)
        saved = tomllib.loads(file.read_text())["profiles"]
        assert saved["mine2"]["api_key_env"] == "MINE2_API_KEY"
        assert saved["mine"]["base_url"] == "http://127.0.0.1:1", "the one that was there stays"


async def test_a_variable_that_is_named_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer() as server:
        server.api_key = KEY
        server.script(Reply.text("ready"))
        monkeypatch.setenv("OWN_KEY", KEY)
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await edit(made, place, "api_key_env", "OWN_KEY")
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
        assert tomllib.loads(file.read_text())["profiles"]["mine"]["auth"] == "bearer"


async def test_the_name_of_the_offline_model_is_no_name_for_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, _):
        await begin(made, place, "another endpoint")
        await edit(made, place, "name", "demo")
        assert "the name of the offline model" in said(made)
        assert isinstance(made.app.focused, Input), "it is not taken"


async def test_with_a_keyring_the_key_goes_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring: dict[str, str] = {}

    class Refused(Exception):
        pass

    modules: dict[str, Any] = {
        "keyring": SimpleNamespace(
            get_keyring=lambda: SimpleNamespace(priority=5),
            set_password=lambda service, user, key: ring.__setitem__(f"{service}/{user}", key),
            get_password=lambda service, user: ring.get(f"{service}/{user}"),
        ),
        "keyring.errors": SimpleNamespace(KeyringError=Refused),
    }
    monkeypatch.undo()
    for preset in PRESETS:
        if preset.api_key_env:
            monkeypatch.delenv(preset.api_key_env, raising=False)
    monkeypatch.setattr(secrets, "importlib", SimpleNamespace(import_module=modules.__getitem__))
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "home"))
    async with ScriptedServer() as server:
        server.api_key = KEY
        server.script(Reply.text("ready"))
        async with opened(tmp_path) as (made, place, file):
            await made.until(lambda: place._keyring)
            await begin(made, place, "GLM")
            await edit(made, place, "base_url", server.url)
            await edit(made, place, "key", KEY)
            assert "typed: for the keyring" in made.text
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            assert ring == {"tui-agent/glm": KEY}
            assert KEY not in file.read_text()


async def test_a_wrong_address_is_said_at_once_and_one_that_nobody_answers_after_the_test(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (made, place, file):
        await begin(made, place, "Ollama")
        place.rows.move(0)
        await made.press("enter")
        await made.until(lambda: isinstance(made.app.focused, Input))
        await made.press("ctrl+u")
        await made.type("localhost")
        await made.until(lambda: "an address that begins with http://" in said(made))
        await made.press("enter")
        await made.settle()
        assert isinstance(made.app.focused, Input), "it is not taken"
        await made.press("ctrl+u")
        await made.type("http://127.0.0.1:9")
        await made.press("enter")
        await made.settle()
        await run_test(made, place)
        await made.until(lambda: "not saved:" in made.text)
        assert "127.0.0.1:9" in said(made) and not file.exists()


async def test_an_endpoint_without_a_model_says_so(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = []
        server.script(Reply.text("ready"))
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await made.until(lambda: "lists no models" in said(made))
            assert not file.exists()
            place.rows.move(1)
            await made.press("enter")
            await made.until(lambda: isinstance(made.app.focused, Input), "a line to type the name in")
            await made.type("typed-1")
            await made.press("enter")
            await made.settle()
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            assert server.requests[0]["model"] == "typed-1"
            assert tomllib.loads(file.read_text())["profiles"]["mine"]["model"] == "typed-1"


async def test_a_model_is_picked_from_what_the_endpoint_lists(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other", "max_input_tokens": 50_000}]
        server.script(Reply.text("ready"))
        async with opened(tmp_path) as (made, place, _):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            place.rows.move(1)
            await made.press("enter")
            await made.until(lambda: "50,000" in made.text)
            await made.press("escape")
            await made.until(lambda: "test and save" in made.text)
            await made.press("enter")
            await made.until(lambda: "50,000" in made.text)
            place.rows.move(3)
            await made.press("enter")
            await made.until(lambda: "test and save" in made.text)
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            assert server.requests[0]["model"] == "other"
            assert made.app.session is not None and made.app.session.window == 50_000


async def test_a_slow_answer_is_waited_for_and_esc_stops_it(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        hold = Hold()
        server.script(Reply.text("ready").holding(hold))
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await hold.reached.wait()
            await made.until(lambda: "Esc stops" in made.text)
            await made.press("enter")
            await made.settle()
            await made.press("escape")
            await made.until(lambda: "stopped; nothing is saved" in made.text)
            await hold.gone.wait()
            assert not file.exists() and isinstance(made.app.screen, ConnectScreen)
            assert "test and save" in made.text, "the form is still there"


@pytest.mark.parametrize("reply", [Reply.page(200, "<html>hello</html>"), Reply.error(404, "no such model")])
async def test_an_answer_that_is_no_message_is_said_in_words(tmp_path: Path, reply: Reply) -> None:
    async with ScriptedServer() as server:
        server.script(reply)
        async with opened(tmp_path) as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await made.until(lambda: "not saved:" in made.text)
            assert server.url in said(made) and not file.exists()


async def test_the_default_stays_where_it_was_if_it_is_not_to_start_with_the_new_one(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("ready"))
        async with opened(tmp_path, "[hooks]\n\n[mine]\nkept = 1\n") as (made, place, file):
            await begin(made, place, "another endpoint")
            await edit(made, place, "base_url", server.url)
            place.rows.move([field.name for field in FIELDS].index("default"))
            await made.press("enter")
            await made.settle()
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            saved = tomllib.loads(file.read_text())
            assert saved["profile"] == "claude" and saved["mine"] == {"kept": 1}


async def test_a_saved_profile_is_begun_from_as_it_was_saved(tmp_path: Path) -> None:
    text = (
        'profile = "near"\n'
        '[profiles.near]\nbase_url = "http://127.0.0.1:9"\nauth = "none"\nmodel = "m"\ncontext_window = 9000\n'
        '[profiles.ollama]\nbase_url = "http://10.0.0.1:11434"\nauth = "none"\n'
    )
    async with ScriptedServer() as server:
        server.script(Reply.text("ready"))
        async with opened(tmp_path, text) as (made, place, file):
            assert "http://10.0.0.1:11434" in made.text and "http://localhost:11434" not in made.text
            await begin(made, place, "near")
            assert "http://127.0.0.1:9" in made.text
            await edit(made, place, "base_url", server.url)
            await run_test(made, place)
            await made.until(lambda: made.app.screen is made.chat)
            near = tomllib.loads(file.read_text())["profiles"]["near"]
            assert near["base_url"] == server.url and near["model"] == "m"
            assert "context_window" not in near, "it was another endpoint's"


async def test_the_demo_is_one_enter_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as (made, place, file):
        place.rows.move(len(place._drafts) - 1)
        await made.press("enter")
        await made.until(lambda: made.app.screen is made.chat)
        assert made.app.session is not None and made.app.session.demo and not file.exists()


async def test_without_a_key_it_opens_on_the_demo_and_says_how_to_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "home"))
    app = TuiAgent(Wanted(tmp_path), load(tmp_path / "settings.toml"))
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        made = Stage(app, pilot)
        await made.until(lambda: "no key for https://api.anthropic.com" in made.text)
        assert "/connect connects a model" in said(made) and "demo model - no AI" in made.lines[0]
        await app.action_quit()
