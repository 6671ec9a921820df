"""What a log is after a compaction, an edited summary, and an undo that takes later turns along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.context.compare import check, talk, text
from tui_agent.context import Context, ContextError, NothingToUndo
from tui_agent.context.compacted import Replacement
from tui_agent.context.reading import Shown
from tui_agent.messages.tokens import Tokens

SUMMARY = {**text("what was"), "origin": "summary", "id": "summary"}


def change(context: Context, kept: list[str], **fields: Any) -> Replacement:
    given: dict[str, Any] = {
        "summary": SUMMARY,
        "kept": kept,
        "until": context.size,
        "generation": context.generation,
    }
    return Replacement(**(given | fields))


def roles(context: Context) -> list[str]:
    return [record.role for record in context.records]


def texts(context: Context) -> list[str]:
    return [message.text for message in context.history]


@pytest.fixture
async def context(tmp_path: Path) -> Context:
    context = Context(tmp_path / "context.jsonl", model="claude-x")
    await talk(context, 4)
    return context


async def test_what_stays_is_copied_byte_by_byte_behind_prompt_tools_and_summary(context: Context) -> None:
    pinned, newest = context.history[0], context.history[-2:]
    await context.mark(pinned.id, pinned=True)
    await context.set_state("todo", ["old"])
    raw = {m.id: context.record(m.id).raw for m in (pinned, *newest)}
    whole = context.path.read_bytes()
    backup = await context.compact(
        change(context, [pinned.id, *(m.id for m in newest)], states={"ledger": {"a": 1}}),
        figures={"strategy": "test"},
    )
    assert roles(context)[:5] == ["_system_prompt", "_tools", "_checkpoint", "user", "user"]
    assert roles(context)[-2:] == ["_usage", "_compaction"]
    assert [m.id for m in context.history] == ["summary", *raw]
    assert {name: context.record(name).raw for name in raw} == raw
    assert context.marks(pinned.id)["pinned"] is True
    assert dict(context.state) == {"todo": ["old"], "ledger": {"a": 1}}
    assert context.path.with_name(backup.name).read_bytes() == whole
    assert context.head is not None
    assert context.head.figures["summary"] == "summary"
    assert context.head.figures["after"] == context.weigh().total
    await check(context)


async def test_a_checkpoint_behind_the_summary_is_still_a_place_to_go_back_to_with_its_state(
    context: Context,
) -> None:
    await context.set_state("todo", ["before"])
    turn = await context.checkpoint(turn=True)
    first = (await context.append_message(text("one")))[0]
    await context.set_state("todo", ["after"])
    second = (await context.append_message(text("two", "assistant")))[0]
    await context.compact(change(context, [first.id, second.id]), figures={})
    assert context.words_after(turn) == "one"
    assert context.state["todo"] == ["after"]
    await context.revert_to(turn)
    assert (texts(context), context.state["todo"]) == (["what was"], ["before"])
    await check(context)


async def test_what_came_meanwhile_follows_and_what_aims_at_nothing_is_counted(context: Context) -> None:
    newest, gone = context.history[-1], context.history[0]
    planned = change(context, [newest.id])
    (late,) = await context.append_message(text("meanwhile"))
    await context.mark(gone.id, pinned=True)
    await context.mark(newest.id, pinned=True)
    await context.elide([{"record": late.id, "as": "[short]"}], by="user", reason="drop")
    await context.compact(planned, figures={})
    assert texts(context) == ["what was", newest.text, "[short]"]
    assert context.marks(newest.id)["pinned"] is True
    assert context.head is not None
    assert context.head.figures["dropped"] == 1
    await check(context)


async def test_an_elision_keeps_the_places_of_its_items_without_the_texts_of_those_that_are_gone(
    context: Context,
) -> None:
    gone, stays = context.history[0], context.history[4]
    items = [{"record": gone.id, "as": "x" * 500}, {"record": stays.id, "as": "[short]"}]
    elide = await context.elide(items, by="auto", reason="micro")
    await context.compact(change(context, [stays.id]), figures={})
    assert texts(context) == ["what was", "[short]"]
    assert b"xxx" not in context.path.read_bytes()
    await context.restore_elided(elide.id, [1])
    assert texts(context) == ["what was", stays.text]
    await check(context)


@pytest.fixture
async def bare(tmp_path: Path) -> Context:
    context = Context(tmp_path / "bare.jsonl", model="claude-x")
    await context.write_system_prompt("be good " * 40)
    return context


async def counted(context: Context, count: int, said: dict[str, Any], **figures: Any) -> str:
    """An answer, and the figure of the request that gave it; the answer's record."""
    await context.checkpoint()
    through = context.checkpoints()[-1].uid
    (answer,) = await context.append_message(said, model="claude-x")
    params = {"model": "claude-x"}
    await context.update_token_count(count, through=through, produced=answer.id, params=params, **figures)
    return answer.id


