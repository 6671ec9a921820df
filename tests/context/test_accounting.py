"""Token figures: exact, reconciled and estimated apart, and the sum always closes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.context.compare import check, fresh, result, talk, text
from tui_agent.context import Context
from tui_agent.messages.tokens import Estimator

MODEL = "claude-x"
PARAMS = {"model": MODEL, "max_tokens": 100, "thinking": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "context.jsonl"


def estimate(message: dict[str, Any], factor: float = 1.0) -> int:
    from math import ceil

    return ceil(Estimator(MODEL).weigh({"role": "", "content": message["content"]}) * factor)


async def step(
    context: Context, count: int, *, output: int | None = 40, params: dict[str, Any] = PARAMS
) -> tuple[str, str]:
    """A checkpoint, an answer, its usage; the ids of the last message before it and of the answer."""
    last = context.history[-1].id
    await context.checkpoint()
    [answer] = await context.append_message(text("I answer with some words.", "assistant"))
    reported = {} if output is None else {"output": output}
    await context.update_token_count(count, through=last, produced=answer.id, params=params, **reported)
    return last, answer.id


async def test_without_a_usage_all_is_estimated(path: Path) -> None:
    context = Context(path, model=MODEL)
    assert context.weigh() == await weight_of(context) and context.weigh().total == 0
    words = text("some words")
    await context.write_system_prompt("be good")
    await context.append_message(words)
    weight = context.weigh()
    prompt = Estimator(MODEL).count("be good")
    assert (weight.exact, weight.pending, weight.mark) == (0, estimate(words) + prompt, "estimated")
    assert context.tokens(context.history[0].id).mark == "estimated"
    assert (context.system_tokens.count, context.token_count, context.unattributed) == (prompt, 0, 0)
    await check(context)


async def weight_of(context: Context) -> Any:
    return (await fresh(context.path, model=MODEL)).weigh()


async def test_a_usage_is_exact_until_something_is_added(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await step(context, 1000)
    weight = context.weigh()
    assert (weight.total, weight.exact, weight.pending, weight.mark) == (1000, 1000, 0, "exact")
    await context.checkpoint()
    await context.set_state("goal", "x")
    await context.mark(context.history[0].id, pinned=True)
    assert context.weigh().mark == "exact"
    more = text("and more")
    await context.append_message(more)
    weight = context.weigh()
    assert (weight.exact, weight.pending, weight.mark) == (1000, estimate(more), "estimated")
    assert context.token_count_with_pending == 1000 + estimate(more)
    await check(context)


async def test_a_stamp_that_is_not_exact_stays_an_estimate(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await context.update_token_count(300, exact=False)
    weight = context.weigh()
    assert (weight.total, weight.exact, weight.pending, weight.mark) == (300, 0, 300, "estimated")
    assert context.token_count == 300
    await check(context)


async def test_an_elision_takes_off_what_it_saves_and_bringing_back_puts_it_on(path: Path) -> None:
    context = Context(path, model=MODEL)
    long = result("t", "many words of output " * 100)
    [record] = await context.append_message(long)
    [other] = await context.append_message(text("other"))
    await step(context, 5000)
    elide = await context.elide(
        [{"record": record.id, "block": 0, "as": "[short]"}, {"record": other.id, "as": None}],
        by="user",
        reason="drop",
    )
    weight = context.weigh()
    saved = estimate(result("t", "[short]")) - estimate(long) - estimate(text("other"))
    assert (weight.total, weight.exact, weight.pending) == (5000 + saved, 5000, saved)
    assert (weight.mark, weight.reduced) == ("estimated", True)
    await check(context)
    await context.restore_elided(elide, [0])
    assert context.weigh().pending == -estimate(text("other"))
    await check(context)
    await context.restore_elided(elide)
    weight = context.weigh()
    assert (weight.total, weight.mark, weight.reduced) == (5000, "exact", False)
    await check(context)
    await step(context, 5100)
    await context.elide([{"record": other.id, "as": None}], by="user", reason="drop")
    await step(context, 5050)
    assert context.weigh().mark == "exact"
    again = await context.restore_elided(elide)
    assert context.weigh().mark == "exact"
    assert again.role == "_restore_elided"
    await check(context)


async def test_a_changed_prompt_or_tool_set_counts_by_its_difference(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.write_system_prompt("short")
    await context.write_tools([{"name": "bash"}])
    await context.append_message(text("hello"))
    await step(context, 1000)
    count = Estimator(MODEL).count
    await context.write_system_prompt("a much longer prompt than before")
    assert context.weigh().pending == count("a much longer prompt than before") - count("short")
    await context.write_tools([])
    expected = count("a much longer prompt than before") - count("short") - count([{"name": "bash"}])
    assert context.weigh().pending == expected
    assert context.weigh().reduced
    await check(context)


async def test_a_prompt_put_in_front_counts_until_a_request_had_it(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await step(context, 1000)
    await context.write_system_prompt("a prompt at last")
    assert context.weigh().pending == Estimator(MODEL).count("a prompt at last")
    await check(context)
    await step(context, 1080)
    assert context.weigh().mark == "exact"
    answer = context.history[-1].id
    assert context.tokens(answer).mark == "exact"
    await check(context)


async def test_what_comes_between_the_last_message_of_a_request_and_its_step_is_covered(path: Path) -> None:
    """An elision before the step's checkpoint shaped the request; one while the answer was on its way did not."""
    context = Context(path, model=MODEL)
    [first] = await context.append_message(text("words " * 50))
    [second] = await context.append_message(text("words " * 40))
    await context.elide([{"record": first.id, "as": None}], by="auto", reason="micro")
    await context.write_system_prompt("prompt")
    await context.checkpoint()
    await context.elide([{"record": second.id, "as": "[x]"}], by="user", reason="drop")
    [answer] = await context.append_message(text("answer", "assistant"))
    await context.update_token_count(900, through=second.id, produced=answer.id)
    assert context.weigh().pending == estimate(text("[x]")) - estimate(text("words " * 40))
    await check(context)


