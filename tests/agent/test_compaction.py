"""Compaction in a real session: by hand, by itself, after an overflow; what is told, and what undo brings back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.context.compare import check
from tests.support.engine import Run, engine, scripted_settings
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent import changes, events
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, CompactionFailed, CompactionSkipped
from tui_agent.compaction.instructions import OPENING
from tui_agent.context import Context
from tui_agent.events import Answer, Asked
from tui_agent.settings.schema import Compaction, Hooks, Settings

SUMMARY = """\
## Goal and current request
The user wants the parser mended in alpha.py.

## Done
- alpha.py was read.

## In progress
None.

## Decisions and why
None.

## Failed approaches
None.

## Open questions
None.

## Files and their state
- alpha.py: read, not changed.
"""


def settings(server: ScriptedServer, *, window: int = 200_000, **keys: Any) -> Settings:
    """Settings of the scripted server's profile with these keys of compaction."""
    made = scripted_settings(server, context_window=window, max_output_tokens=1024)
    return replace(made, compaction=Compaction(**{"ahead": "off", **keys}))


@asynccontextmanager
async def running(folder: Path, **keys: Any) -> AsyncIterator[tuple[ScriptedServer, Run]]:
    """A session on a scripted server, with these keys of compaction; commands run unasked."""
    async with (
        ScriptedServer() as server,
        engine(folder, server, settings=settings(server, **keys), allow=["bash"]) as run,
    ):
        yield server, run


async def talked(run: Run, server: ScriptedServer, turns: int = 4, size: int = 40) -> None:
    """Some turns about the parser in alpha.py, each with a call and an answer of some length."""
    for number in range(turns):
        server.script(
            Reply.tools(("bash", {"command": f"echo parser {number}"})),
            Reply.text(f"alpha.py part {number}: " + "the parser reads each line of the file. " * size),
        )
        await run.say(f"mend the parser in alpha.py, part {number}")


async def compacted(run: Run, *words: str) -> events.Event:
    """Compact by hand; how it ended."""
    await run.session.perform("compact", *words)
    await run.session.until_idle()
    return next(event for event in reversed(run.heard) if isinstance(event, _ENDS))


_ENDS = (CompactionCompleted, CompactionFailed, CompactionSkipped)


def texts(run: Run) -> list[str]:
    return [message.text for message in run.context.history]


async def test_compact_puts_a_summary_in_force_and_undo_brings_the_history_back(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        before, sent = texts(run), len(server.requests)
        server.script(Reply.text(SUMMARY))
        ended = await compacted(run)
        assert isinstance(ended, CompactionCompleted)
        assert len(server.requests) == sent + 1
        assert ended.before > ended.after == run.context.weigh().total
        begun, head = run.all(changes.CompactionStarted)[-1], run.context.head
        assert (begun.tokens, begun.mark) == (ended.before, ended.mark) == (ended.before, "exact")
        assert head is not None and (head.figures["tokens"], head.figures["mark"]) == (ended.before, "exact")
        assert "mended in alpha.py" in texts(run)[0]
        assert [m for m in run.context.history if m.is_words][-1].text.endswith("part 3")
        server.script(Reply.text("and on"))
        await run.say("go on")
        assert "mended in alpha.py" in str(server.requests[-1]["messages"][0])
        await check(run.context)
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
        await run.session.perform("undo", "later")
        assert texts(run) == [*before, "go on", "and on"]
        await check(run.context)


def is_summariser(body: dict[str, Any]) -> bool:
    """True for a request for a summary."""
    return OPENING in str(body["messages"][-1]["content"])


def answering(summary: Reply | None = None, size: int = 100) -> Callable[[dict[str, Any]], Reply]:
    """Answers of some length, and a summary to who asks for one."""

    def step(body: dict[str, Any]) -> Reply:
        if is_summariser(body):
            return summary or Reply.text(SUMMARY)
        return Reply.text("In alpha.py: " + "the parser reads each line of the file. " * size)

    return step


async def filled(run: Run, until: Callable[[], bool], most: int = 60) -> None:
    """Say things until something holds."""
    for number in range(most):
        if until():
            return
        await run.say(f"mend the parser in alpha.py, part {number}")
    raise AssertionError("it never came to hold")


async def test_the_number_on_the_status_bar_triggers_and_is_the_number_after_it_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, micro_ratio=0.84)
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: bool(run.all(CompactionCompleted)))
            started = run.all(changes.CompactionStarted)[-1]
            at = run.heard.index(started)
            shown = [e for e in run.heard[:at] if isinstance(e, events.Weighed)][-1]
            assert (started.trigger, started.tokens, started.mark) == ("auto", shown.total, shown.mark)
            assert started.tokens >= started.limit == 15_000
            said = max(place for place in range(at) if isinstance(run.heard[place], events.UsageReported))
            earlier = [e.total for e in run.heard[:said] if isinstance(e, events.Weighed)]
            assert earlier and max(earlier) < started.limit
            done = run.all(CompactionCompleted)[-1]
            after = [e for e in run.heard[at:] if isinstance(e, events.Weighed)][-1]
            assert done.after == after.total == run.context.token_count_with_pending
            await check(run.context)
            total = run.context.weigh().total
        async with engine(tmp_path, server, settings=chosen, resume="latest") as run:
            assert run.all(events.Weighed)[-1].total == run.context.weigh().total == total