async def test_the_figure_after_it_is_in_the_measure_of_the_one_before(bare: Context) -> None:
    """Estimates are corrected by what was counted for all of them; the correction of single messages goes on."""
    (huge,) = await bare.append_message(text("word " * 500))
    for number in range(6):
        answer = await counted(bare, bare.token_count + 400, text(f"answer {number} " * 30, "assistant"))
    factor = bare.factor
    assert factor != 1.0
    estimates = sum(bare.tokens(m.id).count for m in bare.history)
    ratio = bare.weigh().total / (estimates + bare.system_tokens.count + bare.tools_tokens.count)
    assert ratio > 1.3
    await bare.compact(change(bare, [huge.id, answer]), figures={})
    assert bare.factor == pytest.approx(factor)
    assert bare.weigh().mark == "estimated"
    summary, *kept = (bare.tokens(m.id).count for m in bare.history)
    floor = bare.system_tokens.count + bare.tools_tokens.count
    assert bare.weigh().total == pytest.approx(ratio * (sum(kept) + floor) + summary, abs=6)
    await check(bare)


async def test_what_was_not_counted_yet_is_not_corrected_by_what_was(bare: Context) -> None:
    await bare.append_message(text("word " * 100))
    await counted(bare, 4000, text("an answer", "assistant"))
    (new,) = await bare.append_message(text("word " * 300))
    weight = bare.tokens(new.id).count
    await bare.compact(change(bare, [new.id]), figures={})
    summary = bare.tokens(bare.history[0].id).count
    floor = bare.system_tokens.count + bare.tools_tokens.count
    assert bare.weigh().total == pytest.approx(summary + weight + 2 * floor, abs=2)


@pytest.mark.parametrize(
    ("between", "output", "mark"),
    [
        ([], 20, "exact"),
        ([], None, "reconciled"),
        (["and now?"], 20, "reconciled"),
        (["one", "two"], 20, "reconciled"),
    ],
)
async def test_the_next_request_that_is_counted_says_what_it_weighed_then(
    context: Context, between: list[str], output: int | None, mark: str
) -> None:
    (old,) = await context.append_message(text("word " * 100))
    await counted(context, 500, text("an answer", "assistant"))
    await context.compact(change(context, [old.id]), figures={})
    head = context.head
    assert head is not None
    assert context.counted_after(head) is None
    for words in between:
        await context.append_message(text(words))
    added = context.weigh().total - context.token_count
    figures = {} if output is None else {"output": output}
    await counted(context, 700, text("then " * 10, "assistant"), **figures)
    found = context.counted_after(head)
    answer = context.tokens(context.history[-1].id).count
    assert found is not None
    assert found.count == pytest.approx(700 - answer - added, abs=2)
    assert found.mark == mark
    for later in range(3):
        await counted(context, 900 + 100 * later, text("more " * 10, "assistant"))
    assert context.counted_after(head) == found
    await check(context)


async def test_of_an_edited_summary_what_is_counted_then_is_of_the_edit(context: Context) -> None:
    (old,) = await context.append_message(text("word " * 100))
    await counted(context, 500, text("an answer", "assistant"))
    await context.compact(change(context, [old.id]), figures={})
    await context.edit_message("summary", {**SUMMARY, "id": "edited"}, figures={})
    made, edited = context.heads[-2:]
    await counted(context, 700, text("then", "assistant"), output=10)
    assert context.counted_after(made) is None
    assert context.counted_after(edited) == Tokens(690, "exact")


