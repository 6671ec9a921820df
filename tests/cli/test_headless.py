from __future__ import annotations

import asyncio
import errno
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ended, Inside, environment, session, start
from tests.support.hostile import TEXTS
from tests.support.script import Hold, Reply
from tests.support.served import Served
from tui_agent.context import Context, LogWriteError
from tui_agent.context.lease import Lease
from tui_agent.messages.exchange import open_calls
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.entry import Entry

SECONDS = 60


def ended(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=SECONDS)
    return Ended(process.returncode, out, err)


def only_session(workspace: Path) -> Entry:
    (entry,) = Catalog().list(workspace)
    return entry


def sound(entry: Entry) -> Context:
    """The session's log, without damage and without a call that waits."""
    context = Context(entry.folder.context_path, read_only=True)
    assert asyncio.run(context.restore())
    assert context.damage == []
    assert open_calls(context.history) == []
    return context


def test_the_answer_is_the_output(server: Served, run: Inside, shop: Path) -> None:
    server.script(Reply.text("Hello 東京.\nSecond line"))
    said = run("-p", "say hello")
    assert (said.code, said.out, said.err) == (0, "Hello 東京.\nSecond line\n", "")
    context = sound(only_session(shop))
    assert [message.role for message in context.history] == ["user", "assistant"]
    assert context.history[0].text == "say hello"


def test_blocks_of_an_answer_stand_on_lines_of_their_own(server: Served, run: Inside) -> None:
    texts = ({"type": "text", "text": text} for text in ("First.", "Second.\n", "Third."))
    server.script(Reply.blocks(*texts))
    assert run("-p", "say three things").out == "First.\nSecond.\nThird.\n"


def test_the_prompt_can_be_read_from_the_input(
    server: Served, run: Inside, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("from the pipe ö\n"))
    server.script(Reply.text("ok"))
    assert run("-p", "-").out == "ok\n"
    assert only_session(shop).first.strip() == "from the pipe ö"


def test_json_is_one_object(server: Served, run: Inside, shop: Path) -> None:
    (shop / "a.txt").write_text("alpha")
    server.script(
        Reply.tools(("read_file", {"path": "a.txt"}), text="I look.").using(
            input=100, output=10, cache_write=5
        ),
        Reply.text("It says alpha.").using(input=20, output=7, cache_read=90),
    )
    said = run("-p", "what does a.txt say?", "--output-format", "json")
    assert (said.code, said.err) == (0, "")
    data = said.data
    assert data["session"] == only_session(shop).id
    assert data["text"] == "It says alpha."
    assert data["stop_reason"] == "end_turn"
    assert data["usage"] == {"input": 120, "output": 17, "cache_read": 90, "cache_write": 5}
    (call,) = data["tool_calls"]
    assert (call["name"], call["input"], call["outcome"]) == ("read_file", {"path": "a.txt"}, "ok")
    assert set(data) == {"session", "text", "tool_calls", "usage", "cost", "stop_reason"}


def test_json_tells_what_the_run_and_the_session_cost_and_money_only_with_a_price(
    server: Served, run: Inside, shop: Path, home: Path
) -> None:
    def asked(*more: str) -> dict[str, Any]:
        server.script(Reply.text("hello").using(input=10_000, output=200, cache_read=30_000))
        cost: dict[str, Any] = run("-p", "hello", "--output-format", "json", *more).data["cost"]
        return cost

    cost = asked()
    assert cost["run"] == cost["session"]
    tokens = {"input": 10_000, "output": 200, "cache_read": 30_000, "cache_write": 0}
    assert {kind: cost["run"][kind] for kind in tokens} == tokens
    assert (cost["run"]["requests"], cost["run"]["hit_rate"]) == (1, 0.75)
    assert (cost["run"]["dollars"], cost["run"]["unpriced"]) == (None, 40_200)
    with (home / "config" / "settings.toml").open("a") as file:
        file.write('\n[prices."scripted-1"]\ninput = 2.0\noutput = 10.0\ncache_read = 0.2\n')
    cost = asked("--continue")
    assert (cost["run"]["requests"], cost["session"]["requests"]) == (1, 2)
    assert (cost["run"]["dollars"], cost["session"]["dollars"]) == (0.028, 0.056)
    assert cost["run"]["models"][0]["model"] == "scripted-1"