async def test_every_request_of_a_compacted_session_can_be_built_again_from_its_files(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering(size=150))
        async with engine(tmp_path, server, settings=settings(server, window=21_000)) as run:
            await filled(run, lambda: len(run.all(CompactionCompleted)) >= 3)
            await run.say("one more")
            await run.session.perform("summary", "The parser of alpha.py.")
            await run.say("after the edit")
            await run.session.perform("undo", "later")
            await run.say("with all of it back")
            await run.session.perform("revert", str(run.session.timeline.turns()[-3].id))
            await run.say("from there on")
            folder = run.session.folder.path
        stored: set[str] = set()
        for path in sorted(folder.glob("context*.jsonl")):
            context = Context(path, read_only=True)
            await context.restore()
            for usage, built in requests(context):
                assert usage["request"] == built.sha256, path
                stored.add(built.sha256)
        asked = [body for body in server.requests if not is_summariser(body)]
        assert len(stored) == len(asked)


async def test_a_request_that_does_not_fit_is_sent_again_after_a_compaction_and_no_tool_runs_twice(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(
            Reply.tools(("bash", {"command": "echo once >> ran.txt"})),
            Reply.overflow(),
            Reply.text(SUMMARY),
            Reply.text("done"),
        )
        ended = await run.say("do it")
        assert ended.reason == "end_turn"
        assert (tmp_path / "ran.txt").read_text() == "once\n"
        assert run.all(CompactionCompleted)[-1].trigger == "overflow"
        assert not run.all(events.RequestFailed)
        assert "mended in alpha.py" in str(server.requests[-1]["messages"][0])
        assert "once" in str(server.requests[-1]["messages"][-2:])
        await check(run.context)


async def test_it_compacts_once_for_a_step_and_then_says_that_it_does_not_fit(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.overflow(), Reply.text(SUMMARY), Reply.overflow())
        ended = await run.say("do it")
        assert ended.reason == "failed"
        assert len(run.all(CompactionCompleted)) == 1
        failed = run.all(events.RequestFailed)[-1]
        assert (failed.kind, "compact (/compact)" in failed.ways) == ("overflow", False)
        assert "(/model)" in failed.ways[-1]


async def test_with_auto_off_nothing_compacts_without_a_key_not_even_an_overflow(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, auto=False)
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: bool(run.all(CompactionSkipped)))
            assert [s.reason for s in run.all(CompactionSkipped)] == ["off"]
            assert not run.all(changes.MicroCompacted)
            server.script(Reply.overflow())
            ended = await run.say("and now")
            assert ended.reason == "failed"
            assert run.all(CompactionSkipped)[-1].trigger == "overflow"
            assert not run.all(changes.CompactionStarted)
            assert isinstance(await compacted(run), CompactionCompleted)


async def test_prompts_said_meanwhile_wait_and_are_shown_and_own_commands_follow_the_summary(
    tmp_path: Path,
) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        gone, pinned, newest = (run.context.history[at].id for at in (3, 7, -1))
        server.script(Reply.text(SUMMARY).holding(hold, after=-1), Reply.text("heard"))
        await run.session.perform("compact")
        await hold.reached.wait()
        sent = len(server.requests)
        await run.session.submit("what now")
        assert [p.text for p in run.session.queue] == ["what now"]
        assert run.session.busy
        await run.session.perform("run", "echo mine")
        await run.session.perform("pin", newest)
        await run.session.perform("pin", pinned)
        await run.session.perform("elide", gone)
        assert len(server.requests) == sent
        hold.release.set()
        await run.session.until_idle()
        done = run.all(CompactionCompleted)[-1]
        assert done.lost == 1
        assert "echo mine" in texts(run)[-3]
        assert texts(run)[-2:] == ["what now", "heard"]
        assert run.context.marks(newest)["pinned"] is True
        assert pinned in [message.id for message in run.context.history]
        await check(run.context)


