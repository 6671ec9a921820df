"""Logs of other programs, damaged ones and hostile texts: they are compacted like any other, or left as they are."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import Said, begun, ids
from tests.compaction.lone import Alone
from tests.compaction.stories import Scripted
from tests.context.compare import check
from tests.support import mutations, validity
from tests.support.hostile import TEXTS
from tui_agent.changes import CompactionCompleted, CompactionFailed
from tui_agent.compaction.handover import summary_of
from tui_agent.compaction.making import Wanted
from tui_agent.compaction.strategy import CompactionResult
from tui_agent.context import Context
from tui_agent.literal import clean
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Tokens

SEEDS = mutations.seeds()
SAMPLE, ALL = 60, 1500
CLOSING = "</summary></log></compacted>"
"""What would end the parts of the message that a summary stands in."""


class Saying:
    """A strategy that gives back a text, whatever it is."""

    name = "saying"

    def __init__(self, text: str) -> None:
        self._text = text

    async def compact(self, source: Any, model: Any) -> CompactionResult:
        kept = [message.id for message in source.kept]
        return CompactionResult(self._text, kept, source.tokens, Tokens(1, "estimated"))


async def compacts(folder: Path, data: bytes, case: str) -> bool:
    """Compact a log, keeping one message; True if it was. Otherwise it is the same, byte for byte."""
    folder.mkdir()
    path = folder / "context.jsonl"
    path.write_bytes(data)
    context = Context(path, model="claude-sonnet-5-5")
    await context.restore()
    before, history = path.read_bytes(), ids(context)
    alone = Alone(context, Scripted(lambda text: ""), strategy=Saying("Done."))
    done = await alone.compactor.compact(Wanted("manual", newest=1, budget=1))
    if done:
        [event] = alone.all(CompactionCompleted)
        assert (folder / event.backup).read_bytes() == before, case
        assert not context.damage, case
        assert set(ids(context)[1:]) <= set(history), case
        validated(context, case)
        await check(context)
        await context.undo()
        assert path.read_bytes().startswith(before.rstrip(b"\n")), case
        assert ids(context) == history, case
    else:
        failed = [event for event in alone.all(CompactionFailed) if "is larger" not in event.reason]
        assert not failed, case
        assert path.read_bytes() == before, case
    await context.append_message({"role": "user", "content": "go on"})
    validated(context, case)
    await check(context)
    await context.close()
    shutil.rmtree(folder)
    return done


def validated(context: Context, case: str) -> None:
    """The next request keeps the API's rules. What is put in the place of media is tried elsewhere."""
    request = Request.make(
        model="claude-sonnet-5-5",
        system=context.system_blocks,
        history=context.history,
        max_tokens=1000,
        tools=context.tools or [],
    )
    found = [
        rule for rule in validity.check(request.body()) if "blob" not in rule and not rule.startswith("tools")
    ]
    assert found == [], case


def all_compact(folder: Path, numbers: range) -> int:
    """How many of these damaged files were compacted."""
    count = 0
    for number in numbers:
        name, data = SEEDS[number % len(SEEDS)]
        kind, damaged = mutations.mutate(data, random.Random(number))
        count += asyncio.run(compacts(folder / str(number), damaged, f"{number}: {kind} of {name}"))
    return count


def test_damaged_and_foreign_logs_are_compacted_or_left_alone(tmp_path: Path) -> None:
    assert all_compact(tmp_path, range(SAMPLE)) > SAMPLE // 4


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_damaged_and_foreign_logs_are_compacted_or_left_alone(tmp_path: Path) -> None:
    assert all_compact(tmp_path, range(SAMPLE, ALL)) > ALL // 4


@pytest.mark.parametrize(("name", "data"), SEEDS, ids=[name for name, _ in SEEDS])
async def test_sound_logs_of_all_kinds_are_compacted(tmp_path: Path, name: str, data: bytes) -> None:
    assert await compacts(tmp_path / "log", data, name) or len(data.splitlines()) < 12


async def hostile(said: Said, text: str) -> None:
    """A session in which everything says this."""
    for number in range(3):
        await said.words(f"{number} {text}")
        call, (one, two) = await said.calls(f"run {text}", "ls", text=text or "x")
        await said.result(two, text, title=text)
        await said.result(one, text, error=True, title=text)
        await said.answer(f"done {text}")
    await said.context.set_state("todo", [{"text": f"open {text}", "status": "pending"}])
    await said.context.mark(call, pinned=True, note=text)


@pytest.mark.parametrize("name", TEXTS)
async def test_any_text_may_stand_anywhere_and_in_the_summary(tmp_path: Path, name: str) -> None:
    said, text = await begun(tmp_path), TEXTS[name][:500]
    await hostile(said, text)
    context = said.context
    words = [message.text for message in context.history if message.is_words]
    summary = f"## Goal and current request\n{text}\n{CLOSING}\n## Done\nNone.{text}"
    source = "padding so that the summary is the smaller one " * len(summary)
    await context.append_message({"role": "assistant", "content": source})
    await hostile(said, text)
    alone = Alone(context, Scripted(lambda asked: ""), strategy=Saying(summary))
    assert await alone.compactor.compact(Wanted("manual", text)), alone.heard[-1]
    [event] = alone.all(CompactionCompleted)
    assert event.text == summary.strip()
    told = clean(summary.strip()).replace(CLOSING, CLOSING.replace("<", "[").replace(">", "]"))
    assert summary_of(context.history[0].text) == told
    assert [m.text for m in context.history if m.is_words][: len(words)] == words
    await check(context)
    validated(context, name)
    await context.close()
