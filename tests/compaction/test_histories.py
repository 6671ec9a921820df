"""Whatever is elided, brought back, pinned and compacted at whatever point of a turn: what is sent is valid, and what
was to stay stands there.

Random histories with parallel calls whose results come in any order, half answers, notes and thinking; after each step
the request is built and held against the API's rules.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compaction.logs import Said, begun, ids, replacement
from tests.support.crash import snapshot
from tests.support.validity import check
from tui_agent.compaction.micro import plan
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.retention import Contract, retain
from tui_agent.context import Context
from tui_agent.messages.exchange import open_calls
from tui_agent.messages.request import Request
from tui_agent.settings.schema import Compaction

MODEL = "claude-sonnet-5-5"
Operation = tuple[Any, ...]

PICK = st.integers(0, 30)
SIZES = st.sampled_from([1, 40, 3000])
DISTURBANCES = st.one_of(
    st.tuples(
        st.just("elide"), PICK, st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, "short", "x" * 99])
    ),
    st.tuples(
        st.just("mark"), PICK, st.sampled_from([{"pinned": True}, {"compressible": False}, {"pinned": False}])
    ),
    st.tuples(st.just("note"), st.sampled_from(["injection", "background", "repair"])),
    st.tuples(st.just("half")),
    st.tuples(st.just("micro")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("revert"), PICK),
)
COMPACTIONS = st.tuples(
    st.just("compact"),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 200, 20_000]),
    st.sampled_from([None, 500]),
)
LEAST = ("compact", 1, 1, None)
"""Keeps as little as it may."""


@st.composite
def steps(draw: st.DrawFn) -> list[Operation]:
    """An answer with parallel calls, and their results in any order; perhaps not all of them."""
    count = draw(st.integers(1, 3))
    results = [
        ("result", draw(st.integers(0, 2)), draw(SIZES)) for _ in range(count - draw(st.integers(0, 1)))
    ]
    return [("calls", count, draw(st.booleans())), *results]


@st.composite
def sessions(draw: st.DrawFn) -> list[Operation]:
    """Turns of several steps, and in between, at any place, what a person and the program do to a log."""
    found: list[Operation] = []
    for _ in range(draw(st.integers(2, 4))):
        found.append(("words", draw(st.sampled_from([3, 400]))))
        for step in draw(st.lists(steps(), min_size=2, max_size=4)):
            found += step
        if draw(st.booleans()):
            found.append(("answer", draw(st.booleans())))
    several = [
        *draw(st.lists(DISTURBANCES, max_size=8)),
        *draw(st.lists(COMPACTIONS, min_size=1, max_size=3)),
    ]
    for operation in several:
        place = draw(st.integers(min(4, len(found)), len(found)))
        found.insert(place, operation)
        if operation[0] in ("elide", "micro") and draw(st.booleans()):
            back = ("back", draw(PICK), draw(st.sampled_from([None, 0])))
            found.insert(draw(st.integers(place + 1, len(found))), back)
    return found


class History:
    """A log, and what may be done to it in its state."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self.context = said.context
        self.elides: list[str] = []
        self.compactions = 0

    async def do(self, operation: Operation) -> None:
        """Do it, if it can be done now: while a call is open no message but its results comes."""
        name, *arguments = operation
        needs = {
            "result": True,
            "words": False,
            "answer": False,
            "calls": False,
            "note": False,
            "half": False,
        }
        if needs.get(name) not in (None, bool(open_calls(self.context.history))):
            return
        await getattr(self, name)(*arguments)

    async def words(self, length: int) -> None:
        await self.said.words("go on " * length)

    async def answer(self, thinks: bool) -> None:
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] if thinks else []
        await self.said.say([*blocks, {"type": "text", "text": "done"}], model=MODEL)

    async def calls(self, count: int, thinks: bool) -> None:
        await self.said.calls(
            *(f"make {n}" for n in range(count)), text="looking" if thinks else "", model=MODEL
        )

    async def result(self, which: int, size: int) -> None:
        waiting = open_calls(self.context.history)
        await self.said.result(str(waiting[which % len(waiting)]["id"]), "output " * size, error=which == 2)

    async def note(self, origin: str) -> None:
        await self.said.note(f"a note: {origin}", origin)

    async def half(self) -> None:
        """An answer that broke off and is asked for again."""
        record = await self.said.say([{"type": "text", "text": "I wi"}], partial=True, model=MODEL)
        await self.context.elide([{"record": record, "as": None}], by="auto", reason="retry")

    async def elide(self, which: int, block: int | None, text: str | None) -> None:
        if not (names := [r for r in self.context.records if r.role in ("user", "assistant")]):
            return
        record = names[which % len(names)]
        if block is None or block < len(record.body["content"]):
            item = {"record": record.id, "as": text} | ({} if block is None else {"block": block})
            self.elides.append((await self.context.elide([item], by="user", reason="drop")).id)

    async def back(self, which: int, item: int | None) -> None:
        there = [name for name in self.elides if self.context.find(name)]
        if there:
            await self.context.restore_elided(there[which % len(there)], None if item is None else [item])

    async def mark(self, which: int, marks: dict[str, Any]) -> None:
        if names := ids(self.context):
            await self.context.mark(names[which % len(names)], **marks)

    async def compact(self, newest: int, budget: int, room: int | None) -> None:
        retained = retain(self.context, newest=newest, budget=budget, room=room)
        if not retained.replaced:
            return
        change = replacement(self.context, retained)
        summary = str(change.summary["id"])
        contract = Contract(retained, summary=summary)
        missing: list[str] = []
        now = self.context

        def look(after: Any) -> None:
            missing.extend(contract.missing(after, now))

        waiting, answered = unanswered(now), answers(now)
        await now.compact(change, figures={}, check=look)
        assert missing == []
        assert ids(now) == [summary, *retained.preserved]
        # the answer that is the newest now may have calls of which a person dropped the results
        assert unanswered(now) - answered == waiting - answered
        self.compactions += 1
        await self.reads_the_same()

    async def micro(self) -> None:
        """All that may be elided by itself."""
        total = self.context.weigh().total
        found = plan(self.context, Policy(Compaction(micro_ratio=0.05)), total=total, window=total)
        if found.items:
            items = [item.api() for item in found.items]
            self.elides.append((await self.context.elide(items, by="auto", reason="micro")).id)

    async def undo(self) -> None:
        if self.context.can_undo:
            await self.context.undo()
            await self.reads_the_same()

    async def revert(self, which: int) -> None:
        if marks := self.context.checkpoints():
            await self.context.revert_to(marks[which % len(marks)].uid)
            await self.reads_the_same()

    async def reads_the_same(self) -> None:
        """A fresh process sees what this one does."""
        fresh = Context(self.context.path, read_only=True, model=MODEL)
        await fresh.restore()
        assert snapshot(fresh) == snapshot(self.context)

    def is_valid(self) -> None:
        """The request that would be sent now keeps the API's rules."""
        if not self.context.history:
            return
        request = Request.make(
            model=MODEL,
            system=self.context.system_blocks,
            history=self.context.history,
            max_tokens=1000,
            tools=self.context.tools or [],
        )
        assert check(request.body()) == []


