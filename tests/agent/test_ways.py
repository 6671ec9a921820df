"""The ways out of a request that does not fit: each that is named makes enough room, in any log."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compaction.lone import Alone
from tests.compaction.test_compactor import Counting
from tests.support import sessions
from tests.support.examples import examples
from tui_agent.agent.building import assemble
from tui_agent.agent.staying import staying
from tui_agent.agent.ways import ways_out
from tui_agent.changes import MicroCompacted
from tui_agent.compaction import picked
from tui_agent.compaction.making import Wanted
from tui_agent.context import Context
from tui_agent.messages.blocks import tool_result
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS, DoesNotFit, Limits


async def opened(path: Path) -> Context:
    context = Context(path, durability="off", model=sessions.MODEL)
    await context.restore()
    return context


def numbers(ways: tuple[str, ...], command: str) -> list[int]:
    """The records or checkpoints that are named with a command."""
    return [int(match[1]) for way in ways if (match := re.search(rf"\(/{command} (\d+)\)", way))]


async def _lead_on(seed: int, messages: int, share: float) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        sessions.write(path, messages, seed)
        context = await opened(path)
        total = context.weigh().total
        most = int(total * share)
        ways = ways_out(context, total, most)
        assert re.fullmatch(rf".*{total + MIN_OUTPUT_TOKENS:,} tokens or more \(/model\)", ways[-1])
        if any("/compact" in way for way in ways):
            await _compacted(path, most)
        for number in numbers(ways, "revert"):
            await context.revert_to(number)
            assert context.weigh().total <= most + _SLACK
            await context.undo()
        for line in numbers(ways, "elide"):
            (record,) = context.find(str(line))
            await picked.shorten(context, record.id)
        if numbers(ways, "elide"):
            assert context.weigh().total <= most + _SLACK
        await context.close()


async def _compacted(path: Path, most: int) -> None:
    """The log of that path, compacted without a model, has enough room.

    By its parts: the whole is corrected by usages, which this random log has made up.
    """
    copy = path.with_name("copy") / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    context = await opened(copy)
    alone = Alone(context, Counting(window=most + MIN_OUTPUT_TOKENS))
    assert await alone.compactor.compact(Wanted("manual")) or alone.all(MicroCompacted), alone.heard
    parts = [context.system_tokens, context.tools_tokens, *(context.tokens(m.id) for m in context.history)]
    assert sum(part.count for part in parts) <= most + _SLACK
    await context.close()


_SLACK = 40
"""Tokens that two estimates of the same records may differ in, for each is rounded up by itself."""
_cases = (st.integers(0, 10_000), st.integers(4, 60), st.floats(0.2, 0.99))


@examples(20)
@given(*_cases)
def test_each_way_out_that_is_named_makes_enough_room(seed: int, messages: int, share: float) -> None:
    asyncio.run(_lead_on(seed, messages, share))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(*_cases)
def test_each_way_out_that_is_named_makes_enough_room_in_many_logs(
    seed: int, messages: int, share: float
) -> None:
    asyncio.run(_lead_on(seed, messages, share))


async def test_where_there_is_next_to_nothing_to_summarise_the_way_out_is_to_cut(tmp_path: Path) -> None:
    context = await opened(tmp_path / "context.jsonl")
    await context.write_system_prompt("be good")
    for words in ("hello", "read it"):
        await context.append_message({"role": "user", "content": words})
        call = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}
        said = call if words == "read it" else {"type": "text", "text": "good day"}
        await context.append_message({"role": "assistant", "content": [said], "model": sessions.MODEL})
    large = {"role": "user", "content": [tool_result("c1", "word " * 9_000)]}
    await context.append_message(large, origin="tool", meta={"tool": "read_file"})
    with pytest.raises(DoesNotFit) as refused:
        assemble(context, Limits(sessions.MODEL, 8_000, 1_024))
    (way,) = [way for way in refused.value.ways if "/compact" in way]
    assert way == "cut long results to their heads and tails (/compact)"
    alone = Alone(context, Counting(window=8_000))
    assert not await alone.compactor.compact(Wanted("manual"))
    assemble(context, Limits(sessions.MODEL, 8_000, 1_024))
    assert len(numbers(refused.value.ways, "elide")) == 1
    await context.close()


async def test_what_is_never_left_out_is_named_with_the_reason(tmp_path: Path) -> None:
    context = await opened(tmp_path / "context.jsonl")
    await context.write_system_prompt("be good")
    messages: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "user", "content": "pin this"}, None),
        ({"role": "assistant", "content": "it is", "model": sessions.MODEL}, None),
        ({"role": "user", "content": "a new goal"}, "summary"),
        ({"role": "user", "content": "and now"}, None),
        ({"role": "user", "content": "mind the goal"}, "injection"),
        ({"role": "assistant", "content": "I do", "model": sessions.MODEL}, None),
    ]
    ids = [(await context.append_message(body, origin=origin))[0].id for body, origin in messages]
    await context.mark(ids[0], pinned=True)
    assert staying(context) == {
        ids[0]: "pinned",
        ids[2]: "a summary",
        ids[3]: "newest words",
        ids[4]: "a reminder",
        ids[5]: "newest turn",
    }, "and the answer of an earlier turn may go"
    await context.close()


async def test_where_one_item_is_not_enough_several_are_named_and_no_more_than_that(tmp_path: Path) -> None:
    context = await opened(tmp_path / "context.jsonl")
    await context.write_system_prompt("be good")
    await context.append_message({"role": "user", "content": "begin"})
    for number, size in enumerate((3_000, 2_000, 500, 100)):
        use = {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {}}
        await context.append_message({"role": "assistant", "content": [use], "model": sessions.MODEL})
        result = {"role": "user", "content": [tool_result(f"c{number}", "word " * size)]}
        await context.append_message(result, origin="tool", meta={"tool": "bash"})
    limits = Limits(sessions.MODEL, 4_000, 1_024)
    with pytest.raises(DoesNotFit) as refused:
        assemble(context, limits)
    named = numbers(refused.value.ways, "elide")
    large = [record.line for record in context.records if record.origin == "tool"][:2]
    assert named == large
    assert ["together with the others" in way for way in refused.value.ways if "/elide" in way] == [
        True,
        True,
    ]
    for line in named:
        await picked.shorten(context, context.find(str(line))[0].id)
    assemble(context, limits)
    await context.close()