def test_stream_json_is_a_line_for_each_event(server: Served, run: Inside) -> None:
    server.script(Reply.tools(("glob", {"pattern": "*"})), Reply.text("done \u2028 it"))
    said = run("-p", "list", "--output-format", "stream-json")
    events = [json.loads(line) for line in said.out.split("\n")[:-1]]
    names = [event["event"] for event in events]
    for name in (
        "session_opened",
        "turn_started",
        "tool_started",
        "tool_ended",
        "usage_reported",
        "turn_ended",
    ):
        assert name in names
    assert "".join(event["text"] for event in events if event["event"] == "text_delta") == "done \u2028 it"


def test_nobody_can_be_asked_so_the_call_is_refused_and_the_model_is_told(
    server: Served, run: Inside, shop: Path
) -> None:
    server.script(Reply.tools(("bash", {"command": "touch made"})), Reply.text("Then not."))
    said = run("-p", "make it")
    assert (said.code, said.out) == (0, "Then not.\n")
    assert "refused" in said.err and "--allow" in said.err
    assert not (shop / "made").exists()
    result = server.requests[1]["messages"][-1]["content"][0]
    assert result["is_error"] and "Nobody can be asked" in json.dumps(result)
    assert "the person refused" not in json.dumps(result)


def test_rules_on_the_command_line_allow_calls(server: Served, run: Inside, shop: Path) -> None:
    server.script(
        Reply.tools(("bash", {"command": "touch made"}), ("write_file", {"path": "b.txt", "content": "b"})),
        Reply.text("Done."),
    )
    said = run("-p", "make it", "--allow", "bash:touch made", "write_file")
    assert (said.code, said.out, said.err) == (0, "Done.\n", "")
    assert (shop / "made").exists()
    assert (shop / "b.txt").read_text() == "b"


PLAN = {"title": "a report", "text": "Why: it is missing.", "steps": ["write it", "test it"]}
WRITE = ("write_file", {"path": "b.txt", "content": "b"})


def test_a_plan_is_the_answer_and_ends_the_turn(server: Served, run: Inside, shop: Path) -> None:
    server.script(Reply.tools(WRITE), Reply.tools(("present_plan", PLAN), WRITE, text="I have a plan."))
    said = run("-p", "plan it", "--mode", "plan", "--allow", "write_file", "bash")
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "I have a plan.\n# a report\n\nWhy: it is missing.\n\n## Steps\n\n1. write it\n2. test it\n"
    )
    assert not (shop / "b.txt").exists() and len(server.requests) == 2
    assert "plan mode is on" in json.dumps(server.requests[1]["messages"][-1])
    context = sound(only_session(shop))
    assert context.state["mode"] == "plan" and "plan" not in context.state


def test_a_plan_is_a_part_of_the_object(server: Served, run: Inside) -> None:
    server.script(Reply.tools(("present_plan", PLAN)))
    data = run("-p", "plan it", "--output-format", "json").data
    assert data["stop_reason"] == "planned" and "2. test it" in data["plan"]


def test_files_are_edited_without_asking_where_that_is_said(server: Served, run: Inside, shop: Path) -> None:
    server.script(Reply.tools(WRITE, ("bash", {"command": "touch made"})), Reply.text("Done."))
    said = run("-p", "make it", "--mode", "auto-edit")
    assert (shop / "b.txt").exists() and not (shop / "made").exists()
    assert "refused: bash: touch made" in said.err


