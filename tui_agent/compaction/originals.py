"""What was shortened by itself, as it was: for a summary that is made of the history as text.

A result that micro-compaction shortened is sent as a line or two from then on, but it is whole in the log. Who
summarises the history may read it again: what stands nowhere else would be lost for good. What a person left out stays
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.compaction.source import cut
from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.messages.blocks import Block, Message

MORE = 2
"""Originals take at most so many times the room of a request, the newest first: they were shortened to save tokens."""
_GIANT = 16
"""One result takes at most this part of that room (1/16); of what is longer head and tail are taken."""


def originals(context: Context, messages: Iterable[Message]) -> dict[str, Message]:
    """Those of the messages that were shortened by themselves, as they were; by id. Call it in a thread."""
    found = {}
    for message in messages:
        if context.elided(message.id) and (whole := context.unshortened(message.id)) is not None:
            found[message.id] = whole
    return found


def restored(
    messages: Sequence[Message], whole: Mapping[str, Message], room: int, count: Callable[[str], int]
) -> list[Message]:
    """The messages, and in the place of the newest that were shortened what they were, as far as that has room.

    `room` are the tokens of one request.
    """
    found, left = list(messages), MORE * room
    for at in range(len(found) - 1, -1, -1):
        original = whole.get(found[at].id)
        if original is None:
            continue
        original = replace(original, content=[_bounded(b, room // _GIANT, count) for b in original.content])
        left -= sum(count(result_text(b)) for b in original.blocks("tool_result")) + count(original.text)
        if left < 0:
            break
        found[at] = original
    return found


def _bounded(block: Block, most: int, count: Callable[[str], int]) -> Block:
    if block.get("type") != "tool_result":
        return block
    text = result_text(block)
    shorter = cut(text, most, count)
    return block if shorter == text else {**block, "content": shorter}
