"""Kimi CLI's dialect of context.jsonl, normalised record by record.

The dialect differs from ours in the messages: `content` is a bare string for exactly one text part, else a list of
parts (`text`, `think`, `image_url` and its kin, with explicit nulls); calls stand beside the content in
`tool_calls` with their arguments as the JSON text that was streamed; a result is a record of role `tool`, an error
one whose text begins with `<system>ERROR`. Records carry no id, time or model. User-role records that the program
wrote are told from a person's words by the tag they begin with. Everything here reads one record at a time, keeps
no state, and never raises on damaged shapes: what it does not know becomes text that can be seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tui_agent.context.records import KIMI_PARTS
from tui_agent.messages.blocks import Block, text_block, tool_result

MODEL = "kimi"
"""Stands for the model of an answer, which the dialect does not name: so its thinking is never sent to another."""

_MESSAGE_ROLES = frozenset({"user", "assistant", "tool"})
_MEDIA_TYPES = frozenset({"image_url", "audio_url", "video_url", "image", "audio", "video"})
_API_TYPES = frozenset(
    {"image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"}
)
"""Block types of the Messages API, which other programs write without ids."""
_API_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=-]+)*;base64,([A-Za-z0-9+/=\s]*)")
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_UNKNOWN_CHARACTERS = 2000
"""So much of a part of unknown type is kept as text."""

_ORIGINS = (
    ("<system>CHECKPOINT ", "checkpoint"),
    ("<system>Previous context has been compacted", "summary"),
    ("<system>You just got a D-Mail", "dmail"),
    ("<notification ", "background"),
    ("<system-reminder>", "injection"),
    ("<system>", "injection"),
)
"""What a user-role record that is not a person's words begins with, and the origin it has for us."""


def is_kimi(record: Mapping[str, Any]) -> bool:
    """True if the record is written in the dialect, so that `normalise` has something to do."""
    role = record.get("role")
    if role == "_checkpoint":
        return "uid" not in record
    if role == "_usage":
        return "exact" not in record
    if not isinstance(role, str) or role not in _MESSAGE_ROLES:
        return False
    if role == "tool" or "tool_calls" in record or "id" not in record:
        return True
    content = record.get("content")
    if not isinstance(content, list):
        return True
    return any(not isinstance(part, dict) or _kind(part) in KIMI_PARTS for part in content)


