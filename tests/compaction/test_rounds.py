"""A hundred compactions in a row: nothing grows that should not, and every one of them can be gone back to."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compaction.logs import Said, begun, ids
from tests.compaction.lone import Alone
from tests.compaction.running import SUMMARY, Windowed, compacting
from tests.compaction.stories import FACT, Fact, Scripted, Story, quoting, spoken
from tests.context.compare import check
from tests.support.engine import engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, CompactionFailed
from tui_agent.compaction.ledger import MAX_BYTES
from tui_agent.compaction.making import Wanted
from tui_agent.compaction.strategy import Compaction
from tui_agent.compaction.summary import Summary
from tui_agent.context import Context
from tui_agent.events import Notice
from tui_agent.settings.schema import Compaction as Keys

WINDOW = 20_000
KEYS = Keys(keep_requests=1000)


class Round(NamedTuple):
    """What one round left: the history before its compaction, bytes that were new, and the log's size after it."""

    history: list[str]
    new: int
    after: int
    backup: str


class Rounds:
    """Turns and a compaction, again and again."""

    def __init__(self, said: Said, strategy: Compaction | None) -> None:
        self.said, self.context = said, said.context
        self.story = Story(7, steps=(1, 2), result=(100, 600))
        model = Scripted(lambda text: quoting(text, most=30), window=WINDOW)
        self.alone = Alone(said.context, model, strategy=strategy, keys=KEYS)
        self.done: list[Round] = []

    async def round(self) -> None:
        """Two turns with a fact in words, a changed file and a failing command; then a summary."""
        start = self.context.size
        await self.story.turn(self.said, ["words", "file"])
        await self.story.turn(self.said, ["failure", "argument"])
        history, new = ids(self.context), self.context.size - start
        assert await self.alone.compactor.compact(Wanted("manual")), self.alone.heard[-1]
        backup = self.context.backups()[0].name
        self.done.append(Round(history, new, self.context.size, backup))

    @property
    def newest(self) -> list[Fact]:
        return self.story.facts[-4:]


@asynccontextmanager
async def rounds(folder: Path, strategy: Compaction | None, count: int) -> AsyncIterator[Rounds]:
    """A log after so many rounds."""
    found = Rounds(await begun(folder), strategy)
    for _ in range(count):
        await found.round()
    yield found
    await found.context.close()


def text_of(context: Context) -> str:
    return spoken([message.api() for message in context.history])


async def holds(folder: Path, strategy: Compaction | None, count: int) -> None:
    """So many compactions: what grows, what is known, what can be gone back to."""
    async with rounds(folder, strategy, count) as found:
        context, done = found.context, found.done
        # bounded: the weight, the ledger, the log
        settled = [event.after for event in found.alone.all(CompactionCompleted)]
        assert len(settled) == count
        assert max(settled) <= 0.4 * WINDOW
        assert (
            len(json.dumps(context.state["ledger"], ensure_ascii=False, separators=(",", ":")).encode())
            <= MAX_BYTES
        )
        if count >= 100:
            assert max(settled[50:]) <= 1.1 * max(settled[:50])
            assert max(r.after for r in done[50:]) <= 1.1 * max(r.after for r in done[:50])
        roles = [record.role for record in context.records]
        assert roles.count("_compaction") == 1 and roles.count("_usage") == 1 and roles.count("_state") <= 4
        # the folder: each new byte once, and what each compaction left
        kept = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        assert kept <= 1.2 * (sum(r.new for r in done) + count * max(r.after for r in done))
        # the newest is known, word for word or by the ledger
        text = text_of(context)
        assert [fact for fact in found.newest if fact.word not in text] == []
        await check(context)
        await goes_back(context, done)


async def goes_back(context: Context, done: list[Round]) -> None:
    """The last compaction undone, one in the middle restored, and the newest state again."""
    newest = ids(context)
    kept = await context.undo()
    assert ids(context) == done[-1].history
    middle = done[len(done) * 57 // 100 - 1]
    await context.restore_backup(middle.backup)
    assert ids(context) == middle.history
    await check(context)
    await context.undo()
    assert ids(context) == done[-1].history
    await context.redo()
    assert ids(context) == middle.history
    await context.restore_backup(kept.name)
    assert ids(context) == newest
    await check(context)


async def test_a_hundred_compactions_in_a_row_keep_everything_small_and_can_be_gone_back_to(
    tmp_path: Path,
) -> None:
    await holds(tmp_path, Summary(), 100)


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
async def test_so_do_those_without_a_model(tmp_path: Path, count: int) -> None:
    await holds(tmp_path, None, count)


async def test_a_restart_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    async with rounds(one, None, 6) as found:
        straight = FACT.findall(text_of(found.context))
    broken = Rounds(await begun(other), None)
    for _ in range(6):
        await broken.round()
        await broken.context.close()
        assert await broken.context.restore()
    assert FACT.findall(text_of(broken.context)) == straight
    await broken.context.close()


async def soaked(workspace: Path, turns: int) -> int:
    """A session of so many turns in a small window; returns how many summaries it took.

    No request is ever too large, none breaks the provider's cache without a word, and the log is as a fresh process
    finds it.
    """
    window, answers = 12_000, itertools.count()

    def work(body: dict[str, Any]) -> Reply:
        number = next(answers)
        if number % 3 == 2:
            return Reply.text(f"alpha.py, part {number}: the parser reads each line of the file. " * 8)
        command = {"command": f"seq {number} {number + 300}; exit {int(number % 7 == 0)}"}
        return Reply.tools(
            *[("bash", command)] * (1 + number % 2), text="let me look at the parser in alpha.py"
        )

    step = Windowed(window, Reply.text(SUMMARY), work)
    async with (
        ScriptedServer() as server,
        engine(workspace, server, settings=compacting(server, window=window), allow=["bash"]) as run,
    ):
        server.always(step)
        for number in range(turns):
            ended = await run.say(
                f"go on with the parser in alpha.py, part {number} " + "as said before " * 10
            )
            assert ended.reason == "end_turn", ended
        assert step.refused == 0
        assert [event.text for event in run.all(Notice) if event.source == "cache"] == []
        assert not run.all(CompactionFailed)
        assert all(usage["request"] == built.sha256 for usage, built in requests(run.context))
        assert run.context.weigh().total < window
        assert "exit code" in str(run.context.state["ledger"]) or run.context.state["ledger"]["failures"]
        await check(run.context)
    return step.summaries


async def test_a_session_compacts_by_itself_again_and_again(tmp_path: Path) -> None:
    assert await soaked(tmp_path, 30) >= 3


async def test_a_turn_in_which_one_summary_follows_another_ends_where_the_model_ends_it(
    tmp_path: Path,
) -> None:
    window, answers = 12_000, itertools.count(1)

    def work(body: dict[str, Any]) -> Reply:
        number = next(answers)
        if number == 12:
            return Reply.text("the parser of alpha.py is mended")
        return Reply.tools(("bash", {"command": f"seq {number} {number + 300}"}))

    step = Windowed(window, Reply.text(SUMMARY), work)
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=compacting(server, window=window), allow=["bash"]) as run,
    ):
        server.always(step)
        ended = await run.say("mend the parser in alpha.py " + "as was said before " * 800)
        assert (ended.reason, ended.steps) == ("end_turn", 12)
        assert step.summaries == len(run.all(CompactionCompleted)) >= 4
        assert step.refused == 0 and not run.all(CompactionFailed)


@pytest.mark.slow
async def test_a_long_session_compacts_by_itself_again_and_again(tmp_path: Path) -> None:
    assert await soaked(tmp_path, 400) >= 30
