"""A turn against everything a server can do: the log is sound after it, and the next prompt works."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import validity
from tests.support.engine import Run, engine, reread, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.events import (
    Answer,
    Asked,
    Notice,
    ReplyDropped,
    ReplyEnded,
    RequestFailed,
    RetryWaiting,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Weighed,
)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


async def sound(run: Run, server: ScriptedServer) -> None:
    """The file is whole, a fresh reader sees what we see, and the next prompt is answered."""
    server.script(Reply.text("still here"))
    ended = await run.say("are you there?")
    assert ended.reason == "end_turn"
    assert run.context.history[-1].text == "still here"
    fresh = await reread(run)
    assert [m.api() for m in fresh.history] == [m.api() for m in run.context.history]
    assert not fresh.damage
    assert fresh.token_count_with_pending == run.context.token_count_with_pending
    assert not server.violations


async def test_text_arrives_in_deltas_and_lies_on_disk(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("Hello, **you**."))
    async with engine(tmp_path, server) as run:
        ended = await run.say("hi")
        assert ended.reason == "end_turn"
        assert "".join(e.text for e in run.all(TextDelta)) == "Hello, **you**."
        assert [m.text for m in (await reread(run)).history] == ["hi", "Hello, **you**."]
        assert run.context.checkpoints()[0].turn
        await sound(run, server)


async def test_thinking_is_kept_with_its_signature(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.thinking("let me see", "done"))
    async with engine(tmp_path, server) as run:
        await run.say("think")
        assert "".join(e.text for e in run.all(ThinkingDelta)) == "let me see"
        block = next(run.context.history[-1].blocks("thinking"))
        assert block["signature"]
        await sound(run, server)


async def test_parallel_calls_get_all_their_results_in_one_message(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b.txt").write_text("beta\n")
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"}), text="I look."),
        Reply.text("seen"),
    )
    async with engine(tmp_path, server) as run:
        await run.say("read both")
        results = server.requests[1]["messages"][-1]["content"]
        assert [block["type"] for block in results] == ["tool_result", "tool_result"]
        assert "alpha" in str(results[0]) and "beta" in str(results[1])
        assert {e.outcome for e in run.all(ToolEnded)} == {"ok"}
        await sound(run, server)


async def test_the_exact_figure_is_the_usage_and_the_rest_is_pending(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("hi").using(input=100, output=20, cache_read=300, cache_write=50))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        assert run.context.token_count == 470
        assert run.context.weigh().mark == "exact"
        assert run.all(UsageReported)[-1].total == 470
        assert run.all(Weighed)[-1].total == 470
        await sound(run, server)


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_failure_that_may_pass_is_waited_out_in_sight(
    tmp_path: Path, server: ScriptedServer, status: int
) -> None:
    server.script(Reply.error(status, retry_after=0.05), Reply.text("now"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        assert run.all(RetryWaiting)
        assert run.context.history[-1].text == "now"
        await sound(run, server)


@pytest.mark.parametrize("broken", ["cut", "failing", "without_message_stop"])
async def test_a_half_answer_is_superseded_by_the_retry(
    tmp_path: Path, server: ScriptedServer, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.llm.retry._FIRST_WAIT", 0.01)
    half = getattr(
        Reply.blocks({"type": "text", "text": "half"}, {"type": "text", "text": "an answer"}), broken
    )()
    server.script(half, Reply.text("whole"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        assert run.all(ReplyDropped)
        assert [m.text for m in run.context.history] == ["hi", "whole"]
        assert [r for r in run.context.records if r.role == "_elide"]
        assert server.requests[0]["messages"] == server.requests[1]["messages"]
        await sound(run, server)


async def test_a_half_answer_that_stays_is_marked_and_the_model_is_told(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.agent.replies.ATTEMPTS", 1)
    server.script(Reply.blocks({"type": "text", "text": "half"}, {"type": "text", "text": "more"}).cut())
    async with engine(tmp_path, server) as run:
        ended = await run.say("hi")
        assert ended.reason == "failed"
        assert run.all(RequestFailed)
        half, note = run.context.history[-2:]
        assert half.partial and half.text.startswith("half")
        assert note.origin == "repair"
        await sound(run, server)


async def test_an_answer_without_stop_reason_counts_as_whole_or_cut_but_never_breaks(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.agent.replies.ATTEMPTS", 1)
    server.script(Reply.text("no reason given").without_stop_reason())
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        await sound(run, server)


async def test_a_call_cut_by_max_tokens_is_answered_and_not_run(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(
        Reply.truncated("write_file", '{"path": "big.txt", "content": "aaaa', text="I write."),
        Reply.text("smaller"),
    )
    async with engine(tmp_path, server) as run:
        await run.say("write")
        assert not (tmp_path / "big.txt").exists()
        result = server.requests[1]["messages"][-1]["content"][0]
        assert result["is_error"] and "output limit" in str(result["content"])
        await sound(run, server)


async def test_an_answer_cut_by_max_tokens_says_so(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("long", stop_reason="max_tokens"))
    async with engine(tmp_path, server) as run:
        ended = await run.say("write")
        assert ended.reason == "max_tokens"
        assert any("output limit" in e.text for e in run.all(Notice))
        await sound(run, server)


@pytest.mark.parametrize("text", ["", "I cannot help with that."])
async def test_a_refusal_is_said_and_not_sent_again(
    tmp_path: Path, server: ScriptedServer, text: str
) -> None:
    server.script(Reply.refusal(text))
    async with engine(tmp_path, server) as run:
        ended = await run.say("hi")
        assert ended.reason == "refusal"
        assert any("refused" in e.text for e in run.all(Notice))
        assert [m.text for m in run.context.history] == ["hi"]
        await sound(run, server)


@pytest.mark.parametrize(
    "wording", ["anthropic", "output", "llama", "openai", "kimi", "glm", "ollama", "bedrock"]
)
async def test_an_overflow_names_its_numbers_and_the_ways_out(
    tmp_path: Path, server: ScriptedServer, wording: str
) -> None:
    overflow = Reply.overflow(wording)  # type: ignore[arg-type]
    # Where the endpoint tells no numbers it may help to leave out the first words: that is tried once.
    server.script(Reply.text("one"), *[overflow] * (2 if wording in ("ollama", "bedrock") else 1))
    async with engine(tmp_path, server) as run:
        await run.say("first")
        ended = await run.say("second")
        assert ended.reason == "failed"
        failure = run.all(RequestFailed)[-1]
        assert failure.kind == "overflow" and "/model" in failure.ways[-1]
        await run.session.perform("revert", str(run.context.checkpoints()[-2].id))
        await sound(run, server)


async def test_unknown_events_and_blocks_do_no_harm(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(
        Reply.blocks({"type": "brand_new", "payload": 1}, {"type": "text", "text": "hi"}).with_events(
            {"type": "brand_new_event", "x": 1}
        )
    )
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        assert run.context.history[-1].text == "hi"
        await sound(run, server)


async def test_malformed_arguments_are_kept_as_text_and_answered(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("bash", '{"command": "ls')), Reply.text("sorry"))
    async with engine(tmp_path, server) as run:
        await run.say("list")
        result = server.requests[1]["messages"][-1]["content"][0]
        assert result["is_error"] and '{"command": "ls' in str(result["content"])
        record = next(r for r in run.context.records if r.role == "assistant")
        assert '{"command": "ls' in str(record.body["meta"])
        await sound(run, server)


async def test_an_unknown_tool_is_answered_with_those_there_are(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("teleport", {})), Reply.text("ok"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert "read_file" in str(server.requests[1]["messages"][-1])
        await sound(run, server)


async def test_a_refused_call_ends_the_turn_and_the_rest_is_not_run(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(
        Reply.tools(
            ("write_file", {"path": "x", "content": "1"}), ("write_file", {"path": "y", "content": "1"})
        )
    )
    async with engine(tmp_path, server, answers=lambda asked: Answer("no")) as run:
        ended = await run.say("write")
        assert ended.reason == "denied"
        assert [e.outcome for e in run.all(ToolEnded)] == ["denied", "denied"]
        assert len(run.all(Asked)) == 1
        assert not (tmp_path / "x").exists() and not (tmp_path / "y").exists()
        await sound(run, server)


async def test_a_refusal_with_a_reason_goes_to_the_model(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("bash", {"command": "npm test"})), Reply.text("pnpm then"))
    async with engine(tmp_path, server, answers=lambda asked: Answer("no", note="use pnpm")) as run:
        ended = await run.say("test")
        assert ended.reason == "end_turn"
        assert "use pnpm" in str(server.requests[1]["messages"][-1])
        await sound(run, server)


async def test_an_edited_command_runs_as_edited_and_the_model_is_told(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("bash", {"command": "echo wrong"})), Reply.text("ok"))
    async with engine(tmp_path, server, answers=lambda asked: Answer("once", edited="echo right")) as run:
        await run.say("run")
        result = str(server.requests[1]["messages"][-1])
        assert "right" in result and "changed command" in result
        await sound(run, server)


async def test_a_rule_for_the_session_is_not_asked_again(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(
        Reply.tools(("bash", {"command": "echo one"})),
        Reply.tools(("bash", {"command": "echo two"})),
        Reply.text("ok"),
    )
    async with engine(tmp_path, server, answers=lambda asked: Answer("session", rule="bash:echo *")) as run:
        await run.say("run")
        assert len(run.all(Asked)) == 1
        await sound(run, server)


async def test_cancel_in_the_middle_of_an_answer_keeps_what_was_shown(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    server.script(Reply.text("one two three four").holding(hold, after=2))
    async with engine(tmp_path, server) as run:
        await run.session.submit("go")
        await run.until(TextDelta, lambda e: "two" in e.text)
        assert await run.session.cancel()
        await asyncio.wait_for(hold.gone.wait(), 10)
        assert run.all(TurnEnded)[-1].reason == "cancelled"
        half, note = run.context.history[-2:]
        assert half.partial and half.text == "one two" and note.origin == "repair"
        assert run.all(Weighed)[-1].total == run.context.token_count_with_pending
        await sound(run, server)


async def test_cancel_while_a_command_runs_gives_every_call_a_result(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("bash", {"command": "sleep 60"}), ("bash", {"command": "echo never"})))
    async with engine(tmp_path, server, allow=["bash:sleep *", "bash:echo *"]) as run:
        await run.session.submit("go")
        await run.until(ToolStarted, lambda e: bool(e.title))
        await run.session.cancel()
        assert [e.outcome for e in run.all(ToolEnded)] == ["cancelled", "cancelled"]
        assert run.all(Weighed)[-1].total == run.context.token_count_with_pending
        await sound(run, server)


async def test_cancel_while_a_question_waits_withdraws_it(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("bash", {"command": "echo hi"})))
    async with engine(tmp_path, server, answers=lambda asked: None) as run:
        await run.session.submit("go")
        await run.until(Asked)
        await run.session.cancel()
        assert run.session.questions.open() == []
        assert run.all(ToolEnded)[-1].outcome == "cancelled"
        await sound(run, server)


async def test_a_prompt_sent_meanwhile_is_delivered_at_the_next_step(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    server.script(
        Reply.tools(("glob", {"pattern": "*"}), text="looking").holding(hold, after=1),
        Reply.text("both done"),
    )
    async with engine(tmp_path, server) as run:
        await run.session.submit("first")
        await asyncio.wait_for(hold.reached.wait(), 10)
        await run.session.submit("and second")
        assert [p.text for p in run.session.queue] == ["and second"]
        hold.release.set()
        await run.session.until_idle()
        assert "and second" in str(server.requests[1]["messages"][-1])
        assert len(run.all(TurnEnded)) == 1
        await sound(run, server)


async def test_a_prompt_for_the_end_of_the_turn_becomes_the_next_turn(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    server.script(Reply.text("one").holding(hold), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        await run.session.submit("first")
        await asyncio.wait_for(hold.reached.wait(), 10)
        await run.session.submit("second", when="turn")
        hold.release.set()
        await run.session.until_idle()
        assert [m.text for m in run.context.history] == ["first", "one", "second", "two"]
        await sound(run, server)


async def test_an_interrupt_holds_the_queue_and_drops_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    hold = Hold()
    server.script(Reply.text("one").holding(hold))
    async with engine(tmp_path, server) as run:
        await run.session.submit("first")
        await asyncio.wait_for(hold.reached.wait(), 10)
        await run.session.submit("second", when="turn")
        await run.session.cancel()
        assert run.session.paused and [p.text for p in run.session.queue] == ["second"]
        server.script(Reply.text("two"), Reply.text("three"))
        await run.session.submit("third", when="turn")
        await run.session.until_idle()
        assert [m.text for m in run.context.history if m.is_words] == ["first", "second", "third"]
        await sound(run, server)


async def test_every_request_extends_the_one_before(tmp_path: Path, server: ScriptedServer) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"})),
        Reply.text("one"),
        Reply.tools(("glob", {"pattern": "*"}), ("grep", {"pattern": "alpha"})),
        Reply.text("two"),
    )
    async with engine(tmp_path, server) as run:
        await run.say("first")
        await run.say("second")
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert not validity.extends(before, after)


async def test_an_image_is_stored_once_as_a_blob_and_sent_whole(
    tmp_path: Path, server: ScriptedServer
) -> None:
    from PIL import Image

    Image.new("RGB", (40, 30), "red").save(tmp_path / "dot.png")
    server.script(Reply.tools(("read_file", {"path": "dot.png"})), Reply.text("a dot"))
    async with engine(tmp_path, server) as run:
        await run.say("look")
        sent = server.requests[1]["messages"][-1]["content"][0]["content"]
        image = next(block for block in sent if block["type"] == "image")
        assert image["source"]["type"] == "base64"
        assert b"base64" not in run.context.path.read_bytes()
        assert len(list((run.session.folder.path / "blobs").iterdir())) == 1
        await sound(run, server)


async def test_a_long_result_is_capped_and_kept_whole_beside_the_log(
    tmp_path: Path, server: ScriptedServer
) -> None:
    def look(body: dict[str, Any]) -> Reply:
        path = re.search(r"all [\d,]+ bytes are in (\S+);", str(body["messages"][-1]))
        assert path is not None
        return Reply.tools(("read_file", {"path": path[1], "offset": 150_000, "limit": 2}))

    server.script(Reply.tools(("bash", {"command": "seq 1 200000"})), look, Reply.text("many"))
    async with engine(tmp_path, server) as run:
        await run.say("count")
        assert len(str(server.requests[1]["messages"][-1])) < 40_000
        assert len(run.all(Asked)) == 1
        assert "150001" in str(server.requests[2]["messages"][-1])
        assert run.all(ReplyEnded)[-1].text == "many"
        await sound(run, server)


async def test_a_key_in_a_result_is_not_written(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.engine import scripted_settings
    from tui_agent.settings import secrets

    monkeypatch.setenv("SCRIPTED_KEY", "sk-very-secret-value")
    settings = scripted_settings(server, api_key_env="SCRIPTED_KEY")
    secrets.watch(settings)
    server.script(Reply.tools(("bash", {"command": "echo key is $SCRIPTED_KEY"})), Reply.text("ok"))
    async with engine(tmp_path, server, settings=settings) as run:
        await run.say("show")
        assert "sk-very-secret-value" not in run.context.path.read_text()
        assert "sk-very-secret-value" not in (run.session.folder.path / "events.jsonl").read_text()
        assert "[redacted SCRIPTED_KEY]" in run.context.path.read_text()
        await sound(run, server)


async def test_the_calls_of_a_refusal_are_not_run(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("bash", {"command": "touch ran"}), text="hm").stopping("refusal"))
    async with engine(tmp_path, server, allow=["bash"]) as run:
        ended = await run.say("go")
        assert ended.reason == "refusal"
        assert not run.all(ToolStarted) and not (tmp_path / "ran").exists()
        await sound(run, server)


async def test_words_that_waited_are_answered_though_a_call_is_refused(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.tools(("bash", {"command": "touch ran"})), Reply.text("as you say"))
    async with engine(tmp_path, server, answers=lambda asked: None) as run:
        await run.session.submit("go")
        asked = await run.until(Asked)
        await run.session.submit("rather not")
        await run.session.answer(asked.question.id, Answer("no"))
        ended = await run.until(TurnEnded)
        await run.session.until_idle()
        assert ended.reason == "end_turn" and not (tmp_path / "ran").exists()
        assert server.requests[-1]["messages"][-1]["content"][-1]["text"] == "rather not"
        await sound(run, server)


async def test_a_model_that_pauses_again_and_again_is_left_at_some_point(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.always(Reply.blocks(stop_reason="pause_turn"))
    async with engine(tmp_path, server) as run:
        ended = await run.say("go")
        assert ended.reason == "pause_turn"
        assert any("paused" in e.text for e in run.all(Notice))
        await sound(run, server)


async def test_the_first_request_waits_for_the_model_that_settings_leave_open(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("hi"))
    left_open = scripted_settings(server, model="", context_window=None, max_output_tokens=None)
    async with engine(tmp_path, settings=left_open) as run:
        await run.say("hello")
        assert server.requests[0]["model"] == "scripted-1"
        assert run.context.model == "scripted-1" and server.listings == 1
        await sound(run, server)


async def test_a_model_that_nobody_names_is_said_and_the_words_are_kept(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.models = None
    async with engine(tmp_path, settings=scripted_settings(server, model="")) as run:
        ended = await run.say("hello")
        assert ended.reason == "failed" and not server.requests
        assert any("set model in the profile" in e.ways for e in run.all(RequestFailed))
        assert [m.text for m in run.context.history] == ["hello"]
