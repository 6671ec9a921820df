"""What the provider's cache holds of a session's requests, as far as the requests and their figures tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.messages.request import Breakpoint, Request

Place = tuple[int, int, int]
"""A block of a request, in the order sent: (0, tool, 0), (1, system block, 0) or (2, message, block)."""

TOOLS, SYSTEM, MESSAGES = 0, 1, 2


def place_of(breakpoint: Breakpoint) -> Place:
    """The block that a breakpoint stands on."""
    match breakpoint:
        case ("message", index, block):
            return (MESSAGES, index, block)
        case (section, index):
            return (TOOLS if section == "tool" else SYSTEM, index, 0)


def breakpoint_of(place: Place) -> Breakpoint:
    """The other way round."""
    section, index, block = place
    if section == MESSAGES:
        return ("message", index, block)
    return ("tool", index) if section == TOOLS else ("system", index)


def back(request: Request, place: Place) -> Iterator[Place]:
    """The blocks from a place to the request's first, the place itself first."""
    section, index, block = place
    if section == MESSAGES:
        while index >= 0:
            for at in range(block, -1, -1):
                yield (MESSAGES, index, at)
            index -= 1
            block = len(request.messages[index]["content"]) - 1 if index >= 0 else -1
        section, index = SYSTEM, len(request.system) - 1
    if section == SYSTEM:
        for at in range(index, -1, -1):
            yield (SYSTEM, at, 0)
        index = len(request.tools) - 1
    for at in range(index, -1, -1):
        yield (TOOLS, at, 0)


_LEAST = 1_024
_LEASTS = {
    "claude-3-haiku": 2_048,
    "claude-3-5-haiku": 2_048,
    "claude-haiku-4-5": 4_096,
    "claude-opus-4-5": 4_096,
    "claude-opus-4-6": 4_096,
    "claude-opus-4-7": 4_096,
}


def least_cached(model: str) -> int:
    """The tokens that a prefix must have to be cached by a model, as far as its makers say; figures may teach better.

    From the Messages API's page on prompt caching: 1 024 for most, more for these.
    """
    name = model.lower().rpartition("/")[2].replace(".", "-")
    return next((least for start, least in _LEASTS.items() if name.startswith(start)), _LEAST)


OTHER_MODEL, OTHER_THINKING = "another model", "another thinking setting"
CROWDED = "pictures of over 2000 px are left out of a request with more than 20"
"""Why a request parts from one with fewer pictures, or from one with more: the API's limit, so it is no surprise."""


class Entry(Struct):
    """A prefix in the cache: its tokens, and when it was written or last read."""

    tokens: int
    used: datetime


class Line:
    """Requests of which each extended the one before: what is compared of the last, and the entries of all.

    `used` is when the last was sent. `before` is the line that it goes on with, if there is one.
    """

    def __init__(self, request: Request, used: datetime, before: Line | None = None) -> None:
        messages = request.messages
        self._model = request.model
        self._tools = request.tools
        self._system = request.system
        self._thinking = request.thinking
        self._prints = request.prints
        self._last = messages[-1] if messages else None
        self._crowded = _is_crowded(request)
        self.used = used
        self.entries: dict[Place, Entry] = {}
        self._picture = _first_picture(request, 0) if before is None else before._picture_of(request)

    def shared(self, request: Request) -> Place | None:
        """The last block up to which a request is the same; None: not one."""
        if self._model != request.model or self._tools != request.tools:
            return None
        found: Place | None = (TOOLS, len(self._tools) - 1, 0) if self._tools else None
        same = _common(self._system, request.system)
        if same:
            found = (SYSTEM, same - 1, 0)
        if same < max(len(self._system), len(request.system)) or self._thinking != request.thinking:
            return found
        whole = _common(self._prints, request.prints)
        if (self._picture is None) != (self._picture_of(request) is None):
            return found
        if whole:
            found = (MESSAGES, whole - 1, len(request.messages[whole - 1]["content"]) - 1)
        last = self._last
        if whole == len(self._prints) - 1 < len(request.messages) and last is not None:
            message = request.messages[whole]
            blocks = _common(last["content"], message["content"]) if last["role"] == message["role"] else 0
            found = (MESSAGES, whole, blocks - 1) if blocks else found
        return found

    def _picture_of(self, request: Request) -> int | None:
        """The first message with a picture of a request that has most messages in common with the last."""
        whole = _common(self._prints, request.prints)
        if self._picture is not None and self._picture < whole:
            return self._picture
        return _first_picture(request, whole)

    def difference(self, new: Request) -> str:
        """Why a request does not extend the last of this line; "" if it does."""
        if self._model != new.model:
            return OTHER_MODEL
        if self._tools != new.tools:
            return "other tools"
        if self._system != new.system:
            return "another system prompt"
        if self._thinking != new.thinking:
            return OTHER_THINKING
        if len(new.prints) < len(self._prints):
            return "an earlier point of the conversation"
        whole = _common(self._prints, new.prints)
        if whole == len(self._prints):
            return ""
        if whole == len(self._prints) - 1 and self._last is not None:
            before, after = self._last, new.messages[whole]
            blocks = before["content"]
            if before["role"] == after["role"] and after["content"][: len(blocks)] == blocks:
                return ""
        return CROWDED if self._crowded != _is_crowded(new) else f"message {whole + 1} changed"


class Front(Struct):
    """Tools and system prompt: what they are estimated to weigh, and how exact figures of them compare with that."""

    tools: Sequence[Any]
    system: Sequence[Any]
    weight_of_tools: float
    weight_of_system: float
    weight_of_messages: float | None
    """That of the messages sent with it first, where they are few enough to tell what the front weighs; else None."""
    ratio: float | None = None

    def is_of(self, request: Request) -> bool:
        """True if these are the request's."""
        return self.tools == request.tools and self.system == request.system

    def tokens(self, place: Place, factor: float) -> int:
        """What the prefix weighs that ends with the last tool or the last block of the prompt."""
        weight = self.weight_of_tools + (self.weight_of_system if place[0] == SYSTEM else 0.0)
        return round(weight * (self.ratio or factor))

    def learn(self, place: Place | None, exact: int) -> None:
        """An endpoint counted so much up to a place; None: up to the end of the messages it was sent with first."""
        weight = self.weight_of_tools + (
            0.0 if place is not None and place[0] == TOOLS else self.weight_of_system
        )
        if place is None:
            if self.ratio is not None or self.weight_of_messages is None:
                return
            weight += self.weight_of_messages
        if weight > 0:
            self.ratio = exact / weight


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many elements two sequences have in common from their beginning; few comparisons of long runs."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _first_picture(request: Request, start: int) -> int | None:
    """The first message from one on that has a picture. The first picture parts the messages of the cache."""
    messages = request.messages
    for index in range(start, len(messages)):
        if any(_is_picture(block) for block in messages[index]["content"]):
            return index
    return None


def _is_crowded(request: Request) -> bool:
    """Were large pictures left out because there are many?"""
    return any(change.rule == "many_images" for change in request.changes)


def _is_picture(block: Mapping[str, Any]) -> bool:
    if block.get("type") == "tool_result":
        content = block.get("content")
        return not isinstance(content, str) and any(map(_is_picture, content or ()))
    return block.get("type") == "image"
