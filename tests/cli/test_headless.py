from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.command import Ended, environment, session
from tests.support.hostile import TEXTS
from tests.support.server import Hold, Reply, ScriptedServer
from tui_agent.context import Context
from tui_agent.messages.exchange import open_calls
from tui_agent.sessions.catalog import Catalog, Entry

SECONDS = 60


@pytest.fixture
async def server(home: Path) -> AsyncIterator[ScriptedServer]:
    """A scripted model, chosen by the user's settings."""
    async with ScriptedServer() as server:
        (home / "config").mkdir(mode=0o700)
        (home / "config" / "settings.toml").write_text(
            f'[profiles.scripted]\nmodel = "scripted-1"\nbase_url = "{server.url}"\nauth = "none"\n'
            "context_window = 200_000\nmax_output_tokens = 4_096\n"
        )
        yield server


async def begin(*argv: str, cwd: Path, **env: str) -> asyncio.subprocess.Process:
    """Start the real command."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tui_agent",
        *argv,
        cwd=cwd,
        env=environment(**env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )


async def finish(process: asyncio.subprocess.Process) -> Ended:
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def ask(*argv: str, cwd: Path, **env: str) -> Ended:
    return await finish(await begin(*argv, cwd=cwd, **env))


def only_session(workspace: Path) -> Entry:
    (entry,) = Catalog().list(workspace)
    return entry


async def sound(entry: Entry) -> Context:
    """The session's log, without damage and without a call that waits."""
    context = Context(entry.folder.context_path, read_only=True)
    assert await context.restore()
    assert context.damage == []
    assert open_calls(context.history) == []
    return context


async def test_the_answer_is_the_output(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.text("Hello 東京.\nSecond line"))
    ended = await ask("-p", "say hello", cwd=shop)
    assert (ended.code, ended.out) == (0, "Hello 東京.\nSecond line\n")
    context = await sound(only_session(shop))
    assert [m.role for m in context.history] == ["user", "assistant"]
    assert context.history[0].text == "say hello"


async def test_the_prompt_can_be_read_from_the_input(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.text("ok"))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tui_agent", "-p", "-"),
        cwd=shop,
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate("from the pipe ö".encode())
    assert out == b"ok\n"
    assert only_session(shop).first == "from the pipe ö"


async def test_json_is_one_object(server: ScriptedServer, shop: Path) -> None:
    (shop / "a.txt").write_text("alpha")
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"}), text="I look.").using(
            input=100, output=10, cache_write=5
        ),
        Reply.text("It says alpha.").using(input=20, output=7, cache_read=90),
    )
    ended = await ask("-p", "what does a.txt say?", "--output-format", "json", cwd=shop)
    assert (ended.code, ended.err) == (0, "")
    data = ended.data
    assert data["session"] == only_session(shop).id
    assert data["text"] == "It says alpha."
    assert data["stop_reason"] == "end_turn"
    assert data["usage"] == {"input": 120, "output": 17, "cache_read": 90, "cache_write": 5}
    (call,) = data["tool_calls"]
    assert (call["name"], call["input"], call["outcome"]) == ("read_file", {"path": "a.txt"}, "ok")
    assert set(data) == {"session", "text", "tool_calls", "usage", "stop_reason"}


async def test_stream_json_is_a_line_for_each_event(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.tools(("glob", {"pattern": "*"})), Reply.text("done \u2028 it"))
    ended = await ask("-p", "list", "--output-format", "stream-json", cwd=shop)
    events = [json.loads(line) for line in ended.out.split("\n")[:-1]]
    names = [event["event"] for event in events]
    assert names[0] == "session_opened"
    for name in ("turn_started", "tool_started", "tool_ended", "text_delta", "usage_reported", "turn_ended"):
        assert name in names
    assert "".join(event["text"] for event in events if event["event"] == "text_delta") == "done \u2028 it"


async def test_nobody_can_be_asked_so_the_call_is_refused_and_the_model_is_told(
    server: ScriptedServer, shop: Path
) -> None:
    server.script(Reply.tools(("bash", {"command": "touch made"})), Reply.text("Then not."))
    ended = await ask("-p", "make it", cwd=shop)
    assert (ended.code, ended.out) == (0, "Then not.\n")
    assert "refused" in ended.err and "--allow" in ended.err
    assert not (shop / "made").exists()
    result = server.requests[1]["messages"][-1]["content"][0]
    assert result["is_error"] and "Nobody can be asked" in json.dumps(result)


async def test_a_rule_on_the_command_line_allows_it(server: ScriptedServer, shop: Path) -> None:
    server.script(
        Reply.tools(("bash", {"command": "touch made"}), ("write_file", {"path": "b.txt", "content": "b"})),
        Reply.text("Done."),
    )
    ended = await ask("-p", "make it", "--allow", "bash:touch made", "write_file", cwd=shop)
    assert (ended.code, ended.out, ended.err) == (0, "Done.\n", "")
    assert (shop / "made").exists()
    assert (shop / "b.txt").read_text() == "b"


async def test_it_goes_on_with_the_last_session_or_a_named_one(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.text("one"), Reply.text("two"), Reply.text("three"))
    await ask("-p", "first", cwd=shop)
    made = only_session(shop)
    await ask("-p", "second", "--continue", cwd=shop)
    await ask("-p", "third", "--resume", made.id[:14], cwd=shop)
    assert only_session(shop).id == made.id
    words = [m["content"][0]["text"] for m in server.requests[2]["messages"] if m["role"] == "user"]
    assert [text for text in words if text in ("first", "second", "third")] == ["first", "second", "third"]
    ended = await ask("-p", "x", "--resume", "01ARZ3NDEK", cwd=shop)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)


