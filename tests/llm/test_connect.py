"""Testing a profile with a real request."""

from __future__ import annotations

import pytest

from tests.llm.asking import profile
from tests.support.script import Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tui_agent.llm import connect
from tui_agent.settings.schema import Profile


async def test_a_good_profile_gives_answer_limits_and_models() -> None:
    async with ScriptedServer() as server:
        server.models = [DEFAULT_MODEL, DEFAULT_MODEL | {"id": "other"}]
        server.script(Reply.thinking("hm", "ready"))
        report = await connect.test(profile(server.url), None)
        assert report.ok and report.text == "ready"
        assert (report.model, report.window, report.max_output_tokens) == ("scripted-1", 200_000, 8_192)
        assert report.models == ("scripted-1", "other") and report.assumed == ()
        assert 0 < report.first_seconds <= report.seconds
        assert server.requests[0]["max_tokens"] <= 64


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.error(401, "no"), "auth"),
        (Reply.error(404, "no such model"), "invalid"),
        (Reply.error(529), "overloaded"),
        (Reply.text("hi").cut(), "cut"),
        (Reply.page(200, "<html>"), "invalid"),
    ],
)
async def test_a_bad_one_says_why_and_what_to_do(reply: Reply, kind: str) -> None:
    async with ScriptedServer() as server:
        server.script(reply)
        report = await connect.test(profile(server.url), None)
        assert not report.ok and report.kind == kind
        assert server.url in report.error and report.ways


async def test_a_missing_key_and_a_missing_server_are_reports_too() -> None:
    async with ScriptedServer() as server:
        report = await connect.test(profile(server.url, auth="bearer", api_key_env="MY_KEY"), None)
        assert report.kind == "auth" and "MY_KEY" in report.error
    report = await connect.test(profile(server.url), None)
    assert report.kind == "connection" and not report.models


def test_every_preset_makes_a_profile() -> None:
    names = [preset.name for preset in connect.PRESETS]
    assert len(set(names)) == len(names) == 8
    for preset in connect.PRESETS:
        Profile(
            name=preset.name,
            base_url=preset.base_url,
            auth=preset.auth,
            api_key_env=preset.api_key_env,
            model=preset.model,
        )
        assert preset.base_url.startswith("http") and not preset.base_url.endswith(("/", "/v1"))
        assert bool(preset.api_key_env) == (preset.auth != "none")
