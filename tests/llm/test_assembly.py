"""Streams that are not as the API's rules say: whatever events come, in whatever order, nothing raises."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.llm.assembly import Assembly
from tui_agent.llm.provider import Text, Thinking, ToolUse

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
KINDS = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "hologram"])
DELTAS = st.sampled_from(
    ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "novel"]
)
FIELDS = [
    "text",
    "thinking",
    "signature",
    "partial_json",
    "citation",
    "id",
    "name",
    "input",
    "data",
    "stop_reason",
]


def mappings(kinds: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    fields = st.dictionaries(st.sampled_from(FIELDS), SCALARS | st.dictionaries(st.text(max_size=2), SCALARS))
    return SCALARS | st.builds(lambda kind, extra: {**extra, "type": kind}, kinds, fields) | fields


USAGES = st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), SCALARS)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop",
                "ping",
                "novel",
            ]
        )
        | SCALARS
    },
    optional={
        "index": st.integers(0, 3) | SCALARS,
        "content_block": mappings(KINDS),
        "delta": mappings(DELTAS | KINDS),
        "message": SCALARS | st.fixed_dictionaries({"model": SCALARS, "usage": SCALARS | USAGES}),
        "usage": SCALARS | USAGES,
    },
)


@given(st.lists(EVENTS, max_size=30))
def test_no_sequence_of_events_raises_and_what_is_shown_is_what_is_kept(events: list[dict[str, Any]]) -> None:
    assembly = Assembly("m")
    shown = [delta for event in events for delta in assembly.feed(event)]
    assert all(isinstance(delta, (Text, Thinking, ToolUse)) for delta in shown)
    reply = assembly.reply()
    partial, dropped = assembly.partial()
    assert reply.stop_reason and all("type" in block for block in reply.content)
    calls = [block for block in reply.content if block["type"] == "tool_use"]
    assert len({call["id"] for call in calls}) == len(calls)
    assert all(isinstance(call["input"], dict) and call["name"] for call in calls)
    assert set(reply.malformed) <= {call["id"] for call in calls}
    assert not any(block["type"] == "tool_use" for block in partial)
    assert all(isinstance(words, str) for words in dropped)


def test_deltas_without_a_start_are_taken_for_what_they_are() -> None:
    assembly = Assembly("m")
    text = {"type": "text_delta", "text": "hi"}
    assert list(assembly.feed({"type": "content_block_delta", "index": 0, "delta": text})) == [Text("hi")]
    assert assembly.reply().content == [{"type": "text", "text": "hi"}]


def test_a_zero_does_not_undo_a_figure() -> None:
    assembly = Assembly("m")
    for usage in ({"input_tokens": 9, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 5}):
        list(assembly.feed({"type": "message_delta", "delta": {}, "usage": usage}))
    usage = assembly.reply().usage
    assert usage is not None and (usage.input, usage.output) == (9, 5)


def test_arguments_given_whole_at_the_start_count() -> None:
    assembly = Assembly("m")
    block = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    list(assembly.feed({"type": "content_block_start", "index": 0, "content_block": block}))
    assert assembly.reply().content == [block]
