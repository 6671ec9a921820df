"""A request is linted, does not change, encodes the same for ever, and knows where its parts came from."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.messages.histories import MODEL, histories, wire
from tests.support import validity
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "bash", "description": "runs", "input_schema": {"type": "object"}}
HISTORY = [
    Message("user", [text_block("hi")], id="r1"),
    Message(
        "assistant",
        [THINKING, {"type": "tool_use", "id": "t1", "name": "bash", "input": {"b": 1, "a": "é"}}],
        id="r2",
        model=MODEL,
    ),
    Message("user", [tool_result("t1", "out")], id="r3", origin="tool"),
    Message("user", [text_block("steer")], id="r4"),
]


def make(**more: Any) -> Request:
    given = {
        "model": MODEL,
        "system": [text_block("be kind")],
        "history": HISTORY,
        "max_tokens": 100,
        "tools": [TOOL],
    }
    return Request.make(**{**given, **more})


def test_a_request_is_made_by_make_alone() -> None:
    with pytest.raises(TypeError, match=r"Request\.make"):
        Request(object(), {}, None, changes=())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Request()  # type: ignore[call-arg]


def test_a_request_does_not_change() -> None:
    tool = copy.deepcopy(TOOL)
    history = copy.deepcopy(HISTORY)
    request = make(tools=[tool], history=history)
    before = request.sha256, request.body()
    with pytest.raises(AttributeError, match="does not change"):
        request.sources = ()
    with pytest.raises(AttributeError):
        del request.changes
    tool["name"] = "other"
    history[1].content[1]["input"]["a"] = "other"
    for change in (
        lambda: request.messages[0]["content"].append(text_block("more")),
        lambda: request.messages[1]["content"][1]["input"].update(a="other"),
        lambda: request.messages.clear(),
        lambda: request.system[0].pop("text"),
        lambda: request.tools.pop(),
    ):
        with pytest.raises(TypeError, match="does not change"):
            change()
    copy.deepcopy(request.messages)[0]["content"].append(text_block("more"))
    request.body()["messages"].clear()
    assert (request.sha256, request.body()) == before
    assert make().sha256 == request.sha256


def test_encode_is_canonical_json_without_marks_and_stream() -> None:
    request = make(thinking={"type": "adaptive"})
    data = json.loads(request.encode())
    assert (
        request.encode()
        == json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    )
    assert data == {
        "tools": [TOOL],
        "system": [text_block("be kind")],
        "messages": request.messages,
        "params": {"model": MODEL, "max_tokens": 100, "thinking": {"type": "adaptive"}},
    }
    assert request.sha256 == hashlib.sha256(request.encode()).hexdigest()
    assert "é".encode() in request.encode()


def test_the_order_of_fields_does_not_matter_and_every_part_does() -> None:
    same = make(tools=[dict(reversed(TOOL.items()))])
    assert same.sha256 == make().sha256
    parts: list[dict[str, Any]] = [
        {"model": "other"}, {"system": []}, {"history": HISTORY[:1]}, {"max_tokens": 99}, {"tools": []},
        {"thinking": {"type": "adaptive"}},
    ]  # fmt: skip
    assert len({make(**part).sha256 for part in parts} | {make().sha256}) == len(parts) + 1


def test_the_body_is_what_the_api_takes() -> None:
    body = make(thinking={"type": "adaptive"}).body()
    assert list(body) == ["model", "max_tokens", "system", "messages", "tools", "thinking"]
    assert validity.check(body) == []
    assert list(make(system=[], tools=[]).body()) == ["model", "max_tokens", "messages"]


def test_marks_stand_where_they_are_asked_for_and_change_nothing_else() -> None:
    request = make()
    places: Any = [("tool", 0), ("system", 0), ("message", 0, 0), ("message", 2, 1)]
    marked = request.marked(places)
    body = marked.body()
    assert marked.breakpoints == tuple(places)
    marks = [
        body["tools"][0],
        body["system"][0],
        body["messages"][0]["content"][0],
        body["messages"][2]["content"][1],
    ]
    assert all(block["cache_control"] == {"type": "ephemeral"} for block in marks)
    assert json.dumps(body).count("cache_control") == 4 and validity.check(body) == []
    assert marked.encode() == request.encode() and marked.messages == request.messages
    assert "cache_control" not in json.dumps(request.body())
    assert "cache_control" not in json.dumps(marked.marked([]).body())
    assert marked.sources == request.sources and marked.changes == request.changes


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([("message", 1, 0)], "no cache breakpoint on thinking"),
        ([("message", 9, 0)], "there is no"),
        ([("message", 0, -1)], "there is no"),
        ([("tool", 1)], "there is no"),
        ([("prompt", 0)], "there is no"),
        (
            [("message", 0, 0), ("message", 1, 1), ("message", 2, 0), ("message", 2, 1), ("tool", 0)],
            "5 cache breakpoints",
        ),
    ],
)
def test_a_mark_that_the_api_refuses_is_an_error(places: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make().marked(places)


def test_marks_that_came_with_the_parts_are_left_out_but_data_is_not_touched() -> None:
    data = {"cache_control": "no-store"}
    history = [
        Message("user", [{**text_block("hi"), **MARK}]),
        Message("assistant", [{"type": "tool_use", "id": "t1", "name": "bash", "input": data}], model=MODEL),
        Message("user", [{**tool_result("t1", [{**text_block("x"), **MARK}]), **MARK}]),
    ]
    schema = {"type": "object", "properties": {"cache_control": {"type": "string"}}}
    request = make(
        history=history,
        system=[{**text_block("s"), **MARK}],
        tools=[{**TOOL, "input_schema": schema, **MARK}],
    )
    body = request.body()
    assert body["messages"][1]["content"][0]["input"] == data and body["tools"][0]["input_schema"] == schema
    assert json.dumps(body).count("cache_control") == 2


def test_an_answer_of_no_tokens_is_an_error() -> None:
    with pytest.raises(ValueError, match="max_tokens is 0"):
        make(max_tokens=0)


def test_tools_out_of_a_damaged_log_are_mended_or_not_offered() -> None:
    tools: list[Any] = [
        {**TOOL, "name": "a.b", "strict": None},
        TOOL,
        {**TOOL, "description": "second"},
        {"name": "bare"},
        {"name": "odd", "description": 7, "input_schema": {"type": "string", "title": "x"}},
        {"name": "n" * 200, "input_schema": {"type": "object"}},
        {"name": "web_search", "type": "web_search_20260209"},
        {"name": ""},
        {},
        "bash",
        None,
    ]
    request = make(tools=tools)
    assert validity.check(request.body()) == []
    assert [tool["name"] for tool in request.tools] == ["a_b", "bash", "bare", "odd", "n" * 128, "web_search"]
    assert request.tools[1] == TOOL and "strict" not in request.tools[0]
    assert request.tools[2:4] == [
        {"name": "bare", "input_schema": {"type": "object"}},
        {"name": "odd", "input_schema": {"type": "object", "title": "x"}},
    ]
    assert [change.text for change in request.changes if change.rule == "tools"] == [
        "the tool 'a.b' is offered as a_b",
        "a second tool called bash is not offered",
        "the arguments of bare had no schema of an object",
        "the arguments of odd had no schema of an object",
        "the description of odd was no text",
        f"the tool {'n' * 200!r:.60} is offered as {'n' * 128}",
        *["a tool without a name is not offered"] * 4,
    ]


def test_a_system_prompt_is_text_that_is_not_blank() -> None:
    system: list[Any] = [
        text_block(" \n"),
        {"type": "image"},
        text_block("a\ud800"),
        {"type": "text", "text": None},
    ]
    request = make(system=system, tools=[{**TOOL, "description": "\udfff"}])
    assert request.system == (text_block("a\ufffd"),)
    assert request.tools[0]["description"] == "\ufffd"
    assert [change.rule for change in request.changes] == ["system"] * 3
    assert validity.check(request.body()) == []


def test_media_stay_references_to_blobs() -> None:
    image = {
        "type": "image",
        "source": {"type": "blob", "sha256": "a" * 64, "media_type": "image/png", "bytes": 9},
    }
    request = make(history=[Message("user", [image])])
    assert request.body()["messages"][0]["content"] == [image]


def test_an_api_error_is_traced_to_the_records_it_means() -> None:
    request = make(history=[*HISTORY[:2], HISTORY[3]])
    assert request.sources == (("r1",), ("r2",), ("r4",))
    assert request.blocks == (("r1",), ("r2", "r2"), ("", "r4"))
    assert request.records_named("messages.1.content.0: `thinking` blocks cannot be modified") == ("r2",)
    assert request.records_named("messages.2: tool_use ids without results, see messages.0") == ("r4", "r1")
    assert request.records_named("messages.2.content.0.tool_result: bad") == ()
    assert request.records_named("messages.99: no such") == () == request.records_named("prompt is too long")
    assert [change.rule for change in request.changes] == ["missing_result"]


def test_a_request_says_what_it_is() -> None:
    assert repr(make()) == f"Request({MODEL!r}, 3 messages, 1 tools)"
    with pytest.raises((AttributeError, TypeError)):
        pickle.loads(pickle.dumps(make()))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_any_history_makes_a_request_that_encodes_and_is_valid(history: list[Message]) -> None:
    request = make(history=history)
    assert request.sha256 == make(history=history).sha256
    assert validity.check(wire(request.body()["messages"], tools=request.tools)) == []
    last = len(request.messages) - 1
    assert validity.check(wire(request.marked([("message", last, 0), ("tool", 0)]).body()["messages"])) == []