def unanswered(context: Context) -> set[str]:
    """The calls of the newest answer that have no result yet."""
    history = list(context.history)
    newest = max((at for at, message in enumerate(history) if message.role == "assistant"), default=None)
    if newest is None:
        return set()
    results = {str(block["tool_use_id"]) for m in history[newest:] for block in m.blocks("tool_result")}
    return {str(block["id"]) for block in history[newest].blocks("tool_use")} - results


def answers(context: Context) -> set[str]:
    """The calls that were answered, also where the result is not sent."""
    stored = [record.body.get("content") for record in context.records if record.role == "user"]
    blocks = [block for content in stored if isinstance(content, list) for block in content]
    return {str(block["tool_use_id"]) for block in blocks if block.get("type") == "tool_result"}


PARALLEL = [
    *(("words", 3), ("calls", 3, True), ("result", 2, 40), ("result", 1, 3000), ("result", 0, 1)),
    *(("answer", True), ("words", 3), ("calls", 2, False), ("result", 1, 3000)),
]
PINNED = ("mark", 3, {"pinned": True})


def live_through(operations: Sequence[Operation]) -> int:
    """Do them all to a new log, looking after each; returns how many compactions there were."""
    folder = Path(tempfile.mkdtemp(prefix="histories-"))

    async def run() -> int:
        history = History(await begun(folder))
        for operation in operations:
            await history.do(operation)
            history.is_valid()
        await history.reads_the_same()
        await history.context.close()
        return history.compactions

    try:
        return asyncio.run(run())
    finally:
        shutil.rmtree(folder)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(sessions())
def test_what_is_sent_is_valid_whatever_is_elided_brought_back_and_compacted(
    operations: list[Operation],
) -> None:
    live_through(operations)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=3_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sessions())
def test_many_more_histories(operations: list[Operation]) -> None:
    live_through(operations)


@pytest.mark.parametrize("place", range(3, len(PARALLEL) + 1))
def test_a_compaction_at_each_step_of_a_turn_with_parallel_calls(place: int) -> None:
    behind = [("result", 0, 40), ("back", 0, None), ("answer", True), LEAST, ("undo",), ("undo",)]
    for before in ([], [PINNED, ("elide", 5, 0, "short")], [("elide", 4, None, None)]):
        assert live_through([*PARALLEL[:place], *before, LEAST, *PARALLEL[place:], *behind]) >= 1


def test_a_call_that_is_pinned_and_whose_result_was_dropped_is_the_newest_answer_after_a_compaction() -> None:
    calls: list[Operation] = [("words", 3), ("calls", 1, False), ("result", 0, 1)]
    dropped: list[Operation] = [("mark", 1, {"pinned": True}), *calls, ("elide", 2, None, None)]
    assert live_through([*calls, *dropped, ("words", 3), ("compact", 1, 1, None), *calls]) == 1
