"""Pictures on their way into the log: their bytes lie beside it, by hash, before a record names them."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING, Any

from tui_agent.messages.blocks import text_block
from tui_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tui_agent.context.blobs import BlobStore
    from tui_agent.messages.blocks import Block

LONGEST = 2000
"""Pixels of the longer side of a picture that a person sends: what each may have when there are more than twenty."""


async def from_person(blobs: BlobStore, data: bytes, name: str) -> Block:
    """An image block of a picture, stored; a larger one is scaled to LONGEST.

    Raises:
        ToolError: it is none that can be sent, and why.
        LogWriteError: it could not be stored.
    """
    from tui_agent.tools.images import image_block

    block, _ = await asyncio.to_thread(image_block, data, name, LONGEST)
    stored, _ = await keep(blobs, block)
    return stored


async def keep(blobs: BlobStore, block: Block) -> tuple[Block, int]:
    """The block with its bytes in the store instead of in itself, and how many they are."""
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return block, 0
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        return text_block(f"[image that could not be read: {error}]"), 0
    digest = await asyncio.to_thread(blobs.put, data)
    kept = {k: v for k, v in source.items() if k not in ("type", "data")}
    return {**block, "source": {"type": "blob", "sha256": digest, "bytes": len(data), **kept}}, len(data)


async def at_hand(blobs: BlobStore, images: Sequence[Mapping[str, Any]], elsewhere: Path) -> None:
    """See to it that the bytes of pictures are in this store: one may come from another session of the workspace.

    `elsewhere` is the folder of the workspace's sessions.

    Raises:
        ToolError: one is not kept anywhere any more.
        LogWriteError: it could not be stored.
    """
    for number, image in enumerate(images, 1):
        digest = str(image["source"].get("sha256", ""))
        if not await asyncio.to_thread(_fetch, blobs, digest, elsewhere):
            raise ToolError(
                f"picture {number} of these words is not kept any more: take its sign out, or add it anew"
            )


def _fetch(blobs: BlobStore, digest: str, elsewhere: Path) -> bool:
    if blobs.get(digest) is not None:
        return True
    for folder in elsewhere.glob(f"*/{blobs.folder.name}"):
        data = type(blobs)(folder).get(digest)
        if data is not None:
            blobs.put(data)
            return True
    return False
