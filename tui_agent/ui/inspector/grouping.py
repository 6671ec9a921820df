"""The items of a request by section and kind, with what they weigh together and how much of it is cached. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from tui_agent.prompt.manifest import Item

ALWAYS = "always"
"""Why what is no message is never left out of a request."""
LEFT_OUT = "left out"
"""The section of what is not sent."""
TOO_HIGH = "estimated too high"
"""What takes tokens off in a sum, in the place of the frame."""
SECTIONS = ("tools", "system", "messages", "frame", LEFT_OUT)
_KINDS = {
    "words": "your words",
    "answer": "answers",
    "summary": "summaries",
    "injection": "reminders",
    "repair": "repairs",
    "note": "notes",
}
Place = tuple[str, str]
"""A section and a group in it; the group is "" for the section itself."""


def group_of(item: Item) -> str:
    """What an item is listed under in its section."""
    if not item.kept:
        return item.reason
    if item.section == "tools":
        return f"server {item.source}" if item.source else "built in"
    if item.section != "messages":
        return item.name if item.source in ("", item.name) else f"{item.name} {item.source}"
    if item.kind == "result":
        return f"{item.name} results"
    if item.kind == "injection" and item.source:
        return f"reminders: {item.source}"
    return _KINDS.get(item.kind, item.kind)


@dataclass(slots=True)
class Group:
    """Items of one kind: what they weigh together, how much of that is cached, and which they are."""

    tokens: Tokens = field(default_factory=lambda: Tokens(0, "exact"))
    cached: int = 0
    items: array[int] = field(default_factory=lambda: array("q"))

    def take(self, number: int, item: Item) -> None:
        """Add an item, known by its number."""
        self.items.append(number)
        self.tokens = self.tokens + item.tokens
        if item.cached:
            self.cached += item.tokens.count


def place_of(item: Item) -> Place:
    """The section and group of an item."""
    return (item.section if item.kept else LEFT_OUT), group_of(item)


def groups_of(items: Sequence[Item]) -> dict[Place, Group]:
    """The groups of items, each with the section it is in, in the order in which they come."""
    groups: dict[Place, Group] = {}
    for number, item in enumerate(items):
        place = place_of(item)
        for key in ((place[0], ""), place):
            groups.setdefault(key, Group()).take(number, item)
    return groups


def in_order(groups: Mapping[Place, Group]) -> list[Place]:
    """The sections in the order of sending, each followed by its groups."""
    return [
        place
        for section in SECTIONS
        if (section, "") in groups
        for place in ((section, ""), *(place for place in groups if place[0] == section and place[1]))
    ]


def sums_of(groups: Mapping[Place, Group]) -> list[tuple[str, Tokens]]:
    """What is sent, by section; the counts sum up to the total. A frame that takes off what is too high says so."""
    found = [
        (name, groups[name, ""].tokens) for name in SECTIONS if name != LEFT_OUT and (name, "") in groups
    ]
    return [(TOO_HIGH if name == "frame" and part.count < 0 else name, part) for name, part in found]


def stays(item: Item, reasons: Mapping[str, str]) -> str:
    """Why an item of a refused request is never left out, by the reasons of records; "" if it may be, or is."""
    if not item.kept:
        return ""
    return reasons.get(item.record, "") if item.section == "messages" else ALWAYS


def stays_of(items: Iterable[Item], reasons: Mapping[str, str]) -> str:
    """The same of several: the one reason, `all` for more than one, `part` if some may be left out."""
    found = {stays(item, reasons) for item in items}
    if found == {""}:
        return ""
    return "part" if "" in found else next(iter(found)) if len(found) == 1 else "all"


def percent(part: int, whole: int) -> str:
    """A share in percent."""
    return f"{part / whole:.0%}" if whole > 0 else ""
