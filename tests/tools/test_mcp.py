"""MCP servers as programs: what they offer, what becomes of each fault, and that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support import mcp_small
from tui_agent.events import Answer, Event, Notice, Question
from tui_agent.process import job
from tui_agent.settings import secrets
from tui_agent.settings.load import check
from tui_agent.tools.mcp import config, listing
from tui_agent.tools.mcp.config import configured
from tui_agent.tools.mcp.servers import Servers
from tui_agent.tools.tool import Output, Progress, ToolError

SMALL = str(Path(mcp_small.__file__))


class Used:
    """Servers in use, what they told, and their tools by the last part of their names."""

    def __init__(self, servers: Servers, heard: list[Event]) -> None:
        self.servers = servers
        self.heard = heard

    @property
    def notices(self) -> str:
        return "\n".join(event.text for event in self.heard if isinstance(event, Notice))

    async def call(self, tool: str, /, *, tell: Progress = lambda text: None, **arguments: Any) -> Output:
        found = next(one for one in self.servers.tools() if one.name.endswith(f"__{tool}"))
        found.needs(arguments)
        return await found.call(arguments, tell)


@asynccontextmanager
async def used(
    workspace: Path, tables: Mapping[str, Any] | None = None, answer: Answer | None = None, **options: Any
) -> AsyncIterator[Used]:
    """The servers of a settings file (by default one small server) and of a workspace."""
    mcp = {"servers": {"small": small()}} if tables is None else dict(tables)
    settings = check({"mcp": mcp}, "", None)
    heard: list[Event] = []

    async def ask(question: Question) -> Answer:
        heard.append(Notice(f"{question.title}\n{question.body}"))
        assert answer is not None
        return answer

    found = configured(settings.mcp, workspace, workspace)
    servers = Servers(found, heard.append, ask=ask if answer else None, **options)
    try:
        await servers.begin()
        await servers.settled()
        yield Used(servers, heard)
    finally:
        await servers.close()


def small(*words: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [SMALL, *words], "timeout": 20, **more}


def starts() -> int:
    """How many servers run as children of this process."""
    return sum(SMALL in " ".join(child.cmdline()) for child in psutil.Process().children())


async def test_a_call_gives_text_pictures_and_failures_of_its_own(workspace: Path) -> None:
    async with used(workspace) as run:
        assert (await run.call("echo", text="häl\N{NO-BREAK SPACE}lo")).content == "häl\N{NO-BREAK SPACE}lo"
        blocks = (await run.call("image")).content
        assert isinstance(blocks, list)
        assert (blocks[0]["text"], blocks[1]["source"]["media_type"]) == ("a dot:", "image/png")
        failed = await run.call("fail")
        assert (failed.content, failed.error) == ("it went wrong over there", True)


async def test_what_is_no_text_is_named_and_data_is_told_where_there_are_no_words(workspace: Path) -> None:
    async with used(workspace) as run:
        assert str((await run.call("mixed")).content).splitlines() == [
            "file:///a.txt",
            "line",
            "[file:///a.bin: application/zip, 3 bytes, not shown]",
            "[resource file:///b.txt (b): more]",
            "[audio, not shown]",
        ]
        assert json.loads(str((await run.call("structured")).content)) == {"rows": [1, 2]}


async def test_the_progress_of_a_call_is_told(workspace: Path) -> None:
    told: list[str] = []
    async with used(workspace) as run:
        assert (await run.call("steps", tell=told.append)).content == "two steps"
        while len(told) < 2:  # it is told beside the answer
            await asyncio.sleep(0)
    assert told == ["working (1 of 2)\n", "working (2 of 2)\n"]


async def test_arguments_that_do_not_fit_do_not_reach_the_server(workspace: Path) -> None:
    async with used(workspace) as run:
        with pytest.raises(ToolError, match=r"'text' is missing; there is no 'word'\. It takes: text"):
            await run.call("echo", word="x")


async def test_after_a_crash_or_nonsense_the_next_call_starts_it_again(workspace: Path) -> None:
    async with used(workspace) as run:
        with pytest.raises(ToolError, match="small failed: it ended with exit code 7: leaving with 7"):
            await run.call("exit", code=7)
        assert (await run.call("echo", text="again")).content == "again"
        with pytest.raises(ToolError, match=r"no JSON-RPC.*oops"):
            await run.call("garbage")
        assert (await run.call("chatter")).content == "answered all the same"
        assert starts() == 1


async def test_a_server_that_only_crashes_is_given_up_until_a_person_restarts_it(workspace: Path) -> None:
    async with used(workspace) as run:
        for _ in range(3):
            with pytest.raises(ToolError, match="exit code 1"):
                await run.call("exit")
        with pytest.raises(ToolError, match=r"failed 3 times in a row.*/mcp restart small"):
            await run.call("echo", text="x")
        await run.servers.all[0].again()
        assert (await run.call("echo", text="x")).content == "x"


async def test_a_call_over_its_time_is_cancelled_and_the_server_goes_on(workspace: Path) -> None:
    async with used(workspace, {"servers": {"small": small(timeout=1, start_timeout=20)}}) as run:
        with pytest.raises(ToolError, match="did not answer within 1 s"):
            await run.call("hang")
        before = psutil.Process().children()
        assert len(json.loads(str((await run.call("cancelled")).content))) == 1
        assert psutil.Process().children() == before


async def test_a_call_that_is_stopped_is_cancelled_over_there(workspace: Path) -> None:
    async with used(workspace) as run:
        call = asyncio.create_task(run.call("hang"))
        await run.call("echo", text="behind it")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while not json.loads(str((await run.call("cancelled")).content)):  # until it was told
            pass
        assert starts() == 1


@pytest.mark.slow
async def test_a_server_that_will_not_end_is_killed(workspace: Path) -> None:
    async with used(workspace, {"servers": {"small": small("stubborn")}}) as run:
        server = psutil.Process(int(str((await run.call("child")).content))).parent()
        assert server is not None
    assert not server.is_running()


async def test_a_server_that_ends_when_it_is_asked_for_the_newest_protocol_is_greeted_the_old_way(
    workspace: Path,
) -> None:
    async with used(workspace, {"servers": {"small": small("strict")}}) as run:
        assert (await run.call("echo", text="\ud800!")).content == "\N{REPLACEMENT CHARACTER}!"


async def test_the_end_while_a_server_starts_leaves_nothing_behind(workspace: Path) -> None:
    settings = check({"mcp": {"servers": {"small": small("mute")}}}, "", None)
    servers = Servers(configured(settings.mcp, workspace, workspace), lambda event: None)
    await servers.begin()
    while not starts():
        await asyncio.sleep(0)
    await servers.close()
    assert starts() == 0


async def test_the_end_while_a_program_is_being_started_leaves_nothing_behind(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, started = asyncio.Event(), threading.Event(), list[int]()
    loop = asyncio.get_running_loop()

    def slow(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        process = job.spawn(*args, **options)
        started.append(process.pid)
        return process

    monkeypatch.setattr("tui_agent.tools.mcp.pipe.spawn", slow)
    monkeypatch.setattr("tui_agent.tools.mcp.pipe.GRACE_SECONDS", 0.0)
    monkeypatch.setattr("tui_agent.process.session.TERM_SECONDS", 0.0)
    settings = check({"mcp": {"servers": {"small": small("stubborn")}}}, "", None)
    servers = Servers(configured(settings.mcp, workspace, workspace), lambda event: None)
    await servers.begin()
    await begun.wait()
    closing = asyncio.create_task(servers.close())
    await asyncio.sleep(0)
    go_on.set()
    await closing
    assert len(started) == 1 and not psutil.pid_exists(started[0])


_PROGRAM = """
import asyncio, sys
from pathlib import Path
from tui_agent.settings.load import check
from tui_agent.tools.mcp.config import configured
from tui_agent.tools.mcp.servers import Servers

