"""The Messages API's rules for one content block, whatever message it is in, written from the rules alone."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Iterator
from typing import Any

MAX_BYTES = 32 * 1024 * 1024
MAX_IMAGE_BYTES = 10 * 1024 * 1024
MAX_EDGE = 8000
_ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

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
_RESULT_BLOCKS = frozenset({"text", "image", "document"})
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def block_rules(block: dict[str, Any], path: str, *, answer: bool = False) -> Iterator[str]:
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
            if not filled(block.get("signature")):
                yield f"{path}.thinking.signature: Field required"
        case "redacted_thinking":
            if not filled(block.get("data")):
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
    if not isinstance(block.get("name"), str) or not NAME.fullmatch(block["name"]):
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
        yield from block_rules(part, at)


def _image(source: Any, path: str) -> Iterator[str]:
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "url":
        if not str(source.get("url", "")).startswith(("http://", "https://")):
            yield f"{path}.image.source.url: must be an address"
    elif kind == "file":
        if not filled(source.get("file_id")):
            yield f"{path}.image.source.file_id: Field required"
    elif kind == "base64":
        if str(source.get("media_type")) not in _IMAGE_TYPES:
            yield f"{path}.image.source.media_type: {source.get('media_type')!r} is not supported"
        yield from _base64(source, f"{path}.image", MAX_IMAGE_BYTES)
        if max(pixels_of(source), default=0) > MAX_EDGE:
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
        if source.get("media_type") != "text/plain" or not filled(source.get("data")):
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


def blocks_of(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def parts_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    content = block.get("content") if block["type"] == "tool_result" else None
    return (
        [part for part in content if isinstance(part, dict) and "type" in part]
        if isinstance(content, list)
        else []
    )


def filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _decoded(source: Any) -> bytes:
    try:
        return base64.b64decode(source["data"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        return b""


def pixels_of(source: Any) -> tuple[int, ...]:
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
