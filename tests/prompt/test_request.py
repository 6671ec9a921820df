"""Breakpoints, prefixes and the manifest: what goes out, and what of it the cache may keep."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import validity
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator, Tokens
from tui_agent.prompt.assembler import MIN_OUTPUT_TOKENS, Assembler, DoesNotFit, Limits
from tui_agent.prompt.cache import PrefixWatch, breakpoints
from tui_agent.prompt.manifest import About, Item, Total

TOOL = {"name": "bash", "description": "run", "input_schema": {"type": "object", "properties": {}}}


def say(text: str, number: int) -> Message:
    return Message("user", [text_block(text)], id=f"u{number}")


def answer(text: str, number: int) -> Message:
    return Message("assistant", [text_block(text)], id=f"a{number}", model="m")


def conversation(turns: int) -> list[Message]:
    history: list[Message] = []
    for number in range(turns):
        history += [say(f"question {number}", number), answer(f"answer {number}", number)]
    return [*history, say("last", turns)]


def request_of(history: list[Message], **changes: Any) -> Request:
    options: dict[str, Any] = {
        "model": "m",
        "system": [text_block("be good")],
        "history": history,
        "max_tokens": 100,
        "tools": [TOOL],
        **changes,
    }
    return Request.make(**options)


def test_at_most_four_breakpoints_on_legal_blocks() -> None:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "bash", "input": {}} for n in range(30)]
    results = [tool_result(f"c{n}", "ok") for n in range(30)]
    history = [
        *conversation(2),
        Message("assistant", calls, id="calls", model="m"),
        Message("user", results, id="results", origin="tool"),
    ]
    request = request_of(history)
    found = breakpoints(request)
    assert len(found) == 4
    assert found[0] == ("message", len(request.messages) - 1, 29)
    assert ("message", len(request.messages) - 1, 11) in found
    body = request.marked(found).body()
    assert json.dumps(body).count("cache_control") == 4
    assert not validity.check({**body, "stream": True})


def test_breakpoints_leave_the_canonical_form_alone() -> None:
    request = request_of(conversation(3))
    assert request.marked(breakpoints(request)).encode() == request.encode()


def test_a_longer_history_extends_and_a_changed_one_says_what_broke() -> None:
    watch = PrefixWatch()
    assert watch.sent(request_of(conversation(1))) is None
    assert watch.sent(request_of([*conversation(1), answer("x", 9), say("y", 9)])) is None
    longer = [*conversation(1), answer("x", 9), say("y", 9), say("merged", 10)]
    assert watch.sent(request_of(longer)) is None
    assert watch.sent(request_of(conversation(1))) == "an earlier point of the conversation"
    assert watch.sent(request_of(conversation(1), tools=[])) == "other tools"
    watch.announce()
    assert watch.sent(request_of(conversation(1), model="n", tools=[])) is None
    assert watch.sent(request_of(conversation(1), tools=[])) == "another model"


def built(history: list[Message], total: int, window: int = 10_000) -> Any:
    assembler = Assembler(Limits("m", window, 4_000), Estimator("m"))
    return assembler.build(
        system=[text_block("be good")],
        tools=[TOOL],
        history=history,
        total=Total(total, total, 0, "exact"),
        books=Ledger(),
    )


class Ledger:
    """Books in which every record weighs ten tokens."""

    def tokens(self, record: str) -> Tokens:
        return Tokens(10, "exact")

    def message(self, record: str) -> About:
        return About("words" if record.startswith("u") else "answer", record, record=record)

    def layers(self) -> list[About]:
        return [About("layer", "builtin", "tui-agent", "p")]

    def tools(self) -> About:
        return About("tool", "", record="t")

    def memories(self) -> list[dict[str, Any]]:
        return []

    def left_out(self) -> list[Item]:
        return []


def test_the_manifest_lists_the_bytes_of_each_item_as_they_are_sent() -> None:
    request, manifest = built(
        [say('tricky "messages":[ "system":[', 1), answer("a", 1), say("tricky", 2)], 100
    )
    encoded = request.encode()
    sections = [item.section for item in manifest.items]
    assert sections[:5] == ["tools", "system", "messages", "messages", "messages"]
    assert set(sections[5:]) == {"frame"}
    assert [item.record for item in manifest.items[:5]] == ["t", "p", "u1", "a1", "u2"]
    for item in manifest.items[:5]:
        assert isinstance(json.loads(encoded[item.start : item.end].rstrip(b",")), dict)
    assert sum(item.tokens.count for item in manifest.items) == 100


@pytest.mark.parametrize(
    ("total", "name"), [(100, "not accounted for"), (20, "taken off: the estimates are too high")]
)
def test_what_the_estimates_are_off_by_is_an_estimate_itself_and_said_to_be_one(
    total: int, name: str
) -> None:
    items = built(conversation(1), total)[1].items
    rest = next(item for item in items if item.section == "frame")
    assert name in rest.name and rest.tokens.mark == "estimated"
    assert (rest.tokens.count > 0) == (total == 100) and sum(item.tokens.count for item in items) == total
    assert {item.name for item in items if item.section == "frame"} == {rest.name, "framing", "parameters"}


def test_the_answer_gets_what_room_is_left() -> None:
    assert built(conversation(1), 100)[0].max_tokens == 4_000
    assert built(conversation(1), 8_000)[0].max_tokens == 2_000


def test_what_does_not_fit_is_refused_with_numbers_and_ways_out() -> None:
    with pytest.raises(DoesNotFit, match="9,500") as failure:
        built(conversation(1), 9_500)
    assert "10,000" in str(failure.value) and f"{MIN_OUTPUT_TOKENS:,}" in str(failure.value)
    assert failure.value.ways == ("switch to a model with a window of 10,524 tokens or more (/model)",)