async def test_a_running_turn_finishes_its_step_before_a_compaction_that_is_asked_for(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(
            Reply.tools(("bash", {"command": "echo step"})).holding(hold, after=-1),
            Reply.text(SUMMARY),
            Reply.text("finished"),
        )
        await run.session.submit("go")
        await hold.reached.wait()
        outcome = await run.session.perform("compact", "dwell", "on", "alpha.py")
        assert "step" in outcome.text
        hold.release.set()
        await run.session.until_idle()
        names = [type(e).__name__ for e in run.heard]
        assert names.index("CompactionCompleted") > names.index("ToolEnded", names.index("CompactionStage"))
        assert texts(run)[-1] == "finished"
        assert "dwell on alpha.py" in str(server.requests[-2]["messages"][-1])
        assert "step" in str(server.requests[-1]["messages"])
        await check(run.context)


async def test_cancelling_leaves_the_log_byte_for_byte(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        before = run.context.path.read_bytes()
        server.script(Reply.text(SUMMARY).holding(hold))
        await run.session.perform("compact")
        await hold.reached.wait()
        assert await run.session.cancel()
        skipped = run.all(CompactionSkipped)[-1]
        assert (skipped.reason, run.context.path.read_bytes()) == ("cancelled", before)
        assert not run.session.shrinking.busy
        server.script(Reply.text("on"))
        assert (await run.say("go on")).reason == "end_turn"


async def test_going_back_meanwhile_supersedes_it(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY).holding(hold))
        await run.session.perform("compact")
        await hold.reached.wait()
        await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
        assert run.all(CompactionSkipped)[-1].reason == "superseded"
        assert [m.text for m in run.context.history if m.is_words][-1].endswith("part 2")
        await check(run.context)


async def test_a_second_compaction_takes_the_place_of_the_first(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY).holding(hold), Reply.text(SUMMARY))
        await run.session.perform("compact")
        await hold.reached.wait()
        ended = await compacted(run, "the second")
        assert isinstance(ended, CompactionCompleted)
        assert [(s.reason, s.detail) for s in run.all(CompactionSkipped)] == [
            ("superseded", "another one was asked for")
        ]
        assert "the second" in str(server.requests[-1]["messages"][-1])


async def test_asking_again_without_words_lets_the_one_that_runs_go_on(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY).holding(hold))
        await run.session.perform("compact", "the tests")
        await hold.reached.wait()
        again = await run.session.perform("compact")
        assert again.text.startswith("compacting already")
        hold.release.set()
        await run.session.until_idle()
        assert len(run.all(CompactionCompleted)) == 1 and not run.all(CompactionSkipped)


