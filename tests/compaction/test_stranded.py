"""From no state of a log is there no way out: a compaction makes the next request fit, or says what weighs and why.

States that a person can get into: a summary edited far too large, pins, settings that keep much, a giant result, words
that fill the window, in any combination. Each is left by the doors that there are: what happens by itself before a
step (and after the endpoint's refusal), and `/compact`.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.compaction.logs import Said, begun
from tests.compaction.lone import Alone
from tests.compaction.stories import Scripted
from tests.context.compare import check
from tui_agent.changes import CompactionFailed, CompactionSkipped
from tui_agent.compaction.editing import edit
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.making import ANSWER_TOKENS, Wanted
from tui_agent.compaction.summary import Summary
from tui_agent.events import Notice
from tui_agent.settings.schema import Compaction as Keys

WINDOW = 16_000
LINE = "the parser of alpha.py reads each line of it and keeps its offset. "
SHORT = """\
## Goal and current request
The user wants the parser of alpha.py mended, part by part.

## Done
The parser of alpha.py reads each line of it and keeps its offset, in all parts that were asked for.

## In progress
None.

## Files and their state
alpha.py: read, not changed.
"""
WEIGHT = 17
"""Tokens of a line, about."""

Door = Literal["by itself", "/compact"]
Answer = Literal["a summary", "nothing"]


class State(NamedTuple):
    """A log: what share of the window each thing has, and what is set; and how it is left."""

    summary: float
    pinned: float = 0.0
    result: float = 0.0
    words: float = 0.0
    keep: int = 2
    answer: Answer = "a summary"
    door: Door = "by itself"

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._asdict().items() if value)


def text(share: float) -> str:
    """Text that takes up that share of the window."""
    return LINE * int(share * WINDOW / WEIGHT)


async def log(folder: Path, state: State) -> Said:
    """A log in that state; it was compacted once, and nothing fits unless all of it is small."""
    said = await begun(folder)
    await said.words("mend the parser in alpha.py")
    pinned = await said.answer(text(state.pinned) or "yes")
    for number in range(4):
        await said.words(f"mend the parser in alpha.py, part {number}")
        await said.answer(f"part {number}: {LINE * 3}")
    if state.pinned:
        await said.context.mark(pinned, pinned=True, by="user")
    first = Alone(said.context, Scripted(lambda asked: SHORT, window=20 * WINDOW), strategy=Summary())
    assert await first.compactor.compact(Wanted("manual", budget=1))
    if state.summary:
        await edit(said.context, text(state.summary))
    if state.words:
        await said.words(f"now this: {text(state.words)}")
    if state.result:
        await said.step("cat alpha.log", text(state.result), title="cat alpha.log")
    return said


def alone(said: Said, state: State) -> Alone:
    strategy = Extractive() if state.answer == "nothing" and state.keep % 2 else Summary()
    answer = SHORT if state.answer == "a summary" else ""
    keys = Keys(ahead="off", keep_messages=state.keep, fallback="extractive")
    return Alone(said.context, Scripted(lambda asked: answer, window=WINDOW), strategy=strategy, keys=keys)


def fits(said: Said) -> bool:
    return said.context.weigh().total + ANSWER_TOKENS <= WINDOW


async def leave(run: Alone, said: Said, door: Door) -> None:
    """What a session does before a step, and once more when it cannot be sent; or what a person asks for."""
    if door == "/compact":
        await run.compactor.compact(Wanted("manual"))
        return
    await run.relief.relieve(said.context.weigh().total)
    if not fits(said):
        await run.relief.recover(tokens=said.context.weigh().total, window=WINDOW)


def told(run: Alone) -> str:
    """Why there is no room, in words."""
    found = [
        getattr(event, "detail", "") or getattr(event, "reason", "") or getattr(event, "text", "")
        for event in run.heard
        if isinstance(event, CompactionSkipped | CompactionFailed | Notice)
    ]
    return "\n".join(found)


async def hold(folder: Path, state: State) -> None:
    """The promise, for one state."""
    said = await log(folder, state)
    run = alone(said, state)
    await leave(run, said, state.door)
    if not fits(said):
        causes = {
            "that you pinned": state.pinned,
            "keep_messages": state.words if state.keep > 2 else 0,
            "your words": state.words if state.keep == 2 else 0,
        }
        assert sum(causes.values()) > 0.8, "a way out was not taken"
        for cause, weight in causes.items():
            assert cause in told(run) or not weight, (cause, told(run))
    await check(said.context)
    await said.context.close()


ALL = [
    State(*parts)
    for parts in itertools.product(
        (0, 0.2, 0.45, 1.5, 12),
        (0, 0.4, 1.2),
        (0, 5),
        (0, 0.5, 1.5),
        (2, 1_000),
        ("a summary", "nothing"),
        ("by itself", "/compact"),
    )
]
SOME = [
    State(12),
    State(1.5, door="/compact"),
    State(1.5, pinned=0.4, answer="nothing"),
    State(0.45, pinned=0.4, door="/compact"),
    State(0.2, keep=1_000, words=0.9),
    State(0.2, keep=1_000, words=0.9, door="/compact"),
    State(12, keep=1_000, result=5),
    State(0.2, words=1.5, result=5, door="/compact"),
    *random.Random(4).sample(ALL, 8),
]


@pytest.mark.parametrize("state", SOME, ids=str)
async def test_there_is_a_way_out_or_what_weighs_is_named(tmp_path: Path, state: State) -> None:
    await hold(tmp_path, state)


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_there_is_a_way_out_of_every_state_or_what_weighs_is_named(tmp_path: Path) -> None:
    for number, state in enumerate(ALL):
        (tmp_path / str(number)).mkdir()
        try:
            await hold(tmp_path / str(number), state)
        except AssertionError as error:
            raise AssertionError(str(state)) from error
