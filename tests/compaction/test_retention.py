"""What a compaction keeps, and that its contract names whatever is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.logs import Lines, Said, begun, compacted, ids, named
from tests.support.validity import check
from tui_agent.compaction.retention import Contract, Retained, retain
from tui_agent.context import Context
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Tokens


@pytest.fixture
async def said(tmp_path: Path) -> AsyncIterator[Said]:
    found = await begun(tmp_path)
    yield found
    await found.context.close()


def is_valid(shown: Any) -> bool:
    request = Request.make(
        model="claude-sonnet-5-5",
        system=shown.system_blocks,
        history=shown.history,
        max_tokens=1000,
        tools=shown.tools,
    )
    assert check(request.body()) == []
    return True


async def missing(said: Said, retained: Retained, *drop: str, **options: Any) -> list[str]:
    """What the contract misses of a log that was compacted without some lines."""
    name, after = await compacted(
        said.context, retained, change=lambda lines: [line for line in lines if named(line) not in drop]
    )
    return Contract(retained, summary=name, **options).missing(after, said.context)


async def turns(said: Said, count: int) -> list[str]:
    """Turns of words, a step and an answer; the ids of the words."""
    words = []
    for turn in range(count):
        words.append(await said.words(f"request {turn}"))
        await said.step(f"make {turn}", f"output {turn}\n" * 50)
        await said.answer(f"done with {turn}")
    return words


# --- what stays ------------------------------------------------------------------------------------------------------


async def test_the_newest_two_and_the_requests_stay(said: Said) -> None:
    words = await turns(said, 4)
    history = ids(said.context)
    retained = retain(said.context)
    # the step and the answer of the last turn
    assert retained.preserved == (*words, *history[-3:])
    assert [message.id for message in retained.replaced] == [
        i for i in history if i not in retained.preserved
    ]
    assert retained.tokens.count == sum(said.context.tokens(m.id).count for m in retained.replaced)
    assert {retained.reasons[name] for name in words} == {"request"}
    assert retained.words() == ("4 requests of yours", "3 newest messages")


async def test_what_was_told_last_of_a_goal_and_a_plan_in_force_stays(said: Said) -> None:
    context = said.context

    async def told(name: str) -> str:
        (record,) = await context.append_message(
            {"role": "user", "content": f"the {name}"}, origin="injection", sources=[{"name": name}]
        )
        return record.id

    for name in ("goal", "plan", "todo"):
        await told(name)
    goal, plan, todo = await told("goal"), await told("plan"), await told("todo")
    await turns(said, 4)
    await context.set_state("goal", None)
    assert not {goal, plan, todo} & set(retain(context).preserved), "nothing of it is in force"
    await context.set_state("goal", {"text": "x"})
    await context.set_state("todo", [{"text": "x", "status": "done"}])
    retained = retain(context)
    assert {goal, plan, todo} & set(retained.preserved) == {goal}
    assert "1 reminder of goal or plan" in retained.words()
    await context.set_state("plan", {"title": "x"})
    retained = retain(context)
    assert [retained.reasons.get(name) for name in (goal, plan, todo)] == ["guide", "guide", None]
    assert await missing(said, retained) == []
    assert len(await missing(said, retained, goal)) == 1, "a compaction without it is not carried out"


async def test_of_a_goal_stay_its_words_and_how_it_stands_since_and_nothing_of_one_that_is_reached(
    said: Said,
) -> None:
    context = said.context

    async def told(name: str) -> str:
        body = {"role": "user", "content": f"the {name}"}
        (record,) = await context.append_message(body, origin="injection", sources=[{"name": name}])
        return record.id

    await told("goal:news")
    before, words, since = await told("goal:news"), await told("goal"), await told("goal:news")
    await turns(said, 4)
    await context.set_state("goal", {"text": "x", "status": "active"})
    assert {before, words, since} & set(retain(context).preserved) == {words, since}
    await context.set_state("goal", {"text": "x", "status": "complete"})
    assert not {before, words, since} & set(retain(context).preserved)


async def test_a_goal_of_which_the_words_changed_is_shortened_where_there_is_no_room(said: Said) -> None:
    context = said.context
    records = []
    for words in ("the long goal " * 900, "the short goal"):
        body = {"role": "user", "content": words}
        (record,) = await context.append_message(body, origin="injection", sources=[{"name": "goal"}])
        await said.answer("I work on it")
        records.append(record.id)
    retained = retain(context, newest=5, room=2_000)
    assert not retained.replaced and retained.stays < 2_000
    (item,) = retained.cut
    assert (item["record"], item["block"]) == (records[0], None) and "a newer one" in item["as"]
    assert "1 older reminder shortened" in retained.words()
    assert retain(context, newest=5, room=20_000).cut == ()
    await context.mark(records[0], pinned=True)
    assert retain(context, newest=5, room=2_000).cut == ()


async def test_results_and_reminders_do_not_count_among_the_newest(said: Said) -> None:
    await turns(said, 2)
    first = await said.words("now this")
    answer, (one, two) = await said.calls("a", "b")
    results = [await said.result(two, "b"), await said.result(one, "a")]
    note = await said.note("remember the goal", "injection")
    assert retain(said.context).preserved[-5:] == (first, answer, *results, note)
    assert {retain(said.context).reasons[name] for name in (first, answer, note)} == {"newest"}


@pytest.mark.parametrize("newest", [0, -1])
async def test_keeping_none_changes_nothing(said: Said, newest: int) -> None:
    await turns(said, 3)
    retained = retain(said.context, newest=newest)
    assert not retained.replaced
    assert list(retained.preserved) == ids(said.context)


async def test_an_empty_log_and_too_little_stay_as_they_are(said: Said) -> None:
    assert retain(said.context) == Retained((), (), {}, Tokens(0, "exact"))
    await said.words("hello")
    await said.answer("hi")
    retained = retain(said.context)
    assert not retained.replaced and retained.tokens.count == 0
    assert list(retained.preserved) == ids(said.context)


async def test_a_summary_and_reminders_alone_are_not_summed_up_again(said: Said) -> None:
    await said.note("what was done", "summary")
    await said.note("the goal", "injection")
    await said.words("go on")
    await said.step("make", "fine")
    assert not retain(said.context).replaced
    await said.answer("done")
    await said.step("make", "fine")
    assert len(retain(said.context).replaced) > 2


async def test_requests_stay_up_to_their_budget_and_the_newest_always(said: Said) -> None:
    words = [await said.words(f"request {turn} " + "and so on " * 300) for turn in range(5)]
    short = await said.words("a correction: use tabs")
    last = await said.words("the newest request " + "and so on " * 900)
    for turn in range(3):
        await said.step(f"make {turn}", "fine")
    weight = {name: said.context.tokens(name).count for name in (*words, short, last)}
    assert retain(said.context, budget=0).preserved[0] == retain(said.context, budget=1).preserved[0] == last
    # the newest takes half of what there is; one that is too long is passed over, what fits beyond it is not
    assert retain(said.context, budget=2 * weight[short]).preserved[:2] == (short, last)
    assert retain(said.context, budget=2 * (weight[short] + weight[words[4]])).preserved[:3] == (
        *(words[4], short, last),
    )
    assert retain(said.context, budget=100_000).preserved[:7] == (*words, short, last)


async def test_pins_and_what_is_not_compressible_stay_with_their_whole_exchange(said: Said) -> None:
    early = await said.answer("the port is 4711")
    call, (one, two) = await said.calls("a", "b")
    first, second = await said.result(two, "b"), await said.result(one, "a")
    fixed = await said.answer("never touch prod", compressible=False)
    await turns(said, 3)
    await said.context.mark(early, pinned=True)
    await said.context.mark(first, pinned=True)
    retained = retain(said.context)
    assert retained.preserved[:5] == (early, call, first, second, fixed)
    assert [retained.reasons[name] for name in retained.preserved[:5]] == [
        *("pinned", "exchange", "pinned", "exchange", "fixed")
    ]
    await said.context.mark(early, pinned=False)
    assert early not in retain(said.context).preserved
    assert early in retain(said.context, also=[early]).preserved


async def test_the_open_exchange_stays_whole(said: Said) -> None:
    await turns(said, 3)
    call, (one, _) = await said.calls("a", "b")
    result = await said.result(one, "a")
    assert retain(said.context, newest=1).preserved[-2:] == (call, result)
    assert is_valid(said.context)


async def test_only_what_lies_before_the_byte_given_is_chosen_from(said: Said) -> None:
    await turns(said, 3)
    upto = said.context.size
    known = ids(said.context)
    later = await said.words("meanwhile")
    retained = retain(said.context, upto=upto)
    assert later not in retained.preserved
    assert sorted([*retained.preserved, *(m.id for m in retained.replaced)]) == sorted(known)


async def test_marks_and_elisions_of_what_stays_are_written_too(said: Said) -> None:
    gone = [(await said.step(f"old {n}", f"old output {n} " * 99))[1] for n in range(3)]
    await said.words("go on")
    _, kept = await said.step("make", "long " * 999)
    await said.answer("done")
    items = [{"record": name, "block": 0, "as": "short " * 99} for name in (gone[0], kept, gone[1])]
    elide = await said.context.elide(items, by="user", reason="drop")
    await said.context.elide([items[0]], by="auto", reason="micro")
    await said.context.mark(kept, priority=75)
    await said.context.mark(gone[2], priority=25)
    retained = retain(said.context)
    assert not await missing(said, retained)
    _, after = await compacted(said.context, retained)
    assert after.message(kept) == said.context.message(kept)
    assert after.marks(kept)["priority"] == 75
    roles = [record.role for record in after.records]
    assert (roles.count("_elide"), roles.count("_mark")) == (1, 1)
    [written] = [record for record in after.records if record.role == "_elide"]
    assert written.id == elide.id
    # the items keep their places, without the texts of those that are gone
    assert [item.get("as") for item in written.body["items"]] == [None, items[1]["as"], None]


async def test_records_without_an_id_keep_the_name_they_have(tmp_path: Path) -> None:
    line = b'{"role":"user","content":"continue"}\n'
    answer = b'{"role":"assistant","content":[{"type":"text","text":"on it"}]}\n'
    (tmp_path / "context.jsonl").write_bytes((line + answer) * 5)
    context = Context(tmp_path / "context.jsonl")
    await context.restore()
    retained = retain(context, budget=1)
    assert len(retained.kept) == 2
    name, after = await compacted(context, retained)
    assert [m.id for m in after.history] == [name, *retained.preserved]
    assert not Contract(retained, summary=name).missing(after, context)
    await context.close()


# --- what is too large -----------------------------------------------------------------------------------------------


async def test_results_too_large_for_the_room_are_cut_the_largest_first(said: Said) -> None:
    await turns(said, 3)
    _, small = await said.step("ls", "small result\n" * 100)
    _, (one,) = await said.calls("cat log")
    giant = await said.result(one, "\n".join(f"line {n} of the log" for n in range(30_000)))
    retained = retain(said.context, room=30_000)
    assert [item["record"] for item in retained.cut] == [giant]
    assert not await missing(said, retained)
    _, after = await compacted(said.context, retained)
    shown = after.message(giant)
    assert shown is not None
    text = shown.content[0]["content"]
    assert text.startswith("line 0 of the log\n") and text.endswith("line 29999 of the log")
    assert "left out" in text
    assert after.message(small) == said.context.message(small)
    assert is_valid(after)
    await said.context.elide(retained.cut, by="auto", reason="budget")
    kept = sum(said.context.tokens(name).count for name in retained.preserved)
    assert kept <= 30_000


async def test_a_giant_result_is_cut_also_where_nothing_can_be_replaced(said: Said) -> None:
    await said.words("look")
    _, giant = await said.step("cat log", "x" * 3_000_000)
    retained = retain(said.context, room=30_000)
    assert not retained.replaced
    assert [item["record"] for item in retained.cut] == [giant]


async def test_a_result_that_a_person_brought_back_is_cut_again_only_where_they_ask(said: Said) -> None:
    await said.words("look")
    _, giant = await said.step("cat log", "x" * 300_000)
    cut = retain(said.context, room=3_000).cut
    batch = await said.context.elide(cut, by="auto", reason="budget")
    await said.context.restore_elided(batch)
    assert retain(said.context, room=3_000).cut == ()
    assert [item["record"] for item in retain(said.context, room=3_000, again=True).cut] == [giant]


async def test_pinned_results_and_words_are_never_cut(said: Said) -> None:
    await said.words("look " * 90_000)
    _, giant = await said.step("cat log", "x" * 300_000)
    await said.context.mark(giant, pinned=True)
    assert retain(said.context, room=1000).cut == ()


# --- the contract ----------------------------------------------------------------------------------------------------


async def test_each_thing_that_is_missing_is_named(said: Said) -> None:
    await said.context.mark(await said.answer("the port is 4711"), pinned=True)
    await turns(said, 3)
    await said.context.mark((await said.step("cat a", "a"))[1], pinned=True)
    await said.step("cat b", "b")
    await said.answer("done")
    retained = retain(said.context)
    assert await missing(said, retained) == []
    for message in retained.kept:
        [named] = await missing(said, retained, message.id)
        assert (message.text[:9] in named) if message.is_words else (message.id in named)
    assert await missing(said, retained, "todo") == ["the todo"]
    assert await missing(said, retained, "goal") == ["the goal"]
    assert await missing(said, retained, "_system_prompt") == ["the system prompt"]
    assert await missing(said, retained, "_tools") == ["the tools"]
    assert await missing(said, retained, state={"ledger": {"files": ["a.py"]}}) == ["the ledger"]


async def test_a_state_is_compared_as_it_is_written(said: Said) -> None:
    await turns(said, 3)
    await said.context.set_state("ledger", {"left_out": (0, 3, 1), "files": [("a.py", "read")]})
    state = {"ledger": {"left_out": (0, 3, 1), "files": [("a.py", "read")]}}
    assert await missing(said, retain(said.context), state=state) == []
    assert await missing(said, retain(said.context), state={"ledger": {"left_out": (0, 3, 2)}}) == [
        "the ledger"
    ]


async def test_a_blank_summary_and_one_that_comes_late_are_named(said: Said) -> None:
    await turns(said, 3)
    retained = retain(said.context)
    name, after = await compacted(said.context, retained, summary=" \n")
    assert Contract(retained, summary=name).missing(after, said.context) == ["the summary"]

    def late(lines: Lines) -> Lines:
        first = next(at for at, line in enumerate(lines) if line.get("origin") == "summary")
        return [*lines[:first], *lines[first + 1 :], lines[first]]

    name, after = await compacted(said.context, retained, change=late)
    assert Contract(retained, summary=name).missing(after, said.context) == ["the summary"]


async def test_words_that_changed_and_another_order_are_named(said: Said) -> None:
    words = await turns(said, 3)
    retained = retain(said.context)

    def nicer(lines: Lines) -> Lines:
        return [line | {"content": "nicer"} if line.get("id") == words[1] else line for line in lines]

    name, after = await compacted(said.context, retained, change=nicer)
    [lacking] = Contract(retained, summary=name).missing(after, said.context)
    assert "request 1" in lacking

    def swapped(lines: Lines) -> Lines:
        at = next(at for at, line in enumerate(lines) if line.get("id") == words[1])
        return [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]]

    name, after = await compacted(said.context, retained, change=swapped)
    assert Contract(retained, summary=name).missing(after, said.context) == ["the order of what stays"]


async def test_what_came_meanwhile_must_be_there_and_what_was_dropped_need_not(said: Said) -> None:
    words = await turns(said, 3)
    upto = said.context.size
    retained = retain(said.context, upto=upto)
    later = await said.words("meanwhile")
    await said.context.set_state("todo", [])
    await said.context.elide([{"record": words[0], "as": None}], by="user", reason="drop")
    assert await missing(said, retained) == []
    [lacking] = await missing(said, retained, later)
    assert "meanwhile" in lacking
