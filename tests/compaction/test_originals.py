"""What was shortened by itself is whole for a summary made of the history as text; what a person left out is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.logs import Said, begun
from tests.compaction.lone import Alone
from tests.compaction.stories import Scripted, spoken
from tests.context.compare import check
from tui_agent.changes import CompactionCompleted
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.making import Wanted, look
from tui_agent.compaction.originals import MORE, originals
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.summary import Summary
from tui_agent.llm.provider import ProviderError, Reply
from tui_agent.messages.request import Request
from tui_agent.settings.schema import Compaction as Keys

SUMMARY = """\
## Goal and current request
The user wants the parser of alpha.py mended, part by part, and asked for the whole of its log.

## Done
The parser of alpha.py reads each line of it and keeps its offset, in all parts that were asked for.

## In progress
None.
"""
LINE = "the parser of alpha.py reads each line of it and keeps its offset\n"


class Refusing(Scripted):
    """An endpoint that does not take the live request: the history has to go as text."""

    async def ask(self, request: Request) -> Reply:
        if request.tools:
            raise ProviderError("not so", kind="invalid")
        return await super().ask(request)


def model(*, live: bool = False, window: int = 60_000) -> Scripted:
    return (Scripted if live else Refusing)(lambda text: SUMMARY, window=window)


@pytest.fixture
async def said(tmp_path: Path) -> Said:
    """Six turns with a result each, in which alone a number stands."""
    made = await begun(tmp_path)
    for number in range(6):
        await made.words(f"mend the parser in alpha.py, part {number}")
        await made.step(
            f"cat part{number}.py", f"{LINE * 8}heron-{number}\n{LINE * 8}", title=f"part{number}"
        )
        await made.answer(f"part {number} of alpha.py is read. " * 8)
    return made


def results(said: Said) -> list[str]:
    return [message.id for message in said.context.history if message.origin == "tool"]


async def shorten(said: Said, *places: int, by: str = "auto", reason: str = "micro") -> None:
    records = results(said)
    items = [{"record": records[at], "block": 0, "as": f"[truncated: bash result {at}]"} for at in places]
    await said.context.elide(items, by=by, reason=reason)


async def compacted(said: Said, asked: Scripted) -> str:
    """All that the model was shown."""
    run = Alone(said.context, asked, strategy=Summary())
    assert await run.compactor.compact(Wanted("manual")), run.heard
    assert run.all(CompactionCompleted)
    await check(said.context)
    return "\n".join(spoken(request.body()) for request in asked.asked)


async def test_a_result_that_was_shortened_by_itself_is_summarised_as_it_was(said: Said) -> None:
    await shorten(said, 0, 1, 2)
    await shorten(said, 3, reason="budget")
    shown = await compacted(said, model())
    assert all(f"heron-{number}" in shown for number in range(5))
    assert "[truncated: bash result" not in shown


async def test_what_a_person_left_out_is_shown_to_nobody(said: Said) -> None:
    await shorten(said, 0, 1)
    await shorten(said, 1, 2, by="user", reason="drop")
    shown = await compacted(said, model())
    assert "heron-0" in shown and "heron-3" in shown
    assert "heron-1" not in shown and "heron-2" not in shown
    assert "[truncated: bash result 1]" in shown


async def test_the_live_request_goes_as_it_is(said: Said) -> None:
    await shorten(said, 0, 1, 2)
    shown = await compacted(said, model(live=True))
    assert "[truncated: bash result 0]" in shown and "heron-0" not in shown


async def test_an_answer_that_is_asked_for_again_does_not_come_back(said: Said) -> None:
    half = await said.say([{"type": "text", "text": "I wi plover"}], partial=True)
    await said.context.elide([{"record": half, "as": None}], by="auto", reason="retry")
    await said.answer("done")
    await said.words("and on")
    await said.answer("yes")
    assert "plover" not in await compacted(said, model())


async def test_of_giants_head_and_tail_and_of_too_many_the_newest_are_shown(tmp_path: Path) -> None:
    made = await begun(tmp_path)
    size = 400
    for number in range(40):
        await made.words(f"mend the parser in alpha.py, part {number}")
        await made.step(
            f"cat {number}", f"first-{number}\n{LINE * size}middle-{number}\n{LINE * size}last-{number}"
        )
        await made.answer(f"part {number} of alpha.py is read. " * 8)
    await shorten(made, *range(38))
    asked = model(window=20_000)
    shown = await compacted(made, asked)
    there = [number for number in range(38) if f"first-{number}\n" in shown]
    assert there == list(range(there[0], 38))
    assert 0 < there[0] < 37
    assert all(f"last-{number}\n" in shown for number in there)
    assert not any(f"middle-{number}\n" in shown for number in there)
    assert len(asked.asked) <= 2 + MORE


async def test_without_a_model_an_answer_that_was_shortened_speaks_for_itself(said: Said) -> None:
    answers = [m.id for m in said.context.history if m.role == "assistant" and m.text]
    item = {"record": answers[0], "as": "[truncated: answer, 9 chars]\n(in full: record)"}
    await said.context.elide([item], by="auto", reason="micro")
    run = Alone(said.context, model(), strategy=Extractive())
    assert await run.compactor.compact(Wanted("manual"))
    text = run.all(CompactionCompleted)[0].text
    assert "part 0 of alpha.py is read" in text
    assert "[truncated" not in text


async def test_a_source_names_what_was_shortened_of_what_goes_alone(said: Said) -> None:
    await shorten(said, 0, 5)
    found = look(said.context, Wanted("manual"), Policy(Keys()), window=60_000, thinking=None)
    assert list(found.source.whole) == [results(said)[0]]
    assert originals(said.context, said.context.history).keys() == {results(said)[0], results(said)[5]}
    assert said.context.unshortened(results(said)[1]) is None
