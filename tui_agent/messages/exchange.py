"""Tool uses paired with their results, and where a history may be cut.

A call and its result are one thing to the API: results stand in the user message that directly follows the call's
assistant message. Records are finer than API messages: several of the same role in a row become one. Pairing
goes by that group and not by the id alone, since some programs use an id again in every turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block, Message


class Pair(Struct, frozen=True):
    """A tool_use at `history[at]` and its tool_result at `history[result_at]`; both None while it has none."""

    call: Block
    at: int
    result: Block | None = None
    result_at: int | None = None


class Exchange(Struct, frozen=True):
    """`history[start:stop]`: messages with calls and all that belongs to them. `open`: a result is missing."""

    start: int
    stop: int
    open: bool


def pairs(history: Sequence[Message]) -> list[Pair]:
    """Every tool_use in order, with the result that counts for it (the first of that id in the following group)."""
    found: list[Pair] = []
    for calls, answers in _groups(history):
        waiting: dict[str, deque[tuple[int, Block]]] = {}
        for at, call_id, result in _blocks(history, answers, "tool_result", "tool_use_id"):
            if call_id is not None:
                waiting.setdefault(call_id, deque()).append((at, result))
        for at, call_id, call in _blocks(history, calls, "tool_use", "id"):
            queue = None if call_id is None else waiting.get(call_id)
            answer = queue.popleft() if queue else None
            found.append(Pair(call, at, answer[1], answer[0]) if answer else Pair(call, at))
    return found


def open_calls(history: Sequence[Message]) -> list[Block]:
    """The tool_use blocks that still wait: those of the newest group of assistant messages without a result.

    A call left without one further back cannot be answered any more; `lint` answers it when it is sent.
    """
    newest = next((i for i in range(len(history) - 1, -1, -1) if history[i].role == "assistant"), None)
    if newest is None:
        return []
    start = newest
    while start and history[start - 1].role == "assistant":
        start -= 1
    return [pair.call for pair in pairs(history[start:]) if pair.result is None]


def safe_cuts(history: Sequence[Message]) -> list[int]:
    """The indexes `i`, 0 and `len(history)` among them, where `history[:i]` and `history[i:]` part no exchange.

    Behind a call that still waits there is none: its result would be parted from it.
    """
    parted = [False] * (len(history) + 1)
    for exchange in exchanges(history):
        last = len(history) + 1 if exchange.open and exchange.stop == len(history) else exchange.stop
        for index in range(exchange.start + 1, last):
            parted[index] = True
    return [index for index, inside in enumerate(parted) if not inside]


def exchanges(history: Sequence[Message]) -> list[Exchange]:
    """The exchanges in order. Calls of neighbouring messages whose results are interleaved are one exchange."""
    found: list[Exchange] = []
    for pair in pairs(history):
        stop = pair.at + 1 if pair.result_at is None else pair.result_at + 1
        is_open = pair.result is None
        if found and pair.at < found[-1].stop:
            last = found.pop()
            found.append(Exchange(last.start, max(last.stop, stop), last.open or is_open))
        else:
            found.append(Exchange(pair.at, stop, is_open))
    return found


def _blocks(
    history: Sequence[Message], indexes: list[int], kind: str, key: str
) -> Iterator[tuple[int, str | None, Block]]:
    """The blocks of a type with their message's index and the call they mean (None where that is no text)."""
    for at in indexes:
        for block in history[at].content:
            if isinstance(block, dict) and block.get("type") == kind:
                call_id = block.get(key)
                yield at, call_id if isinstance(call_id, str) else None, block


def _groups(history: Sequence[Message]) -> list[tuple[list[int], list[int]]]:
    """The indexes of each run of assistant messages, with those of the run of user messages behind it."""
    groups: list[tuple[list[int], list[int]]] = []
    for index, message in enumerate(history):
        if message.role == "assistant":
            if not groups or groups[-1][1]:
                groups.append(([], []))
            groups[-1][0].append(index)
        elif groups:
            groups[-1][1].append(index)
    return groups
