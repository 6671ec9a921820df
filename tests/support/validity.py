"""A strict checker of what a server receives: the Messages API's rules, written from the rules alone.

    check(body)            -> violations in words, each with its path (`messages.3.content.0: ...`); [] if valid
    extends(before, after) -> why the second request is no extension of the first, so that a prefix cache misses

It shares no code with the program, so that a mistake there does not excuse itself here. Where the API is
known to be lenient (it merges neighbours of one role) the checker is as strict as a careful client has to be.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_MESSAGES = 100_000
MAX_BYTES = 32 * 1024 * 1024
MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_EDGE = 8000
MANY_IMAGES, MANY_EDGE = 20, 2000
MAX_BREAKPOINTS = 4

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_BODY_FIELDS = frozenset(
    {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "metadata"}
    | {"stop_sequences", "service_tier", "container", "cache_control", "output_config", "context_management"}
)
_BLOCK_FIELDS = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "citations", "context", "title"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}),
}
_CLIENT_FIELDS = frozenset({"index", "parsed_output", "partial_json"})
"""What client libraries keep on blocks; the API refuses it even in its own answers."""
_NULLABLE = frozenset({"cache_control", "citations", "context", "title", "toolset_name", "transformations"})
_USER_BLOCKS = frozenset({"text", "image", "document", "tool_result"})
_RESULT_BLOCKS = frozenset({"text", "image", "document"})
_NOT_ASSISTANT = frozenset({"image", "document", "tool_result"})
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def check(body: Any) -> list[str]:
    """What the API would refuse in this request body; [] if nothing."""
    if not isinstance(body, dict):
        return ["body: must be an object"]
    return list(_violations(body))


def extends(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Why `after` does not extend `before`: same tools and system, and its messages begin with those of `before`,
    of which the last may have gained blocks at its end. cache_control does not count."""
    old, new = _uncached(before), _uncached(after)
    found = [
        f"{key}: changed" for key in ("model", "tools", "system", "thinking") if old.get(key) != new.get(key)
    ]
    first, second = old["messages"], new["messages"]
    if len(second) < len(first):
        return [*found, f"messages: {len(second)} where {len(first)} were"]
    for index, message in enumerate(first):
        there = second[index]
        if index == len(first) - 1 and there["role"] == message["role"]:
            had = _blocks(message["content"])
            same = _blocks(there["content"])[: len(had)] == had
        else:
            same = there == message
        if not same:
            return [*found, f"messages.{index}: changed"]
    return found


# --- the request as a whole ----------------------------------------------------------------------------------------


