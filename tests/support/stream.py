"""A reply as the events of the stream that carries it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.support.script import Reply


def events_of(reply: Reply, message: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stream's events, up to where the reply ends."""
    usage = dict(reply.usage or _usage(reply, body))
    start = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    broken = reply.ending in ("cut", "error")
    for index, block in enumerate(reply.content):
        events.extend(_block_events(index, block))
        if broken and index == len(reply.content) - 1:
            events.pop()
    if reply.ending == "error":
        message = reply.failure.removesuffix("_error").capitalize()
        events.append({"type": "error", "error": {"type": reply.failure, "message": message}})
    if broken or reply.ending == "no_message_stop":
        return events
    events.extend(dict(event) for event in reply.extra_events)
    if reply.ending != "no_stop_reason":
        delta = {"stop_reason": reply.stop_reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _block_events(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = block["type"]
    deltas: list[dict[str, Any]] = []
    start = dict(block)
    if kind == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    elif kind == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
        if block["signature"]:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start["input"] = {}
        given = block["input"]
        raw = given if isinstance(given, str) else json.dumps(given)
        cuts = [raw[at : at + 7] for at in range(0, len(raw), 7)]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cuts]]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _pieces(text: str | list[str]) -> list[str]:
    if isinstance(text, list):
        return text
    return re.findall(r"\s*\S+|\s+$", text)


def _usage(reply: Reply, body: Mapping[str, Any]) -> dict[str, int]:
    """Plausible figures: four characters a token."""
    return {
        "input_tokens": max(1, len(json.dumps(body)) // 4),
        "output_tokens": max(1, len(json.dumps(list(reply.content))) // 4),
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
