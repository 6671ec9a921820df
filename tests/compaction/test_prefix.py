"""The request for a summary is the live request and one instruction, so that the provider's cache serves it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.compaction.running import SUMMARY, compacted, compacting, is_compaction, talked
from tests.support.engine import Run, engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, CompactionStarted
from tui_agent.settings.schema import Settings


def plain(value: Any) -> Any:
    """Without cache_control, which is no part of what the cache compares."""
    return json.loads(
        json.dumps(value), object_hook=lambda o: {k: v for k, v in o.items() if k != "cache_control"}
    )


def breakpoints(body: dict[str, Any]) -> set[tuple[int, int]]:
    """Where in its messages the request asks for the cache."""
    return {
        (at, place)
        for at, message in enumerate(body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    }


def assert_extends(summary: dict[str, Any], live: dict[str, Any]) -> None:
    """The one request is the other with more behind it; the cache that the other wrote is asked for where it ended."""
    for key in ("model", "tools", "system", "thinking"):
        assert plain(summary.get(key)) == plain(live.get(key)), key
    *before, last = plain(live["messages"])
    sent = plain(summary["messages"])
    assert sent[: len(before)] == before
    assert sent[len(before)]["role"] == last["role"]
    assert sent[len(before)]["content"][: len(last["content"])] == last["content"]


def thinking(server: ScriptedServer, level: str, **keys: Any) -> Settings:
    made = compacting(server, **keys)
    profile = replace(made.profiles["scripted"], thinking=level, max_output_tokens=8_192)
    return replace(made, profiles={"scripted": profile})


async def talked_thoughtfully(run: Run, server: ScriptedServer) -> None:
    for number in range(3):
        use = {
            "type": "tool_use",
            "id": f"toolu_t{number}",
            "name": "bash",
            "input": {"command": "echo parser"},
        }
        thought = {"type": "thinking", "thinking": "alpha.py, hm", "signature": "c2lnbmVk"}
        server.script(
            Reply.blocks(thought, use, stop_reason="tool_use"),
            Reply.thinking("the parser", "alpha.py: " + "the parser reads each line of the file. " * 30),
        )
        await run.say(f"mend the parser in alpha.py, part {number}")


@pytest.mark.parametrize("level", ["off", "low", "medium"])
async def test_by_hand_it_extends_the_last_request_of_the_session(tmp_path: Path, level: str) -> None:
    async with ScriptedServer() as server:
        chosen = thinking(server, level)
        async with engine(tmp_path, server, settings=chosen, allow=["bash"]) as run:
            await (talked(run, server) if level == "off" else talked_thoughtfully(run, server))
            live = server.requests[-1]
            server.script(Reply.text(SUMMARY).using(input=9, output=200, cache_read=5_000))
            ended = await compacted(run)
            assert isinstance(ended, CompactionCompleted)
            assert_extends(server.requests[-1], live)
            assert (level == "off") == ("thinking" not in live)
            ours, theirs = breakpoints(server.requests[-1]), breakpoints(live)
            assert max(ours) in theirs, "where the live request wrote the cache, it is read"
            assert (ended.input, ended.output, ended.cache_read) == (5_009, 200, 5_000)


async def test_between_two_steps_of_a_turn_it_extends_the_step_before(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        chosen = compacting(server, window=24_000, micro_ratio=0.84)
        async with engine(tmp_path, server, settings=chosen, allow=["bash"]) as run:
            steps = 0

            def answer(body: dict[str, Any]) -> Reply:
                nonlocal steps
                if is_compaction(body):
                    return Reply.text(SUMMARY)
                steps += 1
                if steps > 40 or any(is_compaction(sent) for sent in server.requests):
                    return Reply.text("alpha.py is mended")
                return Reply.tools(("bash", {"command": "echo parser"}), text="alpha.py parser line " * 300)

            server.always(answer)
            await run.say("mend the parser in alpha.py, and read it to the end")
            await run.session.until_idle()
            (started, *_) = run.all(CompactionStarted)
            assert started.trigger == "auto"
            at = next(at for at, body in enumerate(server.requests) if is_compaction(body))
            assert_extends(server.requests[at], server.requests[at - 1])
            kinds = [block["type"] for block in server.requests[at]["messages"][-1]["content"]]
            assert kinds[-1] == "text" and "tool_result" in kinds


async def test_the_demo_reads_its_summary_request_from_its_cache(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("a line of the file\n" * 600)
    async with engine(tmp_path) as run:
        for _ in range(3):
            await run.say("read long.txt")
        ended = await compacted(run)
        assert isinstance(ended, CompactionCompleted)
        assert ended.cache_read > ended.input // 2
        assert '"read long.txt"' in ended.text