def _violations(body: dict[str, Any]) -> Iterator[str]:
    for key in body:
        if key not in _BODY_FIELDS:
            yield f"{key}: Extra inputs are not permitted"
    if bad := _not_json(body):
        yield f"body: {bad}"
        return
    try:
        size = len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
    except RecursionError:
        yield "body: nested too deeply"
        return
    if size > MAX_BYTES:
        yield f"body: {size} bytes, the limit is {MAX_BYTES}"
    yield from _model(body)
    yield from _thinking(body.get("thinking"), body.get("max_tokens"))
    yield from _system(body.get("system"))
    yield from _tools(body.get("tools"), body.get("tool_choice"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    if len(messages) > MAX_MESSAGES:
        yield f"messages: {len(messages)}, the limit is {MAX_MESSAGES}"
    shapes = [f"messages.{i}: {text}" for i, message in enumerate(messages) if (text := _shape(message))]
    if shapes:
        yield from shapes
        return
    yield from _order(messages)
    for index, message in enumerate(messages):
        yield from _content(message["content"], message["role"], f"messages.{index}.content")
    yield from _pairs(messages)
    yield from _server_pairs(messages)
    yield from _images(messages)
    yield from _breakpoints(body)


def _not_json(value: Any) -> str:
    """Why a value cannot travel as JSON in UTF-8."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                return f"lone surrogate in {item[:20]!r}"
        elif isinstance(item, float):
            if not math.isfinite(item):
                return f"{item} is no JSON number"
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item is not None and not isinstance(item, (bool, int)):
            return f"{type(item).__name__} is no JSON value"
    return ""


def _model(body: dict[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"].strip():
        yield "model: Field required"
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        yield "max_tokens: must be an integer of at least 1"
    if not isinstance(body.get("stream", False), bool):
        yield "stream: must be true or false"


def _thinking(setting: Any, max_tokens: Any) -> Iterator[str]:
    if setting is None:
        return
    kind = setting.get("type") if isinstance(setting, dict) else None
    if kind not in ("enabled", "adaptive", "disabled"):
        yield "thinking: type must be enabled, adaptive or disabled"
    elif kind == "enabled":
        budget = setting.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            yield "thinking.enabled.budget_tokens: must be at least 1024"
        elif isinstance(max_tokens, int) and budget >= max_tokens:
            yield "thinking.enabled.budget_tokens: must be less than max_tokens"


def _system(system: Any) -> Iterator[str]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield "system: must be a text or a list of text blocks"
        return
    for index, block in enumerate(system):
        path = f"system.{index}"
        if not isinstance(block, dict) or block.get("type") != "text":
            yield f"{path}: must be a text block"
        else:
            yield from _block(block, path)


def _tools(tools: Any, choice: Any) -> Iterator[str]:
    names: set[str] = set()
    if tools is not None and not isinstance(tools, list):
        yield "tools: must be a list"
        tools = None
    for index, tool in enumerate(tools or []):
        path = f"tools.{index}"
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"{path}.name: must match ^[a-zA-Z0-9_-]{{1,128}}$"
            continue
        if name in names:
            yield f"{path}.name: tool names must be unique ({name})"
        names.add(name)
        if tool.get("type", "custom") != "custom":
            continue
        if not isinstance(tool.get("description", ""), str):
            yield f"{path}.description: must be a text"
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{path}.input_schema: must be a JSON schema of type object"
    if isinstance(choice, dict) and choice.get("type") == "tool" and str(choice.get("name")) not in names:
        yield f"tool_choice: there is no tool {choice.get('name')!r}"


# --- messages ------------------------------------------------------------------------------------------------------


def _shape(message: Any) -> str:
    if not isinstance(message, dict):
        return "must be an object"
    if message.get("role") not in ("user", "assistant"):
        return f"role {message.get('role')!r} is neither user nor assistant"
    if extra := set(message) - {"role", "content"}:
        return f"Extra inputs are not permitted: {', '.join(sorted(extra))}"
    content = message.get("content")
    if isinstance(content, str):
        return "" if content.strip() else "all messages must have non-empty content"
    if not isinstance(content, list) or not content:
        return "all messages must have non-empty content"
    for index, block in enumerate(content):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            return f"content.{index}: must be a block with a type"
    return ""


def _order(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    if messages[0]["role"] != "user":
        yield "messages.0: first message must use the user role"
    if messages[-1]["role"] != "user":
        yield f"messages.{len(messages) - 1}: the conversation must end with a user message (no prefill)"


def _content(content: Any, role: str, path: str) -> Iterator[str]:
    seen_other = False
    for index, block in enumerate(_blocks(content)):
        at, kind = f"{path}.{index}", block["type"]
        if role == "user" and kind not in _USER_BLOCKS:
            yield f"{at}: {kind} blocks are not permitted in a user message"
        elif role == "assistant" and kind in _NOT_ASSISTANT:
            yield f"{at}: {kind} blocks are not permitted in an assistant message"
        if kind == "tool_result" and seen_other:
            yield f"{at}: tool_result blocks must come first in their message"
        seen_other = seen_other or kind != "tool_result"
        yield from _block(block, at, answer=role == "assistant")


def _block(block: dict[str, Any], path: str, *, answer: bool = False) -> Iterator[str]:
    """The fields of one block. An `answer` of the model may hold others too: the API takes back what it sent."""
    kind = block["type"]
    known = _BLOCK_FIELDS.get(kind)
    for key, value in block.items():
        if known is None or key in known:
            if known is not None and value is None and key not in _NULLABLE:
                yield f"{path}.{kind}.{key}: must not be null"
        elif (
            not answer or value is None or key in _CLIENT_FIELDS or kind in ("thinking", "redacted_thinking")
        ):
            yield f"{path}.{kind}.{key}: Extra inputs are not permitted"
    match kind:
        case "text":
            yield from _text(block.get("text"), path)
        case "thinking":
            if not isinstance(block.get("thinking"), str):
                yield f"{path}.thinking.thinking: Field required"
            if not _filled(block.get("signature")):
                yield f"{path}.thinking.signature: Field required"
        case "redacted_thinking":
            if not _filled(block.get("data")):
                yield f"{path}.redacted_thinking.data: Field required"
        case "tool_use":
            yield from _tool_use(block, path)
        case "tool_result":
            yield from _tool_result(block, path)
        case "image":
            yield from _image(block.get("source"), path)
        case "document":
            yield from _document(block.get("source"), path)


def _text(text: Any, path: str) -> Iterator[str]:
    if not isinstance(text, str):
        yield f"{path}.text: must be a text"
    elif not text:
        yield f"{path}.text: text content blocks must be non-empty"
    elif not text.strip():
        yield f"{path}.text: text content blocks must contain non-whitespace text"


def _tool_use(block: dict[str, Any], path: str) -> Iterator[str]:
    if not isinstance(block.get("id"), str) or not _ID.fullmatch(block["id"]):
        yield f"{path}.tool_use.id: must match ^[a-zA-Z0-9_-]+$"
    if not isinstance(block.get("name"), str) or not _NAME.fullmatch(block["name"]):
        yield f"{path}.tool_use.name: must match ^[a-zA-Z0-9_-]{{1,128}}$"
    if not isinstance(block.get("input"), dict):
        yield f"{path}.tool_use.input: must be an object"


def _tool_result(block: dict[str, Any], path: str) -> Iterator[str]:
    if not isinstance(block.get("tool_use_id"), str) or not _ID.fullmatch(block["tool_use_id"]):
        yield f"{path}.tool_result.tool_use_id: must match ^[a-zA-Z0-9_-]+$"
    error = block.get("is_error", False)
    if not isinstance(error, bool):
        yield f"{path}.tool_result.is_error: must be true or false"
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"{path}.tool_result.content: must be a text or a list of blocks"
        return
    for index, part in enumerate(content):
        at = f"{path}.tool_result.content.{index}"
        if not isinstance(part, dict) or str(part.get("type")) not in _RESULT_BLOCKS:
            yield f"{at}: only text, image and document blocks are permitted"
            continue
        if error is True and part["type"] != "text":
            yield f"{at}: all content must be type text if is_error is true"
        yield from _block(part, at)


def _image(source: Any, path: str) -> Iterator[str]:
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "url":
        if not str(source.get("url", "")).startswith(("http://", "https://")):
            yield f"{path}.image.source.url: must be an address"
    elif kind == "file":
        if not _filled(source.get("file_id")):
            yield f"{path}.image.source.file_id: Field required"
    elif kind == "base64":
        if str(source.get("media_type")) not in _IMAGE_TYPES:
            yield f"{path}.image.source.media_type: {source.get('media_type')!r} is not supported"
        yield from _base64(source, f"{path}.image", MAX_IMAGE_BYTES)
        if max(_pixels(source), default=0) > MAX_EDGE:
            yield f"{path}.image.source: image dimensions exceed max allowed size: {MAX_EDGE} pixels"
    else:
        yield f"{path}.image.source: type must be base64, url or file, not {kind!r}"


def _document(source: Any, path: str) -> Iterator[str]:
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "base64":
        if source.get("media_type") != "application/pdf":
            yield f"{path}.document.source.media_type: must be application/pdf"
        yield from _base64(source, f"{path}.document", MAX_BYTES)
    elif kind == "text":
        if source.get("media_type") != "text/plain" or not _filled(source.get("data")):
            yield f"{path}.document.source: must be text/plain with data"
    elif kind not in ("url", "file", "content"):
        yield f"{path}.document.source: type must be base64, text, url, file or content, not {kind!r}"


def _base64(source: dict[str, Any], path: str, limit: int) -> Iterator[str]:
    if extra := set(source) - {"type", "media_type", "data"}:
        yield f"{path}.source: Extra inputs are not permitted: {', '.join(sorted(extra))}"
    data = _decoded(source)
    if not data:
        yield f"{path}.source.data: must be base64"
    elif len(data) > limit:
        yield f"{path}.source.data: {len(data)} bytes, the limit is {limit}"


# --- what spans blocks ---------------------------------------------------------------------------------------------


def _pairs(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every tool_use has exactly one tool_result, in the next message; ids are used once."""
    used: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        blocks = _blocks(message["content"])
        answered: set[str] = set()
        for at, block in enumerate(blocks):
            if block["type"] != "tool_result":
                continue
            call = str(block.get("tool_use_id"))
            if call in answered:
                yield f"{path}.content.{at}: each tool_use must have a single result ({call})"
            elif call not in waiting:
                yield f"{path}.content.{at}: unexpected tool_use_id, no such tool_use in the previous message ({call})"
            answered.add(call)
        if missing := [call for call in waiting if call not in answered]:
            yield f"{path}: tool_use ids without tool_result blocks immediately after: {', '.join(missing)}"
        waiting = []
        for at, block in enumerate(blocks):
            if block["type"] == "tool_use" and message["role"] == "assistant":
                call = str(block.get("id"))
                if call in used:
                    yield f"{path}.content.{at}: tool_use ids must be unique ({call})"
                used.add(call)
                waiting.append(call)
    if waiting:
        yield f"messages.{len(messages)}: tool_use ids without tool_result blocks: {', '.join(waiting)}"


def _server_pairs(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A call that the server ran has its one result behind it in the same message."""
    for index, message in enumerate(messages):
        waiting: dict[str, int] = {}
        for at, block in enumerate(_blocks(message["content"])):
            path, kind = f"messages.{index}.content.{at}", block["type"]
            if kind in _SERVER_CALLS:
                if not _filled(block.get("id")) or block["id"] in waiting:
                    yield f"{path}: {kind} needs an id of its own"
                waiting[str(block.get("id"))] = at
            elif kind.endswith("_tool_result") and waiting.pop(str(block.get("tool_use_id")), None) is None:
                yield f"{path}: {kind} without a call before it"
        for call, at in waiting.items():
            yield f"messages.{index}.content.{at}: {call} was found without a corresponding result block"


def _images(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    images = [
        (f"messages.{index}.content.{at}", part)
        for index, message in enumerate(messages)
        for at, block in enumerate(_blocks(message["content"]))
        for part in [block, *_parts(block)]
        if part["type"] == "image"
    ]
    if len(images) <= MANY_IMAGES:
        return
    for path, image in images:
        if max(_pixels(image.get("source")), default=0) > MANY_EDGE:
            yield f"{path}: image dimensions exceed max allowed size for many-image requests: {MANY_EDGE} pixels"


def _breakpoints(body: dict[str, Any]) -> Iterator[str]:
    count = 1 if body.get("cache_control") else 0
    for path, block in _cacheable(body):
        mark = block.get("cache_control")
        if mark is None:
            continue
        count += 1
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield f"{path}: cache_control cannot be set on {block['type']} blocks"
        if (
            not isinstance(mark, dict)
            or mark.get("type") != "ephemeral"
            or mark.get("ttl", "5m") not in ("5m", "1h")
        ):
            yield f"{path}.cache_control: must be ephemeral with a ttl of 5m or 1h"
    if count > MAX_BREAKPOINTS:
        yield f"body: a maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided, found {count}"


def _cacheable(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key in ("tools", "system"):
        blocks = body.get(key)
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            if isinstance(block, dict):
                yield f"{key}.{index}", block
    for index, message in enumerate(body["messages"]):
        for at, block in enumerate(_blocks(message["content"])):
            yield f"messages.{index}.content.{at}", block
            for inner, part in enumerate(_parts(block)):
                yield f"messages.{index}.content.{at}.content.{inner}", part


# --- small things --------------------------------------------------------------------------------------------------


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _parts(block: dict[str, Any]) -> list[dict[str, Any]]:
    content = block.get("content") if block["type"] == "tool_result" else None
    return (
        [part for part in content if isinstance(part, dict) and "type" in part]
        if isinstance(content, list)
        else []
    )


def _filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _decoded(source: Any) -> bytes:
    try:
        return base64.b64decode(source["data"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        return b""


def _pixels(source: Any) -> tuple[int, ...]:
    """Width and height of a base64 image by its header; () where they cannot be read."""
    if not isinstance(source, dict) or source.get("type") != "base64":
        return ()
    data = _decoded(source)
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8"):
            return _jpeg_pixels(data)
    except (struct.error, IndexError):
        return ()
    return ()


def _jpeg_pixels(data: bytes) -> tuple[int, ...]:
    at = 2
    while at < len(data):
        marker, size = data[at + 1], int(struct.unpack(">H", data[at + 2 : at + 4])[0])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return (width, height)
        at += 2 + size
    return ()


def _uncached(body: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for _, block in _cacheable(copy):
        block.pop("cache_control", None)
    return copy
