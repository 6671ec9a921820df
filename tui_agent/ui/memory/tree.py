"""The rows of the memory sidebar: memories below the scope that they belong to, of one state, and as they were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui_agent.ui.remembering import PLACES

if TYPE_CHECKING:
    from tui_agent.agent.recall import Recall
    from tui_agent.changes import MemoryProposed
    from tui_agent.memory.schema import Memory, Status

SHELVES: Mapping[Status, str] = {
    "accepted": "Kept",
    "proposed": "Inbox",
    "rejected": "Refused",
    "suspended": "Undone",
}
"""What the memories of each state are called; the order of the tabs."""


class Heading(Struct, frozen=True):
    """Begins the memories of a scope; `folded` ones are not shown below it."""

    scope: str
    count: int
    folded: bool = False

    @property
    def words(self) -> str:
        """Where they count."""
        return PLACES[self.scope]


class Stock(Struct, frozen=True):
    """The memories as they were read, when `number` was that of the last change by any program.

    `told` says of each proposal what it would replace, and whether it is noise.
    """

    number: int = -1
    memories: Sequence[Memory] = ()
    told: Mapping[str, MemoryProposed] = field(default_factory=dict)

    def count(self, status: Status) -> int:
        """How many there are of a state."""
        return sum(memory.status == status for memory in self.memories)

    def free(self) -> list[Memory]:
        """The proposals that may be accepted together.

        Nothing from outside was read before them, they are no noise, and they change nothing that is there.
        """
        return [
            memory
            for memory in reversed(self.memories)
            if memory.status == "proposed"
            and not (memory.tainted or self.is_noise(memory) or self.is_change(memory))
        ]

    def is_change(self, memory: Memory) -> bool:
        """Would a proposal replace a text that is remembered, or be written into a file?"""
        told = self.told.get(memory.id)
        return told is not None and bool(told.old or told.file)

    def is_noise(self, memory: Memory) -> bool:
        """Does a proposal only tell how the work stands?"""
        told = self.told.get(memory.id)
        return told is not None and told.noise


def read(recall: Recall, known: Stock) -> Stock:
    """Read the memories, if they are others than those that are known; blocks.

    Raises:
        StoreError: they cannot be read.
    """
    number = recall.store.latest() if recall.store.path.exists() else 0
    if number == known.number:
        return known
    memories = recall.list()
    return Stock(
        number, memories, {one.id: recall.proposal(one) for one in memories if one.status == "proposed"}
    )


def rows(stock: Stock, status: Status, words: str, folded: set[str]) -> list[Heading | Memory]:
    """The memories of a state that hold every word, under their scopes. While words are looked for none is folded."""
    wanted = words.casefold().split()
    made: list[Heading | Memory] = []
    for scope in PLACES:
        found = [
            memory
            for memory in stock.memories
            if memory.scope == scope and memory.status == status and _holds(memory, wanted)
        ]
        if status == "accepted":
            found.sort(key=lambda memory: memory.key.casefold())
        elif status == "proposed":
            found.sort(key=stock.is_noise)  # what is worth a look comes first
        if found:
            away = scope in folded and not wanted
            made.append(Heading(scope, len(found), away))
            made += [] if away else found
    return made


def _holds(memory: Memory, words: Sequence[str]) -> bool:
    text = f"{memory.key}\n{memory.body}".casefold()
    return all(word in text for word in words)