def test_it_goes_on_with_the_last_session_or_a_named_one(server: Served, run: Inside, shop: Path) -> None:
    server.script(Reply.text("one"), Reply.text("two"), Reply.text("three"))
    run("-p", "first")
    made = only_session(shop)
    run("-p", "second", "--continue")
    run("-p", "third", "--resume", made.id[:14])
    assert only_session(shop).id == made.id
    words = [message["content"][0]["text"] for message in server.requests[2]["messages"][::2]]
    assert words == ["first", "second", "third"]
    said = run("-p", "x", "--resume", "01ARZ3NDEK")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)


def test_what_is_proposed_to_be_remembered_waits_and_is_said(server: Served, run: Inside, shop: Path) -> None:
    server.script(
        Reply.text('Noted.<memory scope="user" key="indent">Uses tabs.</memory><memory key="x">3</memory>'),
        Reply.text("yes"),
    )
    done = run("-p", "remember that I use tabs")
    assert done.out == "Noted.\n"
    assert "noted for this session: x;" in done.err
    assert "if you agree: indent: Uses tabs.; tui-agent memory accept " in done.err
    accepted = run("memory", "accept", "indent")
    assert accepted.code == 0
    run("-p", "what do you know?")
    assert "[user] indent: Uses tabs." in str(server.requests[-1]["system"])


def test_what_is_appended_to_the_system_prompt_is_sent(server: Served, run: Inside) -> None:
    server.script(Reply.text("ok"))
    run("-p", "x", "--append-system", "Answer in verse.")
    assert "Answer in verse." in json.dumps(server.requests[0]["system"])


def test_context_request_is_what_the_next_prompt_sends(server: Served, run: Inside, shop: Path) -> None:
    (shop / "a.txt").write_text("alpha")
    server.script(Reply.tools(("read_file", {"path": "a.txt"})), Reply.text("one"), Reply.text("two"))
    run("-p", "first")
    told = run("context", "request").data
    run("-p", "second", "--continue")
    sent = server.requests[2]
    for key in ("system", "tools", "model", "max_tokens"):
        assert _uncached(told[key]) == _uncached(sent[key])
    assert _uncached(told["messages"])[:4] == _uncached(sent["messages"])[:4]  # type: ignore[index]


def _uncached(value: object) -> object:
    if isinstance(value, dict):
        return {key: _uncached(item) for key, item in value.items() if key != "cache_control"}
    return [_uncached(item) for item in value] if isinstance(value, list) else value


def test_of_words_that_do_not_fit_it_is_said_once_with_what_helps_in_a_shell(
    server: Served, run: Inside, shop: Path, home: Path
) -> None:
    settings = home / "config" / "settings.toml"
    settings.write_text(settings.read_text().replace("200_000", "8_000"))
    failed = run("-p", "long words " * 4_000)
    assert (failed.code, failed.err.count("not compacted: ")) == (1, 1)
    (number,) = [record.line for record in sound(only_session(shop)).records if record.role == "user"]
    assert f"(tui-agent context edit {number} TEXT)" in failed.err
    assert "(/" not in failed.err


def test_a_refused_request_names_its_record_and_each_way_out_works_in_a_shell(
    server: Served, run: Inside, shop: Path
) -> None:
    (shop / "a.txt").write_text("UGLY text")
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}}
    refused = Reply.error(400, "messages.2.content.0.tool_result: no")
    server.script(Reply.blocks(call, stop_reason="tool_use"), refused, Reply.text("done"))
    failed = run("-p", "read it")
    assert (failed.code, failed.err.count("\n")) == (1, 1)
    number = only_record(shop, "tool")
    assert f"Record {number} is meant: the result of read_file" in failed.err
    for way in (
        f"tui-agent context drop {number}",
        f"tui-agent context edit {number} TEXT",
        'tui-agent --continue -p "go on"',
    ):
        assert f"({way})" in failed.err
    assert "(/" not in failed.err
    assert run("context", "edit", str(number), "nothing of interest").code == 0
    assert run("--continue", "-p", "go on").out == "done\n"
    assert server.requests[-1]["messages"][2]["content"][0]["content"] == "nothing of interest"


