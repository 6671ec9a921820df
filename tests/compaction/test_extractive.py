"""A summary without a model: it always fits, and what matters most is in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compaction.asked import Talk, asking, source, talk
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.handover import handover
from tui_agent.compaction.sections import DECISIONS, DONE, FILES, GOAL, IN_PROGRESS, composed, sections
from tui_agent.compaction.strategy import Compaction, CompactionFailed, Source
from tui_agent.messages.tokens import Estimator, Tokens

LEDGER = "Files changed:\n- parser.py (+3 -1)\nCommands, newest run:\n- `pytest -q`: exit code 1"


class Counting:
    """A model that only counts."""

    name = "scripted-1"
    window = 200_000
    max_output = 8_192

    def __init__(self) -> None:
        self.count = Estimator("scripted-1").count
        self.said: list[str] = []

    def say(self, stage: str) -> None:
        self.said.append(stage)

    async def ask(self, request: Any) -> Any:
        raise AssertionError("no model is asked")


def given_for(messages: Any, **fields: Any) -> Source:
    counting = Counting()
    known: dict[str, Any] = {
        "tokens": Tokens(sum(map(counting.count, messages[:-2])), "estimated"),
        "budget": 2_000,
    }
    return Source(replaced=messages[:-2], kept=messages[-2:], history=messages, **(known | fields))


async def summarised(messages: Any, **fields: Any) -> str:
    result = await Extractive().compact(given_for(messages, **fields), Counting())
    return result.summary


async def test_it_is_a_strategy_and_asks_no_model() -> None:
    assert isinstance(Extractive(), Compaction)
    async with asking() as asked:
        result = await Extractive().compact(source(talk().messages, asked), asked.model)
        assert asked.server.requests == []
        assert result.usage is None
        assert list(result.preserved) == ["m0005", "m0006"]
        assert result.after.count == asked.model.count(result.summary) < result.before.count


async def test_requests_pending_facts_and_answers_stand_word_for_word_in_their_sections() -> None:
    text = await summarised(talk().messages, ledger=LEDGER, pending=["write the changelog"])
    parts = sections(text)
    assert "Never touch vendor/, it is generated." in parts[GOAL]
    assert parts[IN_PROGRESS] == "- write the changelog"
    assert "rstrip() in read_lines drops the last line." in parts[DONE]
    assert "`pytest -q`: exit code 1" in parts[FILES] and "parser.py (+3 -1)" in parts[FILES]
    assert "SECRET THOUGHT" not in text


async def test_an_earlier_summary_goes_on_under_its_own_headings() -> None:
    earlier = composed(
        {GOAL: ["ship 2.0"], DECISIONS: ["JSON, not TOML: the user said so"], DONE: ["the loader"]}
    )
    made = (
        Talk()
        .user(handover(earlier, ledger=LEDGER), "summary")
        .user("Now the writer. " * 20)
        .assistant("Begun.")
    )
    text = await summarised(made.user("go on").assistant("yes").messages)
    parts = sections(text)
    assert "JSON, not TOML: the user said so" in parts[DECISIONS]
    assert "ship 2.0" in parts[GOAL] and "the loader" in parts[DONE]
    again = (
        Talk()
        .user(handover(text), "summary")
        .user("More. " * 50)
        .assistant("ok")
        .user("go on")
        .assistant("yes")
    )
    assert "JSON, not TOML: the user said so" in sections(await summarised(again.messages))[DECISIONS]


async def test_what_was_run_and_changed_is_named_once_with_its_arguments_and_what_was_read_is_not() -> None:
    made = Talk().user("release it")
    for _ in range(3):
        made.call("bash", {"command": "deploy --ticket ABC-1234 --now"}, "deployed\n" * 50)
        made.call("read_file", {"path": "notes.txt"}, "notes\n" * 50)
        made.call("bash", {"command": "grep -n x notes.txt"}, "notes\n" * 50)
        made.call("edit_file", {"path": "a.py", "old": "x = 1", "new": "x = 2\n" * 100}, "edited")
    text = await summarised(made.assistant("Done.").user("go on").assistant("yes").messages)
    done = sections(text)[DONE]
    assert done.count("Called bash: command: deploy --ticket ABC-1234 --now") == 1
    assert done.count("Called edit_file: path: a.py old: x = 1 new: x = 2") == 1
    assert "notes.txt" not in done


async def test_a_hundred_rounds_neither_grow_nor_repeat_themselves() -> None:
    earlier = composed({GOAL: ["ship 2.0"], DECISIONS: ["JSON, not TOML"], IN_PROGRESS: ["step 0"]})
    for number in range(100):
        made = Talk().user(handover(earlier, ledger=LEDGER), "summary").user(f"Request {number:03}.")
        made.assistant(f"Answer {number:03} " * 100).user("go on").assistant("yes")
        ledger = f"{LEDGER}\nTodos:\n- step {number} (done)\n- step {number + 1} (active)"
        earlier = await summarised(made.messages, budget=700, ledger=ledger, pending=[f"step {number + 1}"])
        assert Counting().count(earlier) <= 700
    parts = sections(earlier)
    assert "- ship 2.0" in parts[GOAL] and "Request 099." in parts[GOAL]
    assert parts[DECISIONS] == "- JSON, not TOML"
    assert parts[IN_PROGRESS] == "- step 100"
    assert earlier.count("From the log:") == 1 and "earlier summary" not in earlier


async def test_the_newest_requests_outlive_everything_when_room_is_short() -> None:
    made = Talk()
    for turn in range(60):
        made.user(f"request {turn:02}: do thing {turn:02} with care").assistant(
            f"answer {turn:02} " + "words " * 60
        )
    text = await summarised(made.user("go on").assistant("yes").messages, budget=260, ledger=LEDGER)
    assert "request 59" in text and "request 58" in text and "request 57" in text
    assert "request 03" not in text


async def test_what_the_person_wants_it_to_dwell_on_comes_before_what_is_newer() -> None:
    made = Talk().user("look into zebra.py").assistant("zebra.py leaks a descriptor in close().")
    for turn in range(60):
        made.user(f"request {turn:02} of another kind").assistant(f"answer {turn:02} " + "words " * 60)
    messages = made.user("go on").assistant("yes").messages
    assert "zebra.py" not in await summarised(messages, budget=500)
    text = await summarised(messages, budget=500, instruction="focus on zebra.py")
    assert "look into zebra.py" in text and "leaks a descriptor" in text and "request 59" in text


def histories() -> st.SearchStrategy[Talk]:
    turn = st.tuples(
        st.text(min_size=1, max_size=300), st.text(max_size=300), st.text(max_size=2_000), st.booleans()
    )

    def build(turns: list[tuple[str, str, str, bool]]) -> Talk:
        made = Talk()
        for words, answer, result, failed in turns:
            made.user(words).call("bash", {"command": words[:20]}, result, error=failed).assistant(
                answer or "-"
            )
        return made.user("go on").assistant("yes")

    return st.lists(turn, min_size=1, max_size=8).map(build)


@given(
    histories(),
    st.integers(1, 3_000),
    st.text(max_size=4_000),
    st.lists(st.text(min_size=1, max_size=200), max_size=5),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_it_always_fits_its_budget_or_says_that_nothing_is_gained(
    made: Talk, budget: int, ledger: str, pending: list[str]
) -> None:
    counting = Counting()
    wanted = given_for(made.messages, budget=budget, ledger=ledger, pending=pending)
    try:
        result = asyncio.run(Extractive().compact(wanted, counting))
    except CompactionFailed:
        assert min(budget, wanted.tokens.count) < 120
        return
    assert result.summary.strip()
    assert counting.count(result.summary) <= max(budget, 20)
    assert counting.count(result.summary) < wanted.tokens.count


async def test_a_3_mb_result_is_no_obstacle() -> None:
    made = Talk().user("Read dump.bin").call("bash", {"command": "cat dump.bin"}, "x" * 3_000_000)
    text = await summarised(
        made.assistant("It is large.").user("go on").assistant("yes").messages, budget=30_000
    )
    assert "Read dump.bin" in text and "It is large." in text and len(text) < 2_000


async def test_nothing_to_replace_changes_nothing() -> None:
    messages = talk().messages
    wanted = Source(replaced=[], kept=messages, history=messages, tokens=Tokens(0, "estimated"), budget=100)
    result = await Extractive().compact(wanted, Counting())
    assert (result.summary, list(result.preserved)) == ("", [message.id for message in messages])


@pytest.mark.parametrize("budget", [1, 5, 20])
async def test_a_budget_for_nothing_still_says_that_something_was_there(budget: int) -> None:
    assert await summarised(talk().messages, budget=budget)
