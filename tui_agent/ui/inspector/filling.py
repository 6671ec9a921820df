"""What fills a context: each message's tokens shared out over what they are spent on, largest first.

Pure arithmetic over messages and their weights; sums close to the token. Where a message holds several kinds of
content (an answer with thinking and a call, say), its tokens are shared out over them by their length, and what was
exact for the whole is a share for the parts.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tui_agent.messages.blocks import tool_called
from tui_agent.ui.inspector.telling import content_words, speaker

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Message
    from tui_agent.messages.tokens import Tokens

Mark = Literal["exact", "reconciled", "estimated"]
_SURENESS: tuple[Mark, ...] = ("exact", "reconciled", "estimated")

LARGEST = 10
"""Single items that are named."""
_IMAGE = 6000
"""Characters that an image counts for beside text."""
_OTHERS = "other tools' results"
_MOST_TOOLS = 200
"""Tools whose results are told apart."""

_ORIGINS = {
    "summary": "summaries",
    "injection": "reminders",
    "checkpoint": "checkpoint notes",
    "repair": "repairs",
    "background": "background output",
}


@dataclass(slots=True)
class Share:
    """What one kind of content weighs, and how sure that is: as sure as its least sure part.

    `record` is the id of the heaviest record with such content, "" if it is none.
    """

    name: str
    count: int = 0
    mark: Mark = "exact"
    record: str = ""
    heaviest: int = 0

    def take(self, count: int, mark: Mark, record: str) -> None:
        """Add to it."""
        self.count += count
        self.mark = max(self.mark, mark, key=_SURENESS.index)
        if count > self.heaviest:
            self.heaviest, self.record = count, record


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """A single message: its weight, its record, who says it, its first words."""

    count: int
    record: str
    who: str
    words: str
    mark: Mark


class Filling:
    """What messages weigh, kind by kind. Takes one after the other, so that a long context takes no memory."""

    def __init__(self) -> None:
        self.by_mark: dict[Mark, int] = dict.fromkeys(_SURENESS, 0)
        self.total = 0
        self._shares: dict[str, Share] = {}
        self._largest: list[Item] = []
        self._calls: dict[str, str] = {}

    @property
    def shares(self) -> list[Share]:
        """The kinds, largest first."""
        return sorted(
            (share for share in self._shares.values() if share.count), key=lambda share: -share.count
        )

    @property
    def largest(self) -> list[Item]:
        """The heaviest messages, largest first."""
        return sorted(self._largest, reverse=True)

    def put(self, name: str, tokens: Tokens, record: str = "") -> None:
        """Take something that is no message: the system prompt, the tools."""
        self._count(tokens.count, tokens.mark)
        self._share(name).take(tokens.count, tokens.mark, record)

    def take(self, message: Message, tokens: Tokens) -> None:
        """Take a message that is sent, and what it weighs."""
        self._count(tokens.count, tokens.mark)
        parts = self._parts(message)
        mark: Mark = "reconciled" if len(parts) > 1 and tokens.mark == "exact" else tokens.mark
        for name, count in shared_out(tokens.count, parts):
            self._share(name).take(count, mark, message.id)
        if len(self._largest) < LARGEST or tokens.count > self._largest[0].count:
            self._name(message, tokens)

    def _count(self, count: int, mark: Mark) -> None:
        self.total += count
        self.by_mark[mark] += count

    def _share(self, name: str) -> Share:
        if name not in self._shares and len(self._shares) >= _MOST_TOOLS:
            name = _OTHERS
        return self._shares.setdefault(name, Share(name))

    def _name(self, message: Message, tokens: Tokens) -> None:
        words = content_words(message.content)
        item = Item(tokens.count, message.id, speaker(message.role, message.origin), words, tokens.mark)
        if len(self._largest) < LARGEST:
            heapq.heappush(self._largest, item)
        else:
            heapq.heapreplace(self._largest, item)

    def _parts(self, message: Message) -> dict[str, int]:
        """The kinds of content in a message, and the length of each."""
        parts: dict[str, int] = {}
        for block in message.content:
            for name, length in self._kinds(block, message):
                parts[name] = parts.get(name, 0) + length
        return parts or {_said_by(message): 1}

    def _kinds(self, block: Mapping[str, Any], message: Message) -> Iterable[tuple[str, int]]:
        match block.get("type"):
            case "tool_use":
                self._calls[str(block.get("id"))] = tool_called(block)
                yield "tool calls", 20 + len(json.dumps(block.get("input"), default=str))
            case "tool_result":
                called = self._calls.pop(str(block.get("tool_use_id")), "")
                tool = called or str(message.meta.get("tool") or "") or "a tool"
                content = block.get("content")
                if isinstance(content, str):
                    yield f"{tool} results", 1 + len(content)
                else:
                    yield f"{tool} results", 1
                    for part in content if isinstance(content, list) else ():
                        image = isinstance(part, Mapping) and part.get("type") == "image"
                        yield ("images", _IMAGE) if image else (f"{tool} results", _length(part))
            case "image":
                yield "images", _IMAGE
            case "thinking" | "redacted_thinking":
                yield "thinking", 1 + _length(block)
            case _:
                yield _said_by(message), 1 + _length(block)


def _said_by(message: Message) -> str:
    if message.role == "assistant":
        return "answers"
    if not message.origin:
        return "your words"
    return _ORIGINS.get(message.origin, f"{message.origin} notes")


def _length(block: Any) -> int:
    if not isinstance(block, Mapping):
        return len(str(block))
    text = block.get("text") or block.get("thinking") or block.get("data")
    return len(text) if isinstance(text, str) else len(str(block))


def shared_out(count: int, parts: Mapping[str, int]) -> list[tuple[str, int]]:
    """A count shared out over parts by their weights; the shares add up to it exactly."""
    whole = sum(parts.values())
    running = given = 0
    shares = []
    for name, weight in parts.items():
        running += weight
        upto = round(count * running / whole) if whole else count
        shares.append((name, upto - given))
        given = upto
    return shares
