"""What the model is told beside a person's words, so that the prompt in front stays as it is.

Nothing is kept of what was told: that is the newest injection of a source in the log, as it is sent now. A source is
told again exactly if its text differs from that, also after a revert, an elision, a compaction or a restart that lost
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.messages.blocks import text_block

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown


class Told(Struct, frozen=True):
    """What a source has to tell: its text, empty if nothing. `withdrawn` is said if it had told something before.

    `fields` go into the record beside the name.
    """

    text: str
    withdrawn: str = ""
    fields: Mapping[str, Any] = {}


class Source(Struct, frozen=True):
    """Something that changes from turn to turn. `tell` gives None where it cannot say: all stays as it was told."""

    name: str
    tell: Callable[[], Awaitable[Told | None]]


async def inject(context: Context, sources: Sequence[Source]) -> list[str]:
    """Append what the sources have to tell that the model does not know; returns the names of those.

    Raises:
        ContextError: it could not be written.
    """
    named = []
    for source in sources:
        told = await source.tell()
        text = await asyncio.to_thread(_due, context, source.name, told) if told is not None else ""
        if told is None or not text:
            continue
        about = {"name": source.name, "fp": sha256(text.encode("utf-8", "replace")).hexdigest()[:16]}
        await context.append_message(
            {"role": "user", "content": [text_block(text)]},
            origin="injection",
            sources=[{**about, **told.fields}],
        )
        named.append(source.name)
    return named


def newest(context: Shown, name: str) -> tuple[str, Mapping[str, Any]] | None:
    """The newest text of a source that is sent, and what its record says of it; None if there is none."""
    for record in context.newest_of("injection"):
        for source in record.body.get("sources") or ():
            if isinstance(source, dict) and source.get("name") == name:
                message = context.message(record.id)
                if message is not None:
                    return message.text, source
    return None


def _due(context: Context, name: str, told: Told) -> str:
    before = newest(context, name)
    text = told.text or (told.withdrawn if before is not None else "")
    return "" if before is not None and before[0] == text else text