async def test_a_hook_can_say_no_and_is_told_of_what_was_done(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        no = Hooks(
            pre_compact="test -e yes || { echo not before noon >&2; exit 2; }", post_compact="cat > told"
        )
        chosen = replace(settings(server), hooks=no)
        async with engine(tmp_path, server, settings=chosen, allow=["bash"]) as run:
            await talked(run, server)
            before = run.context.path.read_bytes()
            ended = await compacted(run)
            assert isinstance(ended, CompactionSkipped)
            assert (ended.reason, "not before noon" in ended.detail) == ("hook", True)
            assert run.context.path.read_bytes() == before
            (tmp_path / "yes").touch()
            server.script(Reply.text(SUMMARY))
            assert isinstance(await compacted(run), CompactionCompleted)
            await run.session.shrinking.compactor.until_told()
            assert '"backup": "context_1.jsonl"' in (tmp_path / "told").read_text()


async def test_a_review_can_edit_accept_and_discard(tmp_path: Path) -> None:
    given: list[Answer] = [Answer("no", note="not this one"), Answer("once", edited="My own words.")]

    def answers(asked: Asked) -> Answer:
        assert asked.question.kind == "review"
        assert asked.question.editable.startswith("## Goal")
        return given.pop(0)

    async with ScriptedServer() as server:
        chosen = settings(server, review=True)
        async with engine(tmp_path, server, settings=chosen, answers=answers) as run:
            server.always(answering())
            await filled(run, lambda: len(run.context.history) >= 8)
            before = run.context.path.read_bytes()
            ended = await compacted(run)
            assert isinstance(ended, CompactionSkipped)
            assert (ended.reason, ended.detail) == ("declined", "not this one")
            assert run.context.path.read_bytes() == before
            ended = await compacted(run)
            assert isinstance(ended, CompactionCompleted)
            assert ended.text == "My own words."
            assert "My own words." in texts(run)[0]


async def test_the_time_of_a_compaction_is_not_that_of_its_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def read_for_an_hour(_: Asked) -> Answer:
        now[0] += 3_600
        return Answer("once")

    async with ScriptedServer() as server:
        chosen = settings(server, review=True)
        async with engine(tmp_path, server, settings=chosen, answers=read_for_an_hour) as run:
            server.always(answering())
            await filled(run, lambda: len(run.context.history) >= 8)
            monkeypatch.setattr(run.session.shrinking.compactor, "_clock", lambda: now[0])
            ended = await compacted(run)
            assert now[0] == 3_600
            assert isinstance(ended, CompactionCompleted)
            assert ended.seconds == 0


async def test_an_undo_holds_compaction_until_a_person_asks_for_it_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, micro_ratio=0.84)
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: bool(run.all(CompactionCompleted)))
            before = run.context.head
            await run.session.perform("undo")
            assert before is not None
            assert run.context.weigh().total >= 15_000
            assert run.all(changes.CompactionHeld)[-1].held
            done = len(run.all(CompactionCompleted))
            await run.say("go on")
            assert run.all(CompactionSkipped)[-1].reason == "held"
            assert len(run.all(CompactionCompleted)) == done
        async with engine(tmp_path, server, settings=chosen, resume="latest") as run:
            assert run.session.shrinking.held
            assert run.all(changes.CompactionHeld)[-1].held
            assert isinstance(await compacted(run), CompactionCompleted)
            assert not run.all(changes.CompactionHeld)[-1].held


async def test_undo_restores_the_projected_messages_exactly(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        before = [message.api() for message in run.context.history]
        whole = run.context.path.read_bytes()
        server.script(Reply.text(SUMMARY))
        await compacted(run)
        await run.session.perform("undo")
        assert [message.api() for message in run.context.history] == before
        assert run.context.path.read_bytes().startswith(whole)
        await run.session.perform("redo")
        assert "mended in alpha.py" in texts(run)[0]
        await check(run.context)


async def test_a_compaction_made_again_is_taken_back_like_the_first_time(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY), Reply.text("and on"))
        await compacted(run)
        await run.say("go on")
        before = _projected(run)
        await run.session.perform("undo")
        whole = _projected(run)
        await run.session.perform("redo")
        assert _projected(run) == before
        assert [event.held for event in run.all(changes.CompactionHeld)] == [True, False]
        await run.session.perform("undo")
        assert _projected(run) == whole
        assert [event.held for event in run.all(changes.CompactionHeld)] == [True, False, True]
        await run.session.perform("redo")
        outcome = await run.session.perform("undo", "later")
        assert _projected(run)[: len(whole)] == whole and len(_projected(run)) > len(whole)
        assert outcome.data["later"] > 0
        assert run.session.shrinking.held
        await check(run.context)


async def test_only_of_a_compaction_it_is_said_that_what_was_said_since_can_be_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        await run.session.perform("revert", "1")
        server.script(Reply.text("another"))
        await run.say("another way")
        reverted = await run.session.perform("undo")
        assert "since" in reverted.text and "later" not in reverted.text
        server.script(Reply.text(SUMMARY), Reply.text("and on"))
        await compacted(run)
        await run.say("go on")
        assert "/undo later" in (await run.session.perform("undo")).text


def _projected(run: Run) -> list[dict[str, Any]]:
    return [message.api() for message in run.context.history]


