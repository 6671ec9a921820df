"""Micro-compaction: what is elided, what never is, how far it goes, and that the log alone decides."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compaction.logs import Said, begun, ids
from tests.support import sessions, validity
from tui_agent.changes import MicroCompacted
from tui_agent.compaction.candidates import Item
from tui_agent.compaction.micro import Micro, Plan, plan
from tui_agent.compaction.picked import bring_back
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.priority import Priorities
from tui_agent.context import Context
from tui_agent.events import Event
from tui_agent.messages.request import Request
from tui_agent.settings.schema import Compaction, Price

LINES = "".join(f"line {number} of the output\n" for number in range(400))
"""A long result: about 10 000 characters."""
MEDIUM = "word " * 400
ALL = Compaction(micro_ratio=0.05, micro_stop_ratio=0.01)
"""Elides all it may in a window that is none."""


@pytest.fixture
async def said(tmp_path: Path) -> AsyncIterator[Said]:
    found = await begun(tmp_path)
    found.context.assign = Priorities(Compaction().priorities).of
    yield found
    await found.context.close()


def planned(context: Context, keys: Compaction = ALL) -> Plan:
    """What a batch would elide that goes as far as it may."""
    return plan(context, Policy(keys), total=1_000_000, window=1_000_000)


def texts(found: Plan) -> dict[str, str | None]:
    """What stands in place of each record that a plan names."""
    return {item.record: item.text for item in found.items}


async def steps(said: Said, count: int, output: str = MEDIUM, **meta: Any) -> list[str]:
    """Steps with a result each; the records of the results."""
    return [(await said.step(f"make {step}", output, **meta))[1] for step in range(count)]


def sent(context: Context) -> Request:
    """The request of a log; it is valid."""
    request = Request.make(
        model=sessions.MODEL,
        system=context.system_blocks,
        history=context.history,
        max_tokens=1000,
        tools=context.tools or [],
    )
    assert validity.check(request.body()) == []
    return request


# --- which results -----------------------------------------------------------------------------------------------


async def test_results_beyond_the_newest_three_become_a_marker_with_the_way_to_the_whole(said: Said) -> None:
    await said.words("go")
    results = await steps(said, 5)
    await said.answer("done")
    assert texts(planned(said.context)) == {
        record: f"[truncated: bash result, {len(MEDIUM)} chars]\n(in full: record {record})"
        for record in results[:2]
    }


async def test_parallel_results_of_one_answer_count_as_one(said: Said) -> None:
    await said.words("go")
    groups = []
    for _ in range(5):
        _, calls = await said.calls("a", "b", "c")
        groups.append([await said.result(call, MEDIUM) for call in reversed(calls)])
    await said.answer("done")
    assert texts(planned(said.context)).keys() == {*groups[0], *groups[1]}


async def test_a_result_that_no_answer_follows_stays_an_error_among_them(said: Said) -> None:
    await said.words("go")
    old, newest = await steps(said, 2, micro=1)
    _, (call,) = await said.calls("make")
    failed = await said.result(call, MEDIUM, error=True)
    keys = Compaction(micro_ratio=0.05, micro_stop_ratio=0.01, micro_keep=1)
    assert texts(planned(said.context, keys)).keys() == {old, newest}
    await said.answer("I see")
    await steps(said, 1)
    await said.answer("done")
    assert failed in texts(planned(said.context, keys)), "the model has reacted to it"


async def test_the_results_of_an_open_exchange_stay(said: Said) -> None:
    await said.words("go")
    await steps(said, 4)
    _, calls = await said.calls("a", "b")
    first = await said.result(calls[0], MEDIUM)
    assert first not in texts(planned(said.context))


async def test_of_a_long_result_head_and_tail_lines_stay(said: Said) -> None:
    await said.words("go")
    record, *_ = await steps(said, 4, LINES)
    await said.answer("done")
    text = texts(planned(said.context))[record]
    assert text is not None
    first, *kept = text.splitlines()
    assert first == f"[truncated: bash result, {len(LINES)} chars]"
    assert kept[0] == "line 0 of the output"
    assert kept[-2] == "line 399 of the output"
    assert kept[-1] == f"(in full: record {record})"
    assert any("left out ...]" in line for line in kept)
    assert len(text) < 1_500


@pytest.mark.parametrize(("size", "kept"), [(5_000, False), (5_001, True)])
async def test_long_is_over_five_thousand_characters(said: Said, size: int, kept: bool) -> None:
    await said.words("go")
    record, *_ = await steps(said, 4, ("x" * 99 + "\n") * 50 + "y" * (size - 5_000))
    await said.answer("done")
    assert ("left out" in str(texts(planned(said.context))[record])) is kept


async def test_the_way_to_the_whole_is_the_file_that_holds_it(said: Said) -> None:
    path = said.context.outputs.path(said.context.outputs.put_text("all of it"))
    note = f"[shortened: all 81,234 bytes are in {path}; read_file and grep can read it]"
    await said.words("go")
    record, *_ = await steps(said, 4, f"{LINES}{note}")
    await said.answer("done")
    text = texts(planned(said.context))[record]
    assert text is not None
    assert text.endswith("\n" + note)
    assert text.count("shortened: all") == 1 and "in full" not in text


async def test_a_result_with_pictures_says_so(said: Said) -> None:
    await said.words("go")
    picture = {"type": "image", "source": {"type": "blob", "sha256": "0" * 64, "bytes": 90_000}}
    _, (call,) = await said.calls("look")
    block = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": [{"type": "text", "text": "two"}, picture, picture],
    }
    (record,) = await said.context.append_message(
        {"role": "user", "content": [block]}, origin="tool", meta={"tool": "read_file"}
    )
    await steps(said, 3)
    await said.answer("done")
    assert str(texts(planned(said.context))[record.id]).startswith(
        "[truncated: bash result, 3 chars, 2 images]\n"
    )


async def test_results_of_another_program_are_named_after_their_calls(said: Said) -> None:
    await said.words("go")
    blocks = []
    for name in ("Shell", "Read"):
        await said.say([{"type": "tool_use", "id": f"{name}:1", "name": name, "input": {}}])
        result = {"type": "tool_result", "tool_use_id": f"{name}:1", "content": MEDIUM}
        (record,) = await said.context.append_message({"role": "user", "content": [result]})
        blocks.append(record.id)
    await steps(said, 3)
    await said.answer("done")
    found = planned(said.context)
    assert [str(text).split(",")[0] for text in texts(found).values()] == [
        "[truncated: Shell result",
        "[truncated: Read result",
    ]
    assert found.words[0] == f"Shell result, {len(MEDIUM):,} characters"


async def test_a_short_result_is_not_worth_a_marker(said: Said) -> None:
    await said.words("go")
    await steps(said, 5, "4 passed")
    await said.answer("done")
    assert planned(said.context) == Plan()


# --- what never goes ---------------------------------------------------------------------------------------------


async def test_words_pins_what_is_not_compressible_and_what_is_critical_stay(said: Said) -> None:
    await said.words(MEDIUM)
    pinned, fixed, critical, marked, free, *_ = await steps(said, 8)
    await said.answer("done")
    await said.context.mark(pinned, pinned=True)
    await said.context.mark(fixed, compressible=False)
    await said.context.mark(critical, priority=100)
    await said.context.mark(marked, priority=99)
    assert texts(planned(said.context)).keys() == {marked, free}
    await said.context.mark(pinned, pinned=False)
    assert pinned in texts(planned(said.context))


async def test_words_stay_whatever_marks_they_carry(said: Said) -> None:
    for _ in range(6):
        await said.words(MEDIUM, priority=0, ttl=1)
        await said.answer("so")
    assert planned(said.context) == Plan()


async def test_signed_thinking_stays_as_it_came(said: Said) -> None:
    await said.words("go")
    thought = {"type": "thinking", "thinking": "hm " * 500, "signature": "c2lnbmVk"}
    for step in range(5):
        use = {"type": "tool_use", "id": f"t{step}", "name": "bash", "input": {}}
        await said.say([thought, {"type": "text", "text": "Let me look."}, use], priority=0, ttl=1)
        await said.result(f"t{step}", MEDIUM)
    await said.answer("done")
    found = planned(said.context)
    assert found.items
    await said.context.elide([item.api() for item in found.items], by="auto", reason="micro")
    for message in said.context.history:
        if message.role == "assistant" and any(message.blocks("tool_use")):
            assert message.content[0] == thought
    sent(said.context)


# --- what says nothing any more ----------------------------------------------------------------------------------


async def test_a_reminder_goes_when_all_of_its_sources_told_something_newer(said: Said) -> None:
    async def remind(*names: str) -> str:
        body = {"role": "user", "content": [{"type": "text", "text": f"of {names}"}]}
        sources = [{"name": name, "fp": "1"} for name in names]
        (record,) = await said.context.append_message(body, origin="injection", sources=sources)
        return record.id

    told = []
    for names in (("goal", "git"), ("goal",), ("git",), ("files",)):
        await said.words("go on")
        told.append(await remind(*names))
        await said.answer("so")
    assert texts(planned(said.context)) == {told[0]: None}, "critical or not: a newer goal was told"
    await said.words("again")
    told.append(await remind("goal"))
    assert texts(planned(said.context)) == {told[0]: None, told[1]: None}


async def test_what_is_alone_in_its_message_is_not_dropped(said: Said) -> None:
    sources = [{"name": "goal", "fp": "1"}]
    for _ in range(3):
        body = {"role": "user", "content": [{"type": "text", "text": "the goal"}]}
        await said.context.append_message(body, origin="injection", sources=sources)
        await said.answer("so")
    assert planned(said.context) == Plan()


async def test_an_acknowledgement_beside_a_call_goes_and_what_says_more_stays(said: Said) -> None:
    await said.words("go")
    said_so = [
        "Sure, let me look at src/a.py.",
        "The cause is in a.py: it drops the newline.",
        "OK.",
        "好的，让我看看。",
    ]
    records = []
    for text in said_so:
        record, (call,) = await said.calls("cat a.py", text=text)
        await said.result(call, "ok")
        records.append(record)
    await steps(said, 3, "ok")
    await said.answer("OK.")
    found = planned(said.context)
    assert texts(found) == {records[0]: None, records[2]: None, records[3]: None}
    assert found.items[0] == Item(records[0], 0, None)
    assert found.words[0] == '"Sure, let me look at src/a.py."'


async def test_a_confirmed_write_goes_with_its_call_when_its_time_is_over(said: Said) -> None:
    await said.words("go")
    body = {"path": "a.py", "content": MEDIUM}
    wrote = {"read": [], "changed": ["a.py"]}
    confirmed = await said.act("write_file", body, "wrote a.py", **wrote)
    call = said.context.history[-2].id
    await steps(said, 19, "ok")
    assert call not in texts(planned(said.context)), "19 answers are behind it"
    await said.answer("done")
    found = planned(said.context)
    assert {record: text for record, text in texts(found).items() if record in (call, confirmed)} == {
        call: None,
        confirmed: None,
    }
    assert "a call and what came of it: write_file result" in found.words
    before = ids(said.context)
    await said.context.elide([item.api() for item in found.items], by="auto", reason="micro")
    assert ids(said.context) == [name for name in before if name not in (call, confirmed)]
    sent(said.context)


async def test_a_call_and_its_results_that_went_together_come_back_together(said: Said) -> None:
    await said.words("go")
    pairs = []
    for name in ("a.py", "b.py"):
        record, calls = await said.calls(name, name)
        results = [await said.result(call, f"wrote {name}", read=[], changed=[name]) for call in calls]
        pairs.append((record, *results))
    await steps(said, 21, "ok")
    whole = sent(said.context)
    items = [item.api() for item in planned(said.context).items]
    assert [item["record"] for item in items] == [*pairs[0], *pairs[1]]
    batch = await said.context.elide(items, by="auto", reason="micro")
    assert await bring_back(said.context, pairs[1][2]) == 3
    assert not {*pairs[0]} & {*ids(said.context)} and {*pairs[1]} <= {*ids(said.context)}
    assert _mended(sent(said.context)) == _mended(whole)
    with pytest.raises(ValueError):
        await bring_back(said.context, pairs[1][0])
    assert await bring_back(said.context, batch.id) == 3
    assert sent(said.context).encode() == whole.encode()


async def test_a_write_stays_if_something_was_said_with_it(said: Said) -> None:
    await said.words("go")
    record, (call,) = await said.calls("x", text="The parser was wrong: it lost the last line.")
    confirmed = await said.result(call, "wrote a.py", read=[], changed=["a.py"])
    await steps(said, 20, "ok")
    assert not {record, confirmed} & texts(planned(said.context)).keys()


async def test_a_message_past_its_time_goes(said: Said) -> None:
    await said.words("go")
    body = {"role": "user", "content": [{"type": "text", "text": MEDIUM}]}
    (note,) = await said.context.append_message(body, origin="background", ttl=2)
    await said.answer("so")
    await said.words("and")
    assert planned(said.context) == Plan()
    await said.answer("so")
    assert texts(planned(said.context)) == {note.id: None}


async def test_runs_of_blank_lines_go_before_anything_is_lost(said: Said) -> None:
    await said.words("go")
    airy = "".join(f"this is part {number} of it\n" + "   \n" * 40 for number in range(30))
    record, *_ = await steps(said, 4, airy)
    await said.answer("done")
    total = 1_000_000
    keys = Compaction(micro_ratio=0.999, micro_stop_ratio=(total - 1) / total)
    squeezed = plan(said.context, Policy(keys), total=total, window=total)
    text = texts(squeezed)[record]
    assert text == "".join(f"this is part {number} of it\n\n" for number in range(30))
    await said.context.elide([item.api() for item in squeezed.items], by="auto", reason="micro")
    assert plan(said.context, Policy(keys), total=total - 1, window=total) == Plan()
    further = texts(planned(said.context))[record]
    assert str(further).startswith("[truncated: bash result"), (
        "it may be shortened further when more is needed"
    )


# --- how far -----------------------------------------------------------------------------------------------------


async def test_the_least_priority_goes_first_and_the_oldest_of_it_and_no_more_than_needed(said: Said) -> None:
    await said.words("go")
    failed = [(await said.step(f"t {n}", MEDIUM, exit=1))[1] for n in range(2)]
    plain = await steps(said, 2)
    await steps(said, 3)
    await said.answer("done")
    everything = planned(said.context)
    assert [item.record for item in everything.items] == [*failed, *plain]
    each = everything.freed // 4
    total = 100_000
    for wanted, gone in ((1, plain[:1]), (each * 3 // 2, plain), (each * 5 // 2, [failed[0], *plain])):
        keys = Compaction(micro_ratio=0.9999, micro_stop_ratio=(total - wanted) / total)
        found = plan(said.context, Policy(keys), total=total, window=total)
        assert [item.record for item in found.items] == gone


async def test_the_figures_are_those_of_the_status_bar(said: Said) -> None:
    await said.words("go")
    await steps(said, 6)
    await said.answer("done")
    found, before = planned(said.context), said.context.weigh().total
    await said.context.elide([item.api() for item in found.items], by="auto", reason="micro")
    assert said.context.weigh().total == before - found.freed


async def test_what_a_person_brought_back_stays_singly_and_together(said: Said) -> None:
    await said.words("go")
    first, second, *_ = await steps(said, 5)
    await said.answer("done")
    whole = sent(said.context)
    items = [item.api() for item in planned(said.context).items]
    batch = await said.context.elide(items, by="auto", reason="micro")
    await said.context.restore_elided(batch, [1])
    assert [message.id for message in said.context.history if "truncated" in str(message.content)] == [first]
    assert planned(said.context) == Plan(), "neither the one that is elided nor the one brought back"
    await said.context.restore_elided(batch)
    assert sent(said.context).encode() == whole.encode()
    assert planned(said.context) == Plan()
    assert second in ids(said.context)


async def test_the_records_decide_and_not_the_text_of_a_marker(said: Said) -> None:
    await said.words("go")
    fake = "[truncated: bash result, 12 chars]\n" + MEDIUM
    record, *_ = await steps(said, 4, fake)
    await said.answer("done")
    found = planned(said.context)
    assert texts(found).keys() == {record}, "a result that looks like a marker is none"
    await said.context.elide([item.api() for item in found.items], by="auto", reason="micro")
    assert planned(said.context) == Plan()
    fresh = Context(said.context.path, read_only=True)
    await fresh.restore()
    assert planned(fresh) == Plan(), "another process sees it too"


# --- when --------------------------------------------------------------------------------------------------------

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Running:
    """A Micro over a log whose window is as large as a test wants, and what it told."""

    def __init__(self, said: Said, keys: Compaction | None = None, price: Price | None = None) -> None:
        self.heard: list[Event] = []
        self.now = NOW
        self.announced = 0
        self.said = said
        self.keys = keys or Compaction()
        self.micro = Micro(
            context=said.context,
            policy=lambda: Policy(self.keys),
            emit=self.heard.append,
            announce=self._announced,
            price=lambda: price,
            now=lambda: self.now,
        )

    def _announced(self) -> None:
        self.announced += 1

    async def relieve(self, share: float, total: int | None = None) -> int:
        """What is freed of a window of which the log fills this share."""
        total = total if total is not None else self.said.context.weigh().total
        return await self.micro.relieve(total, round(total / share))

    @property
    def batches(self) -> list[MicroCompacted]:
        return [event for event in self.heard if isinstance(event, MicroCompacted)]


def escalates(running: Running) -> bool:
    return running.micro.escalate


async def used(said: Said, *, read: int = 0, at: datetime = NOW, grows: int = 0) -> None:
    """The figures of a request that is answered now, with so many tokens read from a cache."""
    answer = await said.answer("so", at=at.isoformat())
    count = said.context.weigh().total + grows
    await said.context.update_token_count(count, produced=answer, input=10, cache_read=read, output=5)


async def test_a_batch_is_one_record_and_one_event(said: Said) -> None:
    await said.words("go")
    await steps(said, 12)
    await said.answer("done")
    running, before = Running(said), said.context.weigh().total
    assert await running.relieve(0.5) == 0, "at half of the window nothing happens"
    freed = await running.relieve(0.51)
    (event,) = running.batches
    record = said.context.record(event.elide)
    after = said.context.weigh().total
    assert (record.body["by"], record.body["reason"]) == ("auto", "micro")
    assert (record.body["before"], record.body["after"]) == (before, after)
    assert (event.before, event.after, before - after) == (before, after, freed)
    assert len(event.items) == len(record.body["items"])
    assert event.items[0] == f"bash result, {len(MEDIUM):,} characters"
    assert event.arithmetic.startswith(
        f"frees {freed:,} of {before:,} tokens; the endpoint tells of no cache"
    )
    assert after <= 0.4 * before / 0.51 < after + freed // len(event.items), "down to 0.40, and no further"
    assert running.announced == 1
    sent(said.context)


async def test_a_second_time_nothing_is_elided_and_the_log_does_not_grow(said: Said) -> None:
    await said.words("go")
    await steps(said, 8)
    await said.answer("done")
    keys = Compaction(micro_ratio=0.05, micro_stop_ratio=0.01)
    running = Running(said, keys)
    assert await running.relieve(0.5) > 0
    records = len(said.context.records)
    for share in (0.5, 0.84, 0.99):
        assert await running.relieve(share) == 0
        assert await Running(said, keys).relieve(share) == 0, "nor by another process"
    assert len(said.context.records) == records


async def test_the_next_batch_waits_for_a_tenth_of_the_window(said: Said) -> None:
    await said.words("go")
    await steps(said, 8)
    await said.answer("done")
    total = said.context.weigh().total
    window, running = round(total / 0.55), Running(said)
    assert await running.micro.relieve(total, window) > 0
    due = max(said.context.weigh().total + window // 10, window // 2)
    for process in (running, Running(said)):
        assert await process.micro.relieve(due, window) == 0, "the log tells another process too"
    assert await Running(said).micro.relieve(due + 2, window) > 0


async def fruitless(said: Said) -> Running:
    """Two batches in a row, a tenth of the window apart, each of one small result in a log of words."""
    await said.words(MEDIUM * 40)
    small = "a line of the output that is a little longer than the marker that comes in its place. " * 6
    await steps(said, 4, small)
    await said.answer("done")
    running = Running(said)
    window = round(said.context.weigh().total / 0.52)
    assert await running.micro.relieve(round(0.52 * window), window) == 0, "so small a batch is put off once"
    assert await running.micro.relieve(round(0.61 * window), window) == 0, "for a tenth of the window"
    assert await running.micro.relieve(round(0.63 * window), window) > 0
    assert not escalates(running)
    await steps(said, 1, small)
    await said.answer("done")
    assert await running.micro.relieve(round(0.61 * window), window) == 0
    assert await running.micro.relieve(round(0.64 * window), window) > 0
    return running


async def test_two_batches_in_a_row_that_free_next_to_nothing_call_for_a_summary(said: Said) -> None:
    running = await fruitless(said)
    assert escalates(running)
    running.micro.reset()
    assert not escalates(running)


async def test_after_a_rewrite_what_was_tried_does_not_count(said: Said) -> None:
    start = await said.context.checkpoint()
    running = await fruitless(said)
    assert escalates(running)
    await said.context.revert_to(start)
    await running.micro.relieve(10, 100_000)
    assert not escalates(running)


async def test_where_nothing_can_be_elided_no_batch_was_fruitless(said: Said) -> None:
    await said.words(MEDIUM * 40)
    await said.answer("done")
    running = Running(said)
    for share in (0.6, 0.71, 0.82):
        assert await running.micro.relieve(round(share * 100_000), 100_000) == 0
    assert not escalates(running), "the words of a person fill the window: a summary is due when it is full"


async def test_after_a_rewrite_an_earlier_batch_does_not_put_the_next_one_off(said: Said) -> None:
    await said.words(MEDIUM * 4)
    await steps(said, 8)
    await said.answer("done")
    total = said.context.weigh().total
    window, keys = round(total / 0.52), Compaction(micro_stop_ratio=0.49)
    running = Running(said, keys)
    assert running.micro.due_above(window) == window // 2
    assert await running.micro.relieve(total, window) > 0
    running.keys = Compaction()
    left = said.context.weigh().total
    assert running.micro.due_above(window) == left + Policy(running.keys).micro_step(window)
    assert Running(said).micro.due_above(window) == running.micro.due_above(window)
    start = await said.context.checkpoint()
    await said.words("more")
    await said.context.revert_to(start)
    assert running.micro.due_above(window) == window // 2


async def test_a_small_batch_is_put_off_until_it_is_a_large_one(said: Said) -> None:
    await said.words(MEDIUM * 4)
    await steps(said, 4)
    await said.answer("done")
    running, total = Running(said), said.context.weigh().total
    window = round(total / 0.52)
    assert await running.micro.relieve(total, window) == 0, "one result"
    await steps(said, 2)
    assert await running.micro.relieve(said.context.weigh().total, window) > 0
    assert len(running.batches[0].items) == 3


async def test_a_summary_that_is_due_is_spared_by_a_batch_that_frees_half_of_the_window(said: Said) -> None:
    await said.words(MEDIUM * 4)
    await steps(said, 8)
    await said.answer("done")
    assert await Running(said).relieve(0.9) == 0, "more than half would be full: it would soon be due again"
    assert await Running(said, Compaction(micro_ratio=0.8)).relieve(0.9) > 0


async def test_where_no_summary_will_be_made_what_can_be_elided_is(said: Said) -> None:
    await said.words(MEDIUM * 4)
    await steps(said, 8)
    await said.answer("done")
    running, total = Running(said), said.context.weigh().total
    assert await running.micro.relieve(total, round(total / 0.9), alone=True) > 0


@pytest.mark.parametrize("rewritten", [False, True])
async def test_what_comes_while_it_plans_is_seen(
    said: Said, monkeypatch: pytest.MonkeyPatch, rewritten: bool
) -> None:
    await said.words("go")
    first, second, *_ = await steps(said, 5)
    await said.answer("done")
    bookmark = await said.context.checkpoint()
    await steps(said, 3)
    running, loop = Running(said, ALL), asyncio.get_running_loop()
    from tui_agent.compaction import micro as module

    made: list[str] = []

    def disturbed(*arguments: Any, **options: Any) -> Plan:
        made.append("plan")
        if len(made) == 1 and rewritten:
            asyncio.run_coroutine_threadsafe(said.context.revert_to(bookmark), loop).result(20)
            raise ValueError("There is no record")
        found = plan(*arguments, **options)
        if len(made) == 1:
            asyncio.run_coroutine_threadsafe(said.context.mark(first, pinned=True), loop).result(20)
        return found

    monkeypatch.setattr(module, "plan", disturbed)
    assert await running.relieve(0.6) > 0
    assert len(made) == 2
    assert bool(said.context.elided(first)) is rewritten and said.context.elided(second)


# --- whether it pays ---------------------------------------------------------------------------------------------


async def cached(said: Said, *, growth: int) -> int:
    """A log of many old results that the endpoint caches and that grows by so much a request; its weight."""
    await said.words("go")
    await steps(said, 40)
    for request in range(4):
        await used(said, read=1_000, grows=growth if request else 0)
    return said.context.weigh().total


async def test_it_pays_when_much_is_read_often_enough_and_says_its_arithmetic(said: Said) -> None:
    total = await cached(said, growth=20)
    running = Running(said)
    assert await running.relieve(0.55, total) > 0
    (event,) = running.batches
    assert "requests until a summary is due" in event.arithmetic
    saved, lost = (
        float(part.split(" = ")[1].split(" ")[0].split(";")[0].replace(",", ""))
        for part in event.arithmetic.split("; ")
    )
    assert saved >= lost > 0


async def test_it_waits_where_writing_the_cache_anew_costs_more_than_is_saved(said: Said) -> None:
    total = await cached(said, growth=900)
    running = Running(said)
    assert await running.relieve(0.55, total) == 0
    assert running.batches == [] and not escalates(running)
    running.now += timedelta(minutes=6)
    assert await running.relieve(0.55, total) == 0, "it looks again after some growth"
    grown = total + total // 8
    assert await running.micro.relieve(grown, round(total / 0.55)) > 0
    assert "6 minutes ago, so its cache is gone" in running.batches[0].arithmetic


async def test_near_a_summary_room_counts_more_than_the_cache(said: Said) -> None:
    total = await cached(said, growth=900)
    running = Running(said, Compaction(reserved_tokens=0))
    assert await running.relieve(0.84, total) > 0
    assert "a summary would be due" in running.batches[0].arithmetic


async def test_prices_in_settings_go_before_the_usual_ones(said: Said) -> None:
    total = await cached(said, growth=900)
    dear = Price(input=10.0, cache_read=9.0, cache_write=9.5)
    running = Running(said, price=dear)
    assert await running.relieve(0.55, total) > 0
    assert "x 0.9 x" in running.batches[0].arithmetic and "(0.95 - 0.9)" in running.batches[0].arithmetic


# --- any history -------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        Compaction(),
        ALL,
        Compaction(micro_ratio=0.05, micro_stop_ratio=0.01, micro_keep=1, micro_long=200),
        Compaction(micro_ratio=0.3),
    ]
)

MARKS: list[dict[str, Any]] = [{"pinned": True}, {"priority": 0}, {"compressible": False}, {"ttl": 1}]


def disturbed(records: Iterable[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Records of a session with confirmations, acknowledgements, reminders and marks among them, cut off somewhere."""
    found: list[dict[str, Any]] = []
    for record in records:
        content = record.get("content")
        if record["role"] == "assistant" and isinstance(content, list) and chance.random() < 0.4:
            for block in content:
                if block["type"] == "text" and len(content) > 1:
                    block["text"] = chance.choice(
                        ["OK.", "Let me look at it.", "The cause is elsewhere.", " "]
                    )
        if record.get("origin") == "tool" and chance.random() < 0.4:
            record["content"][0]["content"] = chance.choice(["wrote a.py", "x\n" + " \n" * 300 + "y", ""])
            record["meta"] |= {"read": [], "changed": ["a.py"]}
        if record.get("origin") == "tool" and chance.random() < 0.2:
            record["content"][0]["is_error"] = True
        if record.get("origin") == "tool" and chance.random() < 0.1:
            continue
        found.append(record)
        if record["role"] == "user" and "origin" not in record and chance.random() < 0.7:
            found.append(_reminder(len(found), chance))
        if "id" in record and record["role"] in ("user", "assistant") and chance.random() < 0.05:
            found.append({"role": "_mark", "record": record["id"], "by": "user"} | chance.choice(MARKS))
    return found[: chance.randint(2, len(found))]


