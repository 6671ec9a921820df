"""What a server gave, as blocks for the model: text, pictures, and of all else what it is."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from typing import Any

from msgspec import Struct

from tui_agent.messages.blocks import Block, text_block
from tui_agent.messages.wellformed import encodable
from tui_agent.tools.images import image_block
from tui_agent.tools.tool import ToolError

_LONGEST_IMAGE = 2_000
"""Pixels of the longer side."""


class Given(Struct, frozen=True):
    """What a server gave; `error`: it says that a call failed."""

    content: str | list[Block]
    error: bool = False


async def of_call(result: Any) -> Given:
    """The result of a call."""
    blocks = [await _block(item) for item in result.content]
    if not blocks and result.structured_content is not None:
        blocks.append(
            text_block(json.dumps(encodable(result.structured_content), ensure_ascii=False, indent=1))
        )
    return _given(blocks, error=bool(result.is_error))


async def of_resource(result: Any) -> Given:
    """What was read of a resource: it may have several parts, each under its address."""
    return _given([await _resource(item) for item in result.contents])


async def of_prompt(result: Any) -> str:
    """The messages of a prompt as text; who would say each, if there are several or it is not the person."""
    told = []
    for message in result.messages:
        block = await _block(message.content)
        text = str(block["text"]) if block["type"] == "text" else "[image, not shown]"
        told.append((str(message.role), text))
    if all(role == "user" for role, _ in told):
        return "\n\n".join(text for _, text in told)
    return "\n\n".join(f"{role}:\n{text}" for role, text in told)


def _given(blocks: list[Block], *, error: bool = False) -> Given:
    if all(block["type"] == "text" for block in blocks):
        text = "\n".join(str(block["text"]) for block in blocks)
        return Given(text if text.strip() else "(no output)", error)
    return Given(blocks, error)


async def _block(item: Any) -> Block:
    match item.type:
        case "text":
            return text_block(str(encodable(item.text)))
        case "image":
            return await _image(item.data, item.mime_type)
        case "resource":
            return await _resource(item.resource)
        case "resource_link":
            words = f": {item.description}" if item.description else ""
            return text_block(f"[resource {item.uri} ({item.name}){words}]")
        case other:
            return text_block(f"[{other}, not shown]")


async def _resource(item: Any) -> Block:
    if getattr(item, "text", None) is not None:
        return text_block(f"{item.uri}\n{encodable(item.text)}")
    kind = item.mime_type or "unknown type"
    if kind.startswith("image/"):
        return await _image(item.blob, str(item.uri))
    return text_block(f"[{item.uri}: {kind}, {len(item.blob) * 3 // 4:,} bytes, not shown]")


async def _image(data: str, name: str) -> Block:
    try:
        block, _ = await asyncio.to_thread(image_block, b64decode(data), name, _LONGEST_IMAGE)
    except (ToolError, ValueError) as error:
        return text_block(f"[image that cannot be shown: {error}]")
    return block