async def test_keepmore_does_it_again_and_keeps_twice_as_much(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server, turns=6)
        server.script(Reply.text(SUMMARY))
        await compacted(run)
        few = len(run.context.history)
        server.script(Reply.text(SUMMARY))
        await run.session.perform("keepmore")
        await run.session.until_idle()
        assert run.context.head is not None
        assert run.context.head.figures["newest"] == 4
        assert len(run.context.history) > few
        assert not run.all(changes.CompactionHeld)
        await check(run.context)


async def test_where_keepmore_comes_to_nothing_it_is_said_how_the_summary_comes_back(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY))
        await compacted(run)
        before = _projected(run)
        server.script(*[Reply.text("ACK")] * 3)
        await run.session.perform("keepmore")
        await run.session.until_idle()
        assert run.all(CompactionFailed)
        assert [event.held for event in run.all(changes.CompactionHeld)] == [True]
        assert "/undo" in run.all(events.Notice)[-1].text
        await run.session.perform("undo")
        assert _projected(run) == before
        assert [event.held for event in run.all(changes.CompactionHeld)] == [True, False]


async def test_the_summary_can_be_read_and_replaced(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY), Reply.text("ok"))
        await compacted(run)
        shown = await run.session.perform("summary")
        assert shown.text == SUMMARY.strip()
        await run.say("and")
        await run.session.perform("summary", "The parser", "is mended.")
        assert (await run.session.perform("summary")).text == "The parser is mended."
        assert texts(run)[-2:] == ["and", "ok"]
        assert run.all(CompactionCompleted)[-1].edited
        server.script(Reply.text("on"))
        await run.say("go on")
        assert "The parser is mended." in str(server.requests[-1]["messages"][0])
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
        assert not [n for n in run.all(events.Notice) if n.source == "cache"]
        await check(run.context)


async def test_two_fruitless_runs_end_it_until_a_person_asks(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering(Reply.text("ACK")))
        chosen = settings(server, window=20_000, micro_ratio=0.84)
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: bool(run.all(CompactionSkipped)) or bool(run.all(events.RequestFailed)))
            assert len(run.all(CompactionFailed)) == 2
            assert run.all(CompactionSkipped)[-1].reason == "no_progress"
            asked = len([body for body in server.requests if is_summariser(body)])
            await run.say("on")
            assert len([body for body in server.requests if is_summariser(body)]) == asked
            server.always(answering())
            assert isinstance(await compacted(run), CompactionCompleted)


async def test_where_prompt_and_tools_alone_are_too_much_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Mind the parser. " * 1800)
    async with ScriptedServer() as server:
        server.always(answering(size=1))
        async with engine(tmp_path, server, settings=settings(server, window=10_000)) as run:
            await run.say("hello")
            ended = await compacted(run)
            assert isinstance(ended, CompactionSkipped)
            assert ended.reason == "floor"
            assert "larger window" in ended.detail


@pytest.mark.parametrize("keys", [{"trigger_ratio": 0.1, "micro_ratio": 0.06}, {"reserved_tokens": 200_000}])
async def test_who_asks_gets_a_summary_however_early_settings_want_one(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    """Nothing is compacted by itself where prompt and tools are over the trigger, which is said once; by hand it is."""
    window, size = (10_000, 60) if "trigger_ratio" in keys else (200_000, 200)
    async with ScriptedServer() as server:
        server.always(answering(size=size))
        async with engine(tmp_path, server, settings=settings(server, window=window, **keys)) as run:
            for number in range(3):
                await run.say(f"mend the parser in alpha.py, part {number}")
            assert [skipped.reason for skipped in run.all(CompactionSkipped)] == ["floor"]
            assert isinstance(await compacted(run), CompactionCompleted)
            assert run.all(CompactionCompleted)[-1].replaced
            await check(run.context)


async def test_what_changed_on_disk_is_in_force_from_the_compaction_on_and_said(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        (tmp_path / "AGENTS.md").write_text("Always use spaces.")
        server.script(Reply.text("still the old"), Reply.text(SUMMARY), Reply.text("the new"))
        await run.say("before")
        assert "Always use spaces" not in str(server.requests[-1]["system"])
        await compacted(run)
        await run.say("after")
        assert "Always use spaces" in str(server.requests[-1]["system"])
        assert any("instructions had changed" in n.text for n in run.all(events.Notice))
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
        await check(run.context)


async def test_a_switch_of_the_model_waits_for_it(tmp_path: Path) -> None:
    hold = Hold()
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.models = [{**server.models[0], "id": "other-1"}, *server.models] if server.models else None
        server.script(Reply.text(SUMMARY).holding(hold))
        await run.session.perform("compact")
        await hold.reached.wait()
        await run.session.perform("model", "other-1")
        assert run.session.provider.model == "scripted-1"
        hold.release.set()
        await run.session.until_idle()
        assert isinstance(run.all(CompactionCompleted)[-1], CompactionCompleted)
        assert run.session.provider.model == "other-1"


async def test_a_listener_that_fails_is_told_of_and_stops_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        told: list[str] = []

        def fails() -> None:
            raise RuntimeError("broken")

        run.session.shrinking.compactor.on_compacted = (fails, lambda: told.append("told"))
        server.script(Reply.text(SUMMARY))
        assert isinstance(await compacted(run), CompactionCompleted)
        assert told == ["told"]
        assert any("RuntimeError: broken" in n.text for n in run.all(events.Notice))


async def test_a_summary_is_prepared_ahead_of_time_and_put_in_force_without_a_wait(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, ahead="on")
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: any(is_summariser(body) for body in server.requests))
            assert not run.all(changes.CompactionStarted)
            asked = len([body for body in server.requests if is_summariser(body)])
            words = [m.text for m in run.context.history if m.is_words]
            await filled(run, lambda: bool(run.all(CompactionCompleted)))
            done = run.all(CompactionCompleted)[-1]
            assert done.trigger == "ahead"
            assert len([body for body in server.requests if is_summariser(body)]) == asked
            assert [m.text for m in run.context.history if m.is_words][: len(words)] == words
            await check(run.context)
            assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))


