"""Records of Kimi CLI's dialect read as our own, whatever shape they are in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.context.kimi import MODEL, is_kimi, normalise

SAMPLES = Path(__file__).parent / "samples" / "kimi-cli"


def sample(name: str) -> list[dict[str, Any]]:
    lines = (SAMPLES / name).read_bytes().split(b"\n")
    return [body for line in lines if line for body in normalise(json.loads(line))]


def one(record: dict[str, Any]) -> dict[str, Any]:
    [body] = normalise(record)
    return body


def call(name: Any = "Shell", arguments: Any = "{}", ident: Any = "Shell:0") -> dict[str, Any]:
    return {"type": "function", "id": ident, "function": {"name": name, "arguments": arguments}}


def test_a_session_reads_as_api_messages() -> None:
    records = sample("plain/context.jsonl")
    messages = [record for record in records if not record["role"].startswith("_")]
    assert [(m["role"], m.get("origin")) for m in messages] == [
        ("user", None),
        ("assistant", None),
        ("user", "tool"),
        ("user", "tool"),
        ("assistant", None),
        ("user", None),
        ("assistant", None),
    ]
    assert messages[0]["content"] == [{"type": "text", "text": "list files"}]
    thinking, text, shell, read = messages[1]["content"]
    assert thinking == {"type": "thinking", "thinking": "I should look at the files first.", "signature": ""}
    assert text == {"type": "text", "text": "Let me look."}
    assert shell["input"] == {"command": "printf 'héllo 世界\\n'"}
    assert (read["id"], read["name"]) == ("ReadFile_1", "ReadFile")
    [result] = messages[2]["content"]
    assert result["tool_use_id"] == shell["id"] == "Shell_0"
    assert [part["text"] for part in result["content"]][1] == "héllo 世界\n"
    assert "is_error" not in result
    [failed] = messages[3]["content"]
    assert (failed["tool_use_id"], failed["is_error"]) == ("ReadFile_1", True)
    assert messages[4]["content"] == [{"type": "text", "text": "完成 – done."}]
    image = messages[5]["content"][1]
    assert (image["type"], image["source"]["type"], image["source"]["media_type"]) == (
        "image",
        "base64",
        "image/png",
    )


def test_what_a_person_did_not_say_has_an_origin() -> None:
    assert [r.get("origin") for r in sample("dmail/context.jsonl") if r["role"] == "user"] == [
        "checkpoint",
        None,
        "checkpoint",
        "dmail",
        "checkpoint",
    ]
    assert [r.get("origin") for r in sample("compact/context.jsonl") if r["role"] == "user"] == [
        "summary",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("<system-reminder>todo</system-reminder>", "injection"),
        ("<system>note</system>", "injection"),
        ('<notification id="1">done</notification>', "background"),
        ("<systematic> approach", None),
        ("why does <system> appear?", None),
        ("", None),
    ],
)
def test_tags_tell_the_origin(text: str, origin: str | None) -> None:
    assert one({"role": "user", "content": text}).get("origin") == origin
    assert one({"role": "user", "content": [{"type": "text", "text": text}]}).get("origin") == origin


def test_our_own_records_are_left_alone() -> None:
    own: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "<system>hi"}], "id": "01", "at": "t"},
        {"role": "assistant", "content": [{"type": "future", "x": 1}], "id": "02", "model": "m"},
        {"role": "_checkpoint", "id": 0, "uid": "03"},
        {"role": "_usage", "token_count": 3, "exact": False},
        {"role": "_system_prompt", "content": "p"},
        {"role": "_something", "content": "p"},
        {"role": "developer", "content": "p"},
    ]
    assert [is_kimi(record) for record in own] == [False] * 7


def test_a_usage_is_exact_and_a_prompt_stays() -> None:
    assert one({"role": "_usage", "token_count": 24}) == {"role": "_usage", "token_count": 24, "exact": True}
    assert one({"role": "_system_prompt", "content": "x"}) == {"role": "_system_prompt", "content": "x"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("[1]", {"arguments": "[1]"}),
        ("null", {"arguments": "null"}),
        ("", {}),
        (None, {}),
        ({"a": 1}, {"a": 1}),
        (7, {"arguments": "7"}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
    ],
)
def test_arguments_that_are_no_object_stay_as_text(arguments: Any, expected: dict[str, Any]) -> None:
    [use] = one({"role": "assistant", "content": None, "tool_calls": [call(arguments=arguments)]})["content"]
    assert use == {"type": "tool_use", "id": "Shell_0", "name": "Shell", "input": expected}


@pytest.mark.parametrize(
    "calls", [None, 3, "x", {}, [None], [3], [{}], [{"function": None}], [call(None, None, None)]]
)
def test_damaged_calls_raise_nothing(calls: Any) -> None:
    body = one({"role": "assistant", "content": "text", "tool_calls": calls})
    assert body["content"][0] == {"type": "text", "text": "text"}
    for use in body["content"][1:]:
        assert (use["name"], use["input"]) == ("unknown", {})
        assert use["id"]


def test_calls_without_an_id_get_distinct_and_stable_ones() -> None:
    record = {"role": "assistant", "content": [], "tool_calls": [call(ident=None), call(ident="")]}
    first, second = one(record)["content"]
    assert first["id"] != second["id"]
    assert one(record)["content"] == [first, second]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, []),
        ([], []),
        ("", [{"type": "text", "text": ""}]),
        ("a", [{"type": "text", "text": "a"}]),
        (["a", None, 3], [{"type": "text", "text": "a"}, {"type": "text", "text": "3"}]),
        ({"type": "text", "text": "a", "x": None}, [{"type": "text", "text": "a"}]),
        ([{"type": "text", "text": None}], []),
        ([{"type": "text", "text": 3}], [{"type": "text", "text": "3"}]),
        (
            [{"type": "hologram", "data": "z", "n": None}],
            [{"type": "text", "text": '[hologram] {"data":"z"}'}],
        ),
        ([{"type": 5}], [{"type": "text", "text": "[unknown] {}"}]),
        ([{"type": "think", "think": "", "encrypted": None}], []),
        (
            [{"type": "think", "think": "t", "encrypted": "sig"}],
            [{"type": "thinking", "thinking": "t", "signature": "sig"}],
        ),
    ],
)
def test_content_of_any_shape_becomes_blocks(content: Any, expected: list[dict[str, Any]]) -> None:
    assert one({"role": "user", "content": content})["content"] == expected
    assert one({"role": "user"})["content"] == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "id": None}},
        {"type": "image", "image": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image", "url": "data:image/png;base64,QUJD", "id": None},
        {"type": "image_url", "image_url": "data:image/png;base64,QUJD"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
    ],
)
def test_images_in_both_shapes_become_image_blocks(part: dict[str, Any]) -> None:
    [block] = one({"role": "user", "content": [part]})["content"]
    assert block == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            {"type": "audio_url", "audio_url": {"url": "data:audio/mp3;base64,QUJD"}},
            "[audio: audio/mp3, 3 bytes]",
        ),
        ({"type": "video", "url": "https://x/y.mp4"}, "[video: https://x/y.mp4]"),
        ({"type": "image_url", "image_url": {"url": "file:///a.png"}}, "[image: file:///a.png]"),
        (
            {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,QUJD"}},
            "[image: image/tiff, 3 bytes]",
        ),
        ({"type": "image_url", "image_url": None}, "[image missing]"),
        ({"type": "image", "source": 3}, "[image missing]"),
    ],
)
def test_media_the_api_does_not_take_is_named(part: dict[str, Any], text: str) -> None:
    assert one({"role": "user", "content": [part]})["content"] == [{"type": "text", "text": text}]


def test_an_image_at_an_address_stays_one() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    [block] = one({"role": "user", "content": [part]})["content"]
    assert block["source"] == {"type": "url", "url": "https://x/y.png"}


@pytest.mark.parametrize("ident", ["Shell:0", "a b", "", None, 7, ["x"]])
def test_a_call_and_its_result_keep_together(ident: Any) -> None:
    [use] = one({"role": "assistant", "content": "", "tool_calls": [call(ident=ident or "Shell:0")]})[
        "content"
    ][1:]
    [result] = one({"role": "tool", "content": "ok", "tool_call_id": ident or "Shell:0"})["content"]
    assert use["type"] == "tool_use"
    if isinstance(ident, str):
        assert result["tool_use_id"] == use["id"]
    assert result["tool_use_id"].replace("_", "").replace("-", "").isalnum()


def test_an_answer_names_no_real_model_and_keeps_one_it_has() -> None:
    assert one({"role": "assistant", "content": "x"})["model"] == MODEL
    assert one({"role": "assistant", "content": "x", "model": "other"})["model"] == "other"


def test_blocks_of_the_api_without_ids_pass_through() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    body = one({"role": "user", "content": [result]})
    assert (body["content"], body["origin"]) == ([result], "tool")
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    assert one({"role": "assistant", "content": [use]})["content"] == [use]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
part = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "think", "image_url", "image", "audio", "x"]) | anything},
    optional=dict.fromkeys(("text", "think", "encrypted", "image_url", "url", "source", "image"), anything),
)


@given(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "_usage", "_checkpoint"]) | anything},
        optional={
            "content": anything | st.lists(part | anything, max_size=3),
            "tool_calls": anything | st.lists(anything, max_size=2),
            "tool_call_id": anything,
            "id": anything,
            "origin": anything,
        },
    )
)
def test_no_shape_raises_and_content_is_always_blocks(record: dict[str, Any]) -> None:
    before = repr(record)
    is_kimi(record)
    for body in normalise(record):
        if record["role"] in ("user", "assistant", "tool"):
            assert all(isinstance(block["type"], str) for block in body["content"])
    assert repr(record) == before
