"""MCP servers that are reached by streamable HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mcp_http import TOKEN, Message, Receive, Send, guarded, real, saying, served
from tests.tools.test_mcp import used
from tui_agent.settings import secrets
from tui_agent.tools.tool import ToolError


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(guarded(real())) as found:
        yield found


async def test_a_server_on_the_net_is_called_with_its_headers(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEB_TOKEN", TOKEN)
    web = {"url": address, "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}, "timeout": 1}
    async with used(tmp_path, {"servers": {"web": web}}) as run:
        assert len(run.servers.tools()) == 30
        assert (await run.call("echo", words="hello")).content == "hello"
        assert (await run.call("create_issue", words="one")).content == "web did create_issue: one"
        with pytest.raises(ToolError, match="did not answer within 1 s"):
            await run.call("hang", words="x")
        assert (await run.call("echo", words="on")).content == "on"
    assert secrets.redact(f"it was {TOKEN}") == "it was [redacted web.Authorization]"


async def test_a_server_that_wants_a_key_says_so(address: str, tmp_path: Path) -> None:
    async with used(tmp_path, {"servers": {"web": {"url": address}}}) as run:
        assert (
            "web cannot be started: HTTP 401 Unauthorized (does it want a key in `headers`?)" in run.notices
        )


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (
            b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "' + b"x" * 17_000_000 + b'"}}',
            b"application/json",
            "16 MB",
        ),
        (b"{oops", b"application/json", "JSON"),
        (b"<html>", b"text/html", "Unexpected content type: text/html"),
    ],
    ids=["huge", "no JSON", "a page"],
)
async def test_an_answer_that_is_none_is_a_failure(
    body: bytes, kind: bytes, why: str, tmp_path: Path
) -> None:
    with served(saying(body, kind)) as found:
        async with used(tmp_path, {"servers": {"web": {"url": found, "start_timeout": 20}}}) as run:
            assert why in run.notices


async def test_an_address_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    good, bad = real(), saying(b"", status=500)
    now = [good]

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await now[0](scope, receive, send)

    with served(app) as found:
        async with used(tmp_path, {"servers": {"web": {"url": found}}}) as run:
            now[0] = bad
            with pytest.raises(ToolError, match="HTTP 500"):
                await run.call("echo", words="x")
            now[0] = good
            assert (await run.call("echo", words="x")).content == "x"


async def test_other_tools_of_a_server_of_the_newest_protocol_are_told(tmp_path: Path) -> None:
    with served(real()) as found:
        async with used(tmp_path, {"servers": {"web": {"url": found}}}) as run:
            await run.call("grow", words="x")
            while len(run.servers.tools()) == 30:  # until the new list is there; the timeout of tests ends it
                await run.call("echo", words="x")
            assert run.servers.tools()[-1].name == "mcp__web__grown_30"


async def test_nobody_there_is_a_failure(tmp_path: Path) -> None:
    with served(saying(b"")) as found:
        pass
    async with used(tmp_path, {"servers": {"web": {"url": found}}}) as run:
        assert "web cannot be started" in run.notices
        assert "connect" in run.notices.lower()