async def test_a_review_of_a_summary_made_ahead_tells_what_there_is_now(tmp_path: Path) -> None:
    titles: list[str] = []

    def answers(asked: Asked) -> Answer:
        titles.append(asked.question.title)
        return Answer("once")

    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, ahead="on", review=True)
        async with engine(tmp_path, server, settings=chosen, answers=answers) as run:
            await filled(run, lambda: bool(run.all(CompactionCompleted)))
            begun, done = run.all(changes.CompactionStarted)[0], run.all(CompactionCompleted)[0]
            assert begun.trigger == "ahead"
            sign = "" if begun.mark == "exact" else "~"
            assert titles[0].startswith(f"Compact from {sign}{begun.tokens:,} to about ")
            told = int(titles[0].split("about ")[1].split()[0].replace(",", ""))
            assert told == pytest.approx(done.after, rel=0.1)


async def test_a_summary_ahead_of_time_is_given_up_when_history_is_rewritten(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering())
        chosen = settings(server, window=20_000, ahead="on")
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: any(is_summariser(body) for body in server.requests))
            await run.session.perform("revert", str(run.session.timeline.turns()[-1].id))
            ended = await compacted(run)
            assert isinstance(ended, CompactionCompleted)
            assert ended.trigger == "manual"
            assert len([body for body in server.requests if is_summariser(body)]) == 2


async def test_where_the_model_cannot_summarise_what_must_fit_it_asks_and_does_without_a_model(
    tmp_path: Path,
) -> None:
    def answers(asked: Asked) -> Answer:
        assert asked.question.kind == "choice"
        return Answer("answer", note=asked.question.choices[0])

    async with ScriptedServer() as server:
        chosen = settings(server)
        async with engine(tmp_path, server, settings=chosen, answers=answers) as run:
            server.always(answering())
            await filled(run, lambda: len(run.context.history) >= 8)
            server.script(Reply.overflow(), Reply.text("ACK"), Reply.text("on"))
            assert (await run.say("go on")).reason == "end_turn"
            assert run.all(CompactionCompleted)[-1].strategy == "extractive"


async def test_with_nobody_there_it_does_without_a_model_unasked(tmp_path: Path) -> None:
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=settings(server, review=True), attended=False) as run,
    ):
        server.always(answering())
        await filled(run, lambda: len(run.context.history) >= 8)
        server.script(Reply.overflow(), Reply.text("ACK"), Reply.text("on"))
        assert (await run.say("go on")).reason == "end_turn"
        assert run.all(CompactionCompleted)[-1].strategy == "extractive"
        assert not run.all(events.Asked)


