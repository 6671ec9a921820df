"""A history on its way to become valid: its messages open to change, with their records, and what was changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui_agent.messages.blocks import Block, text_block

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Message


class Change(Struct, frozen=True):
    """What was done for a rule (its name in the table of rules), in words. `record` is empty where the history as a
    whole is meant."""

    rule: str
    record: str
    text: str


class Item(Struct):
    """A block and the id of its record. `repair` is set on a block that a rule put in at the end, where a writer can
    store it: what to store."""

    block: Block
    record: str
    repair: Block | None = None


class Draft(Struct):
    """A message. `own`: the model that is asked wrote it. `numbers` are the ids of calls that it takes, with how often
    each was taken; `images` how many pictures it holds; `name` is the record of a message that came without a block.
    """

    role: str
    items: list[Item]
    own: bool = False
    numbers: list[tuple[str, int]] = field(default_factory=list)
    images: int = 0
    name: str = ""

    @property
    def record(self) -> str:
        """The first record that it was made from, or nothing."""
        return next((item.record for item in self.items if item.record), self.name)


class Before(Struct, frozen=True):
    """What there is in front of a part of a history: the ids of calls that are taken, with how often, and how many
    pictures there are. It ends with the user; the part begins with the assistant."""

    used: dict[str, int]
    images: int


class Work(Struct):
    """All drafts, what is in front of them (None: nothing), what was changed so far, and whether there are many
    pictures."""

    drafts: list[Draft]
    before: Before | None = None
    changes: list[Change] = field(default_factory=list)
    crowded: bool = False

    def say(self, rule: str, record: str, text: str) -> None:
        """Note a change for a rule."""
        self.changes.append(Change(rule, record, text))

    def keep(self, rule: str, draft: Draft, good: Callable[[Any], bool], words: str) -> None:
        """Leave out the blocks that are not `good`, and say so: `<type> <words>`."""
        kept = []
        for item in draft.items:
            if good(item.block):
                kept.append(item)
            else:
                kind = item.block.get("type") if isinstance(item.block, dict) else type(item.block).__name__
                self.say(rule, item.record, f"{kind!s:.40} {words}")
        draft.items = kept


def drafts(history: Iterable[Message], model: str) -> list[Draft]:
    """The messages as they stand in the history."""
    return [
        Draft(m.role, _items(m), own=m.role == "assistant" and same_model(m.model or "", model), name=m.id)
        for m in history
    ]


def synthetic(text: str, repair: Block | None = None) -> Draft:
    """A user message that no record holds."""
    return Draft("user", [Item(text_block(text), "", repair)])


def same_model(one: str, other: str) -> bool:
    """True if both names mean one model: with or without a date, `-latest`, a maker's prefix or a cloud's suffix."""
    return bool(one) and _bare(one) == _bare(other)


@lru_cache(maxsize=256)
def _bare(model: str) -> str:
    name = model.lower().rsplit("/", 1)[-1]
    name = re.sub(r"^(?:[a-z]+\.)*anthropic\.", "", name)
    name = re.sub(r"-v\d+(?::\d+)?$", "", name)
    name = re.sub(r"[-@](?:20\d{6}|latest)$", "", name)
    return re.sub(r"-0$", "", name).replace(".", "-")


def _items(message: Message) -> list[Item]:
    content: object = message.content
    if isinstance(content, str):
        content = [content]
    blocks: list[Any] = list(content) if isinstance(content, Sequence) else []
    return [Item(text_block(b) if isinstance(b, str) else b, message.id) for b in blocks]