async def test_the_answer_has_the_exact_figure_its_usage_reports(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    _, answer = await step(context, 1000, output=77)
    assert (context.tokens(answer).count, context.tokens(answer).mark) == (77, "exact")
    await context.elide([{"record": answer, "block": 0, "as": "[x]"}], by="user", reason="drop")
    assert context.tokens(answer).mark == "estimated"
    await check(context)


async def test_records_between_two_usages_share_the_exact_difference(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await step(context, 1000)
    added = [result("t", "output of a tool " * 20), text("a reminder of things " * 5)]
    ids = [record.id for record in await context.append_message(added)]
    shared = sum(map(estimate, added)) * 6 // 5
    await step(context, 1000 + shared + 40, output=40)
    figures = [context.tokens(name) for name in ids]
    assert [figure.mark for figure in figures] == ["reconciled", "reconciled"]
    assert sum(figure.count for figure in figures) == shared
    weights = [estimate(message) for message in added]
    assert figures[0].count / shared == pytest.approx(weights[0] / sum(weights), abs=0.02)
    assert context.unattributed == 1000 - 40 - context.tokens(context.history[0].id).count
    await check(context)


async def test_an_elision_takes_off_what_the_endpoint_counted_of_the_record(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await step(context, 1000)
    long = result("t", "output of a tool " * 60)
    [record] = await context.append_message(long)
    counted = estimate(long) * 6 // 5
    await step(context, 1000 + counted + 40)
    figure = context.tokens(record.id)
    assert (figure.count, figure.mark) == (counted, "reconciled")
    total = context.weigh().total
    elide = await context.elide(
        [{"record": record.id, "block": 0, "as": "[short]"}], by="user", reason="shorten"
    )
    assert context.weigh().total == total - counted + context.tokens(record.id).count
    await check(context)
    await context.restore_elided(elide)
    assert context.weigh().total == total
    await check(context)


@pytest.mark.parametrize("difference", [0, -50, 5, 100_000])
async def test_a_difference_that_cannot_be_right_is_shared_out_to_nobody(path: Path, difference: int) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    await step(context, 1000)
    [record] = await context.append_message(result("t", "output of a tool " * 20))
    await step(context, max(1000 + difference + 40, 0), output=40)
    assert context.tokens(record.id).mark == "estimated"
    await check(context)


@pytest.mark.parametrize("change", ["model", "thinking", "prompt", "tools", "elide", "inexact"])
async def test_only_requests_that_extend_each_other_are_reconciled(path: Path, change: str) -> None:
    context = Context(path)
    await context.write_system_prompt("prompt")
    await context.append_message(text("hello"))
    await step(context, 1000)
    added = result("t", "output of a tool " * 20)
    [record] = await context.append_message(added)
    params = dict(PARAMS)
    match change:
        case "model":
            params["model"] = "claude-y"
        case "thinking":
            params["thinking"] = {"type": "enabled", "budget_tokens": 2000}
        case "prompt":
            await context.write_system_prompt("another")
        case "tools":
            await context.write_tools([{"name": "bash"}])
        case "elide":
            await context.elide([{"record": context.history[0].id, "as": "[x]"}], by="auto", reason="micro")
    if change == "inexact":
        await context.update_token_count(1000 + estimate(added), exact=False)
    else:
        await step(context, 1000 + estimate(added) + 40, params=params)
    assert context.tokens(record.id).mark == "estimated"
    await check(context)


async def test_estimates_follow_what_the_endpoint_counts(path: Path) -> None:
    context = Context(path, model=MODEL)
    await context.append_message(text("hello"))
    count = 1000
    await step(context, count)
    for number in range(12):
        added = result(f"t{number}", f"output number {number} of a tool " * 100)
        await context.append_message(added)
        count += round(estimate(added) * 1.5) + 40
        await step(context, count)
    last = text("a message that is not counted yet " * 10)
    [record] = await context.append_message(last)
    figure = context.tokens(record.id)
    assert figure.mark == "estimated"
    assert estimate(last, 1.3) < figure.count < estimate(last, 1.7)
    assert context.weigh().pending == figure.count
    await check(context)


async def test_figures_are_those_of_the_kept_records_after_going_back(path: Path) -> None:
    context = Context(path)
    await talk(context, 3)
    weights = []
    for mark in context.checkpoints():
        preview = await fresh_prefix(context, mark.id)
        weights.append(preview)
    for number in (7, 4, 1):
        await context.revert_to(number)
        assert context.weigh() == weights[number]
        await check(context)


async def fresh_prefix(context: Context, number: int) -> Any:
    """What a file that ends before the checkpoint weighs."""
    offset = context.record(context.checkpoints()[number].uid).offset
    other = context.path.with_name(f"prefix{number}.jsonl")
    other.write_bytes(context.path.read_bytes()[:offset])
    return (await fresh(other)).weigh()


async def test_everything_sent_is_counted(path: Path) -> None:
    context = Context(path, model=MODEL)
    image = {"type": "blob", "sha256": "0" * 64, "media_type": "image/png", "width": 1000, "height": 1000}
    await context.append_message(
        [
            {"role": "user", "content": [{"type": "image", "source": image}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "w", "input": {"x": "word " * 40_000}}],
            },
        ]
    )
    picture, arguments = (context.tokens(message.id).count for message in context.history)
    assert 1000 < picture < 2000
    assert arguments > 20_000


async def test_another_model_weighs_by_its_own_weights(path: Path) -> None:
    context = Context(path, model="claude-opus-4-5")
    await context.append_message(text("Some English words, and some more of them."))
    old = context.weigh().total
    context.model = "claude-opus-5"
    assert (context.model, context.weigh().total > old) == ("claude-opus-5", True)
    await check(context)


async def test_without_a_model_given_the_last_request_says_which(path: Path) -> None:
    context = Context(path)
    await context.append_message(text("hello " * 50))
    await step(context, 1000, params={"model": "claude-opus-4-5"})
    await context.append_message(text("Some English words, and some more of them."))
    named = await fresh(path, model="claude-opus-4-5")
    assert context.weigh() == named.weigh()
    await check(context)


async def test_records_and_what_is_in_none_close_to_the_total(path: Path) -> None:
    context = Context(path)
    await talk(context, 4)
    total = sum(context.tokens_of(record).count for record in context.records)
    assert total + context.unattributed == context.weigh().total
    assert context.tokens_of(context.records[0]) == context.system_tokens
    assert context.tokens_of(context.records[1]) == context.tools_tokens
    assert context.tokens_of(context.records[2]).count == 0
