"""The checker knows the API's rules: for each rule one body that it accepts and one that it refuses."""

from __future__ import annotations

import base64
import copy
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.validity import check, extends

Body = dict[str, Any]
Edit = Callable[[Body], object]


def png(width: int, height: int, size: int = 0) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\x00\x00\x00"
    return base64.b64encode(head + b"\x00" * size).decode()


def jpeg(width: int, height: int) -> str:
    app = b"\xff\xe0" + struct.pack(">H", 4) + b"JF"
    return base64.b64encode(
        b"\xff\xd8" + app + b"\xff\xc0" + struct.pack(">HBHH", 8, 8, height, width) + b"\x00"
    ).decode()


def gif(width: int, height: int) -> str:
    return base64.b64encode(b"GIF89a" + struct.pack("<HH", width, height)).decode()


def image(data: str, media_type: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def call(id: str = "t1", **more: Any) -> Body:
    return {"type": "tool_use", "id": id, "name": "bash", "input": {"command": "ls"}, **more}


def result(id: str = "t1", content: Any = "out", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def body(*contents: Any, **more: Any) -> Body:
    """A valid request; `contents` are the messages' contents, the user's first."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": content} for i, content in enumerate(contents or ["hi"])]
    return {"model": "claude-test-5", "max_tokens": 4000, "stream": True, "messages": messages, **more}


def exchange(*blocks: Body, reply: list[Body] | None = None) -> Body:
    return body("hi", reply or [call()], list(blocks) or [result()])


THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "bash", "description": "runs", "input_schema": {"type": "object", "properties": {}}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
PDF = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
    "title": "t",
}


def roles(*names: str) -> Body:
    return {**body(), "messages": [{"role": name, "content": "words"} for name in names]}


RULES: dict[str, tuple[Body, Body, str]] = {
    "a model": (body(), body(model=""), "model: Field required"),
    "max_tokens": (body(), body(max_tokens=0), "max_tokens: must be"),
    "stream": (body(stream=False), body(stream="yes"), "stream: must be"),
    "known fields": (body(metadata={}), body(durability="step"), "durability: Extra inputs"),
    "messages": (body(), {**body(), "messages": []}, "messages: at least one"),
    "a message is an object": (body(), {**body(), "messages": ["hi"]}, "messages.0: must be an object"),
    "fields of a message": (
        body(),
        {**body(), "messages": [{"role": "user", "content": "hi", "id": "r1"}]},
        "messages.0: Extra inputs are not permitted: id",
    ),
    "roles": (roles("user"), roles("user", "tool", "user"), "messages.1: role 'tool'"),
    "first is the user's": (
        roles("user"),
        roles("assistant", "user"),
        "messages.0: first message must use the user role",
    ),
    "last is the user's": (
        roles("user", "assistant", "user"),
        roles("user", "assistant"),
        "messages.1: the conversation must end",
    ),
    "neighbours of one role": (
        roles("user", "user"),
        roles("user", "assistant", "assistant"),
        "must end with a user",
    ),
    "content": (body([text("hi")]), body([]), "messages.0: all messages must have non-empty content"),
    "content as text": (body("hi"), body("  "), "messages.0: all messages must have non-empty content"),
    "content of blocks": (body([text("hi")]), body(["hi"]), "messages.0: content.0: must be a block"),
    "text": (
        body([text("hi")]),
        body([text("")]),
        "messages.0.content.0.text: text content blocks must be non-empty",
    ),
    "text is a text": (
        body([text("hi")]),
        body([{"type": "text", "text": 1}]),
        "messages.0.content.0.text: must be a text",
    ),
    "blank text": (
        body("hi", [text("yes")], "go"),
        body("hi", [text("\n\n")], "go"),
        "messages.1.content.0.text: text content blocks must contain non-whitespace text",
    ),
    "fields of a block": (
        body([text("hi", citations=None)]),
        body([text("hi", note=1)]),
        "messages.0.content.0.text.note: Extra",
    ),
    "fields of an answer": (
        body("hi", [text("yes", flavour="new")], "go"),
        body("hi", [text("yes", partial_json="{")], "go"),
        "messages.1.content.0.text.partial_json: Extra inputs",
    ),
    "null": (
        body([text("hi", cache_control=None)]),
        exchange(result(is_error=None)),
        "is_error: must not be null",
    ),
    "who may hold what: user": (
        body("hi", [text("a")], "go"),
        body([THINKING, text("hi")]),
        "thinking blocks are not permitted",
    ),
    "who may hold what: assistant": (
        body([image(png(9, 9))]),
        body("hi", [image(png(9, 9)), text("see")], "go"),
        "messages.1.content.0: image blocks are not permitted in an assistant message",
    ),
    "unknown blocks": (
        body("hi", [{"type": "hologram"}, text("see")], "go"),
        body([{"type": "hologram"}]),
        "messages.0.content.0: hologram blocks are not permitted in a user message",
    ),
    "call ids": (
        exchange(result("a_B-9"), reply=[call("a_B-9")]),
        exchange(result("bash:0"), reply=[call("bash:0")]),
        "messages.1.content.0.tool_use.id: must match",
    ),
    "no newline in an id": (
        exchange(),
        exchange(result("t1\n"), reply=[call("t1\n")]),
        "tool_use.id: must match",
    ),
    "tool names": (
        exchange(reply=[call(name="a" * 128)]),
        exchange(reply=[call(name="a" * 129)]),
        "messages.1.content.0.tool_use.name: must match",
    ),
    "arguments": (
        exchange(reply=[call(input={})]),
        exchange(reply=[call(input="ls")]),
        "tool_use.input: must be an object",
    ),
    "ids are used once": (
        exchange(result("t1"), result("t2"), reply=[call("t1"), call("t2")]),
        body("hi", [call()], [result()], [call()], [result()]),
        "messages.3.content.0: tool_use ids must be unique (t1)",
    ),
    "every call has a result": (
        exchange(result("t1"), result("t2"), reply=[call("t1"), call("t2")]),
        exchange(result("t1"), reply=[call("t1"), call("t2")]),
        "messages.2: tool_use ids without tool_result blocks immediately after: t2",
    ),
    "results come at once": (
        exchange(),
        body("hi", [call()], "wait", [text("ok")], [result()]),
        "messages.2: tool_use ids without tool_result blocks immediately after: t1",
    ),
    "no call at the end": (
        exchange(),
        body("hi", [call()]),
        "messages.2: tool_use ids without tool_result blocks: t1",
    ),
    "no orphans": (exchange(), body([result("t9")]), "messages.0.content.0: unexpected tool_use_id"),
    "one result a call": (
        exchange(),
        exchange(result(), result()),
        "each tool_use must have a single result (t1)",
    ),
    "results come first": (
        exchange(result(), text("and")),
        exchange(text("and"), result()),
        "messages.2.content.1: tool_result blocks must come first",
    ),
    "empty results": (
        exchange(result(content="")),
        exchange(result(content=7)),
        "tool_result.content: must be a text or a list",
    ),
    "result ids": (
        exchange(),
        exchange({"type": "tool_result", "content": ""}),
        "tool_result.tool_use_id: must match",
    ),
    "is_error": (
        exchange(result(is_error=True)),
        exchange(result(is_error="yes")),
        "is_error: must be true or false",
    ),
    "text in results": (
        exchange(result(content=[text("a")])),
        exchange(result(content=[text(" ")])),
        "content.0.text: text content",
    ),
    "blocks in results": (
        exchange(result(content=[text("a"), image(png(5, 5)), PDF])),
        exchange(result(content=[THINKING])),
        "tool_result.content.0: only text, image and document",
    ),
    "errors are text": (
        exchange(result(content=[image(png(5, 5))])),
        exchange(result(content=[image(png(5, 5))], is_error=True)),
        "all content must be type text if is_error is true",
    ),
    "signatures": (
        body("hi", [THINKING, text("a")], "go"),
        body("hi", [{"type": "thinking", "thinking": "hm"}, text("a")], "go"),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "thinking without text": (
        body("hi", [{**THINKING, "thinking": ""}, text("a")], "go"),
        body("hi", [{"type": "thinking", "signature": "c2ln"}, text("a")], "go"),
        "thinking.thinking: Field required",
    ),
    "fields of thinking": (
        body("hi", [THINKING, text("a")], "go"),
        body("hi", [{**THINKING, "chars": 2}, text("a")], "go"),
        "thinking.chars: Extra inputs",
    ),
    "redacted thinking": (
        body("hi", [{"type": "redacted_thinking", "data": "x"}, text("a")], "go"),
        body("hi", [{"type": "redacted_thinking"}, text("a")], "go"),
        "redacted_thinking.data: Field required",
    ),
    "server tools have results": (
        body("hi", [SEARCH, FOUND, text("a")], "go"),
        body("hi", [SEARCH, text("a")], "go"),
        "messages.1.content.0: srvtoolu_1 was found without a corresponding result block",
    ),
    "server results have calls": (
        body("hi", [SEARCH, FOUND, text("a")], "go"),
        body("hi", [FOUND, SEARCH, text("a")], "go"),
        "messages.1.content.0: web_search_tool_result without a call",
    ),
    "server tools have ids": (
        body("hi", [SEARCH, FOUND, text("a")], "go"),
        body("hi", [{**SEARCH, "id": None}, text("a")], "go"),
        "server_tool_use needs an id",
    ),
    "image sources": (
        body([{"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}]),
        body([{"type": "image", "source": {"type": "blob", "sha256": "a" * 64, "media_type": "image/png"}}]),
        "image.source: type must be base64, url or file, not 'blob'",
    ),
    "image addresses": (
        body([{"type": "image", "source": {"type": "url", "url": "http://x.org/a.png"}}]),
        body([{"type": "image", "source": {"type": "url", "url": "file:///a.png"}}]),
        "image.source.url: must be an address",
    ),
    "image files": (
        body([{"type": "image", "source": {"type": "file", "file_id": "f"}}]),
        body([{"type": "image", "source": {"type": "file"}}]),
        "file_id: Field required",
    ),
    "image types": (
        body([image(gif(5, 5), "image/gif")]),
        body([image(png(5, 5), "image/tiff")]),
        "'image/tiff' is not supported",
    ),
    "base64": (body([image(png(5, 5))]), body([image("not base64!")]), "source.data: must be base64"),
    "fields of a source": (
        body([image(png(5, 5))]),
        body([{"type": "image", "source": {**image(png(5, 5))["source"], "width": 5}}]),
        "image.source: Extra inputs are not permitted: width",
    ),
    "image pixels": (
        body([image(jpeg(8000, 9), "image/jpeg")]),
        body([image(jpeg(9, 8001), "image/jpeg")]),
        "max allowed size: 8000",
    ),
    "many images": (
        body([image(png(2000, 9))] * 21),
        body([*[image(png(9, 9))] * 20, image(gif(2001, 9))]),
        "many-image requests: 2000",
    ),
    "twenty images": (
        body([image(png(2001, 9))] * 20),
        body([image(png(2001, 9))] * 21),
        "many-image requests",
    ),
    "documents": (
        body([PDF]),
        body([{"type": "document", "source": {"type": "blob"}}]),
        "document.source: type must be",
    ),
    "documents are PDF": (
        body([PDF]),
        body([{"type": "document", "source": {**PDF["source"], "media_type": "text/html"}}]),  # type: ignore[dict-item]
        "must be application/pdf",
    ),
    "text documents": (
        body([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}]),
        body([{"type": "document", "source": {"type": "text", "media_type": "text/plain"}}]),
        "must be text/plain with data",
    ),
    "system": (body(system="be kind"), body(system=7), "system: must be a text or a list"),
    "system blocks": (
        body(system=[text("a")]),
        body(system=[image(png(5, 5))]),
        "system.0: must be a text block",
    ),
    "blank system": (
        body(system=[text("a")]),
        body(system=[text("a"), text(" ")]),
        "system.1.text: text content blocks",
    ),
    "tools": (body(tools=[TOOL]), body(tools={"bash": TOOL}), "tools: must be a list"),
    "names of tools": (body(tools=[TOOL]), body(tools=[{**TOOL, "name": "a.b"}]), "tools.0.name: must match"),
    "tools have one name each": (
        body(tools=[TOOL]),
        body(tools=[TOOL, TOOL]),
        "tools.1.name: tool names must be unique (bash)",
    ),
    "descriptions": (
        body(tools=[TOOL]),
        body(tools=[{**TOOL, "description": 1}]),
        "tools.0.description: must be a text",
    ),
    "schemas": (
        body(tools=[TOOL, {"type": "bash_20250124", "name": "sh"}]),
        body(tools=[{**TOOL, "input_schema": {"type": "string"}}]),
        "tools.0.input_schema: must be a JSON schema of type object",
    ),
    "tool_choice": (
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "bash"}),
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "sh"}),
        "tool_choice: there is no tool 'sh'",
    ),
    "thinking": (body(thinking={"type": "adaptive"}), body(thinking="on"), "thinking: type must be"),
    "thinking budget": (
        body(thinking={"type": "enabled", "budget_tokens": 1024}),
        body(thinking={"type": "enabled", "budget_tokens": 1000}),
        "budget_tokens: must be at least 1024",
    ),
    "thinking fits": (
        body(thinking={"type": "enabled", "budget_tokens": 3999}),
        body(thinking={"type": "enabled", "budget_tokens": 4000}),
        "budget_tokens: must be less than max_tokens",
    ),
    "four cache breakpoints": (
        body([text("a", **MARK)] * 2, system=[text("s", **MARK)], tools=[{**TOOL, **MARK}]),
        body([text("a", **MARK)] * 3, system=[text("s", **MARK)], tools=[{**TOOL, **MARK}]),
        "a maximum of 4 blocks with cache_control may be provided, found 5",
    ),
    "the automatic breakpoint counts": (
        body([text("a", **MARK)] * 3, **MARK),
        body([text("a", **MARK)] * 4, **MARK),
        "found 5",
    ),
    "breakpoints in results count": (
        exchange(result(content=[text("a", **MARK)] * 4)),
        exchange(result(content=[text("a", **MARK)] * 5)),
        "found 5",
    ),
    "kinds of breakpoint": (
        body([text("a", cache_control={"type": "ephemeral", "ttl": "1h"})]),
        body([text("a", cache_control={"type": "ephemeral", "ttl": "2h"})]),
        "cache_control: must be ephemeral",
    ),
    "no breakpoint on thinking": (
        body("hi", [THINKING, text("a", **MARK)], "go"),
        body("hi", [{**THINKING, **MARK}, text("a")], "go"),
        "messages.1.content.0: cache_control cannot be set on thinking blocks",
    ),
    "UTF-8": (body("\U0001f600\x00"), body("\ud83d"), "body: lone surrogate"),
    "numbers": (
        body(metadata={"n": 1e300}),
        body(metadata={"n": float("inf")}),
        "body: inf is no JSON number",
    ),
    "JSON": (body(metadata={"n": None}), body(metadata={"n": b""}), "body: bytes is no JSON value"),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_accepts_what_is_right_and_refuses_what_is_wrong(rule: str) -> None:
    right, wrong, words = RULES[rule]
    assert check(right) == []
    found = check(wrong)
    assert any(words in violation for violation in found), found


def test_what_is_too_large_is_refused() -> None:
    assert check(body("a" * 1000)) == []
    assert any("the limit is 33554432" in found for found in check(body("a" * (32 * 1024 * 1024))))
    assert check(body(*["a"] * 99_999)) == []
    assert check(body(*["a"] * 100_001)) == ["messages: 100001, the limit is 100000"]
    assert check(body([image(png(5, 5, 1024))])) == []
    assert any(
        "the limit is 10485760" in found for found in check(body([image(png(5, 5, 10 * 1024 * 1024))]))
    )


def test_a_body_that_is_no_object_or_too_deep_is_refused_in_words() -> None:
    assert check(["hi"]) == ["body: must be an object"]
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert check(body(metadata={"n": deep})) == ["body: nested too deeply"]


_keys = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "id",
        "tool_use_id",
        "source",
        "messages",
        "tools",
        "name",
        "system",
        "cache_control",
        "media_type",
    ]
)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["user", "text", "image", "t1", "tool_result"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(
    st.dictionaries(_keys, _json),
    st.lists(
        st.fixed_dictionaries(
            {"role": _json, "content": st.lists(st.fixed_dictionaries({"type": _json}), max_size=2)}
        ),
        max_size=3,
    ),
)
def test_no_body_makes_the_checker_fail(found: Body, messages: list[Body]) -> None:
    for broken in (found, {**body(), **found}, {**body(), "messages": messages}):
        assert all(isinstance(violation, str) for violation in check(broken))


LONG = body("hi", [call()], [result(), text("and")], system=[text("s")], tools=[TOOL])


@pytest.mark.parametrize(
    "edit",
    [
        lambda b: None,
        lambda b: b["messages"].append({"role": "assistant", "content": "yes"}),
        lambda b: b["messages"][-1]["content"].append(text("more")),
        lambda b: b["messages"][-1]["content"][-1].update(MARK),
        lambda b: b["system"][0].update(MARK),
        lambda b: b.update(max_tokens=9),
    ],
)
def test_an_extension_is_known_as_one(edit: Edit) -> None:
    after = copy.deepcopy(LONG)
    edit(after)
    assert extends(LONG, after) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda b: b["messages"].pop(), "messages: 2 where 3 were"),
        (lambda b: b["messages"][0].update(content="ho"), "messages.0: changed"),
        (lambda b: b["messages"][-1]["content"].insert(0, text("more")), "messages.2: changed"),
        (lambda b: b["messages"][1]["content"].append(text("more")), "messages.1: changed"),
        (lambda b: b["messages"][-1].update(role="assistant"), "messages.2: changed"),
        (lambda b: b["system"].append(text("t")), "system: changed"),
        (lambda b: b["tools"].clear(), "tools: changed"),
        (lambda b: b.update(model="other"), "model: changed"),
    ],
)
def test_what_breaks_the_prefix_is_named(edit: Edit, words: str) -> None:
    after = copy.deepcopy(LONG)
    edit(after)
    assert extends(LONG, after) == [words]