def _reminder(number: int, chance: random.Random) -> dict[str, Any]:
    names = chance.sample(["goal", "git", "files"], chance.randint(1, 2))
    return {
        "role": "user",
        "origin": "injection",
        "id": f"reminder-{number}",
        "sources": [{"name": name, "fp": str(number)} for name in names],
        "content": [{"type": "text", "text": f"reminder {number}"}],
    }


async def relieved(path: Path, keys: Compaction, share: float, chance: random.Random) -> None:
    """Elide as far as may be at some point of a session, bring some of it back, all of it, and elide again."""
    context = Context(path)
    await context.restore()
    total = max(1, context.weigh().total)
    window = max(8_000, round(total / share))
    before, log = sent(context), path.read_bytes()
    untouched = _untouchable(context)
    found = plan(context, Policy(keys), total=total, window=window)
    assert path.read_bytes() == log, "a plan changes nothing"
    if not found.items:
        await context.close()
        return
    assert len({(item.record, item.block) for item in found.items}) == len(found.items)
    batch = await context.elide([item.api() for item in found.items], by="auto", reason="micro")
    assert context.weigh().total <= total
    after = sent(context)
    assert {
        name: content for name, content in _untouchable(context).items() if name in untouched
    } == untouched
    assert len(after.messages) <= len(before.messages)
    assert _mended(after) <= _mended(before), "no call lost its result, no message its place"
    again = plan(context, Policy(keys), total=context.weigh().total, window=window)
    assert again == Plan() or context.weigh().total > Policy(keys).micro_stop(window)
    assert not {_key(item) for item in again.items} & {
        _key(item) for item in found.items if not _is_tight(item)
    }
    items = sorted(chance.sample(range(len(found.items)), chance.randint(1, len(found.items))))
    await context.restore_elided(batch, items)
    sent(context)
    kept = plan(context, Policy(keys), total=total, window=window)
    assert not {_key(found.items[place]) for place in items} & {_key(item) for item in kept.items}
    await context.restore_elided(batch)
    assert sent(context).encode() == before.encode(), "all of it can be brought back"
    await context.close()


