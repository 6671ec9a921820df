"""The provider for the Anthropic API, through the real SDK, against the scripted server."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.llm.asking import hear, profile, request, text_of, thinking_of
from tests.support.script import Hold, Reply
from tests.support.server import DEFAULT_MODEL, ScriptedServer
from tui_agent.llm.anthropic import AnthropicProvider
from tui_agent.llm.provider import ContextOverflow, Provider, ProviderError, ToolUse, Usage
from tui_agent.messages.blocks import Message, text_block, tool_result

KEY = "sk-test-0123456789"


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as running:
        yield running


@pytest.fixture
async def provider(server: ScriptedServer) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider(profile(server.url), None)
    yield made
    await made.close()


async def failing(provider: Provider) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await hear(provider)
    return caught.value


def test_it_is_a_provider() -> None:
    assert isinstance(AnthropicProvider(profile("http://localhost:1"), None), Provider)


def test_importing_it_does_not_import_the_sdk() -> None:
    code = (
        "import sys, tui_agent.llm.anthropic, tui_agent.llm.retry, tui_agent.llm.connect, tui_agent.llm.demo\n"
        "print([name for name in ('anthropic', 'httpx2', 'pydantic') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


# --- answers ----------------------------------------------------------------------------------------------------


async def test_text_streams_as_it_comes_and_ends_in_the_reply(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.text("one two three"))
    deltas, reply = await hear(provider)
    assert [delta.text for delta in deltas] == ["one", " two", " three"]
    assert reply.content == [{"type": "text", "text": "one two three"}]
    assert (reply.stop_reason, reply.model, reply.malformed) == ("end_turn", "scripted-1", {})


async def test_thinking_keeps_its_signature(server: ScriptedServer, provider: AnthropicProvider) -> None:
    server.script(Reply.thinking("first this then that", "done", signature="c2lnbmF0dXJl"))
    deltas, reply = await hear(provider)
    assert thinking_of(deltas) == "first this then that"
    assert text_of(deltas) == "done"
    assert reply.content[0] == {
        "type": "thinking",
        "thinking": "first this then that",
        "signature": "c2lnbmF0dXJl",
    }


async def test_parallel_tool_calls_keep_their_order_and_arguments(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(
        Reply.tools(("bash", {"command": "ls"}), ("read_file", {"path": "ä.txt", "limit": 3}), text="I look.")
    )
    deltas, reply = await hear(provider)
    calls = [block for block in reply.content if block["type"] == "tool_use"]
    assert [(call["name"], call["input"]) for call in calls] == [
        ("bash", {"command": "ls"}),
        ("read_file", {"path": "ä.txt", "limit": 3}),
    ]
    assert reply.stop_reason == "tool_use"
    sizes = [delta.size for delta in deltas if isinstance(delta, ToolUse) and delta.call == calls[0]["id"]]
    assert sizes == sorted(sizes) and sizes[0] == 0 and sizes[-1] == len('{"command": "ls"}')


@pytest.mark.parametrize("raw", ['{"command": "ls', "[1, 2]", '"ls"', '{"n": NaN}', "ls -la", "[" * 5_000])
async def test_malformed_arguments_are_kept_as_text(
    server: ScriptedServer, provider: AnthropicProvider, raw: str
) -> None:
    server.script(Reply.tools(("bash", raw), ("bash", {"command": "pwd"})))
    _, reply = await hear(provider)
    first, second = reply.content
    assert first["input"] == {} and reply.malformed == {first["id"]: raw}
    assert second["input"] == {"command": "pwd"}


async def test_a_call_without_arguments_is_no_mistake(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.tools(("bash", "")))
    _, reply = await hear(provider)
    assert reply.content[0]["input"] == {} and reply.malformed == {}


@pytest.mark.parametrize("raw", ['{"command": "rm -r', ""])
async def test_a_call_that_max_tokens_cut_is_marked_malformed(
    server: ScriptedServer, provider: AnthropicProvider, raw: str
) -> None:
    server.script(Reply.truncated("bash", raw))
    _, reply = await hear(provider)
    assert reply.stop_reason == "max_tokens"
    assert reply.malformed == {reply.content[0]["id"]: raw}


async def test_calls_without_an_id_or_with_a_shared_one_get_their_own(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    call = {"type": "tool_use", "name": "bash", "input": {}}
    server.script(
        Reply.blocks(call | {"id": ""}, call | {"id": "a"}, call | {"id": "a"}, stop_reason="tool_use")
    )
    _, reply = await hear(provider)
    ids = [block["id"] for block in reply.content]
    assert len(set(ids)) == 3 and all(ids) and ids[1] == "a"


@pytest.mark.parametrize("text", ["", "I cannot help with that."])
async def test_a_refusal_is_a_reply(server: ScriptedServer, provider: AnthropicProvider, text: str) -> None:
    server.script(Reply.refusal(text))
    deltas, reply = await hear(provider)
    assert reply.stop_reason == "refusal"
    assert text_of(deltas) == text


@pytest.mark.parametrize(
    "reason", ["pause_turn", "model_context_window_exceeded", "stop_sequence", "brand_new"]
)
async def test_every_stop_reason_is_passed_on(
    server: ScriptedServer, provider: AnthropicProvider, reason: str
) -> None:
    server.script(Reply.text("so far").stopping(reason))
    assert (await hear(provider))[1].stop_reason == reason


async def test_unknown_events_and_blocks_survive_and_print_nothing(
    server: ScriptedServer, provider: AnthropicProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    strange = {"type": "hologram", "depth": 3, "parts": [{"a": None}]}
    redacted = {"type": "redacted_thinking", "data": "RU5DUllQVEVE"}
    reply = Reply.blocks(redacted, strange, {"type": "text", "text": "seen", "citations": None, "novel": 1})
    server.script(reply.with_events({"type": "brand_new_event", "x": 1}, {"type": "content_block_delta"}))
    _, heard = await hear(provider)
    assert heard.content == [
        redacted,
        strange,
        {"type": "text", "text": "seen", "citations": None, "novel": 1},
    ]
    assert capfd.readouterr() == ("", "")


async def test_a_character_split_over_two_deltas_is_put_together(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    halves = ["a \ud83d", "\ude00 b \ud83d", " c \ud83d"]
    server.script(Reply.blocks({"type": "text", "text": halves}))
    deltas, reply = await hear(provider)
    assert text_of(deltas) == reply.content[0]["text"] == "a \U0001f600 b \ufffd c \ufffd"


async def test_streams_without_event_lines_are_read_too(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.tools(("bash", {"command": "ls"}), text="hm").nameless())
    _, reply = await hear(provider)
    assert [block["type"] for block in reply.content] == ["text", "tool_use"]


async def test_usage_has_the_cache_figures_of_the_last_event(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.text("hi").using(input=7, output=42, cache_read=1_000, cache_write=50))
    _, reply = await hear(provider)
    assert reply.usage == Usage(input=7, output=42, cache_read=1_000, cache_write=50)
    assert reply.usage.total == 1_099


async def test_a_reply_without_a_stop_reason_is_whole(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.text("hi").without_stop_reason(), Reply.tools(("bash", {})).without_stop_reason())
    assert (await hear(provider))[1].stop_reason == "end_turn"
    assert (await hear(provider))[1].stop_reason == "tool_use"


async def test_the_connection_is_used_again(server: ScriptedServer, provider: AnthropicProvider) -> None:
    server.always(Reply.text("hi"))
    for _ in range(3):
        await hear(provider)
    assert server.connections == 1


async def test_a_thousand_blocks_and_a_giant_delta_come_through(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    many = [{"type": "text", "text": f"{number} "} for number in range(1_000)]
    server.script(Reply.blocks(*many), Reply.text("x" * 2_000_000))
    assert len((await hear(provider))[1].content) == 1_000
    assert len((await hear(provider))[1].content[0]["text"]) == 2_000_000


# --- half answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["cut", "without_message_stop"])
async def test_a_broken_stream_is_a_cut_with_the_text_so_far(
    server: ScriptedServer, provider: AnthropicProvider, ending: str
) -> None:
    reply = Reply.blocks({"type": "text", "text": "whole."}, {"type": "text", "text": "only ha"})
    server.script(getattr(reply, ending)())
    error = await failing(provider)
    assert (error.kind, error.retry, error.status) == ("cut", True, None)
    assert [block["text"] for block in error.partial] == ["whole.", "only ha"]
    assert error.dropped == []
    assert server.url in str(error)


async def test_calls_and_unsigned_thinking_of_a_half_answer_are_dropped_and_named(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(
        Reply.blocks(
            {"type": "thinking", "thinking": "signed thought", "signature": "c2ln"},
            {"type": "thinking", "thinking": "a thought", "signature": ""},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_a", "name": "read_file", "input": {"path": "a"}},
            {"type": "tool_use", "id": "toolu_b", "name": "bash", "input": '{"command": "l'},
        ).cut()
    )
    error = await failing(provider)
    assert error.partial == [
        {"type": "thinking", "thinking": "signed thought", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
    ]
    assert error.dropped == ["thinking 9 chars", "tool_use read_file 13 chars", "tool_use bash 14 chars"]


async def test_a_half_answer_without_text_keeps_nothing(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.tools(("bash", {"command": "ls"}), thinking="hm", text="  ").cut())
    error = await failing(provider)
    assert error.partial == []
    assert error.dropped == ["thinking (finished)", "tool_use bash 17 chars"]


@pytest.mark.parametrize(
    ("failure", "kind", "retry"),
    [
        ("overloaded_error", "overloaded", True),
        ("rate_limit_error", "rate_limit", True),
        ("api_error", "server", True),
        ("never_heard_of", "server", True),
        ("invalid_request_error", "invalid", False),
        ("authentication_error", "auth", False),
    ],
)
async def test_an_error_event_goes_by_its_type(
    server: ScriptedServer, provider: AnthropicProvider, failure: str, kind: str, retry: bool
) -> None:
    server.script(Reply.text("half of it").failing(failure))
    error = await failing(provider)
    assert (error.kind, error.retry) == (kind, retry)
    assert error.partial == [{"type": "text", "text": "half of it"}]
    assert failure in str(error)


async def test_a_stream_that_falls_silent_times_out(server: ScriptedServer) -> None:
    hold = Hold()
    server.script(Reply.text("one two three").holding(hold, after=2))
    provider = AnthropicProvider(profile(server.url), None, idle_seconds=0.2)
    error = await failing(provider)
    assert (error.kind, error.retry) == ("timeout", True)
    assert error.partial == [{"type": "text", "text": "one two"}]
    await asyncio.wait_for(hold.gone.wait(), 5)
    await provider.close()


async def test_cancelling_hangs_up_at_once(server: ScriptedServer, provider: AnthropicProvider) -> None:
    hold = Hold()
    server.script(Reply.text("one two three").holding(hold, after=1), Reply.text("again"))
    task = asyncio.create_task(hear(provider))
    await hold.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(hold.gone.wait(), 5)
    assert text_of((await hear(provider))[0]) == "again"


async def test_cancelling_before_the_answer_begins_hangs_up_too(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    hold = Hold()
    server.script(Reply.text("one").holding(hold, after=-1))
    task = asyncio.create_task(hear(provider))
    await hold.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(hold.gone.wait(), 5)


async def test_closing_the_stream_hangs_up(server: ScriptedServer, provider: AnthropicProvider) -> None:
    hold = Hold()
    server.script(Reply.text("one two three").holding(hold, after=2))
    stream = provider.stream(request())
    await anext(stream)
    await hold.reached.wait()
    await stream.aclose()
    await asyncio.wait_for(hold.gone.wait(), 5)


# --- refusals of the endpoint -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "retry"),
    [
        (408, "timeout", True),
        (409, "other", True),
        (429, "rate_limit", True),
        (500, "server", True),
        (503, "server", True),
        (529, "overloaded", True),
        (400, "invalid", False),
        (401, "auth", False),
        (402, "invalid", False),
        (403, "auth", False),
        (404, "invalid", False),
        (422, "invalid", False),
    ],
)
async def test_statuses_say_what_they_are_and_whether_to_try_again(
    server: ScriptedServer, provider: AnthropicProvider, status: int, kind: str, retry: bool
) -> None:
    server.script(Reply.error(status, "these are the words"))
    error = await failing(provider)
    assert (error.kind, error.retry, error.status) == (kind, retry, status)
    assert f"{server.url} answered {status}" in str(error) and "these are the words" in str(error)
    assert error.ways


async def test_retry_after_is_passed_on(server: ScriptedServer, provider: AnthropicProvider) -> None:
    server.script(Reply.error(429, retry_after=17), Reply.error(429))
    assert (await failing(provider)).retry_after == 17
    assert (await failing(provider)).retry_after is None


async def test_a_spending_limit_is_not_waited_for(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    body = {
        "type": "error",
        "error": {
            "type": "rate_limit_error",
            "message": "limit",
            "details": {"error_code": "enforced_spend_limit_reached"},
        },
    }
    server.script(Reply(status=429, body=body))
    assert not (await failing(provider)).retry


@pytest.mark.parametrize(
    ("wording", "tokens", "window"),
    [
        ("anthropic", 212_345, 200_000),
        ("output", 212_345, 200_000),
        ("bedrock", None, None),
        ("llama", 212_345, 200_000),
        ("ollama", None, None),
        ("openai", 212_345, 200_000),
        ("kimi", 212_345, 200_000),
        ("glm", 212_345, 200_000),
        ("generic", None, None),
    ],
)
async def test_an_overflow_is_known_by_its_words_and_has_the_numbers(
    server: ScriptedServer, provider: AnthropicProvider, wording: Any, tokens: int | None, window: int | None
) -> None:
    server.script(Reply.overflow(wording))
    error = await failing(provider)
    assert isinstance(error, ContextOverflow)
    assert (error.tokens, error.window, error.retry) == (tokens, window, False)
    assert any("revert" in way for way in error.ways)
    if tokens is not None:
        assert "212,345" in str(error) and "200,000" in str(error)


async def test_a_request_too_large_in_bytes_is_an_overflow(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.error(413, "Request exceeds the maximum size"))
    error = await failing(provider)
    assert isinstance(error, ContextOverflow) and error.status == 413


async def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.error(429, "prompt is too long for your rate limit: too many tokens, please wait"))
    error = await failing(provider)
    assert error.kind == "rate_limit" and error.retry


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply.page(200, "<html><title>Sign in</title></html>"), "a web page (Sign in)"),
        (Reply(status=200, body={"error": {"message": "nothing here"}}), "nothing here"),
        (Reply(status=200, body=["what?"]), "what?"),
    ],
)
async def test_an_endpoint_that_speaks_something_else_is_named(
    server: ScriptedServer, provider: AnthropicProvider, reply: Reply, words: str
) -> None:
    server.script(reply)
    error = await failing(provider)
    assert error.kind == "invalid" and not error.retry
    assert words in str(error) and any("base_url" in way for way in error.ways)


async def test_a_proxys_error_page_is_not_quoted_whole(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.page(502, "<html><head><title>502 Bad Gateway</title></head>" + "<br>" * 500))
    error = await failing(provider)
    assert error.retry and "502 Bad Gateway" in str(error) and len(str(error)) < 200


async def test_a_server_that_is_not_there_is_a_connection_error_with_ways_out() -> None:
    async with ScriptedServer() as gone:
        url = gone.url
    provider = AnthropicProvider(profile(url), None)
    error = await failing(provider)
    assert (error.kind, error.retry) == ("connection", True)
    assert url in str(error) and "start the server" in error.ways
    with pytest.raises(ProviderError, match="cannot be reached"):
        await provider.prepare()


@pytest.mark.parametrize("url", ["http://[", "http://exa mple.org", "http://localhost:99999999"])
async def test_an_address_that_is_none_is_said(url: str) -> None:
    error = await failing(AnthropicProvider(profile(url), None))
    assert error.kind in ("invalid", "connection") and url in str(error)


FAULTS = {
    "429": Reply.error(429, retry_after=1),
    "529": Reply.error(529),
    "500": Reply.error(500),
    "error event": Reply.text("half").failing(),
    "cut": Reply.text("half").cut(),
    "cut in thinking": Reply.blocks({"type": "thinking", "thinking": "h", "signature": ""}).cut(),
    "cut in a call": Reply.tools(("bash", {"command": "ls"})).cut(),
    "no message_stop": Reply.text("half").without_message_stop(),
    "overflow": Reply.overflow(),
    "401": Reply.error(401),
    "web page": Reply.page(200, "<html></html>"),
    "empty stream": Reply().cut(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_after_every_fault_the_next_request_works(
    server: ScriptedServer, provider: AnthropicProvider, fault: Reply
) -> None:
    server.script(fault, Reply.text("well again"))
    await failing(provider)
    assert text_of((await hear(provider))[0]) == "well again"


# --- keys and headers -------------------------------------------------------------------------------------------


async def test_each_way_of_auth_sends_the_key_its_way(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    server.always(Reply.text("hi"))
    for auth in ("bearer", "x-api-key", "none"):
        provider = AnthropicProvider(profile(server.url, auth=auth), f"{KEY}\n")
        await hear(provider)
        await provider.close()
    bearer, key, none = server.headers
    assert bearer["authorization"] == f"Bearer {KEY}" and "x-api-key" not in bearer
    assert key["x-api-key"] == KEY and "authorization" not in key
    assert "authorization" not in none and "x-api-key" not in none
    assert {headers["anthropic-version"] for headers in server.headers} == {"2023-06-01"}


async def test_the_request_has_no_sampling_parameters_and_streams(
    server: ScriptedServer, provider: AnthropicProvider
) -> None:
    server.script(Reply.text("hi"))
    await hear(provider, request("hello", system=[text_block("be kind")]))
    body = server.requests[0]
    assert body["stream"] is True
    assert set(body) == {"model", "max_tokens", "messages", "system", "tools", "stream"}


async def test_a_missing_key_is_said_before_anything_is_sent(server: ScriptedServer) -> None:
    provider = AnthropicProvider(profile(server.url, auth="bearer", api_key_env="MY_KEY"), None)
    for action in (provider.prepare(), hear(provider), provider.count(request())):
        with pytest.raises(ProviderError) as caught:
            await action
        assert caught.value.kind == "auth"
        assert "MY_KEY is not set" in str(caught.value) and "set MY_KEY" in caught.value.ways
    assert server.requests == []


@pytest.mark.parametrize("key", ["sk-\nline", "sk-ключ", "sk-\x00"])
async def test_a_key_that_cannot_be_sent_is_said_without_showing_it(server: ScriptedServer, key: str) -> None:
    provider = AnthropicProvider(profile(server.url, auth="bearer", api_key_env="MY_KEY"), key)
    error = await failing(provider)
    assert error.kind == "auth" and key not in repr(error) and any("MY_KEY" in way for way in error.ways)


async def test_a_wrong_key_names_the_variable_and_is_never_repeated(server: ScriptedServer) -> None:
    server.api_key = "another"
    provider = AnthropicProvider(profile(server.url, auth="bearer", api_key_env="MY_KEY"), KEY)
    error = await failing(provider)
    assert error.kind == "auth" and "check the key in MY_KEY" in error.ways
    server.api_key = None
    server.script(Reply.error(401, f"the key {KEY} is wrong"))
    error = await failing(provider)
    assert KEY not in str(error) and "[key]" in str(error)
    await provider.close()


# --- media ------------------------------------------------------------------------------------------------------


async def test_blobs_are_put_in_when_sending_and_missing_ones_named(server: ScriptedServer) -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )

    def image(sha256: str) -> dict[str, Any]:
        source = {"type": "blob", "sha256": sha256, "media_type": "image/png", "bytes": len(png)}
        return {"type": "image", "source": source | {"width": 1, "height": 1}}

    history = [
        Message("user", [image("here"), image("gone"), text_block("what is this?")]),
        Message("assistant", [{"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}]),
        Message("user", [tool_result("toolu_1", [image("here"), image("gone")])], origin="tool"),
    ]
    server.script(Reply.text("a dot"))
    provider = AnthropicProvider(profile(server.url), None, load_blob={"here": png}.get)
    asked = request(*history)
    await hear(provider, asked.marked([("message", 0, 1)]))
    await provider.close()
    first, _, results = server.requests[0]["messages"]
    there = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
    assert first["content"][0]["source"] == there
    assert first["content"][1]["text"] == "[image missing]"
    assert first["content"][1]["cache_control"] == {"type": "ephemeral"}
    assert results["content"][0]["content"][0]["source"] == there
    assert results["content"][0]["content"][1] == {"type": "text", "text": "[image missing]"}
    assert asked.messages[0]["content"][0]["source"]["type"] == "blob"


# --- what settings leave open -----------------------------------------------------------------------------------


async def prepared(server: ScriptedServer, **fields: Any) -> AnthropicProvider:
    provider = AnthropicProvider(profile(server.url, **fields), None)
    await provider.prepare()
    await provider.close()
    return provider


def listed(name: str, created: str, **fields: Any) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": created} | fields


async def test_window_and_longest_answer_are_asked_from_the_endpoint(server: ScriptedServer) -> None:
    server.models = [DEFAULT_MODEL | {"max_input_tokens": 64_000, "max_tokens": 4_096}]
    provider = await prepared(server)
    assert (provider.window, provider.max_output_tokens, provider.assumed) == (64_000, 4_096, ())
    assert provider.label == provider.model == "scripted-1"


async def test_settings_win_and_then_nothing_is_asked(server: ScriptedServer) -> None:
    provider = await prepared(server, context_window=9_000, max_output_tokens=500)
    assert (provider.window, provider.max_output_tokens) == (9_000, 500)
    assert server.listings == 0


async def test_the_newest_model_is_taken_when_none_is_named(server: ScriptedServer) -> None:
    server.models = [
        listed("older", "2025-05-01T00:00:00Z", max_input_tokens=10_000),
        listed("newest", "2026-05-01T00:00:00Z", max_input_tokens=20_000),
        listed("retired", "2026-09-01T00:00:00Z", lifecycle="retired"),
    ]
    provider = await prepared(server, model="")
    assert (provider.model, provider.window) == ("newest", 20_000)


async def test_an_answer_never_gets_more_than_a_quarter_of_the_window(server: ScriptedServer) -> None:
    server.models = [DEFAULT_MODEL | {"max_input_tokens": 16_000, "max_tokens": 128_000}]
    assert (await prepared(server)).max_output_tokens == 4_000


async def test_an_endpoint_without_a_list_goes_by_the_table(server: ScriptedServer) -> None:
    server.models = None
    provider = await prepared(server, model="claude-haiku-4-5-20251001")
    assert (provider.window, provider.max_output_tokens, provider.assumed) == (200_000, 50_000, ())


async def test_a_window_nobody_knows_is_assumed_and_said(server: ScriptedServer) -> None:
    server.models = [{"id": "own-model", "object": "model", "created": 1, "owned_by": "me"}]
    provider = await prepared(server, model="")
    assert (provider.model, provider.window, provider.max_output_tokens) == ("own-model", 32_768, 8_192)
    assert "context_window" in provider.assumed[0] and provider.guessed


@pytest.mark.parametrize(
    ("fields", "told", "guessed"),
    [
        ({"model": "own-model"}, {}, (True, True)),
        ({"model": "own-model"}, {"max_input_tokens": 64_000}, (True, False)),
        ({"model": "own-model", "context_window": 32_768}, {}, (False, False)),
        ({"model": "claude-haiku-4-5-20251001"}, {}, (False, False)),
    ],
    ids=["nobody", "endpoint", "settings", "table"],
)
async def test_a_window_is_a_guess_until_somebody_tells_it(
    server: ScriptedServer, fields: dict[str, Any], told: dict[str, Any], guessed: tuple[bool, bool]
) -> None:
    server.models = [{"id": fields["model"], "object": "model"} | told]
    provider = AnthropicProvider(profile(server.url, **fields), None)
    before = provider.guessed
    await provider.prepare()
    await provider.close()
    assert (before, provider.guessed) == guessed


async def test_no_model_anywhere_is_an_error_that_says_what_to_set(server: ScriptedServer) -> None:
    server.models = []
    with pytest.raises(ProviderError) as caught:
        await prepared(server, model="")
    assert "set model in the profile" in caught.value.ways


async def test_a_refused_key_stops_preparing(server: ScriptedServer) -> None:
    server.api_key = "right"
    with pytest.raises(ProviderError) as caught:
        await prepared(server, auth="bearer", api_key_env="MY_KEY")
    assert caught.value.kind == "auth"
    provider = AnthropicProvider(profile(server.url, auth="x-api-key"), "wrong")
    with pytest.raises(ProviderError) as caught:
        await provider.prepare()
    assert (caught.value.kind, caught.value.status) == ("auth", 401)
    await provider.close()


async def test_a_list_that_fails_matters_only_if_no_model_is_named(server: ScriptedServer) -> None:
    server.listing_status = 500
    assert (await prepared(server, model="claude-haiku-4-5")).window == 200_000
    with pytest.raises(ProviderError, match="500"):
        await prepared(server, model="")


async def test_count_asks_the_endpoint(server: ScriptedServer, provider: AnthropicProvider) -> None:
    bodies: list[dict[str, Any]] = []
    server.tokens = lambda body: bodies.append(body) or 321  # type: ignore[func-returns-value]
    assert await provider.count(request("hello")) == 321
    assert "max_tokens" not in bodies[0] and "stream" not in bodies[0]
    server.tokens = None
    with pytest.raises(ProviderError, match=r"counts no tokens \(404\)"):
        await provider.count(request("hello"))