def normalise(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The record in our form: content in API blocks, calls and results paired by ids the API takes, an origin.

    A record of another role, or a meta record, comes back as it is (a `_usage` is marked exact: the dialect's
    figures are those of the endpoint). Arguments that are not a JSON object are kept as text under the key `arguments`.
    """
    role = record.get("role")
    if role == "_usage":
        return [{"exact": True, **record}]
    if role == "tool":
        return [_result(record)]
    if role == "assistant":
        return [_answer(record)]
    if role == "user":
        return [_words(record)]
    return [dict(record)]


def in_our_form(body: dict[str, Any]) -> dict[str, Any]:
    """A record of either dialect in our form; a message of Kimi CLI's that cannot be read is without content."""
    if not is_kimi(body):
        return body
    forms = normalise(body)
    return forms[0] if forms else {**body, "content": []}


def _kind(part: Mapping[str, Any]) -> str:
    """The type of a part; empty if it has none that can be read."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def _words(record: Mapping[str, Any]) -> dict[str, Any]:
    blocks = _blocks(record.get("content"))
    body = {**record, "content": blocks}
    if "id" not in record and "origin" not in record:
        origin = _origin(blocks)
        if origin is not None:
            body["origin"] = origin
    return body


def _origin(blocks: list[Block]) -> str | None:
    """Who wrote the blocks of a user-role record; None: a person."""
    if any(block["type"] == "tool_result" for block in blocks):
        return "tool"
    first = next((block["text"] for block in blocks if block["type"] == "text"), "").lstrip()
    return next((origin for start, origin in _ORIGINS if first.startswith(start)), None)


def _answer(record: Mapping[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in record.items() if key != "tool_calls"}
    calls = record.get("tool_calls")
    uses = [_use(call, index) for index, call in enumerate(calls)] if isinstance(calls, list) else []
    body["content"] = _blocks(record.get("content")) + uses
    body.setdefault("model", MODEL)
    return body


def _result(record: Mapping[str, Any]) -> dict[str, Any]:
    content = _blocks(record.get("content"))
    first = next((block["text"] for block in content if block["type"] == "text"), "")
    error = first.lstrip().startswith("<system>ERROR")
    call = record.get("tool_call_id")
    body = {key: value for key, value in record.items() if key != "tool_call_id"}
    body |= {"role": "user", "origin": "tool", "content": [tool_result(_id(call), content, error=error)]}
    return body


def _use(call: object, index: int) -> Block:
    """A `tool_calls` entry as a tool_use block; its missing parts are made up so that a result can be paired."""
    fields = call if isinstance(call, dict) else {}
    function = fields.get("function")
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    ident = fields.get("id")
    if not isinstance(ident, str) or not ident:
        ident = f"call-{sha256(_json(call).encode()).hexdigest()[:12]}-{index}"
    return {
        "type": "tool_use",
        "id": _id(ident),
        "name": (_BAD_ID.sub("_", name)[:128] if isinstance(name, str) else "") or "unknown",
        "input": _arguments(function.get("arguments")),
    }


def _arguments(raw: object) -> dict[str, Any]:
    if raw is None or raw == "":
        return {}
    if isinstance(raw, dict):
        return raw
    if not isinstance(raw, str):
        return {"arguments": _json(raw)}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {"arguments": raw}
    return value if isinstance(value, dict) else {"arguments": raw}


def _id(value: object) -> str:
    """A call's id in the characters the API takes (`Shell:0` -> `Shell_0`)."""
    text = value if isinstance(value, str) else _json(value)
    return _BAD_ID.sub("_", text) or "_"


def _blocks(content: object) -> list[Block]:
    """Content of any shape as API blocks."""
    if content is None:
        return []
    parts = content if isinstance(content, list) else [content]
    return [block for part in parts for block in _block(part)]


def _block(part: object) -> list[Block]:
    if isinstance(part, str):
        return [text_block(part)]
    if not isinstance(part, dict):
        return [] if part is None else [text_block(_json(part))]
    kind = part.get("type")
    if isinstance(part.get("text"), str) and kind in ("text", None):
        return [{"type": "text"} | {key: value for key, value in part.items() if value is not None}]
    if kind == "text":
        return [] if part.get("text") is None else [text_block(_json(part["text"]))]
    if not isinstance(kind, str):
        return [_unknown("unknown", part)]
    if kind == "think":
        return _thinking(part)
    if kind in _API_TYPES and (kind != "image" or isinstance(part.get("source"), dict)):
        return [part]
    return [_media(kind, part) if kind in _MEDIA_TYPES else _unknown(kind, part)]


def _thinking(part: Mapping[str, Any]) -> list[Block]:
    text, signature = part.get("think"), part.get("encrypted")
    block = {
        "type": "thinking",
        "thinking": text if isinstance(text, str) else "",
        "signature": signature if isinstance(signature, str) else "",
    }
    return [block] if block["thinking"] or block["signature"] else []


def _media(kind: str, part: Mapping[str, Any]) -> Block:
    """An image as the API takes it; what it does not take is named in text."""
    name = kind.removesuffix("_url")
    inner = part.get(kind)
    url = inner if isinstance(inner, str) else (inner if isinstance(inner, dict) else part).get("url")
    if not isinstance(url, str):
        return text_block(f"[{name} missing]")
    data = _DATA_URL.fullmatch(url)
    if data is None:
        if name == "image" and url.startswith(("http://", "https://")):
            return {"type": "image", "source": {"type": "url", "url": url}}
        return text_block(f"[{name}: {url[:_UNKNOWN_CHARACTERS]}]")
    media_type, encoded = data.groups()
    if name == "image" and media_type in _API_IMAGES and encoded.strip():
        source = {"type": "base64", "media_type": media_type, "data": "".join(encoded.split())}
        return {"type": "image", "source": source}
    return text_block(f"[{name}: {media_type}, {len(encoded) * 3 // 4} bytes]")


def _unknown(kind: str, part: Mapping[str, Any]) -> Block:
    fields = {key: value for key, value in part.items() if key != "type" and value is not None}
    return text_block(f"[{kind[:80]}] {_json(fields)[:_UNKNOWN_CHARACTERS]}")


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "(nested too deeply)"
