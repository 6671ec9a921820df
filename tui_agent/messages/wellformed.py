"""One block made well-formed: what the Messages API takes of it, alone and out of its history.

Each function gives back the block (the same object if nothing had to change) or None where nothing can be
sent, and says in words what it did. Blocks are never changed in place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Mapping
from typing import Any

from tui_agent.literal import clean
from tui_agent.messages.blocks import Block, text_block

Say = Callable[[str, str], None]
"""Takes the name of a rule, and in words what was changed for it."""

SIGNED = frozenset({"thinking", "redacted_thinking"})
"""Blocks that the API takes back only as it sent them."""
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that the endpoint runs itself; their results stand in the same assistant message."""
PLAIN = frozenset({"text", "tool_use"})
"""What every model reads in an assistant message, whoever wrote it."""
FROM_USER = frozenset({"text", "image", "document", "tool_result"})
IN_RESULT = frozenset({"text", "image", "document"})

MAX_EDGE = 8000
"""Longest side of an image in pixels."""
MANY_IMAGES = 20
"""With more images than this in a request, each may have sides up to `MANY_EDGE` only."""
MANY_EDGE = 2000
MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_NAME = 128
"""Longest name of a tool, in characters."""

_MAX_DEPTH = 100
_MAX_BITS = 1000
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

_FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "document": frozenset({"type", "source", "title", "context", "citations", "cache_control"}),
}
"""Fields that the API takes of a block written here. It refuses a request with others."""

_CLIENT_FIELDS = frozenset({"index", "parsed_output", "partial_json"})
"""What client libraries keep on the blocks of an answer; the API does not take it back."""

_SOURCES: Mapping[str, tuple[str, ...]] = {
    "base64": ("media_type", "data"),
    "url": ("url",),
    "file": ("file_id",),
    "text": ("media_type", "data"),
    "blob": ("sha256", "media_type"),
}
"""The fields, all texts, that each kind of media source needs."""
_DOCUMENT_FIELDS: Mapping[str, type] = {"title": str, "context": str, "citations": dict}
_EXTRAS: Mapping[str, tuple[str, ...]] = {"blob": ("bytes", "width", "height")}
_TYPES: Mapping[str, frozenset[str]] = {
    "image": frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}),
    "document": frozenset({"application/pdf"}),
    "text": frozenset({"text/plain"}),
}


def sanitised(name: str, fallback: str) -> str:
    """A name or id in the API's alphabet (letters, digits, `_`, `-`): other characters become `_`."""
    return _NAME.sub("_", name) or fallback


def is_blank(text: object) -> bool:
    """True for what the API refuses as a text: nothing, or white space only."""
    return not isinstance(text, str) or not text.strip()


