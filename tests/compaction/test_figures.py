"""The weights before and after a compaction are in one measure, and what was estimated is exact once it was counted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.running import SUMMARY, compacted, compacting, is_compaction
from tests.compaction.stories import spoken
from tests.context.compare import check
from tests.support.engine import Run, engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionCompleted, CompactionSkipped
from tui_agent.context import Context
from tui_agent.events import Answer, Notice, UsageReported
from tui_agent.messages.tokens import Tokens

Measure = Callable[[str], int]

MEASURES: dict[str, Measure] = {
    "finer than estimated": lambda text: len(text) // 2,
    "by words": lambda text: 2 * len(text.split()),
}
SIZE = 40


def counting(measure: Measure) -> Callable[[dict[str, Any]], Reply]:
    """A model whose tokens are others than the estimator's."""

    def step(body: dict[str, Any]) -> Reply:
        size = measure(spoken(body) + json.dumps(body.get("tools", [])))
        text = SUMMARY if is_compaction(body) else "alpha.py: the parser reads each line of the file. " * SIZE
        return Reply.text(text).using(input=size, output=measure(text))

    return step


async def talked(run: Run, turns: int = 5) -> None:
    for number in range(turns):
        await run.say(f"mend the parser in alpha.py, part {number}")


@pytest.mark.parametrize("kind", MEASURES)
async def test_before_and_after_are_in_the_measure_of_the_endpoint(tmp_path: Path, kind: str) -> None:
    (tmp_path / "AGENTS.md").write_text("Mind the parser, and say what you did to it. " * 200)
    async with ScriptedServer() as server, engine(tmp_path, server, settings=compacting(server)) as run:
        server.always(counting(MEASURES[kind]))
        await talked(run)
        done = await compacted(run)
        assert isinstance(done, CompactionCompleted)
        context = run.context
        assert done.after == context.weigh().total
        head = context.head
        assert head is not None and context.counted_after(head) is None
        estimated = sum(context.tokens(m.id).count for m in context.history)
        estimated += context.system_tokens.count + context.tools_tokens.count
        await run.say("go on")
        real = context.counted_after(head)
        assert real is not None and real.mark == "reconciled"
        assert done.after == pytest.approx(real.count, rel=0.03)
        assert estimated != pytest.approx(real.count, rel=0.1), "estimates alone would do"
        await check(context)


async def test_the_request_that_is_sent_behind_it_says_what_it_weighs_also_to_a_fresh_process(
    tmp_path: Path,
) -> None:
    chosen: dict[str, Any] = {"window": 16_000, "micro_ratio": 0.98}
    async with (
        ScriptedServer() as server,
        engine(tmp_path, server, settings=compacting(server, **chosen)) as run,
    ):
        server.always(counting(MEASURES["finer than estimated"]))
        while not run.all(CompactionCompleted):
            await talked(run, 1)
        await run.say("and on")
        [done] = run.all(CompactionCompleted)
        [head] = [head for head in run.context.heads if head.figures.get("summary") == done.summary]
        behind = run.heard[run.heard.index(done) :]
        used = next(event for event in behind if isinstance(event, UsageReported))
        # by itself it is made at the end of a turn, so the words of the next one were sent along, and what it was told
        spoken = next(m.id for m in reversed(run.context.history) if m.is_words)
        told = [m.id for m in run.context.history if m.origin == "injection"]
        later = [name for name in told if run.context.record(name).index > head.index]
        words = sum(run.context.tokens(name).count for name in (spoken, *later))
        assert run.context.counted_after(head) == Tokens(used.total - used.output - words, "reconciled")
        assert done.after == pytest.approx(used.total - used.output, rel=0.03)
        fresh = Context(run.context.path, read_only=True)
        await fresh.restore()
        assert fresh.counted_after(head) == run.context.counted_after(head)


# --- what is told at an edit, and where nothing makes room --------------------------------------------------------

HUGE = "The parser of alpha.py reads each line. " * 4_000


def short(body: dict[str, Any]) -> Reply:
    return Reply.text(SUMMARY if is_compaction(body) else "alpha.py: the parser reads each line of it. " * 20)


async def edited_by_hand(run: Run) -> None:
    """The summary in force is made far too large."""
    outcome = await run.session.perform("summary", HUGE)
    assert "it does not fit. The summary is summarised again before the next request" in outcome.text
    assert outcome.data["fits"] is False


async def edited_at_the_review(run: Run) -> None:
    """The summary is made far too large before it is in force."""
    await talked(run, 2)
    run.answers = lambda asked: Answer("once", edited=HUGE)
    await compacted(run)
    run.answers = lambda asked: Answer("once")
    [warning] = [notice for notice in run.all(Notice) if notice.level == "warning"]
    assert "it does not fit. The summary is summarised again before the next request" in warning.text


@pytest.mark.parametrize("edit", [edited_by_hand, edited_at_the_review])
@pytest.mark.parametrize("door", ["by itself", "/compact"])
async def test_a_summary_edited_far_too_large_is_told_of_and_summarised_again(
    tmp_path: Path, edit: Callable[[Run], Awaitable[None]], door: str
) -> None:
    async with ScriptedServer() as server:
        chosen = compacting(server, window=16_000, review=edit is edited_at_the_review)
        async with engine(tmp_path, server, settings=chosen, answers=lambda asked: Answer("once")) as run:
            server.always(short)
            await talked(run)
            assert isinstance(await compacted(run), CompactionCompleted)
            await edit(run)
            assert run.context.weigh().total > 30_000
            if door == "/compact":
                assert isinstance(await compacted(run), CompactionCompleted)
            assert (await run.say("and on")).reason == "end_turn"
            assert run.context.weigh().total < 8_000
            assert "The parser of alpha.py reads each line." in "".join(map(spoken, server.requests))
            await check(run.context)


@pytest.mark.parametrize(
    ("auto", "why"), [(True, "it fits"), (False, "compaction.auto is off: /compact does")]
)
async def test_of_an_edited_summary_it_is_said_what_follows(tmp_path: Path, auto: bool, why: str) -> None:
    async with ScriptedServer() as server:
        chosen = compacting(server, window=16_000, auto=auto)
        async with engine(tmp_path, server, settings=chosen) as run:
            server.always(short)
            await talked(run)
            await compacted(run)
            shown = await run.session.perform("summary")
            assert shown.data["most"] == 2_400
            words = "The parser of alpha.py." if auto else HUGE
            assert why in (await run.session.perform("summary", words)).text


@pytest.mark.parametrize("door", ["by itself", "/compact"])
async def test_where_a_setting_keeps_everything_it_is_named(tmp_path: Path, door: str) -> None:
    async with ScriptedServer() as server:
        chosen = compacting(server, window=16_000, keep_messages=1_000)
        async with engine(tmp_path, server, settings=chosen) as run:
            server.always(lambda body: Reply.text("alpha.py: the parser reads each line of it. " * 100))
            if door == "/compact":
                await talked(run, 2)
                ended = await compacted(run)
                assert isinstance(ended, CompactionSkipped) and ended.reason == "short"
                assert "compaction.keep_messages keeps the newest 1,000 messages" in ended.detail
            while run.context.weigh().total < 12_000:
                await talked(run, 1)
            ended = await compacted(run) if door == "/compact" else run.all(CompactionSkipped)[-1]
            assert isinstance(ended, CompactionSkipped) and ended.reason == "kept"
            assert "by compaction.keep_messages = 1,000" in ended.detail
            assert "lower compaction.keep_messages" in ended.detail
