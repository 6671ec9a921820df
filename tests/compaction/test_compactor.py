"""The transaction of a compaction over a log alone: what it writes, what a strategy may do, when it gives up."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.compaction.logs import Said, begun, ids
from tests.compaction.lone import Alone
from tests.compaction.running import SUMMARY
from tests.context.compare import check
from tui_agent.changes import (
    CompactionCompleted,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    CompactionSummary,
    MicroCompacted,
    Rotated,
)
from tui_agent.compaction.compactor import cost_of
from tui_agent.compaction.making import Wanted
from tui_agent.compaction.strategy import CompactionResult, Source
from tui_agent.llm.provider import Reply, Usage
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator, Tokens
from tui_agent.settings.schema import Compaction as Keys
from tui_agent.settings.schema import Price


class Counting(Struct):
    """A model that counts and is never asked."""

    window: int = 20_000
    name: str = "claude-sonnet-5-5"
    max_output: int = 1_000

    def count(self, value: Any) -> int:
        return Estimator(self.name).count(value)

    def say(self, stage: str) -> None:
        """Nobody listens."""

    async def ask(self, request: Request) -> Reply:
        raise AssertionError("nothing is to be asked")


class Saying:
    """A strategy that says what it is given; `also` are places of replaced messages that it keeps too."""

    name = "saying"

    def __init__(self, text: str = SUMMARY, also: tuple[int, ...] = (), usage: Usage | None = None) -> None:
        self.text = text
        self.also = also
        self.usage = usage
        self.seen: list[Source] = []
        self.before: Callable[[], Awaitable[object]] | None = None

    async def compact(self, source: Source, model: object) -> CompactionResult:
        self.seen.append(source)
        if self.before is not None:
            await self.before()
        kept = {message.id for message in source.kept} | {source.replaced[at].id for at in self.also}
        preserved = [message.id for message in source.history if message.id in kept]
        return CompactionResult(
            self.text, preserved, source.tokens, Tokens(0, "estimated"), self.usage, ("a note",)
        )


@pytest.fixture
async def said(tmp_path: Path) -> Said:
    """A log of five turns about the parser."""
    made = await begun(tmp_path)
    for number in range(5):
        await made.words(f"mend the parser, part {number}")
        await made.step(f"cat part{number}.py", "def parse(line): ...\n" * 60, title=f"cat part{number}.py")
        await made.answer(f"part {number}: the parser reads each line of alpha.py. " * 12)
    return made


def alone(said: Said, strategy: Saying, **keys: Any) -> Alone:
    return Alone(said.context, Counting(), strategy=strategy, keys=Keys(**{"ahead": "off", **keys}))


async def test_the_head_record_says_what_was_done_and_what_was_before(said: Said) -> None:
    run = alone(said, Saying(usage=Usage(input=900, output=50, cache_read=100)))
    history, whole = ids(said.context), said.context.path.read_bytes()
    assert await run.compactor.compact(Wanted("manual", "the parser"))
    head = said.context.head
    assert head is not None
    assert (head.op, head.n, head.backup, head.undo, head.redo, head.to) == (
        "compaction", 1, "context_1.jsonl", "context_1.jsonl", None, None,
    )  # fmt: skip
    figures = head.figures
    assert (figures["sha256"], figures["bytes"]) == (hashlib.sha256(whole).hexdigest(), len(whole))
    assert figures["replaces"][0] == history[1]
    assert figures["replaces"][1] in history
    assert figures["summary"] == said.context.history[0].id
    assert (figures["instruction"], figures["strategy"], figures["trigger"]) == (
        "the parser",
        "saying",
        "manual",
    )
    assert (figures["input"], figures["output"], figures["cache_read"]) == (1000, 50, 100)
    [done] = run.all(CompactionCompleted)
    assert (done.before, done.after) == (figures["tokens"], figures["after"])
    assert (done.summary, done.text, done.replaced) == (
        figures["summary"],
        SUMMARY.strip(),
        figures["replaced"],
    )
    kinds = [type(event) for event in run.heard]
    order = [CompactionStarted, CompactionSummary, Rotated, CompactionCompleted]
    assert [kind for kind in kinds if kind in order] == order
    await check(said.context)


async def test_what_a_strategy_keeps_besides_stays_and_less_than_it_must_is_refused(said: Said) -> None:
    strategy = Saying(also=(0,))
    run = alone(said, strategy)
    assert await run.compactor.compact(Wanted("manual"))
    assert strategy.seen[0].replaced[0].id in ids(said.context)
    await run.compactor.ahead.take(Wanted("manual"), 0)
    whole = said.context.path.read_bytes()

    async def less(source: Source, model: object) -> CompactionResult:
        return CompactionResult(SUMMARY, [], source.tokens, Tokens(0, "estimated"))

    strategy.compact = less  # type: ignore[method-assign]
    assert not await run.compactor.compact(Wanted("manual", newest=1, budget=0))
    assert "must stay" in run.all(CompactionFailed)[-1].reason
    assert said.context.path.read_bytes() == whole


async def test_a_strategy_with_a_fault_leaves_the_log_and_the_fault_is_heard(said: Said) -> None:
    strategy = Saying()
    run = alone(said, strategy)
    whole = said.context.path.read_bytes()

    async def fault() -> None:
        raise ZeroDivisionError("a bug")

    strategy.before = fault
    with pytest.raises(ZeroDivisionError):
        await run.compactor.compact(Wanted("manual"))
    assert run.all(CompactionFailed)[-1].reason == "ZeroDivisionError: a bug"
    assert (run.compactor.busy, run.compactor.stage) == (False, "")
    assert said.context.path.read_bytes() == whole


async def test_the_todos_in_force_and_the_ledger_are_told_to_the_strategy_and_stand_in_the_log(
    said: Said,
) -> None:
    strategy = Saying()
    run = alone(said, strategy)
    await said.context.set_state("todo", [{"text": "write the docs", "status": "pending"}])
    assert await run.compactor.compact(Wanted("manual"))
    source = strategy.seen[0]
    assert source.pending == ["write the docs"]
    assert "cat part0.py" in source.ledger
    assert said.context.state["todo"] == [{"text": "write the docs", "status": "pending"}]
    assert said.context.state["ledger"]["commands"]
    assert "cat part0.py" in said.context.history[0].text
    again = Saying()
    second = alone(said, again)
    await said.words("and now the rest")
    await said.answer("the rest of the parser in alpha.py is mended too. " * 40)
    await said.words("thanks")
    await said.answer("it reads each line. " * 40)
    assert await second.compactor.compact(Wanted("manual"))
    assert "cat part0.py" in again.seen[0].ledger, "it outlives the messages it was made from"


async def test_one_result_that_fills_the_window_is_cut_where_nothing_can_go(tmp_path: Path) -> None:
    said = await begun(tmp_path)
    await said.words("show me the log")
    await said.step("cat big.log", "a line of the log\n" * 12_000)
    run = alone(said, Saying())
    before = said.context.weigh().total
    assert before > 20_000
    assert await run.relief.recover()
    assert said.context.weigh().total < 15_000
    [batch] = run.all(MicroCompacted)
    assert (batch.before, batch.after) == (before, said.context.weigh().total)
    assert "\na line of the log\n" in str(said.context.history[-1].content).replace("\\n", "\n")
    await said.context.restore_elided(batch.elide)
    assert said.context.weigh().total == before


async def test_after_two_runs_that_gained_next_to_nothing_it_is_done_no_more_unasked(said: Said) -> None:
    strategy, line = Saying(), "the parser reads each line of the file. "

    async def nearly_as_long() -> None:
        strategy.text = line * int(0.93 * strategy.seen[-1].tokens.count / Counting().count(line))

    strategy.before = nearly_as_long
    run = alone(said, strategy, micro_ratio=0.84)
    for number in range(40):
        total = said.context.weigh().total
        await run.relief.relieve(total)
        if run.all(CompactionSkipped):
            break
        await said.words(f"more about the parser {number}")
        await said.answer("the parser reads each line of alpha.py. " * 60)
    assert [skipped.reason for skipped in run.all(CompactionSkipped)] == ["no_progress"]
    assert run.compactor.fruitless == 2
    await run.relief.relieve(said.context.weigh().total)
    assert len(run.all(CompactionSkipped)) == 1, "it is said once"


async def test_with_the_strategy_none_nothing_is_summarised(said: Said) -> None:
    whole = said.context.path.read_bytes()
    strategy = Saying()

    async def nothing(source: Source, model: object) -> CompactionResult:
        everything = [message.id for message in source.history]
        return CompactionResult("", everything, source.tokens, source.tokens)

    strategy.compact = nothing  # type: ignore[method-assign]
    run = alone(said, strategy)
    assert not await run.compactor.compact(Wanted("manual"))
    assert run.all(CompactionSkipped)[-1].reason == "short"
    assert said.context.path.read_bytes() == whole


async def test_a_summary_at_hand_is_given_up_when_what_it_replaces_is_pinned(said: Said) -> None:
    strategy = Saying()
    run = alone(said, strategy)
    run.compactor.ahead.prepare()
    run.compactor.ahead.prepare()
    assert await run.compactor.compact(Wanted("auto"))
    assert [event.trigger for event in run.all(CompactionStarted)] == ["ahead"]
    assert len(strategy.seen) == 1, "one is enough"
    await said.context.undo()
    run.compactor.ahead.prepare()
    await said.context.mark(ids(said.context)[3], pinned=True)
    assert await run.compactor.compact(Wanted("auto"))
    assert ids(said.context)[2] == strategy.seen[-1].kept[1].id


def test_what_requests_cost_is_the_sum_of_their_parts() -> None:
    price = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    usage = Usage(input=1000, output=200, cache_read=10_000, cache_write=400)
    assert cost_of(usage, price) == pytest.approx(0.003 + 0.003 + 0.003 + 0.0015)
    assert cost_of(usage, None) is None
    assert cost_of(None, price) is None
