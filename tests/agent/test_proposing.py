"""From a marker in an answer to a proposal that waits: once, whatever happens in between; a person decides."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.engine import Run, engine, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent import paths
from tui_agent.agent.past import requests
from tui_agent.changes import MemoryChanged, MemoryProposed
from tui_agent.context import Context
from tui_agent.events import Notice, ReplyEnded, TextDelta, TurnEnded
from tui_agent.memory.schema import Memory
from tui_agent.memory.store import MemoryStore
from tui_agent.sessions.folder import SessionError
from tui_agent.settings.schema import Memory as MemorySettings
from tui_agent.wiring import catalog

TABS = '<memory scope="user" key="indent">Uses tabs.</memory>'


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


def stored() -> list[Memory]:
    return list(MemoryStore(paths.memory_db()).list())


def shown(run: Run) -> str:
    return "".join(event.text for event in run.all(TextDelta))


def notices(run: Run) -> list[str]:
    return [notice.text for notice in run.all(Notice) if notice.source == "memory"]


def pieces(text: str, size: int = 3) -> Reply:
    """An answer that comes in small pieces."""
    return Reply.blocks({"type": "text", "text": [text[at : at + size] for at in range(0, len(text), size)]})


async def test_a_marker_is_never_shown_stays_on_disk_and_waits_for_a_person(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(pieces(f"Noted.\n{TABS}\nDone."), Reply.text("yes"))
    async with engine(tmp_path, server) as run:
        await run.say("remember that I use tabs")
        assert "memory" not in shown(run) and shown(run).split() == ["Noted.", "Done."]
        assert run.all(ReplyEnded)[0].text.split() == ["Noted.", "Done."]
        assert TABS in run.context.history[-1].text
        (proposed,) = run.all(MemoryProposed)
        assert (proposed.scope, proposed.key, proposed.body) == ("user", "indent", "Uses tabs.")
        assert proposed.record == run.context.history[-1].id and not proposed.outside and not proposed.old
        order = [
            type(event) for event in run.heard if isinstance(event, ReplyEnded | MemoryProposed | TurnEnded)
        ]
        assert order == [ReplyEnded, MemoryProposed, TurnEnded]
        trace = run.session.folder.events_path.read_text()
        assert '"memory_proposed"' in trace and "tabs" not in trace and "indent" not in trace
        (waiting,) = stored()
        assert (waiting.status, waiting.tainted) == ("proposed", False)
        assert list(run.session.memories.waiting()) == [proposed]
        await run.say("what do you know?")
        assert TABS in str(server.requests[-1]["messages"][1])
        assert "Uses tabs" not in str(server.requests[-1]["messages"][2:])
        await run.session.perform("accept", proposed.id)
        assert [m.status for m in stored()] == ["accepted"]


async def test_what_is_read_back_copied_and_exported_is_clean(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text(f"Noted. {TABS}"))
    async with engine(tmp_path, server) as run:
        await run.say(f"what does {TABS} do?")
        await run.session.perform("export", "talk.md")
        assert "Noted." in (tmp_path / "talk.md").read_text()
        assert (tmp_path / "talk.md").read_text().count("<memory") == 2  # in its title and in the words
    async with engine(tmp_path, server, resume="latest") as run:
        words, answer = run.context.shown
        assert TABS in words.text and answer.text.strip() == "Noted."
        await run.session.perform("clear")
        (backup,) = run.context.backups()
        assert (await run.context.backup(backup.name)).shown[-1].text.strip() == "Noted."


async def test_a_session_memory_holds_at_once_and_is_said(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("<memory>We look at a.py.</memory>Fine."), Reply.text("yes"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert [m.status for m in stored()] == ["accepted"]
        assert [(event.what, event.scope) for event in run.all(MemoryChanged)] == [("accepted", "session")]
        await run.say("on")
        assert "[session] We look at a.py." in server.requests[-1]["messages"][-1]["content"][1]["text"]


async def test_what_was_refused_is_not_asked_again(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(*(Reply.text(TABS) for _ in range(3)))
    async with engine(tmp_path, server) as run:
        await run.say("one")
        await run.say("two")
        assert any("waits for an answer: indent" in text for text in notices(run))
        await run.session.perform("reject", run.all(MemoryProposed)[0].id)
        await run.say("three")
        again = run.all(MemoryProposed)[-1]
        assert again.refused and again.record == run.context.history[-1].id
        assert [m.status for m in stored()] == ["rejected"] and not run.session.memories.waiting()


async def test_what_is_remembered_already_is_said_and_another_text_is_a_replacement(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS), Reply.text(TABS.replace("tabs", "spaces")))
    async with engine(tmp_path, server) as run:
        await run.session.perform("remember", "indent: Uses tabs.")
        await run.say("one")
        assert not run.all(MemoryProposed) and any("remembered already" in text for text in notices(run))
        await run.say("two")
        (proposed,) = run.all(MemoryProposed)
        assert (proposed.old, proposed.body) == ("Uses tabs.", "Uses spaces.")


async def test_malformed_markers_are_said_and_the_others_stand(
    tmp_path: Path, server: ScriptedServer
) -> None:
    bad = '<memory scope="team" key="x">y</memory>'
    server.script(Reply.text(f"{bad}\n{TABS}\n`{TABS}`\n"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert len(stored()) == 1
        assert any("not stored" in text for text in notices(run))
        assert shown(run).strip() == f"`{TABS}`"


async def test_many_malformed_markers_are_said_in_a_few_notices(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("<memory/>" * 50), Reply.text("<memory/>" * 3))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert len(notices(run)) == 4
        assert notices(run)[-1] == "47 more <memory> markers of this answer are not stored"
        await run.say("go")
        assert len(notices(run)) == 7


async def test_markers_in_several_blocks_of_one_answer_are_several(
    tmp_path: Path, server: ScriptedServer
) -> None:
    same = [{"type": "text", "text": f'<memory scope="user" key="k{n}">same</memory>'} for n in range(2)]
    server.script(Reply.blocks(*same))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert sorted(m.key for m in stored()) == ["k0", "k1"]


async def test_nothing_is_taken_from_an_answer_that_was_interrupted(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    server.script(pieces(f"{TABS} and so on").holding(hold, after=20))
    async with engine(tmp_path, server) as run:
        await run.session.submit("go")
        await run.until(TextDelta)
        await hold.reached.wait()
        await run.session.cancel()
        assert stored() == [] and not run.all(MemoryProposed)
        assert any("interrupted: user indent" in text for text in notices(run))
    async with engine(tmp_path, server, resume="latest") as run:
        assert stored() == [] and not run.all(MemoryProposed)
        assert TABS in str([m.text for m in run.context.history])


async def test_nothing_is_taken_from_an_answer_that_broke_off_or_was_refused(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS, stop_reason="refusal"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        assert stored() == []
        assert any("refused to answer: user indent" in text for text in notices(run))
    async with engine(tmp_path, server, resume="latest") as run:
        assert stored() == []


async def test_markers_of_others_are_none(tmp_path: Path, server: ScriptedServer) -> None:
    (tmp_path / "notes.md").write_text(TABS)
    server.script(
        Reply.tools(("read_file", {"path": "notes.md"})), Reply.text("read"), Reply.thinking(TABS, "thought")
    )
    async with engine(tmp_path, server) as run:
        await run.say(f"look at {TABS}")
        await run.session.perform("run", f"echo '{TABS}'")
        await run.say("think")
        assert stored() == []


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (("read_file", {"path": "notes.md"}), "notes.md"),
        (("bash", {"command": "cat notes.md"}), "cat notes.md"),
        (("grep", {"pattern": "x"}), "x"),
        (("todo", {"items": [{"text": "x", "status": "active"}]}), None),
    ],
)
async def test_a_proposal_says_what_its_turn_had_read(
    tmp_path: Path, server: ScriptedServer, call: tuple[str, dict[str, Any]], named: str | None
) -> None:
    (tmp_path / "notes.md").write_text("x")
    server.script(Reply.tools(call), Reply.text(TABS), Reply.text(TABS.replace("indent", "later")))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.say("and now, with nothing read")
        first, second = run.all(MemoryProposed)
        assert bool(first.outside) == (named is not None)
        assert named is None or named in first.outside[0]
        assert second.outside == ()
        assert {m.key: m.tainted for m in stored()} == {"indent": named is not None, "later": False}


async def test_a_refused_call_taints_nothing_and_a_persons_own_command_does(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS), Reply.text(TABS.replace("indent", "later")))
    async with engine(tmp_path, server) as run:
        await run.session.perform("run", "echo hello")
        await run.say("go")
        await run.say("again")
        first, second = run.all(MemoryProposed)
        assert first.outside == ("echo hello",) and second.outside == ()


async def test_a_proposal_whose_store_was_never_reached_is_there_once_after_the_next_open(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(f"{TABS} <memory>noted</memory>"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        record = run.context.history[-1].id
    for file in paths.memory_db().parent.glob("memory.db*"):
        file.unlink()
    for opened in range(2):
        async with engine(tmp_path, server, resume="latest") as run:
            assert sorted((m.key, m.status) for m in stored()) == [("", "accepted"), ("indent", "proposed")]
            assert len(run.all(MemoryProposed)) == (0 if opened else 1)
            assert [waiting.record for waiting in run.session.memories.waiting()] == [record]


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from types import SimpleNamespace
from tests.support.engine import scripted_settings
from tui_agent.memory.proposals import Proposals
from tui_agent.wiring import open_session

def killed(*arguments):
    os._exit(9)

async def main():
    session = await open_session(Path(sys.argv[2]), scripted_settings(SimpleNamespace(url=sys.argv[1])))
    Proposals.take = killed
    await session.submit("go")
    await session.until_idle()

asyncio.run(main())
"""


