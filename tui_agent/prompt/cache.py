"""The provider's prefix cache: where it may stop reading, and whether the prefix still stands.

Rules taken from the Messages API's prompt caching: at most four breakpoints, a look-back of 20 blocks from each,
order tools -> system -> messages, never on thinking or empty text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tui_agent.messages.request import Request

MAX_BREAKPOINTS = 4
_LOOK_BACK_BLOCKS = 18
"""A message that adds more blocks than this gets a breakpoint inside, two below the API's look-back of 20."""

Breakpoint = tuple[Any, ...]
"""("tool", i), ("system", i) or ("message", i, j)."""


def breakpoints(request: Request) -> list[Breakpoint]:
    """Where the cache of this request may end: the last two user messages, inside a very long one, system, tools."""
    found: list[Breakpoint] = []
    users = [i for i, message in enumerate(request.messages) if message["role"] == "user"]
    for index in reversed(users[-2:]):
        content = request.messages[index]["content"]
        last = _legal(content, len(content) - 1)
        if last is not None:
            found.append(("message", index, last))
        if len(content) > _LOOK_BACK_BLOCKS:
            inside = _legal(content, len(content) - 1 - _LOOK_BACK_BLOCKS)
            if inside is not None:
                found.append(("message", index, inside))
    if request.system:
        found.append(("system", len(request.system) - 1))
    if request.tools:
        found.append(("tool", len(request.tools) - 1))
    return found[:MAX_BREAKPOINTS]


def _legal(content: list[dict[str, Any]], start: int) -> int | None:
    for index in range(start, -1, -1):
        block = content[index]
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            continue
        if kind == "text" and not str(block.get("text", "")).strip():
            continue
        return index
    return None


class PrefixWatch:
    """Follows the requests of a session and says whether each extends the one before.

    A request extends another if its model, tools, system and thinking are equal, and the messages of the other are
    an element-wise prefix of its own, where the last of them may have gained blocks at its end.
    """

    def __init__(self) -> None:
        self._last: _Sent | None = None
        self._announced = False

    def announce(self) -> None:
        """The next request need not extend the last: history was rewritten, something elided, the model changed."""
        self._announced = True

    def sent(self, request: Request) -> str | None:
        """Note a request that goes out; why it does not extend the last one although it should, or None."""
        last, self._last = self._last, _Sent.of(request)
        announced, self._announced = self._announced, False
        return None if last is None or announced else _difference(last, request)


class _Sent(NamedTuple):
    """What is kept of a request to compare the next one with it, which holds a long context anew."""

    model: str
    tools: list[dict[str, Any]]
    system: tuple[dict[str, Any], ...]
    thinking: dict[str, Any] | None
    prints: Sequence[int]
    last: dict[str, Any] | None

    @classmethod
    def of(cls, request: Request) -> _Sent:
        messages = request.messages
        last = messages[-1] if messages else None
        return cls(request.model, request.tools, request.system, request.thinking, request.prints, last)


def _difference(old: _Sent, new: Request) -> str | None:
    if old.model != new.model:
        return "another model"
    if old.tools != new.tools:
        return "other tools"
    if old.system != new.system:
        return "another system prompt"
    if old.thinking != new.thinking:
        return "another thinking setting"
    if len(new.prints) < len(old.prints):
        return "an earlier point of the conversation"
    for index, (before, after) in enumerate(zip(old.prints, new.prints, strict=False)):
        last = old.last if index == len(old.prints) - 1 else None
        if before != after and not (last is not None and _gained(last, new.messages[index])):
            return f"message {index + 1} changed"
    return None


def _gained(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Is a message another one with blocks at its end?"""
    blocks = before["content"]
    return bool(before["role"] == after["role"] and after["content"][: len(blocks)] == blocks)
