"""Each rule of the table has a history that breaks it: lint says so by the rule's name and mends it.

The independent checker (tests/support/validity) agrees: it refuses what is broken, where it can see it, and takes
what is mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.messages.histories import wire
from tests.messages.test_lint import THINKING, assistant, call, image, user
from tests.support import validity
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.lint import RULES, lint
from tui_agent.messages.request import Request
from tui_agent.messages.rules import ORDER, broken

MODEL = "claude-sonnet-5-5"
SERVER_CALL = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
MARKED = {**text_block("a"), "cache_control": {"type": "ephemeral"}}

HISTORIES: dict[str, tuple[Sequence[Message], str]] = {
    "roles": ([user("hi"), Message("system", [text_block("x")], id="r")], "role 'system' is left out"),  # type: ignore[arg-type]
    "blocks": ([Message("user", ["hi", 7], id="r")], "int is no block"),  # type: ignore[list-item]
    "empty": ([user("hi"), Message("user", [], id="r")], "a message without content is left out"),
    "encoding": ([user("a\ud800", id="r")], "held what cannot be encoded: replaced"),
    "other_model": (
        [user("hi"), assistant(THINKING, "x", id="r", model="gpt-5"), user("y")],
        "another model wrote it",
    ),
    "unsigned": (
        [user("hi"), assistant({"type": "thinking", "thinking": "hm"}, "x", id="r"), user("y")],
        "it carries no signature",
    ),
    "places": ([user(call(), "hi", id="r")], "a user message cannot hold it"),
    "names": (
        [user("hi"), assistant(call(name="my tool"), id="r"), user(tool_result("t1", ""))],
        "is sent as my_tool",
    ),
    "arguments": (
        [user("hi"), assistant(call(arguments=[1]), id="r"), user(tool_result("t1", ""))],
        "were not an object",
    ),
    "results": (
        [user("hi"), assistant(call()), user(tool_result("t1", [call()]), id="r")],
        "a block of type 'tool_use' in a tool result is left out",
    ),
    "media": ([user(image(9), image(9, media_type="image/tiff"), id="r")], "'image/tiff' cannot be sent"),
    "blank_text": ([user("hi", " ", id="r")], "text is left out: blank"),
    "server_calls": (
        [user("hi"), assistant(SERVER_CALL, "x", id="r"), user("y")],
        "its other half is missing",
    ),
    "call_ids": (
        [user("hi"), *[assistant(call(), id="r"), user(tool_result("t1", "out"))] * 2],
        "the call's id 't1' is sent as t1-2",
    ),
    "results_first": (
        [user("hi"), assistant(call()), user("steer", tool_result("t1", "out"), id="r")],
        "what stood before a tool result was put behind it",
    ),
    "missing_result": ([user("hi"), assistant(call(), id="r"), user("y")], "the call t1 had no result"),
    "orphan_result": ([user("hi", tool_result("t9", "lost"), id="r")], "there is no call that it answers"),
    "second_result": (
        [user("hi"), assistant(call()), user(tool_result("t1", "1"), tool_result("t1", "2"), id="r")],
        "the call had a result already",
    ),
    "nothing": ([], "there was nothing to send"),
    "begins": ([assistant("x", id="r"), user("hi")], "a text was put before the assistant's first message"),
    "ends": ([user("hi"), assistant("x", id="r")], "was put behind the assistant's last message"),
    "many_images": ([user(image(2001), *[image(9)] * 20, id="r")], "the limit is 2000 with over 20 images"),
    "breakpoints": ([user(*[MARKED] * 5, id="r")], "a cache_control is left out"),
}
OF_THE_REQUEST = {"system", "tools"}
"""Rules about what stands beside the messages."""
UNSEEN = {"other_model", "many_images"}
"""What the checker cannot see: who wrote a message, and the sides of a picture that is not in the request yet."""


def as_it_is(history: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.api() for message in history]


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert set(HISTORIES) | OF_THE_REQUEST == set(ORDER)


@pytest.mark.parametrize("rule", HISTORIES)
def test_a_broken_rule_is_said_by_its_name_and_mended(rule: str) -> None:
    history, words = HISTORIES[rule]
    messages, changes = lint(history, model=MODEL)
    told = [change for change in changes if change.rule == rule]
    assert told and all(words in change.text for change in told)
    assert {change.record for change in told} == ({"r"} if history else {""})
    assert validity.check(wire(messages)) == []
    if rule not in UNSEEN:
        assert validity.check(wire(as_it_is(history)))


@pytest.mark.parametrize("rule", HISTORIES)
def test_a_broken_rule_breaks_no_other(rule: str) -> None:
    _, changes = lint(HISTORIES[rule][0], model=MODEL)
    assert {change.rule for change in changes} == {rule}


@pytest.mark.parametrize(
    ("rule", "system", "tools"),
    [
        ("system", [{"type": "text", "text": " "}], []),
        ("tools", [], [{"name": "read file", "input_schema": {"type": "object"}}]),
        ("tools", [], [{"name": "a", "input_schema": {}}]),
        ("tools", [], [{"name": "a", "input_schema": {"type": "object"}}] * 2),
    ],
)
def test_what_stands_beside_the_messages_is_mended_too(rule: str, system: Any, tools: Any) -> None:
    request = Request.make(model=MODEL, system=system, tools=tools, history=[user("hi")], max_tokens=9)
    assert [change.rule for change in request.changes] == [rule]
    assert validity.check(request.body()) == []
    body = {"model": MODEL, "max_tokens": 9, "messages": [user("hi").api()], "system": system, "tools": tools}
    assert validity.check(body)


def test_changes_are_counted_by_rule_in_the_order_of_the_table() -> None:
    history = [assistant(call(), call("t2"), id="r1"), user(" ", "go", id="r2"), user(" ", id="r3")]
    found = broken(lint(history, model=MODEL)[1])
    assert [(entry.rule.name, len(entry.changes)) for entry in found] == [
        ("blank_text", 2),
        ("missing_result", 2),
        ("begins", 1),
    ]
    assert [entry.records for entry in found] == [["r2", "r3"], ["r1"], ["r1"]]
    assert found[1].words.startswith("2 x missing_result: a call has a result in the next message; ")
    assert [rule.name for rule in RULES] == list(ORDER)
