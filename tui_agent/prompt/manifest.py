"""What is sent, item by item: computed from the request that goes out, never from what was meant to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tui_agent.messages.tokens import Estimator, Mark, Tokens

if TYPE_CHECKING:
    from tui_agent.messages.request import Request

Section = Literal["tools", "system", "messages"]


class Total(msgspec.Struct, frozen=True):
    """The weight of the whole request: `count` = `exact` + `pending`, in tokens; `mark` says how sure."""

    count: int
    exact: int
    pending: int
    mark: Mark


class Item(msgspec.Struct, frozen=True):
    """One item of the request: `start` and `end` are byte offsets in its canonical form."""

    section: Section
    name: str
    sources: tuple[str, ...]
    start: int
    end: int
    tokens: Tokens


class Manifest(msgspec.Struct, frozen=True):
    """The request's items, largest sections first by order of sending, and its total.

    `total` is the number on the status bar and the one that triggers compaction. `window` and `reserve` (for the
    answer) are in tokens. `unattributed` closes the sum: items + unattributed = total. `told` gives the memories.
    """

    request: Request
    total: Total
    window: int
    reserve: int
    weigh: Callable[[str], Tokens]
    estimator: Estimator
    told: Callable[[], Sequence[Mapping[str, Any]]] = tuple

    @property
    def memories(self) -> Sequence[Mapping[str, Any]]:
        """Every memory that the request tells: its id, rev, scope and key, looked up when asked."""
        return self.told()

    @property
    def items(self) -> list[Item]:
        """Every tool, system block and message with its bytes and tokens, computed when asked."""
        return list(self._items())

    @property
    def unattributed(self) -> int:
        """Tokens of the total that no item carries (rounding, the endpoint's own framing)."""
        return self.total.count - sum(item.tokens.count for item in self.items)

    def _items(self) -> Iterator[Item]:
        encoded = self.request.encode()
        spans = dict(_spans(encoded))
        for index, tool in enumerate(self.request.tools):
            yield self._estimated("tools", str(tool.get("name", "")), tool, spans["tools", index])
        for index, block in enumerate(self.request.system):
            yield self._estimated("system", f"system {index + 1}", block, spans["system", index])
        for index, message in enumerate(self.request.messages):
            start, end = spans["messages", index]
            sources = self.request.sources[index]
            tokens = Tokens(0, "exact")
            for source in sources:
                tokens = tokens + self.weigh(source)
            if not sources:
                tokens = Tokens(self.estimator.count(message["content"]), "estimated")
            yield Item("messages", str(message["role"]), sources, start, end, tokens)

    def _estimated(
        self, section: Section, name: str, value: Mapping[str, Any], span: tuple[int, int]
    ) -> Item:
        return Item(section, name, (), *span, Tokens(self.estimator.count(value), "estimated"))


class _Canonical(msgspec.Struct):
    messages: list[msgspec.Raw]
    system: list[msgspec.Raw]
    tools: list[msgspec.Raw]


def _spans(encoded: bytes) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    # Canonical form sorts its keys: messages, params, system, tools. Looking for each raw piece from where the last
    # one ended finds it at its true place, since pieces of one list follow each other.
    parts = msgspec.json.decode(encoded, type=_Canonical)
    position = 0
    lists: Sequence[tuple[str, list[msgspec.Raw]]] = (
        ("messages", parts.messages),
        ("system", parts.system),
        ("tools", parts.tools),
    )
    for name, pieces in lists:
        position = encoded.index(f'"{name}":['.encode(), position)
        for index, piece in enumerate(pieces):
            data = bytes(piece)
            start = encoded.index(data, position)
            position = start + len(data)
            yield (name, index), (start, position)
