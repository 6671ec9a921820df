"""What an API error names: `messages.3.content.1`, `system.0`, `tools.2`, also written with brackets."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Part = Literal["messages", "system", "tools"]

_NAMED = re.compile(
    r"(?<![\w/-])(?P<part>messages|system|tools)(?:\.|\[)(?P<index>\d{1,9})(?!\d)\]?"
    r"(?:\.content(?:\.|\[)(?P<block>\d{1,9})(?!\d)\]?)?"
)


class Place(Struct, frozen=True):
    """A message, system block or tool by its number in the request; of a message the block, if one is named."""

    part: Part
    index: int
    block: int | None = None


def named(error: str) -> list[Place]:
    """The places that an error names, each once, in the order of its words."""
    found: dict[Place, None] = {}
    for match in _NAMED.finditer(error):
        part: Part = match["part"]  # type: ignore[assignment]
        block = int(match["block"]) if match["block"] and part == "messages" else None
        found[Place(part, int(match["index"]), block)] = None
    return list(found)