async def test_what_is_appended_to_the_system_prompt_is_sent(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.text("ok"))
    await ask("-p", "x", "--append-system", "Answer in verse.", cwd=shop)
    assert "Answer in verse." in json.dumps(server.requests[0]["system"])


async def test_a_failure_is_one_line_and_code_1(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.error(401), Reply.error(401))
    ended = await ask("-p", "x", cwd=shop)
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1
    await sound(only_session(shop))
    data = (await ask("-p", "x", "--output-format", "json", "--continue", cwd=shop)).data
    assert data["stop_reason"] == "failed"
    assert data["error"]


async def test_an_answer_cut_short_says_so(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.text("half", stop_reason="max_tokens"))
    ended = await ask("-p", "x", cwd=shop)
    assert (ended.code, ended.out) == (0, "half\n")
    assert "max_tokens" in ended.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_an_interrupt_while_the_model_answers_leaves_a_sound_session(
    server: ScriptedServer, shop: Path, number: int
) -> None:
    hold = Hold()
    server.script(
        Reply.text("a long answer that is never finished").holding(hold, after=1), Reply.text("again")
    )
    process = await begin("-p", "first", cwd=shop)
    async with asyncio.timeout(SECONDS):
        await hold.reached.wait()
    process.send_signal(number)
    ended = await finish(process)
    assert ended.code == 128 + number
    await sound(only_session(shop))
    hold.release.set()
    assert (await ask("-p", "second", "--continue", cwd=shop)).out == "again\n"


async def test_an_interrupt_while_a_tool_runs_stops_it_and_leaves_a_sound_session(
    server: ScriptedServer, shop: Path
) -> None:
    server.script(
        Reply.tools(("bash", {"command": "echo $$ > pid; touch started; sleep 300"})), Reply.text("again")
    )
    process = await begin("-p", "first", "--allow", "bash", cwd=shop)
    async with asyncio.timeout(SECONDS):
        while not (shop / "started").exists():
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGINT)
    ended = await finish(process)
    assert ended.code == 130
    assert not Path(f"/proc/{(shop / 'pid').read_text().strip()}").exists()
    context = await sound(only_session(shop))
    assert context.history[-1].role == "user"
    assert (await ask("-p", "second", "--continue", cwd=shop)).out == "again\n"


async def test_nobody_reading_stops_the_turn_quietly(server: ScriptedServer, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("word " * 2000).holding(hold, after=50))
    process = await begin("-p", "talk", cwd=shop)
    assert process.stdout is not None and process.stderr is not None
    async with asyncio.timeout(SECONDS):
        await process.stdout.readexactly(20)
        process.stdout._transport.close()  # type: ignore[attr-defined]
        await hold.reached.wait()
        hold.release.set()
        err = await process.stderr.read()
        code = await process.wait()
    assert (code, err) == (1, b"")
    await sound(only_session(shop))


async def test_hostile_answers_are_passed_on_to_a_pipe_as_they_are(
    server: ScriptedServer, shop: Path
) -> None:
    text = TEXTS["osc 52"] + TEXTS["bidi override"]
    server.script(Reply.text(text), Reply.text(text))
    assert (await ask("-p", "x", cwd=shop)).out == text + "\n"
    assert (await ask("-p", "x", "--output-format", "json", cwd=shop)).data["text"] == text


async def test_hostile_names_in_refusals_and_errors_do_not_act(server: ScriptedServer, shop: Path) -> None:
    server.script(Reply.tools(("bash", {"command": "echo \x1b]52;c;eA==\x07 \u202e"})), Reply.text("ok"))
    ended = await ask("-p", "x", cwd=shop)
    assert "refused" in ended.err
    assert not set(ended.err) & {"\x1b", "\x07", "\u202e"}


async def test_a_key_never_reaches_output_or_log(server: ScriptedServer, shop: Path, home: Path) -> None:
    file = home / "config" / "settings.toml"
    file.write_text(file.read_text().replace('auth = "none"', 'auth = "x-api-key"\napi_key_env = "SHOP_KEY"'))
    server.script(Reply.tools(("bash", {"command": "echo $SHOP_KEY"})), Reply.text("ok"))
    ended = await ask(
        "-p", "x", "--allow", "bash", "--output-format", "stream-json", cwd=shop, SHOP_KEY="sk-shop-12345678"
    )
    assert ended.code == 0
    assert server.headers[0]["x-api-key"] == "sk-shop-12345678"
    assert "sk-shop-12345678" not in ended.out + ended.err
    for path in only_session(shop).path.rglob("*"):
        assert not path.is_file() or b"sk-shop-12345678" not in path.read_bytes()


async def test_without_a_key_the_demo_model_answers_and_it_is_said(shop: Path) -> None:
    ended = await ask("-p", "hello", cwd=shop)
    assert ended.code == 0
    assert ended.out.strip()
    assert "demo model" in ended.err
    data = (await ask("-p", "hello", "--demo", "--output-format", "json", cwd=shop)).data
    assert data["text"]


async def test_a_session_that_is_written_elsewhere_is_not_written(server: ScriptedServer, shop: Path) -> None:
    from tui_agent.context.lease import Lease

    made = session(shop, "hello")
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        ended = await ask("-p", "x", "--continue", cwd=shop)
    finally:
        lease.release()
    assert ended.code == 1
    assert "process" in ended.err
    assert server.requests == []


async def test_an_empty_prompt_is_refused(shop: Path) -> None:
    ended = await ask("-p", "  ", cwd=shop)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert Catalog().list() == []
