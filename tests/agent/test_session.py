"""Sessions over time: travel, resuming, two programs, a disk that fails, and every request built again."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.engine import engine, reread, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tests.support.validity import check
from tui_agent.changes import LogFailed, LogRecovered, Rotated
from tui_agent.commands import CommandError
from tui_agent.context import Context, LogWriteError
from tui_agent.events import ModelChanged, Notice, SessionOpened, ToolProgress, TurnEnded
from tui_agent.messages.blocks import result_text
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionError, SessionFolder
from tui_agent.settings import secrets
from tui_agent.settings.schema import Approvals, Backups, Settings
from tui_agent.wiring import OpenError, open_session


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


def words(context: Context) -> list[str]:
    return [message.text for message in context.history]


async def test_revert_undo_and_redo_travel_and_say_where_the_rest_is(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(*(Reply.text(f"answer {n}") for n in range(3)))
    async with engine(tmp_path, server) as run:
        for number in range(3):
            await run.say(f"question {number}")
        whole = words(run.context)
        turns = run.session.timeline.turns()
        assert [turn.words for turn in turns] == ["question 0", "question 1", "question 2"]
        preview = await run.session.timeline.preview(turns[1].id)
        outcome = await run.session.perform("revert", str(turns[1].id))
        assert words(run.context) == whole[:2] == [message.text for message in preview]
        assert outcome.data["words"] == "question 1"
        assert run.all(Rotated)[-1].words == "question 1"
        assert (run.session.folder.path / str(outcome.data["backup"])).exists()
        await run.session.perform("undo")
        assert words(run.context) == whole
        await run.session.perform("redo")
        assert words(run.context) == whole[:2]
        await run.session.perform("restore", str(outcome.data["backup"]))
        assert words(run.context) == whole
        server.script(Reply.text("on"))
        await run.say("go on")
        with pytest.raises(CommandError):
            await run.session.perform("redo")


async def test_a_wrong_checkpoint_changes_nothing_and_says_the_range(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("hi"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        before = run.context.path.read_bytes()
        for wrong in ("99", "-1", "x"):
            with pytest.raises(CommandError):
                await run.session.perform("revert", wrong)
        with pytest.raises(CommandError, match="usage"):
            await run.session.perform("revert")
        with pytest.raises(CommandError, match="there is no command"):
            await run.session.perform("rvert", "1")
        assert run.context.path.read_bytes() == before


async def test_a_record_is_left_out_and_brought_back(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("a long answer " * 50), Reply.text("b"))
    async with engine(tmp_path, server) as run:
        await run.say("one")
        record = run.context.history[-1].id
        await run.session.perform("drop", record)
        assert words(run.context) == ["one"]
        await run.say("two")
        assert "a long answer" not in json.dumps(server.requests[-1])
        await run.session.perform("unelide", record)
        assert "a long answer" in words(run.context)[1]
        with pytest.raises(CommandError, match="not left out"):
            await run.session.perform("unelide", record)
        await run.session.perform("pin", record)
        assert run.context.marks(record)["pinned"] is True
        with pytest.raises(CommandError):
            await run.session.perform("elide", "no-such-record")


async def test_a_few_words_stand_for_a_record_and_say_where_it_is_whole(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "notes.txt").write_text("a line of notes\n" * 40)
    server.script(
        Reply.tools(("read_file", {"path": "notes.txt"})), Reply.text("a long answer " * 50), Reply.text("c")
    )
    async with engine(tmp_path, server) as run:
        await run.say("one")
        call, result, answer = run.context.history[1:4]
        before = run.context.token_count_with_pending
        for message in (call, result, answer):
            await run.session.perform("elide", message.id)
        assert run.context.token_count_with_pending < before
        await run.say("two")
        sent = json.dumps(server.requests[-1])
        assert "a long answer" not in sent
        assert f"[left out: text, 700 chars] (in full: record {answer.id})" in sent
        assert f"[truncated: read_file result, {len(result_text(result.content[0]))} chars]" in sent
        assert "[left out: the arguments of read_file]" in sent
        assert check(server.requests[-1]) == []
        batch = [record.id for record in run.context.records if record.role == "_elide"]
        assert len(batch) == 3
        await run.session.perform("unelide", batch[-1])
        assert "a long answer" in words(run.context)[-3]
        with pytest.raises(CommandError, match="not left out"):
            await run.session.perform("unelide", batch[-1])


async def test_a_killed_call_is_closed_when_the_session_opens_again(
    tmp_path: Path, server: ScriptedServer
) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from tests.support.engine import engine, scripted_settings
from tests.support.server import ScriptedServer

async def main():
    server = ScriptedServer(); server.url = sys.argv[2]
    async with engine(Path(sys.argv[1]), server, allow=["bash:sleep *"]) as run:
        await run.session.submit("sleep")
        from tui_agent.events import ToolStarted
        await run.until(ToolStarted, lambda e: bool(e.title))
        print("running", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""
    server.script(Reply.tools(("bash", {"command": "sleep 60"}), text="I sleep."))
    root = Path(__file__).parent.parent.parent
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path), server.url, cwd=root, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert await asyncio.wait_for(child.stdout.readline(), 30) == b"running\n"
    os.kill(child.pid, signal.SIGKILL)
    await child.wait()
    async with engine(tmp_path, server, resume="latest") as run:
        opened = run.all(SessionOpened)[0]
        assert opened.resumed and "cut off" in opened.repaired[0]
        assert run.context.history[-1].origin == "repair"
        server.script(Reply.text("awake"))
        await run.say("go on")
        assert words(run.context)[-1] == "awake"


async def test_a_second_program_is_told_who_writes_and_may_read(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("hi"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        async with engine(tmp_path, server, resume=run.session.id) as other:
            assert str(os.getpid()) in other.session.read_only
            assert words(other.context) == ["hi", "hi"]
            with pytest.raises(CommandError, match=str(os.getpid())):
                await other.session.submit("me too")
            with pytest.raises(CommandError):
                await other.session.perform("revert", "0")


async def test_without_a_key_the_demo_model_answers_and_says_so(tmp_path: Path) -> None:
    async with engine(tmp_path, settings=Settings()) as run:
        assert run.session.demo and "no AI" in run.session.model
        assert any("ANTHROPIC_API_KEY" in e.text for e in run.all(Notice))
        await run.say("hello")
        assert run.context.history[-1].role == "assistant"


async def test_another_model_answers_from_the_next_turn_on(tmp_path: Path, server: ScriptedServer) -> None:
    server.models = [
        {"type": "model", "id": "other-2", "display_name": "o", "created_at": "2026-02-01T00:00:00Z",
         "max_input_tokens": 64_000, "max_tokens": 2_000}
    ]  # fmt: skip
    server.script(Reply.thinking("hm", "one"), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        await run.say("one")
        await run.session.perform("model", "other-2")
        assert run.all(ModelChanged)[-1].window == 64_000
        await run.say("two")
        assert server.requests[-1]["model"] == "other-2"
        assert "thinking" not in json.dumps(server.requests[-1]["messages"])
        server.api_key = "needed now"
        with pytest.raises(CommandError, match="nonsense cannot be asked"):
            await run.session.perform("model", "nonsense")


async def test_a_session_in_which_nothing_was_said_leaves_nothing(tmp_path: Path, home: Path) -> None:
    async with engine(tmp_path):
        pass
    assert not list((home / "data" / "sessions").rglob("*"))


async def test_a_log_that_cannot_be_written_is_said_and_the_words_are_kept(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(Reply.text("hi"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
        before = run.context.path.read_bytes()
        write = os.write

        log = os.stat(run.context.path)

        def full(descriptor: int, data: bytes) -> int:
            if os.path.samestat(os.fstat(descriptor), log):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", full)
        await run.session.submit("lost?")
        await run.session.until_idle()
        assert run.all(LogFailed)
        assert [p.text for p in run.session.queue] == ["lost?"] and run.session.paused
        assert run.context.path.read_bytes() == before
        monkeypatch.setattr(os, "write", write)
        server.script(Reply.text("there"), Reply.text("here"))
        await run.session.submit("now")
        await run.session.until_idle()
        assert [m.text for m in run.context.history if m.is_words] == ["hi", "lost?", "now"]


async def test_the_stored_prompt_stays_in_force_when_files_change(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "AGENTS.md").write_text("old rules")
    server.script(Reply.text("hi"), Reply.text("again"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")
    (tmp_path / "AGENTS.md").write_text("new rules")
    async with engine(tmp_path, server, resume="latest") as run:
        assert any("instructions have changed" in e.text for e in run.all(Notice))
        await run.say("again")
    assert server.requests[0]["system"] == server.requests[1]["system"]


async def test_there_is_no_such_session(tmp_path: Path) -> None:
    for wrong in ("01ZZZZ", str(tmp_path)):
        with pytest.raises(OpenError):
            await open_session(tmp_path, Settings(profile="demo"), resume=wrong)


async def test_an_export_is_markdown_nothing_in_it_can_break_out_of(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "odd.md").write_text("````\n# not a heading\n```\n")
    server.script(Reply.tools(("read_file", {"path": "odd.md"})), Reply.text("done"))
    async with engine(tmp_path, server) as run:
        await run.say("read")
        await run.session.perform("export", "talk.md")
        text = (tmp_path / "talk.md").read_text()
        assert "`````result" in text and text.startswith("# read")
        with pytest.raises(CommandError, match="there already"):
            await run.session.perform("export", "talk.md")


async def test_a_crash_of_a_tool_is_a_result(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui_agent.tools.search import Glob

    async def crash(*arguments: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(Glob, "call", crash)
    server.script(Reply.tools(("glob", {"pattern": "*"})), Reply.text("ok"))
    async with engine(tmp_path, server) as run:
        assert (await run.say("look")).reason == "end_turn"
        assert "RuntimeError: boom" in str(server.requests[1]["messages"][-1])


async def test_the_turn_that_ends_is_told_with_its_steps(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.tools(("glob", {"pattern": "*"})), Reply.text("ok"))
    async with engine(tmp_path, server) as run:
        ended = await run.say("look")
        assert ended == run.all(TurnEnded)[-1] and ended.steps == 2
        assert (await reread(run)).n_checkpoints == 3


async def test_backups_are_pruned_only_when_settings_say_so(tmp_path: Path, server: ScriptedServer) -> None:
    settings = replace(scripted_settings(server), backups=Backups(keep=1))
    server.script(Reply.text("hi"))
    async with engine(tmp_path, server, settings=settings) as run:
        await run.say("hi")
        await run.session.perform("clear")
        await run.session.perform("undo")
        assert [b.name for b in run.context.backups() if b.exists] == ["context_2.jsonl"]
        assert any("context_1.jsonl" in e.text for e in run.all(Notice))


async def test_a_key_that_comes_in_pieces_is_not_shown(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-very-secret-value")
    settings = scripted_settings(server, api_key_env="SCRIPTED_KEY")
    secrets.watch(settings)
    command = "printf 'key sk-very-sec'; sleep 0.2; printf 'ret-value end'"
    server.script(Reply.tools(("bash", {"command": command})), Reply.text("ok"))
    async with engine(tmp_path, server, settings=settings) as run:
        await run.say("show")
        shown = "".join(e.text for e in run.all(ToolProgress))
        assert shown.startswith("key [redacted SCRIPTED_KEY] end")


async def test_going_on_where_nothing_was_begun_is_said(tmp_path: Path) -> None:
    async with engine(tmp_path, resume="latest") as run:
        assert any("new one" in e.text for e in run.all(Notice))


async def test_words_for_a_step_wait_on_if_the_disk_refuses_them(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = Hold()
    server.script(Reply.text("hi").holding(hold))
    async with engine(tmp_path, server) as run:
        await run.session.submit("first")
        await hold.reached.wait()
        await run.session.submit("second")
        append = Context.append_message

        async def refuse(self: Context, message: Any, **fields: Any) -> Any:
            if "second" in str(message):
                raise LogWriteError(self.path, errno.ENOSPC, "a record could not be written")
            return await append(self, message, **fields)

        monkeypatch.setattr(Context, "append_message", refuse)
        hold.release.set()
        await run.session.until_idle()
        assert [p.text for p in run.session.queue] == ["second"] and run.session.paused


@pytest.mark.parametrize("broken", ["prompt", "title"])
async def test_a_turn_that_cannot_begin_ends(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    async def no_prompt(self: Context, text: str, **fields: Any) -> Any:
        raise LogWriteError(self.path, errno.ENOSPC, "a record could not be written")

    def no_title(self: SessionFolder, **changes: Any) -> Any:
        raise SessionError("session.toml cannot be written")

    if broken == "prompt":
        monkeypatch.setattr(Context, "write_system_prompt", no_prompt)
    else:
        monkeypatch.setattr(SessionFolder, "save_meta", no_title)
        server.script(Reply.text("hi"))
    async with engine(tmp_path, server) as run:
        ended = await run.say("hello")
        if broken == "prompt":
            assert ended.reason == "failed" and run.all(LogFailed)
            assert [p.text for p in run.session.queue] == ["hello"]
        else:
            assert ended.reason == "end_turn" and run.session.title == "hello"
            with pytest.raises(CommandError, match=r"session\.toml"):
                await run.session.perform("rename", "other")


async def test_a_setting_that_is_no_rule_is_named_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    with pytest.raises(OpenError, match=r"settings\.toml: approvals\.allow: 'bash: ' is no rule"):
        await open_session(tmp_path, Settings(approvals=Approvals(allow=("bash: ",)), file=file))


async def test_a_log_that_another_program_changed_is_read_again(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("one"), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        await run.say("first")
        with run.context.path.open("ab") as file:
            file.write(b'{"role":"user","content":"theirs"}\n')
        assert (await run.say("second")).reason == "failed"
        assert run.all(Rotated)[-1].op == "reload"
        assert [p.text for p in run.session.queue] == ["second"]
        run.session.withdraw(run.session.queue[0].id)
        assert (await run.say("third")).reason == "end_turn"
        assert words(run.context) == ["first", "one", "theirs", "third", "two"]
        assert run.all(LogRecovered)


async def test_a_log_that_is_gone_is_not_begun_anew(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("one"))
    async with engine(tmp_path, server) as run:
        await run.say("first")
        run.context.path.unlink()
        for _ in range(2):
            assert (await run.say("second")).reason == "failed"
            assert not run.context.path.exists()
        assert words(run.context) == ["first", "one"]


async def test_a_disk_that_confirms_nothing_is_said_and_the_session_still_closes(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(Reply.text("hi"))
    async with engine(tmp_path, server) as run:
        await run.say("hi")

        def fail(descriptor: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "fdatasync", fail)
        monkeypatch.setattr(os, "fsync", fail)
        await run.session.submit("lost?")
        await run.session.until_idle()
        assert run.all(TurnEnded)[-1].reason == "failed"
        await run.session.close()
        assert run.all(LogFailed)
        monkeypatch.undo()
    assert (await reread(run)).history[0].text == "hi"


@pytest.mark.parametrize(
    "wrong", [("undo",), ("redo",), ("revert", "99"), ("revert",), ("restore", "context_9.jsonl")]
)
async def test_what_cannot_work_does_not_stop_a_turn(
    tmp_path: Path, server: ScriptedServer, wrong: tuple[str, ...]
) -> None:
    hold = Hold()
    server.script(Reply.text("one two").holding(hold))
    async with engine(tmp_path, server) as run:
        await run.session.submit("go")
        await asyncio.wait_for(hold.reached.wait(), 10)
        with pytest.raises(CommandError):
            await run.session.perform(*wrong)
        assert run.session.busy
        hold.release.set()
        await run.session.until_idle()
        assert run.all(TurnEnded)[-1].reason == "end_turn"


async def test_archiving_leaves_the_session_out_of_lists_until_it_is_taken_back(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        await run.say("hello")
        await run.session.perform("archive")
        assert Catalog().latest(tmp_path) is None
        outcome = await run.session.perform("unarchive")
        assert outcome.data == {"archived": False}
        latest = Catalog().latest(tmp_path)
        assert latest is not None
        assert latest.id == run.session.id
