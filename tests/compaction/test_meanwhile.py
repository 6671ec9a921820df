"""What happens to a log while its summary is made: it is kept, or counted; a change of history ends the work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import ids
from tests.compaction.running import ENDS, SUMMARY, Ended, compacting, files, talked
from tests.context.compare import check
from tests.support.engine import Run, engine, reread
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, CompactionSkipped
from tui_agent.events import Answer, Asked

Meanwhile = Callable[[Run], Awaitable[Any]]


@asynccontextmanager
async def summarised(
    tmp_path: Path, **keys: Any
) -> AsyncIterator[tuple[Run, Callable[[Meanwhile], Awaitable[Ended]]]]:
    """A session of three turns, and a way to do something to it while the model writes its summary."""
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=compacting(server, **keys), allow=["bash"]) as run,
    ):
        await talked(run, server)
        server.always(Reply.text(SUMMARY))

        async def compact(meanwhile: Meanwhile) -> Ended:
            hold = Hold()
            server.script(Reply.text(SUMMARY).holding(hold, after=1))
            heard = len(run.heard)
            await run.session.perform("compact")
            await hold.reached.wait()
            await meanwhile(run)
            hold.release.set()
            await run.session.until_idle()
            [ended] = [event for event in run.heard[heard:] if isinstance(event, ENDS)]
            return ended

        yield run, compact
        server.always(Reply.text("the parser of alpha.py goes on"))
        await run.say("go on")
        await check(run.context)
        assert ids(await reread(run)) == ids(run.context)


def first_result(run: Run) -> str:
    """The record of the oldest result: it goes."""
    return next(message.id for message in run.context.history if message.origin == "tool")


def last_result(run: Run) -> str:
    """The record of the newest result: it stays."""
    return next(message.id for message in reversed(run.context.history) if message.origin == "tool")


# --- kept ------------------------------------------------------------------------------------------------------------


async def test_what_is_appended_follows_word_for_word(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):
        raw: list[bytes] = []

        async def meanwhile(run: Run) -> None:
            (note,) = await run.context.append_message(
                {"role": "user", "content": "the tests have ended: 3 passed"}, origin="background"
            )
            raw.append(note.raw)
            raw.append((await run.context.set_state("todo", [{"text": "rest", "status": "pending"}])).raw)

        ended = await compact(meanwhile)
        assert isinstance(ended, CompactionCompleted)
        assert ended.lost == 0
        assert run.context.history[-1].text == "the tests have ended: 3 passed"
        assert run.context.state["todo"] == [{"text": "rest", "status": "pending"}]
        assert b"\n".join(raw) in run.context.path.read_bytes()


async def test_what_is_pinned_stays_with_its_exchange_though_it_was_to_go(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):
        pinned = first_result(run)
        history = ids(run.context)
        call = history[history.index(pinned) - 1]
        ended = await compact(lambda run: run.session.perform("pin", pinned))
        assert isinstance(ended, CompactionCompleted)
        assert ended.lost == 0
        assert [name for name in ids(run.context) if name in (call, pinned)] == [call, pinned]
        assert run.context.marks(pinned)["pinned"] is True
        assert "1 pinned" in ended.kept


async def test_what_stays_is_elided_or_dropped_as_it_was_meanwhile(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):
        kept = last_result(run)
        words = next(message.id for message in run.context.history if message.is_words)

        async def meanwhile(run: Run) -> None:
            await run.session.perform("elide", kept)
            await run.session.perform("drop", words)

        ended = await compact(meanwhile)
        assert isinstance(ended, CompactionCompleted)
        assert ended.lost == 0
        assert "truncated" in str(run.context.message(kept))
        assert run.context.message(words) is None
        await run.session.perform("unelide", words)
        assert run.context.message(words) is not None


async def test_what_was_left_out_and_is_brought_back_stays_since_no_summary_saw_it(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):
        dropped = first_result(run)
        await run.session.perform("drop", dropped)
        ended = await compact(lambda run: run.session.perform("unelide", dropped))
        assert isinstance(ended, CompactionCompleted)
        assert run.context.message(dropped) is not None


async def test_all_pinned_meanwhile_leaves_everything_as_it_is(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):

        async def meanwhile(run: Run) -> None:
            for name in ids(run.context):
                await run.context.mark(name, pinned=True)

        before = ids(run.context)
        ended = await compact(meanwhile)
        assert isinstance(ended, CompactionSkipped)
        assert "pinned" in ended.detail
        assert ids(run.context) == before


async def test_what_is_pinned_and_said_while_the_summary_is_reviewed_stays(tmp_path: Path) -> None:
    async with summarised(tmp_path, review=True) as (run, _):
        run.answers = lambda asked: None
        pinned = first_result(run)
        await run.session.perform("compact")
        asked = await run.until(Asked, lambda event: event.question.kind == "review")
        await run.session.perform("pin", pinned)
        await run.context.append_message({"role": "user", "content": "3 passed"}, origin="background")
        await run.session.answer(asked.question.id, Answer("once"))
        await run.session.until_idle()
        [done] = run.all(CompactionCompleted)
        assert done.lost == 0
        assert pinned in ids(run.context)
        assert run.context.history[-1].text == "3 passed"


# --- counted ---------------------------------------------------------------------------------------------------------


async def test_marks_and_elisions_of_what_goes_are_counted(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (run, compact):
        gone = first_result(run)

        async def meanwhile(run: Run) -> None:
            await run.session.perform("elide", gone)
            await run.context.mark(gone, priority=25)
            await run.session.perform("unelide", gone)
            await run.session.perform("elide", last_result(run))

        ended = await compact(meanwhile)
        assert isinstance(ended, CompactionCompleted)
        assert ended.lost == 3
        assert run.context.message(gone) is None
        assert "truncated" in str(run.context.message(last_result(run)))
        assert {record.role for record in run.context.records} >= {"_elide"}


# --- ended -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("revert", "3"), ("clear",), ("undo",), ("restore", "context_1.jsonl")])
async def test_a_change_of_history_ends_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    async with summarised(tmp_path) as (run, compact):
        await run.session.perform("revert", "6")
        backups = len(run.context.backups())
        ended = await compact(lambda run: run.session.perform(*command))
        assert isinstance(ended, CompactionSkipped)
        assert ended.reason == "superseded"
        assert len(run.context.backups()) == backups + 1
        assert not any(record.role == "_compaction" for record in run.context.records)
        assert not any(name.endswith(".tmp") for name in files(run.context.path.parent))


async def test_pins_and_words_said_meanwhile_do_not_end_it(tmp_path: Path) -> None:
    async with summarised(tmp_path) as (_, compact):

        async def meanwhile(run: Run) -> None:
            await run.session.perform("pin", last_result(run))
            await run.session.perform("unpin", last_result(run))

        assert isinstance(await compact(meanwhile), CompactionCompleted)
