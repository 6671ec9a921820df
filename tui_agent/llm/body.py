"""The body of a request: its JSON, with the bytes of media in the place of the hashes that name them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.llm import heap

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.request import Request

_LONG_BYTES = 256 * 1024
"""After a request of so many bytes at least, what making it left free is given back to the system."""

_MEDIA = ("image", "document")
_MISSING = "[image missing]"

LoadBlob = Callable[[str], "bytes | None"]
"""The bytes of a medium by its sha256, or None if they are gone."""


def encode(request: Request, load_blob: LoadBlob, *, counting: bool = False) -> bytes:
    """The request's JSON, media put in; `counting`: as it is sent to be counted. Blocks (call it in a thread)."""
    body = request.wire()
    body["messages"] = [_resolved(message, load_blob) for message in body["messages"]]
    if counting:
        body.pop("max_tokens", None)
    else:
        body["stream"] = True
    encoded = msgspec.json.encode(body)  # holds the interpreter least
    if len(encoded) > _LONG_BYTES:
        del body
        heap.trim()
    return encoded


def _resolved(message: Mapping[str, Any], load_blob: LoadBlob) -> Mapping[str, Any]:
    content = message["content"]
    if not isinstance(content, list):
        return message
    blocks = [_with_bytes(block, load_blob) for block in content]
    return message if all(map(is_, blocks, content)) else {**message, "content": blocks}


def _with_bytes(block: Block, load_blob: LoadBlob) -> Block:
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": [_with_bytes(part, load_blob) for part in block["content"]]}
    source = block.get("source")
    if block.get("type") not in _MEDIA or not isinstance(source, dict) or source.get("type") != "blob":
        return block
    data = load_blob(str(source.get("sha256")))
    if data is None:
        missing: Block = {"type": "text", "text": _MISSING}
        return missing | {key: block[key] for key in ("cache_control",) if key in block}
    encoded = base64.b64encode(data).decode("ascii")
    return {
        **block,
        "source": {"type": "base64", "media_type": source.get("media_type"), "data": encoded},
    }