async def test_a_short_session_gets_an_answer(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.script(Reply.text("hi"))
        async with engine(tmp_path, server, settings=settings(server)) as run:
            await run.say("hello")
            ended = await compacted(run)
            assert isinstance(ended, CompactionSkipped)
            assert ended.reason == "short"


async def test_where_nothing_can_be_elided_a_summary_waits_until_it_is_due(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering(size=300))
        async with engine(tmp_path, server, settings=settings(server, window=20_000)) as run:
            await filled(run, lambda: bool(run.all(CompactionCompleted)))
            started = run.all(changes.CompactionStarted)
            assert [event.trigger for event in started] == ["auto"]
            assert started[0].tokens >= started[0].limit == 15_000


async def test_what_is_sent_after_a_compaction_is_announced_to_the_watch_of_the_prefix(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY), Reply.text("on"), Reply.text("and on"))
        await compacted(run)
        await run.say("go on")
        await run.say("and on")
        assert not [n for n in run.all(events.Notice) if n.source == "cache"]


async def test_taking_back_an_edit_of_the_summary_holds_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        server.script(Reply.text(SUMMARY))
        await compacted(run)
        await run.session.perform("summary", "Shorter.")
        await run.session.perform("undo")
        assert (await run.session.perform("summary")).text == SUMMARY.strip()
        assert not run.session.shrinking.held
        assert not run.all(changes.CompactionHeld)


async def test_what_a_summary_took_counts_among_the_costs(tmp_path: Path) -> None:
    async with running(tmp_path) as (server, run):
        await talked(run, server)
        before = (await run.session.perform("cost")).data
        server.script(Reply.text(SUMMARY).using(input=500, output=60, cache_read=3000))
        await compacted(run)
        cost = await run.session.perform("cost")
        more = {
            "requests": 1, "summaries": 1, "input": 500, "output": 60, "cache_read": 3000, "cache_write": 0,
        }  # fmt: skip
        assert {key: cost.data[key] - before[key] for key in more} == more
        assert "(1 of them for a summary)" in cost.text


async def test_closing_the_session_gives_up_what_is_summarised_or_prepared(tmp_path: Path) -> None:
    for ahead in ("off", "on"):
        hold = Hold()
        workspace = tmp_path / ahead
        workspace.mkdir()
        async with ScriptedServer() as server:
            server.always(answering(Reply.text(SUMMARY).holding(hold)))
            chosen = settings(server, window=20_000, ahead=ahead)
            async with engine(workspace, server, settings=chosen) as run:
                if ahead == "on":
                    await filled(run, hold.reached.is_set)
                else:
                    await filled(run, lambda: len(run.context.history) > 8)
                    await run.session.perform("compact")
                    await hold.reached.wait()
                path = run.context.path
                before = path.read_bytes()
            assert path.read_bytes() == before
            assert sorted(p.name for p in path.parent.glob("context*")) == ["context.jsonl"]


async def test_with_the_strategy_none_it_is_said_once_that_nothing_is_summarised(tmp_path: Path) -> None:
    async with ScriptedServer() as server:
        server.always(answering(size=300))
        chosen = settings(server, window=20_000, strategy="none")
        async with engine(tmp_path, server, settings=chosen) as run:
            await filled(run, lambda: run.context.weigh().total > 17_000)
            assert [skipped.reason for skipped in run.all(CompactionSkipped)] == ["off"]
            assert not run.all(changes.CompactionStarted)


async def test_what_is_stopped_at_any_moment_is_in_force_or_not_and_told_once(tmp_path: Path) -> None:
    async with running(tmp_path, strategy="extractive") as (server, run):
        await talked(run, server, turns=3, size=200)
        outcomes = set()
        for turns in (0, 1, 2, 3, 5, 9, 30, *range(100, 3000, 400)):
            heard, generation = len(run.heard), run.context.generation
            await run.session.perform("compact")
            await run.until(changes.CompactionStage, lambda stage: "in force" in stage.stage)
            for _ in range(turns):
                await asyncio.sleep(0)
            await run.session.cancel()
            ends = [event for event in run.heard[heard:] if isinstance(event, _ENDS)]
            rotated = [event for event in run.heard[heard:] if isinstance(event, changes.Rotated)]
            done = run.context.generation != generation
            assert [type(end) for end in ends] == [CompactionCompleted if done else CompactionSkipped]
            assert len(rotated) == done
            outcomes.add(done)
            if done:
                await run.session.perform("undo")
        assert outcomes == {True, False}
        await check(run.context)