async def main():
    settings = check({"mcp": {"servers": {"small": {"command": sys.executable, "args": [sys.argv[1]]}}}}, "", None)
    servers = Servers(configured(settings.mcp, Path.cwd(), Path.cwd()), lambda event: None)
    await servers.begin()
    await servers.settled()
    print(len(servers.tools()), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_kill_of_the_program_ends_its_servers(workspace: Path) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, SMALL, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    try:
        assert int(await program.stdout.readline()) == len(mcp_small.TOOLS)
        (server,) = psutil.Process(program.pid).children()
    finally:
        program.kill()
        await program.wait()
    await asyncio.to_thread(server.wait, timeout=20)


async def test_a_huge_answer_is_refused(workspace: Path) -> None:
    async with used(workspace) as run:
        assert len((await run.call("flood", bytes=1_000_000)).content) == 1_000_000
        with pytest.raises(ToolError, match="more than 16 MB"):
            await run.call("flood", bytes=17_000_000)


async def test_a_server_that_cannot_start_says_why_and_the_others_go_on(workspace: Path) -> None:
    servers = {
        "gone": {"command": "/no/such/program"},
        "mute": small("mute", start_timeout=1),
        "both": {"command": "x", "url": "http://x"},
        "unset": small(env={"KEY": "${NO_SUCH_VARIABLE}"}),
        "small": small(),
    }
    async with used(workspace, {"servers": servers}) as run:
        assert "gone cannot be started: cannot start /no/such/program: No such file" in run.notices
        assert "mute cannot be started: it did not answer within 1 s" in run.notices
        assert "both cannot be used: it has both a command and a url" in run.notices
        assert "unset cannot be used: the environment has no variable NO_SUCH_VARIABLE" in run.notices
        states = {server.spec.name: server.state for server in run.servers.all}
        assert (states["both"], states["gone"], states["small"]) == ("misconfigured", "failed", "running")
        assert (await run.call("echo", text="here")).content == "here"


async def test_what_is_known_of_a_server_is_kept_and_nothing_starts_before_a_call(workspace: Path) -> None:
    async with used(workspace) as run:
        names = [tool.name for tool in run.servers.tools()]
    elsewhere = workspace.with_name("elsewhere")
    elsewhere.mkdir()
    async with used(elsewhere) as run:
        assert (run.servers.all[0].state, starts()) == ("not started", 0)
        assert [tool.name for tool in run.servers.tools()] == names
        assert (await run.call("echo", text="now")).content == "now"
        assert starts() == 1


async def test_the_end_takes_the_server_and_its_children_along(workspace: Path) -> None:
    async with used(workspace) as run:
        child = psutil.Process(int(str((await run.call("child")).content)))
        server = child.parent()
        assert server is not None and SMALL in server.cmdline()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert not server.is_running()


async def test_other_tools_are_told_and_offered_from_then_on(workspace: Path) -> None:
    async with used(workspace) as run:
        count = len(run.servers.tools())
        await run.call("grow")
        await run.call("echo", text="the list was asked for before this")
        while len(run.servers.tools()) == count:  # until the new list is there; the timeout of tests ends it
            await run.call("echo", text="again")
        assert run.servers.tools()[-1].name.startswith("mcp__small__grown_")


async def test_a_server_gets_its_variables_and_none_of_our_keys(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-for-servers")
    monkeypatch.setenv("TOKEN_OF_SMALL", "tok-123456789")
    env = {"IT": "${TOKEN_OF_SMALL}", "KIND": "${NO_SUCH:-production}", "KEY": "/a/long/place"}
    async with used(workspace, {"servers": {"small": small(env=env)}}) as run:
        told = [(await run.call("env", name=name)).content for name in (*env, "ANTHROPIC_API_KEY")]
    assert told == ["tok-123456789", "production", "/a/long/place", "(not set)"]
    assert secrets.redact("tok-123456789 in /a/long/place, in production") == (
        "[redacted small.IT] in /a/long/place, in production"
    )


def test_a_credential_in_an_address_is_redacted_too(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_KEY", "k-987654321")
    tables = {"mcp": {"servers": {"desk": {"url": "https://desk.example/mcp?key=${DESK_KEY}"}}}}
    (spec,) = configured(check(tables, "", None).mcp, workspace, workspace).specs
    assert spec.url.endswith("?key=k-987654321")
    assert secrets.redact(spec.url) == "https://desk.example/mcp?key=[redacted DESK_KEY]"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("API_KEY", "short-key", True),
        ("Authorization", "Bearer abcdefgh", True),
        ("DATABASE", "postgres://ada:word@host/db", True),
        ("DATABASE", "https://ada:word@host/db", True),
        ("X", "a1b2c3d4e5f6a7b8c9d0e1", True),
        ("NODE_ENV", "production", False),
        ("REGION", "eu-central-1", False),
        ("KEY_FILE", "/home/ada/keys/one-of-them", False),
        ("SERVER", "https://api.example.com/v1/things", False),
        ("GREETING", "hello to all 12 of you, and more", False),
    ],
)
def test_credentials_are_redacted_and_ordinary_words_are_not(
    workspace: Path, name: str, value: str, secret: bool
) -> None:
    settings = check({"mcp": {"servers": {"s": small(env={name: value})}}}, "", None)
    configured(settings.mcp, workspace, workspace)
    said = value.removeprefix("Bearer ")
    assert (secrets.redact(f"say {said}.") == f"say [redacted s.{name}].") is secret
    assert (secrets.redact(f"say {said}.") == f"say {said}.") is not secret


async def test_what_it_writes_to_its_standard_error_goes_to_a_file(
    workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with used(workspace) as run:
        with pytest.raises(ToolError):
            await run.call("exit", code=9)
        log = run.servers.all[0].log
    assert log.read_text() == "leaving with 9\n"
    assert capfd.readouterr().err == ""


async def test_tools_can_be_let_in_and_left_out(workspace: Path) -> None:
    chosen = {"include_tools": ["e*", "args"], "exclude_tools": ["exit"]}
    async with used(workspace, {"servers": {"a b": small(**chosen)}}) as run:
        assert [tool.name for tool in run.servers.tools()] == [
            "mcp__a_b__echo",
            "mcp__a_b__env",
            "mcp__a_b__args",
        ]


async def test_without_the_package_it_is_said_how_to_get_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.tools.mcp.server.PACKAGE", "no_such_package")
    async with used(workspace) as run:
        assert "the mcp package is not installed: pip install 'tui-agent[mcp]'" in run.notices
        assert starts() == 0


# --- the file of a workspace


def write_file(workspace: Path, **servers: Any) -> Path:
    file = workspace / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


async def test_servers_of_a_workspace_start_once_a_person_agreed_to_what_the_file_says(
    workspace: Path,
) -> None:
    write_file(workspace, mine={"command": sys.executable, "args": [SMALL, "one"]})
    async with used(workspace, {}, Answer("no")) as run:
        assert f"mine: {sys.executable} {SMALL} one" in run.notices
        assert (run.servers.tools(), run.servers.all[0].state, starts()) == ([], "not agreed", 0)
    async with used(workspace, {}, Answer("once")) as run:
        assert (await run.call("echo", text="yes")).content == "yes"
    async with used(workspace, {}) as run:
        assert run.notices == ""
        assert run.servers.tools()
    write_file(workspace, mine={"command": sys.executable, "args": [SMALL, "two"]})
    async with used(workspace, {}, Answer("no")) as run:
        assert "two" in run.notices
        assert run.servers.tools() == []


async def test_where_nobody_can_agree_they_start_only_if_settings_say_so(workspace: Path) -> None:
    write_file(workspace, mine={"command": sys.executable, "args": [SMALL]})
    async with used(workspace, {}) as run:
        assert "(mine): nobody is there to agree" in run.notices
        assert starts() == 0
    async with used(workspace, {"workspace": "always"}, always=True) as run:
        assert (await run.call("echo", text="so")).content == "so"
    async with used(workspace, {"workspace": "never"}) as run:
        assert (run.notices, run.servers.all) == ("", ())


def test_servers_of_a_workspace_are_not_given_keys_of_this_program(workspace: Path) -> None:
    write_file(workspace, one=small(env={"A": "${ANTHROPIC_API_KEY}"}), two=small(env={"A": "${OTHER:-x}"}))
    settings = check({}, "", None)
    found = configured(settings.mcp, workspace, workspace, secrets.variables(settings))
    assert [spec.fault for spec in found.specs] == [
        "it asks for ANTHROPIC_API_KEY, a key of this program",
        "",
    ]


async def test_a_file_that_cannot_be_used_says_why(workspace: Path) -> None:
    file = write_file(workspace, old={"type": "sse", "url": "http://x"}, odd={"command": 3}, small=small())
    async with used(workspace, answer=Answer("no")) as run:
        assert "old cannot be used: the old SSE transport is not spoken" in run.notices
        assert "odd cannot be used: command is no text" in run.notices
        assert [server.spec.origin for server in run.servers.all] == ["settings", "workspace", "workspace"]
    file.write_text("{")
    async with used(workspace, {}) as run:
        assert ".mcp.json is not JSON" in run.notices


# --- what a stranger lists


def test_names_are_in_the_alphabet_of_the_api_and_each_its_own() -> None:
    servers = listing.parts(["my server", "my_server", "a__b", "s" * 100])
    assert list(servers.values())[:3] == ["my_server", "my_server_2", "a_b"]
    tools = [("do it", "my server"), ("do_it", "my server"), ("do_it", "my_server"), ("c__d", "a__b")]
    long = [("x" * 200, "s" * 100), ("x" * 201, "s" * 100)]
    names = listing.names((servers[server], tool) for tool, server in [*tools, *long])
    assert names[:2] == ["mcp__my_server__do_it", "mcp__my_server__do_it_2"]
    assert names[2:4] == ["mcp__my_server_2__do_it", "mcp__a_b__c__d"]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 64


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, "its arguments are no object"),
        ({"type": "object", "properties": {"a b": {}}}, "endpoints do not take an argument called 'a b'"),
        ({"type": "object", "properties": {"a": {"description": "x" * 60_000}}}, "its schema is longer than"),
        ({"type": "object", "properties": []}, "its schema cannot be read"),
    ],
)
def test_a_tool_that_would_spoil_every_request_is_not_offered(schema: Any, fault: str) -> None:
    assert listing.checked("odd", "text", schema).fault.startswith(fault)


def test_a_description_is_kept_short_and_cannot_act() -> None:
    tool = listing.checked("x\x1b[2J", "a\x1b]0;title\x07b" + "c" * 5_000, {"anyOf": [], "$schema": "x"})
    assert tool.description.startswith("a␛]0;title␇bcc")
    assert len(tool.description) < 2_100
    assert tool.schema == {"type": "object", "properties": {}}


def test_the_lists_that_were_kept_are_for_their_user_alone(tmp_path: Path) -> None:
    tools = [listing.checked("one", "two", {"type": "object"})]
    listing.save(tmp_path, "key", tools)
    assert listing.load(tmp_path, "key") == tools
    assert os.stat(tmp_path / "tools" / "key.json").st_mode & 0o077 == 0
    (tmp_path / "tools" / "key.json").write_text("[1")
    assert listing.load(tmp_path, "key") is None


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "home"))
    place = tmp_path / "work"
    place.mkdir()
    assert config.folder().is_relative_to(tmp_path)
    return place