def _mended(request: Request) -> Counter[str]:
    """What had to be mended about calls and results and about who speaks first and last, by rule."""
    mended = ("missing_result", "orphan_result", "second_result", "ends")
    return Counter(change.rule for change in request.changes if change.rule in mended)


def _key(item: Item) -> tuple[str, int | None]:
    return item.record, item.block


def _is_tight(item: Item) -> bool:
    """True for a result that only lost blank lines: it may be shortened further."""
    return item.text is not None and not item.text.startswith("[truncated")


def _untouchable(context: Context) -> Mapping[str, Any]:
    """By record, what must be sent as it is: words, signed thinking, pins, what follows the last answer."""
    found: dict[str, Any] = {}
    answers = [place for place, message in enumerate(context.history) if message.role == "assistant"]
    for place, message in enumerate(context.history):
        pinned = context.marks(message.id).get("pinned") is True
        if message.is_words or pinned or not answers or place >= answers[-1]:
            found[message.id] = list(message.content)
        elif signed := list(message.blocks("thinking")):
            found[message.id] = signed
    return found


@pytest.mark.parametrize("deep", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_at_any_step_of_any_history_what_is_left_is_valid_and_comes_back(deep: bool) -> None:
    @settings(
        max_examples=1_000 if deep else 40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=not deep,
    )
    @given(
        st.integers(0, 2**32), st.integers(3, 300 if deep else 120), KEYS, st.sampled_from([0.51, 0.7, 0.9])
    )
    def run(seed: int, messages: int, keys: Compaction, share: float) -> None:
        chance = random.Random(seed)
        folder = Path(tempfile.mkdtemp())
        try:
            path = folder / "context.jsonl"
            records = disturbed(sessions.records(messages, seed), chance)
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
            asyncio.run(relieved(path, keys, share, chance))
        finally:
            shutil.rmtree(folder)

    run()


def test_a_session_of_half_a_window_loses_a_tenth_to_a_third_of_it(tmp_path: Path) -> None:
    async def run() -> tuple[int, Plan]:
        path = tmp_path / "context.jsonl"
        sessions.write(path, 300, seed=2)
        context = Context(path, read_only=True)
        await context.restore()
        total = context.weigh().total
        return total, plan(context, Policy(Compaction()), total=total, window=round(total / 0.52))

    total, found = asyncio.run(run())
    assert 0.10 <= found.freed / total <= 0.33
