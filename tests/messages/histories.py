"""Random histories, whole and broken, and the body that a server would receive of them."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tui_agent.messages.blocks import Message, Role

MODEL = "claude-test-5"

_roles: list[Role] = ["user", "assistant"]

_ids = st.sampled_from(["t1", "t2", "t3", "bash:0", "bash_0", "", "toolu_01AbC"])
_odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(0, 3), max_size=2),
)
_texts = st.one_of(
    st.sampled_from(
        ["", " ", "\n\n", "\u2003", "hello", "你好", "\ud800", "a\ud83d\ude00", "\x00", "[/red]", "\u202e"]
    ),
    st.text(max_size=8),
)
_cache = st.sampled_from(
    [{}, {}, {}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": None}, {"cache_control": "yes"}]
)
_sources = st.one_of(
    st.builds(
        lambda w, h, n: {
            "type": "blob",
            "sha256": "a" * 64,
            "media_type": "image/png",
            "bytes": n,
            "width": w,
            "height": h,
        },
        st.sampled_from([1, 40, 1999, 2000, 2001, 8000, 8001]),
        st.sampled_from([1, 640, 2001]),
        st.sampled_from([100, 11 * 1024 * 1024]),
    ),
    st.sampled_from(
        [
            {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=", "id": None},
            {"type": "base64", "media_type": "image/tiff", "data": "AAAA"},
            {"type": "base64", "media_type": "image/png", "data": "AAA"},
            {"type": "base64", "media_type": "image/png", "data": "A===\n"},
            {"type": "url", "url": "https://example.org/a.png"},
            {"type": "url", "url": "file:///etc/passwd"},
            {"type": "file", "file_id": "file_1"},
            {"type": "blob"},
            {},
        ]
    ),
    _odd,
)


def _block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda extra, mark, **kw: {"type": kind, **kw, **mark, **extra}, _extra, _cache, **fields
    )


_extra = st.sampled_from([{}, {}, {}, {}, {"parsed_output": None}, {"partial_json": "{"}, {"note": "x"}])
_inputs = st.one_of(st.just({"command": "ls"}), st.just({"cache_control": "x"}), st.text(max_size=4), _odd)
_texts_block = _block("text", text=st.one_of(_texts, _texts, _odd))
_images = _block("image", source=_sources)
_documents = _block(
    "document",
    source=st.sampled_from(
        [
            {"type": "text", "media_type": "text/plain", "data": "words"},
            {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
            {"type": "text", "media_type": "text/plain", "data": " "},
            {"type": "content", "content": "x"},
            None,
        ]
    ),
    title=_odd,
    citations=_odd,
)
_parts = st.one_of(
    _texts_block,
    _images,
    _documents,
    _odd,
    st.just({"type": "tool_use", "id": "t1"}),
    st.just({"type": ["text"]}),
)
_results = _block(
    "tool_result",
    tool_use_id=st.one_of(_ids, _ids, _odd),
    content=st.one_of(_texts, st.lists(_parts, max_size=3), _odd),
    is_error=st.sampled_from([None, True, False, "yes", 0]),
)
_calls = _block(
    "tool_use", id=st.one_of(_ids, _ids, _odd), name=st.one_of(st.just("bash"), _texts), input=_inputs
)
_thinking = st.one_of(
    st.sampled_from(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "thinking", "thinking": "hm", "signature": "c2ln", "cache_control": None, "index": 0},
            {
                "type": "thinking",
                "thinking": "hm",
                "signature": "c2ln",
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "thinking", "thinking": "hm"},
            {"type": "thinking", "thinking": "\ud800", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "redacted_thinking", "data": None},
        ]
    )
)
_server = st.sampled_from(
    [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "web_search_tool_result", "tool_use_id": ["srvtoolu_1"], "content": None},
        {"type": "server_tool_use", "id": None, "name": "web_search", "input": {}},
        {"type": "hologram", "data": [1, 2]},
    ]
)
blocks = st.one_of(_texts_block, _results, _calls, _thinking, _images, _documents, _server, _odd)


@st.composite
def histories(draw: st.DrawFn, max_size: int = 10) -> list[Message]:
    """Messages of random blocks; each person's text holds words that stand nowhere else (`words-N`)."""
    found = []
    for index in range(draw(st.integers(0, max_size))):
        role: Role = draw(st.sampled_from(_roles))
        content = draw(st.lists(blocks, max_size=5))
        if role == "user" and draw(st.booleans()):
            content.insert(draw(st.integers(0, len(content))), {"type": "text", "text": f"words-{index}"})
        model = draw(st.sampled_from([MODEL, MODEL, "other-model", None])) if role == "assistant" else None
        found.append(Message(role=role, content=content, id=f"r{index}", model=model))
    return found


@st.composite
def sound_histories(draw: st.DrawFn, max_turns: int = 5) -> list[Message]:
    """What a session writes when nothing goes wrong: words, replies, results; it ends ready to be sent."""
    found: list[Message] = []

    def add(role: Any, content: list[Any], origin: str | None = None) -> None:
        model = MODEL if role == "assistant" else None
        found.append(Message(role, content, id=f"r{len(found)}", origin=origin, model=model))

    number = 0
    for _ in range(draw(st.integers(1, max_turns))):
        if found:
            add("assistant", [{"type": "text", "text": "done"}])
        add("user", [{"type": "text", "text": f"words-{len(found)}"}])
        if draw(st.booleans()):
            add("user", [{"type": "text", "text": "reminder"}], "injection")
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"toolu_{number + n}" for n in range(draw(st.integers(1, 3)))]
            number += len(ids)
            reply: list[Any] = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
            if draw(st.booleans()):
                reply.append({"type": "text", "text": draw(st.sampled_from(["\n\n", "I will look."]))})
            reply += [{"type": "tool_use", "id": i, "name": "bash", "input": {"command": "ls"}} for i in ids]
            add("assistant", reply)
            for i in draw(st.permutations(ids)):
                add("user", [{"type": "tool_result", "tool_use_id": i, "content": "out"}], "tool")
            if draw(st.booleans()):
                add("user", [{"type": "text", "text": f"words-{len(found)}"}])
    return found


def wire(messages: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The body that a server receives: blobs resolved to pictures of the size that they claim."""
    return {"model": MODEL, "max_tokens": 100, "messages": _resolved(list(messages)), **more}


def _resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [_resolved(item) for item in value]
    if not isinstance(value, dict):
        return value
    source = value.get("source")
    if (
        value.get("type") in ("image", "document")
        and isinstance(source, dict)
        and source.get("type") == "blob"
    ):
        data = base64.b64encode(png(source.get("width", 1), source.get("height", 1))).decode()
        return {**value, "source": {"type": "base64", "media_type": source["media_type"], "data": data}}
    return {key: _resolved(item) for key, item in value.items()}


def png(width: int, height: int) -> bytes:
    """The head of a PNG of that size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\x00\x00\x00"