def test_what_is_mended_of_a_log_that_is_taken_in_is_said(
    server: Served, run: Inside, tmp_path: Path
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    lines = [{"role": "user", "content": "first"}, {"role": "assistant", "content": [call]}]
    lines += [{"role": "user", "content": "second"}, {"role": "assistant", "content": "heard"}]
    log = tmp_path / "elsewhere.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    server.script(Reply.text("hello"))
    said = run("--resume", str(log), "-p", "hello")
    assert (said.code, said.out) == (0, "hello\n")
    assert "1 x missing_result: a call has a result in the next message" in said.err
    assert "(record 2)" in said.err


def only_record(workspace: Path, origin: str) -> int:
    """The number of the one record of that origin."""
    (line,) = [r.line for r in sound(only_session(workspace)).records if r.origin == origin]
    return line


def test_a_failure_is_one_line_and_code_1(server: Served, run: Inside, shop: Path) -> None:
    server.script(Reply.error(401), Reply.error(401))
    said = run("-p", "x")
    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    sound(only_session(shop))
    said = run("-p", "x", "--output-format", "json", "--continue")
    assert (said.code, said.data["stop_reason"], bool(said.data["error"])) == (1, "failed", True)


def test_a_log_that_cannot_be_begun_ends_the_run(
    server: Served, run: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: Context, text: str, **fields: object) -> None:
        raise LogWriteError(self.path, errno.ENOSPC, "a record could not be written", ("free some space",))

    monkeypatch.setattr(Context, "write_system_prompt", refuse)
    said = run("-p", "x", "--output-format", "json")
    assert (said.code, said.data["stop_reason"]) == (1, "failed")
    assert said.data["error"].lower().count("free some space") == 1


def test_an_answer_cut_short_says_so(server: Served, run: Inside) -> None:
    server.script(Reply.text("half", stop_reason="max_tokens"))
    said = run("-p", "x")
    assert (said.code, said.out) == (0, "half\n")
    assert "max_tokens" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_while_the_model_answers_leaves_a_sound_session(
    server: Served, run: Inside, shop: Path, number: signal.Signals
) -> None:
    hold = Hold()
    server.script(
        Reply.text("a long answer that is never finished").holding(hold, after=1), Reply.text("again")
    )
    process = start("-p", "first", cwd=shop)
    server.wait(hold.reached)
    process.send_signal(number)
    assert ended(process).code == 128 + number
    sound(only_session(shop))
    server.let_go(hold)
    assert run("-p", "second", "--continue").out == "again\n"


def test_an_interrupt_while_a_tool_runs_stops_it_and_leaves_a_sound_session(
    server: Served, run: Inside, shop: Path
) -> None:
    command = "echo $$ > pid; touch started; sleep 300"
    server.script(Reply.tools(("bash", {"command": command})), Reply.text("again"))
    process = start("-p", "first", "--allow", "bash", cwd=shop)
    deadline = time.monotonic() + SECONDS
    while not (shop / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    assert not Path(f"/proc/{(shop / 'pid').read_text().strip()}").exists()
    assert sound(only_session(shop)).history[-1].role == "user"
    assert run("-p", "second", "--continue").out == "again\n"


def test_nobody_reading_stops_the_turn_quietly(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("word " * 2000).holding(hold, after=50))
    process = start("-p", "talk", cwd=shop)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    server.wait(hold.reached)
    process.stdout.close()
    server.let_go(hold)
    err = process.stderr.read()
    assert (process.wait(SECONDS), err) == (1, "")
    process.stderr.close()
    sound(only_session(shop))


def test_nohup_outlives_a_hangup(server: Served, shop: Path) -> None:
    hold = Hold()
    server.script(Reply.text("to the end").holding(hold, after=1))
    script = f"trap '' HUP; exec {sys.executable} -m tui_agent -p x"
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        cwd=shop,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    server.wait(hold.reached)
    process.send_signal(signal.SIGHUP)
    server.let_go(hold)
    assert ended(process).out == "to the end\n"


def test_hostile_answers_are_passed_on_to_a_pipe_as_they_are(server: Served, run: Inside) -> None:
    text = TEXTS["osc 52"] + TEXTS["bidi override"]
    server.script(Reply.text(text), Reply.text(text))
    assert run("-p", "x").out == text + "\n"
    assert run("-p", "x", "--output-format", "json").data["text"] == text


def test_hostile_commands_in_refusals_do_not_act(server: Served, run: Inside) -> None:
    server.script(Reply.tools(("bash", {"command": "echo \x1b]52;c;eA==\x07 \u202e"})), Reply.text("ok"))
    said = run("-p", "x")
    assert "refused" in said.err
    assert not set(said.err) & {"\x1b", "\x07", "\u202e"}


def test_a_key_never_reaches_output_or_log(
    server: Served, run: Inside, shop: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "config" / "settings.toml"
    file.write_text(file.read_text().replace('auth = "none"', 'auth = "x-api-key"\napi_key_env = "SHOP_KEY"'))
    monkeypatch.setenv("SHOP_KEY", "sk-shop-12345678")
    server.script(Reply.tools(("bash", {"command": "echo $SHOP_KEY"})), Reply.text("ok"))
    said = run("-p", "x", "--allow", "bash", "--output-format", "stream-json")
    assert said.code == 0
    assert server.headers[0]["x-api-key"] == "sk-shop-12345678"
    assert "sk-shop-12345678" not in said.out + said.err
    for path in only_session(shop).path.rglob("*"):
        assert not path.is_file() or b"sk-shop-12345678" not in path.read_bytes()


def test_without_a_key_the_demo_model_answers_and_it_is_said(run: Inside) -> None:
    said = run("-p", "hello")
    assert said.code == 0
    assert said.out.strip()
    assert "demo model" in said.err
    assert run("-p", "hello", "--demo", "--output-format", "json").data["text"]


def test_a_session_that_is_written_elsewhere_is_not_written(server: Served, run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    lease = Lease(made.lock_path)
    lease.acquire()
    try:
        said = run("-p", "x", "--continue")
    finally:
        lease.release()
    assert said.code == 1
    assert "process" in said.err
    assert server.requests == []


def test_a_goal_is_worked_on_until_it_is_complete_or_its_budget_is_spent(
    server: Served, run: Inside, shop: Path
) -> None:
    server.script(
        Reply.text("a beginning"),
        Reply.tools(("goal", {"status": "complete", "reason": "it is there"}), ("bash", {"command": "ls"})),
        Reply.text("the end"),
        Reply.text("not yet"),
    )
    said = run("-p", "build it", "--goal", "turns=5", "--output-format", "json")
    assert said.code == 0
    goal = json.loads(said.out)["goal"]
    assert (goal["text"], goal["status"], goal["spent"]["turns"]) == ("build it", "complete", 2)
    said = run("-p", "clear it", "--goal", "turns=1")
    assert (said.code, said.out) == (1, "not yet\n")
    assert "out of budget: 1 of 1 turns are spent" in said.err
    opens = f"tui-agent --resume {Catalog().list()[0].id}"
    assert f"to go on with the goal: {opens}\n" in said.err
    said = run("-p", "go on", "--continue", "--goal", "turns=1")
    assert (said.code, said.out) == (1, "")
    assert f"a goal already (paused): {opens} shows it" in said.err
    for wrong in (("--goal", "turns"), ("--goal", "turns=none=1"), ("--goal", "turns=0")):
        assert run("-p", "build it", *wrong).code == 1


def test_an_empty_prompt_is_refused(run: Inside) -> None:
    said = run("-p", "  ")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert Catalog().list() == []
