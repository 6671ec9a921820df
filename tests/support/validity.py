"""A strict checker of what a server receives: the Messages API's rules, written from the rules alone.

    check(body)            -> violations in words, each with its path (`messages.3.content.0: ...`); [] if valid
    extends(before, after) -> why the second request is no extension of the first, so that a prefix cache misses

It shares no code with the program, so that a mistake there does not excuse itself here. Where the API is
known to be lenient (it merges neighbours of one role) the checker is as strict as a careful client has to be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.blocks import (
    MAX_BYTES,
    NAME,
    block_rules,
    blocks_of,
    filled,
    parts_of,
    pixels_of,
)

MAX_MESSAGES = 100_000
MANY_IMAGES, MANY_EDGE = 20, 2000
MAX_BREAKPOINTS = 4

_SURROGATE = re.compile("[\ud800-\udfff]")

_BODY_FIELDS = frozenset(
    {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "metadata"}
    | {"stop_sequences", "service_tier", "container", "cache_control", "output_config", "context_management"}
)
_USER_BLOCKS = frozenset({"text", "image", "document", "tool_result"})
_NOT_ASSISTANT = frozenset({"image", "document", "tool_result"})
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


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
            had = blocks_of(message["content"])
            same = blocks_of(there["content"])[: len(had)] == had
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
            yield from block_rules(block, path)


def _tools(tools: Any, choice: Any) -> Iterator[str]:
    names: set[str] = set()
    if tools is not None and not isinstance(tools, list):
        yield "tools: must be a list"
        tools = None
    for index, tool in enumerate(tools or []):
        path = f"tools.{index}"
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not NAME.fullmatch(name):
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
    for index, block in enumerate(blocks_of(content)):
        at, kind = f"{path}.{index}", block["type"]
        if role == "user" and kind not in _USER_BLOCKS:
            yield f"{at}: {kind} blocks are not permitted in a user message"
        elif role == "assistant" and kind in _NOT_ASSISTANT:
            yield f"{at}: {kind} blocks are not permitted in an assistant message"
        if kind == "tool_result" and seen_other:
            yield f"{at}: tool_result blocks must come first in their message"
        seen_other = seen_other or kind != "tool_result"
        yield from block_rules(block, at, answer=role == "assistant")


# --- what spans blocks ---------------------------------------------------------------------------------------------


def _pairs(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Every tool_use has exactly one tool_result, in the next message; ids are used once."""
    used: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        blocks = blocks_of(message["content"])
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
        for at, block in enumerate(blocks_of(message["content"])):
            path, kind = f"messages.{index}.content.{at}", block["type"]
            if kind in _SERVER_CALLS:
                if not filled(block.get("id")) or block["id"] in waiting:
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
        for at, block in enumerate(blocks_of(message["content"]))
        for part in [block, *parts_of(block)]
        if part["type"] == "image"
    ]
    if len(images) <= MANY_IMAGES:
        return
    for path, image in images:
        if max(pixels_of(image.get("source")), default=0) > MANY_EDGE:
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
        for at, block in enumerate(blocks_of(message["content"])):
            yield f"messages.{index}.content.{at}", block
            for inner, part in enumerate(parts_of(block)):
                yield f"messages.{index}.content.{at}.content.{inner}", part


def _uncached(body: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for _, block in _cacheable(copy):
        block.pop("cache_control", None)
    return copy
