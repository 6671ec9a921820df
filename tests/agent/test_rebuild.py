"""The request is a pure function of the log: a fresh process builds every one again, hash for hash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.engine import engine, reread
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests

_BLANK = {"type": "text", "text": "\n\n"}

_READER = """
import asyncio, json, sys
from pathlib import Path
from tui_agent.agent.past import requests
from tui_agent.context import Context

async def main():
    found = []
    for path in sorted(Path(sys.argv[1]).glob("context*.jsonl")):
        context = Context(path, read_only=True)
        await context.restore()
        found += [[usage["request"], request.sha256] for usage, request in requests(context)]
    print(json.dumps(found))

asyncio.run(main())
"""


async def test_every_request_of_a_long_session_is_built_again_in_a_fresh_process(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (40, 30), "red").save(tmp_path / "dot.png")
    (tmp_path / "a.txt").write_text("alpha\n" * 50)
    steps = [
        lambda n: [Reply.text(f"answer {n}")],
        lambda n: [Reply.tools(("read_file", {"path": "a.txt"}), ("glob", {"pattern": "*"})), Reply.text("seen")],
        lambda n: [Reply.thinking("let me think", f"thought {n}")],
        lambda n: [Reply.tools(("bash", {"command": f"echo {n}"}), thinking="run it"), Reply.text("ran")],
        lambda n: [Reply.error(529, retry_after=0.01), Reply.blocks(_BLANK, {"type": "text", "text": "ok"})],
        lambda n: [Reply.tools(("read_file", {"path": "dot.png"})), Reply.refusal("no")],
        lambda n: [Reply.truncated("write_file", '{"path": "x'), Reply.text("shorter")],
        lambda n: [Reply.tools(("bash", '{"command": ')), Reply.text("malformed")],
    ]  # fmt: skip
    async with ScriptedServer() as server:
        for half in range(2):
            resume = "latest" if half else None
            async with engine(tmp_path, server, resume=resume, allow=["bash:echo *"]) as run:
                for number in range(20):
                    server.script(*steps[number % len(steps)](number))
                    await run.say(f"turn {half}.{number}: é 漢字 \U0001f600")
                    if number == 7:
                        await run.session.perform("revert", str(run.session.timeline.turns()[-2].id))
                    if number == 12:
                        await run.session.perform("elide", run.context.history[-3].id)
                    if number == 15:
                        await run.session.perform("revert", str(run.session.timeline.turns()[-4].id))
                        await run.session.perform("undo")
                folder = run.session.folder.path
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(folder)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    pairs = json.loads(done.stdout)
    assert len({stored for stored, _ in pairs}) >= len(server.requests) - 10
    assert all(stored == rebuilt for stored, rebuilt in pairs)


async def test_what_was_sent_is_what_is_built_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    async with ScriptedServer() as server:
        server.script(Reply.tools(("read_file", {"path": "a.txt"})), Reply.text("one"), Reply.text("two"))
        async with engine(tmp_path, server) as run:
            await run.say("first")
            await run.say("second")
            again = [request.body() for _, request in requests(await reread(run))]
    assert [body["messages"] for body in again] == [_uncached(body["messages"]) for body in server.requests]


def _uncached(messages: object) -> object:
    if isinstance(messages, dict):
        return {key: _uncached(value) for key, value in messages.items() if key != "cache_control"}
    return [_uncached(item) for item in messages] if isinstance(messages, list) else messages


async def test_what_is_left_out_while_an_answer_comes_is_not_taken_for_left_out_before(
    tmp_path: Path,
) -> None:
    hold = Hold()
    async with ScriptedServer() as server:
        server.script(Reply.text("one"), Reply.text("two").holding(hold))
        async with engine(tmp_path, server) as run:
            await run.say("first")
            await run.session.submit("second")
            await hold.reached.wait()
            await run.session.perform("elide", run.context.history[1].id)
            hold.release.set()
            await run.session.until_idle()
            pairs = [(usage["request"], request.sha256) for usage, request in requests(await reread(run))]
    assert len(pairs) == 2
    assert all(stored == rebuilt for stored, rebuilt in pairs)


async def test_a_damaged_answer_does_not_hide_the_other_requests(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("one"), Reply.text("two"))
        async with engine(tmp_path, server) as run:
            await run.say("first")
            await run.say("second")
            answer = run.context.record(run.context.history[-1].id).raw
            path = run.context.path
        path.write_bytes(path.read_bytes().replace(answer, answer[:40]))
        pairs = [(usage["request"], request.sha256) for usage, request in requests(await reread(run))]
    assert len(pairs) == 2
    assert all(stored == rebuilt for stored, rebuilt in pairs)