async def test_a_kill_between_the_answer_and_the_store_loses_nothing(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS))
    program = (sys.executable, "-c", _KILLED, server.url, str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert await (await asyncio.create_subprocess_exec(*program, env=environment)).wait() == 9
    assert not paths.memory_db().exists()
    async with engine(tmp_path, server, resume="latest") as run:
        assert [(m.key, m.status) for m in stored()] == [("indent", "proposed")]
        assert [event.key for event in run.all(MemoryProposed)] == ["indent"]


async def test_what_a_person_decided_is_not_made_again_by_the_next_open(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.session.perform("forget", run.all(MemoryProposed)[0].id)
    async with engine(tmp_path, server, resume="latest") as run:
        assert stored() == [] and not run.all(MemoryProposed)


async def test_a_log_of_others_proposes_nothing_when_it_is_opened(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text(TABS))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        path = run.context.path
    (tmp_path / "copied.jsonl").write_bytes(path.read_bytes())
    for file in paths.memory_db().parent.glob("memory.db*"):
        file.unlink()
    async with engine(tmp_path, server, resume=str(tmp_path / "copied.jsonl")) as run:
        assert [m.text for m in run.context.history][-1] == TABS
        assert stored() == [] and not run.all(MemoryProposed)


async def test_without_keep_markers_the_model_is_sent_what_a_person_sees(
    tmp_path: Path, server: ScriptedServer
) -> None:
    settings = replace(scripted_settings(server), memory=MemorySettings(keep_markers=False))
    server.script(Reply.text(f"Noted. {TABS}"), Reply.text(TABS.replace("indent", "x")), Reply.text("end"))
    async with engine(tmp_path, server, settings=settings) as run:
        for words in ("one", "two", "three"):
            await run.say(words)
        sent = [m["content"][0]["text"] for m in server.requests[-1]["messages"] if m["role"] == "assistant"]
        assert sent == ["Noted.", "[proposed something to remember]"]
        assert TABS in str(run.context.record(run.all(ReplyEnded)[0].record).body)
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_two_sessions_at_once_propose_and_decide(tmp_path: Path, server: ScriptedServer) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        name = body["messages"][-1]["content"][0]["text"]
        return Reply.text(f'<memory scope="user" key="{name}">x {name}</memory>')

    server.always(answer)
    async with engine(tmp_path, server) as first, engine(tmp_path, server) as second:

        async def work(run: Run, name: str) -> None:
            for number in range(6):
                await run.say(f"{name}{number}")
                await run.session.perform("accept", run.all(MemoryProposed)[-1].id)

        await asyncio.gather(work(first, "a"), work(second, "b"))
        assert sorted(m.key for m in stored() if m.status == "accepted") == sorted(
            f"{name}{number}" for name in "ab" for number in range(6)
        )
        assert not [n for n in (*first.all(Notice), *second.all(Notice)) if n.level != "info"]


async def test_the_demo_model_proposes_and_tells_what_the_request_tells_it(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:

        async def recalled() -> str:
            await run.say("what do you remember?")
            return run.context.history[-1].text

        await run.say("remember that I use tabs")
        (proposed,) = run.all(MemoryProposed)
        assert (proposed.scope, proposed.body) == ("user", "I use tabs")
        assert "Nothing is remembered yet" in await recalled()
        await run.session.perform("accept", proposed.id, "I", "use", "spaces")
        assert "I use spaces" in await recalled()
        await run.session.perform("amend", proposed.id, "I use both")
        assert "I use both" in await recalled()
        await run.session.perform("unmemory", proposed.id)
        assert "I use spaces" in await recalled()
        await run.session.perform("forget", proposed.id)
        assert "Nothing is remembered yet" in await recalled()
    async with engine(tmp_path) as run:
        await run.session.perform("remember", "indent: I use tabs")
        await run.say("remember indent: I use spaces")
        assert run.all(MemoryProposed)[-1].old == "I use tabs"


# --- travel ----------------------------------------------------------------------------------------------------------


def statuses() -> dict[str, str]:
    return {memory.key: memory.status for memory in stored()}


async def talked(run: Run, server: ScriptedServer, *keys: str) -> None:
    server.script(*(Reply.text(f'<memory scope="user" key="{key}">about {key}</memory>') for key in keys))
    for key in keys:
        await run.say(f"say {key}")


async def test_what_came_from_an_undone_turn_is_set_aside_and_returns_with_it(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await talked(run, server, "a", "b", "c")
        await run.session.perform("accept", "b")
        turns = run.session.timeline.turns()
        await run.session.perform("revert", str(turns[1].id))
        assert statuses() == {"a": "proposed", "b": "suspended", "c": "suspended"}
        server.script(Reply.text("yes"))
        await run.session.perform("undo")
        assert statuses() == {"a": "proposed", "b": "accepted", "c": "proposed"}
        await run.session.perform("redo")
        assert statuses() == {"a": "proposed", "b": "suspended", "c": "suspended"}
        await run.say("what do you know?")
        assert "about b" not in str(server.requests[-1])
        assert [e.what for e in run.all(MemoryChanged) if e.what in ("suspended", "resumed")] == [
            *["suspended"] * 2, *["resumed"] * 2, *["suspended"] * 2,
        ]  # fmt: skip


async def test_a_kill_between_the_revert_and_the_store_is_made_up_for_by_the_next_open(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        await talked(run, server, "a", "b")
        path, turn = run.context.path, run.session.timeline.turns()[1].id
    context = Context(path)
    await context.restore()
    await context.revert_to(turn)
    await context.close()
    assert statuses() == {"a": "proposed", "b": "proposed"}
    async with engine(tmp_path, server, resume="latest") as run:
        assert statuses() == {"a": "proposed", "b": "suspended"}
        await run.session.perform("undo")
        assert statuses() == {"a": "proposed", "b": "proposed"}


async def test_what_was_cleared_away_stays_remembered(tmp_path: Path, server: ScriptedServer) -> None:
    async with engine(tmp_path, server) as run:
        await talked(run, server, "a")
        await run.session.perform("clear")
        assert statuses() == {"a": "proposed"}
        await talked(run, server, "b", "c")
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        assert statuses() == {"a": "proposed", "b": "proposed", "c": "suspended"}
    async with engine(tmp_path, server, resume="latest") as run:
        assert statuses() == {"a": "proposed", "b": "proposed", "c": "suspended"}


# --- a session's life ------------------------------------------------------------------------------------------------


async def test_what_a_session_noted_ends_when_it_is_archived_and_returns_with_it(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("<memory>We look at a.py.</memory>Fine."))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.session.perform("archive")
        assert stored() == []
        await run.session.perform("unarchive")
        assert [m.body for m in stored()] == ["We look at a.py."]
        assert [event.what for event in run.all(MemoryChanged)] == ["accepted", "deleted", "resumed"]
        session = run.session.id
    catalog().delete(session)
    assert stored() == []
    catalog().undelete(session)
    assert [m.body for m in stored()] == ["We look at a.py."]


async def test_words_said_to_an_archived_session_bring_it_back_whole_and_it_says_so(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("<memory>We look at a.py.</memory>Fine."), *[Reply.text("x")] * 3)
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.say("on")
        session = run.session.id
    catalog().archive(session)
    async with engine(tmp_path, server, resume=session) as run:
        assert stored() == [], "it was only opened"
        assert "archived" in str([notice.text for notice in run.all(Notice)])
        await run.say("and now?")
        assert [m.body for m in stored()] == ["We look at a.py."]
        assert "it is in the usual lists again, with 1 memory of it" in str(run.all(Notice))
        told = [message for message in server.requests[-1]["messages"] if "We look at a.py." in str(message)]
        assert [message["role"] for message in told] == ["assistant", "user"], "and nothing takes it back"
        assert catalog().latest(tmp_path) is not None
        await run.session.perform("archive")
        assert stored() == []
        run.heard.clear()
        await run.say("once more")
        assert "with 1 memory of it" in str(run.all(Notice))
    async with engine(tmp_path, server, resume=session) as run:
        assert "archived" not in str(run.all(Notice))


async def test_an_archived_session_that_cannot_come_back_says_so_and_goes_on(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(Reply.text("Fine."), Reply.text("x"))
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.session.perform("archive")

        def refuse(**changes: object) -> None:
            raise SessionError("the disk is full")

        monkeypatch.setattr(run.session.folder, "save_meta", refuse)
        assert (await run.say("on")).reason == "end_turn"
        assert "stays archived" in str(run.all(Notice))
        assert "the disk is full" in str(run.all(Notice))


async def test_a_copy_of_a_session_takes_its_notes_along(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(
        Reply.text("<memory>one</memory>Fine."), Reply.text("<memory>two</memory>Fine."), Reply.text("x")
    )
    async with engine(tmp_path, server) as run:
        await run.say("go")
        await run.session.perform("clear")
        await run.say("on")
        folder, (backup,) = run.session.folder.path, run.context.backups()
    async with engine(tmp_path, server, resume=str(folder / backup.name)) as run:
        await run.say("what do you know?")
        assert "[session] one" in str(server.requests[-1]) and "[session] two" not in str(server.requests[-1])
        copy = run.session.id
    async with engine(tmp_path, server, resume=copy) as run:
        assert [m.body for m in run.session.memories.list() if m.session_id == copy] == ["one"]


async def test_a_cancelled_turn_sees_its_answer_stored_through(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = asyncio.Event(), threading.Event()
    loop, propose = asyncio.get_running_loop(), MemoryStore.propose

    def slow(store: MemoryStore, memory: Memory) -> Any:
        loop.call_soon_threadsafe(reached.set)
        go_on.wait(20)
        return propose(store, memory)

    monkeypatch.setattr(MemoryStore, "propose", slow)
    server.script(Reply.text(TABS))
    async with engine(tmp_path, server) as run:
        await run.session.submit("go")
        await reached.wait()
        cancelled = asyncio.create_task(run.session.cancel())
        await asyncio.sleep(0)
        go_on.set()
        await cancelled
        await run.until(MemoryProposed)
        assert [m.status for m in stored()] == ["proposed"]
        assert not run.context.history[-1].partial


async def test_what_another_process_accepts_is_in_the_next_request_of_one_that_runs(
    tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "elsewhere").mkdir()
    server.script(Reply.text(TABS), Reply.text("yes"), Reply.text("yes"))
    async with engine(tmp_path, server) as run:
        await run.say("begun before")
        accept = (sys.executable, "-m", "tui_agent", "memory", "accept", "indent")
        done = await asyncio.create_subprocess_exec(
            *accept, cwd=tmp_path / "elsewhere", stdout=subprocess.DEVNULL
        )
        assert await done.wait() == 0
        await run.say("what do you know?")
        assert "[user] indent: Uses tabs." in str(server.requests[-1]["messages"][-1])
        assert server.requests[0]["system"] == server.requests[1]["system"]