async def test_what_it_weighed_then_is_not_told_by_a_request_of_another_shape(context: Context) -> None:
    (old,) = await context.append_message(text("word " * 100))
    await counted(context, 500, text("an answer", "assistant"))
    await context.compact(change(context, [old.id]), figures={})
    head = context.head
    assert head is not None
    await context.elide([{"record": old.id, "as": "[short]"}], by="auto", reason="micro")
    await counted(context, 700, text("then", "assistant"))
    assert context.counted_after(head) is None


async def test_what_the_check_refuses_changes_nothing(context: Context) -> None:
    whole, seen = context.path.read_bytes(), list[str]()

    def refuse(after: Shown) -> None:
        seen.extend(message.text for message in after.history)
        raise ContextError("something is missing")

    with pytest.raises(ContextError, match="missing"):
        await context.compact(change(context, []), figures={}, check=refuse)
    assert seen == ["what was"]
    assert context.path.read_bytes() == whole
    assert sorted(p.name for p in context.path.parent.iterdir()) == ["context.jsonl", "lock"]
    await check(context)


async def test_an_edited_summary_stands_in_the_place_of_the_old_one(context: Context) -> None:
    newest = context.history[-1]
    await context.compact(change(context, [newest.id]), figures={})
    await talk(context, 1, start=9)
    before = texts(context)
    backup = await context.edit_message("summary", {**SUMMARY, **text("better"), "id": "other"}, figures={})
    assert backup.op == "edit"
    assert texts(context) == ["better", *before[1:]]
    assert not [usage for usage in context.usages() if usage.get("request")]
    assert context.weigh().mark == "estimated"
    await check(context)
    await context.undo()
    assert texts(context) == before


async def test_undo_can_take_the_turns_since_along(context: Context) -> None:
    first, newest = context.history[0], context.history[-1]
    before = texts(context)
    await context.compact(change(context, [newest.id]), figures={})
    await talk(context, 1, start=9)
    await context.mark("summary", pinned=True)
    since = texts(context)[2:]
    await context.take_back()
    assert texts(context) == before + since
    assert context.head is not None
    assert (context.head.op, context.head.figures["undid"]) == ("undo", "compaction")
    assert (context.head.figures["later"] > 0, context.head.figures["lost"]) == (True, 1)
    assert context.record(first.id)
    await check(context)
    await context.undo()
    assert texts(context)[0] == "what was"
    await context.edit_message("summary", {**SUMMARY, **text("better"), "id": "other"}, figures={})
    await context.take_back()
    assert texts(context) == before + since
    await check(context)
    with pytest.raises(NothingToUndo):
        await context.take_back()


async def test_a_compaction_that_was_made_again_is_still_what_undo_undoes(context: Context) -> None:
    before, newest = texts(context), context.history[-1]
    await context.compact(change(context, [newest.id]), figures={})
    await talk(context, 1, start=9)
    after = texts(context)
    for _ in range(2):
        await context.undo()
        await context.redo()
        assert texts(context) == after
        assert context.change is not None and context.change.op == "compaction"
    await context.undo()
    assert context.head is not None and context.head.figures["undid"] == "compaction"
    await context.redo()
    await context.edit_message("summary", {**SUMMARY, **text("better"), "id": "other"}, figures={})
    await context.undo()
    assert texts(context) == after
    assert context.change is not None and context.change.op == "compaction"
    await context.take_back()
    assert texts(context) == before + after[2:]
    assert context.change is context.head
    assert context.head is not None and context.head.figures["undid"] == "compaction"
    await check(context)


async def test_a_compaction_planned_for_another_log_is_refused(context: Context) -> None:
    planned = change(context, [])
    await context.revert_to(2)
    with pytest.raises(ContextError, match="meanwhile"):
        await context.compact(planned, figures={})