def encodable(value: Any, depth: int = 0) -> Any:
    """`value` fit for JSON and UTF-8; the same object if it was.

    Lone surrogates become U+FFFD, numbers that JSON has no form for become their text, what is no JSON value its
    `str`, and what lies deeper than 100 levels the text `[nested too deeply]`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else "[number too large]"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _MAX_DEPTH:
        return "[nested too deeply]"
    if isinstance(value, Mapping):
        return _encodable_mapping(value, depth)
    if isinstance(value, (list, tuple)):
        items = [encodable(item, depth + 1) for item in value]
        same = isinstance(value, list) and all(a is b for a, b in zip(items, value, strict=True))
        return value if same else items
    return clean(str(value))


def _encodable_mapping(value: Mapping[Any, Any], depth: int) -> Mapping[Any, Any]:
    items: dict[str, Any] = {}
    same = isinstance(value, dict)
    for key, item in value.items():
        name = clean(key) if isinstance(key, str) else str(key)
        items[name] = encodable(item, depth + 1)
        same = same and name is key and items[name] is item
    return value if same else items


def fields(block: Block, *, verbatim: bool) -> Block:
    """The block without null fields and without what a client library added.

    Unless it is `verbatim` from the model that is asked, which takes back what it sent, also without fields that the
    API does not know. Block types that are not known here stay as they are.
    """
    kind = block["type"]
    if (
        kind not in _FIELDS
        and kind not in SIGNED
        and kind not in SERVER_CALLS
        and not kind.endswith("_tool_result")
    ):
        return block
    known = None if verbatim else _FIELDS.get(kind)
    mine = _CLIENT_FIELDS if kind in _FIELDS or kind in SIGNED else frozenset()

    def sent(key: str, value: object) -> bool:
        return value is not None and key not in mine and (known is None or key in known)

    if all(sent(key, value) for key, value in block.items()):
        return block
    return {key: value for key, value in block.items() if sent(key, value)}


def call(block: Block, say: Say) -> Block:
    """A tool_use whose name is in the API's alphabet and whose input is an object. Its id is the history's matter."""
    name, arguments = block.get("name"), block.get("input")
    good = sanitised(name, "unknown_tool")[:MAX_NAME] if isinstance(name, str) else "unknown_tool"
    if good != name:
        say("names", f"the tool's name {name!r:.60} is sent as {good}")
        block = {**block, "name": good}
    if not isinstance(arguments, dict):
        say("arguments", f"the arguments of {good} were not an object")
        block = {**block, "input": _arguments(arguments)}
    return block


def definition(tool: object, taken: Container[str], say: Say) -> dict[str, Any] | None:
    """A tool as the API takes it: a name of its own in the API's alphabet, and a schema of an object."""
    name = tool.get("name") if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or not isinstance(name, str) or not name:
        say("tools", "a tool without a name is not offered")
        return None
    good = sanitised(name, "")[:MAX_NAME]
    if good in taken:
        say("tools", f"a second tool called {good} is not offered")
        return None
    if good != name:
        say("tools", f"the tool {name!r:.60} is offered as {good}")
    found: dict[str, Any] = {
        k: v for k, v in encodable(tool).items() if v is not None and k != "cache_control"
    }
    found["name"] = good
    if found.get("type", "custom") != "custom":
        return found
    schema = found.get("input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        say("tools", f"the arguments of {good} had no schema of an object")
        found["input_schema"] = {**(schema if isinstance(schema, dict) else {}), "type": "object"}
    if not isinstance(found.get("description", ""), str):
        say("tools", f"the description of {good} was no text")
        del found["description"]
    return found


def _arguments(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return {"malformed": value}
        if isinstance(parsed, dict):
            return {str(k): encodable(v, 1) for k, v in parsed.items()}
    return {"malformed": value}


def result(block: Block, say: Say) -> Block:
    """A tool_result whose content is a text or a list of well-formed blocks. An error holds text alone (API rule)."""
    error = block.get("is_error")
    if error is not None and not isinstance(error, bool):
        block = {**block, "is_error": bool(error)}
    content = block.get("content")
    if content is None:
        return block
    if isinstance(content, str):
        return {**block, "content": ""} if content and is_blank(content) else block
    if isinstance(content, dict) and isinstance(content.get("type"), str):
        content = [content]
    if not isinstance(content, list):
        say("results", "a tool result that was neither text nor blocks is sent as text")
        return {**block, "content": json.dumps(content, ensure_ascii=False)}
    parts = [part for part in (_part(p, say, error=bool(error)) for p in content) if part is not None]
    if len(parts) == len(content) and all(a is b for a, b in zip(parts, content, strict=True)):
        return {**block, "content": ""} if not parts else {**block, "content": content}
    return {**block, "content": parts or ""}


def _part(part: object, say: Say, *, error: bool) -> Block | None:
    """One block inside a tool result."""
    if isinstance(part, str):
        part = text_block(part)
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str) or kind not in IN_RESULT:
        say("results", f"a block of type {kind!r:.40} in a tool result is left out")
        return None
    part = fields(part, verbatim=False)
    if part["type"] == "text":
        return None if is_blank(part.get("text")) else part
    part = media(part, say)
    if error and part["type"] != "text":
        say("results", f"the {part['type']} in a failed call's result is left out: only text may stand there")
        return text_block(f"[{part['type']} left out]")
    return part


def media(block: Block, say: Say) -> Block:
    """An image or document with a usable source, or a text that says why there is none."""
    kind = block["type"]
    source = block.get("source")
    fault = _source_fault(kind, source)
    if fault or not isinstance(source, dict):
        return left_out(kind, fault, say)
    keep = ("type", *_SOURCES[source["type"]], *_EXTRAS.get(source["type"], ()))
    if any(key not in keep for key in source):
        block = {**block, "source": {key: source[key] for key in keep if key in source}}
    wrong = [
        key for key, kind in _DOCUMENT_FIELDS.items() if key in block and not isinstance(block[key], kind)
    ]
    return {key: value for key, value in block.items() if key not in wrong} if wrong else block


def left_out(kind: str, fault: str, say: Say, rule: str = "media") -> Block:
    """The text that stands where an image or document cannot be sent."""
    say(rule, f"the {kind} is left out: {fault}")
    return text_block(f"[{kind} left out: {fault}]")


def edge(block: Mapping[str, Any]) -> float:
    """The longer side of an image in pixels; 0 where it is not known."""
    source = block.get("source")
    sides = (source.get("width"), source.get("height")) if isinstance(source, Mapping) else ()
    return max((n for n in sides if isinstance(n, (int, float)) and not isinstance(n, bool)), default=0)


def _source_fault(kind: str, source: Any) -> str:
    """Why a media source cannot be sent, or nothing."""
    shape = source.get("type") if isinstance(source, dict) else None
    if not isinstance(shape, str) or shape not in _SOURCES or (kind == "image" and shape == "text"):
        return "its source is of no known kind"
    for field in _SOURCES[shape]:
        if is_blank(source.get(field)):
            return f"its source has no {field}"
    types = _TYPES["text" if shape == "text" else kind]
    if "media_type" in _SOURCES[shape] and source["media_type"] not in types:
        return f"{source['media_type']!r:.40} cannot be sent"
    if shape == "base64" and (len(source["data"]) % 4 or _BASE64.fullmatch(source["data"]) is None):
        return "its data is no base64"
    if shape == "url" and not source["url"].startswith(("http://", "https://")):
        return "its address is not on the web"
    return _size_fault(source) if kind == "image" else ""


def _size_fault(source: Mapping[str, Any]) -> str:
    size = source.get("bytes") if source["type"] == "blob" else len(source.get("data") or "") * 3 // 4
    if isinstance(size, (int, float)) and size > MAX_IMAGE_BYTES:
        return f"it has {size:.0f} bytes, the limit is {MAX_IMAGE_BYTES}"
    longest = edge({"source": source})
    return f"its longer side is {longest:.0f} px, the limit is {MAX_EDGE}" if longest > MAX_EDGE else ""
