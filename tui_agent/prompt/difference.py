"""What is different between two requests, item by item: added, gone, changed in place, moved. Pure.

Items are the same if they stand for the same record, tool, layer or parameters. The tokens close: what the first
request weighs, with every change and what was only counted anew, is what the second one weighs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from tui_agent.prompt.manifest import Item, Manifest, Total

What = Literal["added", "gone", "shortened", "longer", "changed", "moved"]

_Key = tuple[str, ...]
_NOTHING = Tokens(0, "exact")


class Change(Struct, frozen=True):
    """One item that differs. `item` is that of the later request, or of the earlier one if it is gone.

    `before` and `after` are its tokens in the two requests; `why` says what took it out or changed it.
    """

    what: What
    item: Item
    before: Tokens
    after: Tokens
    why: str = ""


class Difference(Struct, frozen=True):
    """What differs between an earlier request and a later one, in the order of sending; what is gone comes first.

    `before` and `after` are their weights; `same` counts the items that are word for word the same.
    """

    changes: Sequence[Change]
    before: Total
    after: Total
    same: int

    def tokens(self, *kinds: What) -> int:
        """By how much changes of these kinds made the request heavier, in tokens; of every kind if none is named."""
        wanted = [change for change in self.changes if not kinds or change.what in kinds]
        return sum(change.after.count - change.before.count for change in wanted)

    @property
    def counted_anew(self) -> int:
        """Tokens by which what did not change, and the frame, weigh more than they were taken to weigh before."""
        return self.after.count - self.before.count - self.tokens()


class _Part(Struct):
    """What a request holds under one key: the values that are sent, their tokens, the first item, its place."""

    item: Item
    place: int
    tokens: Tokens
    values: list[Any]


class Side(Protocol):
    """A request, and its items as its manifest gives them."""

    @property
    def manifest(self) -> Manifest: ...
    @property
    def items(self) -> Sequence[Item]: ...


def difference(before: Side, after: Side, why: Callable[[Item], str] = lambda item: "") -> Difference:
    """What differs between two requests. `why` says what took an item out of the later one."""
    old, new = _parts(before), _parts(after)
    moved = _moved([old[key].place for key in new if key in old])
    changes = [
        Change("gone", part.item, part.tokens, _NOTHING, why(part.item))
        for key, part in old.items()
        if key not in new
    ]
    same, common = 0, 0
    for key, part in new.items():
        was = old.get(key)
        if was is None:
            changes.append(Change("added", part.item, _NOTHING, part.tokens))
            continue
        what = _change(was.values, part.values, moved=common in moved)
        common += 1
        if what is None:
            same += 1
        else:
            reason = "" if what == "moved" else why(part.item)
            changes.append(Change(what, part.item, was.tokens, part.tokens, reason))
    return Difference(changes, before.manifest.total, after.manifest.total, same)


def _parts(side: Side) -> dict[_Key, _Part]:
    """What a request holds, in the order of sending, without the framing."""
    request, found = side.manifest.request, dict[_Key, _Part]()
    blocks: dict[str, list[Any]] = {}
    for records, message in zip(request.blocks, request.messages, strict=True):
        for record, block in zip(records, message["content"], strict=True):
            if record:
                blocks.setdefault(record, []).append((message["role"], block))
    tools = {str(tool.get("name", "")): tool for tool in request.tools}
    layers = iter(request.system)
    unnamed: dict[_Key, int] = {}
    for place, item in enumerate(side.items):
        if item.kind == "framing":
            continue
        key: _Key = (item.section, item.record if item.section == "messages" else "", item.name)
        if item.section == "messages" and item.record:
            key, values = ("messages", item.record), blocks.get(item.record, [])
        elif item.section == "tools":
            values = [tools.get(item.name)]
        elif item.section == "system":
            key, values = (*key, item.source), [next(layers, None)]
        elif item.section == "frame":
            values = [request.model, request.max_tokens, request.thinking]
        else:
            values = [side.manifest.text(item)]
        if key in found and not (item.section == "messages" and item.record):
            unnamed[key] = unnamed.get(key, 0) + 1
            key = (*key, str(unnamed[key]))
        if key in found:
            found[key].tokens = found[key].tokens + item.tokens
        else:
            found[key] = _Part(item, place, item.tokens, values)
    return found


def _change(before: list[Any], after: list[Any], *, moved: bool) -> What | None:
    if before == after:
        return "moved" if moved else None
    old, new = _length(before), _length(after)
    if old == new:
        return "changed"
    return "shortened" if new < old else "longer"


def _length(value: Any) -> int:
    """How much a value says, in characters; names of fields count for nothing."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_length(inner) for inner in value.values())
    if isinstance(value, (list, tuple)):
        return sum(map(_length, value))
    return 1


def _moved(places: Sequence[int]) -> frozenset[int]:
    """Which of these places are not in order: all but the longest rising sequence of them."""
    if all(first < second for first, second in pairwise(places)):
        return frozenset()
    ends: list[int] = []
    tails: list[int] = []
    came_from = [-1] * len(places)
    for at, place in enumerate(places):
        length = bisect_left(ends, place)
        if length == len(ends):
            ends.append(place)
            tails.append(at)
        else:
            ends[length], tails[length] = place, at
        came_from[at] = tails[length - 1] if length else -1
    kept, at = set(), tails[-1] if tails else -1
    while at >= 0:
        kept.add(at)
        at = came_from[at]
    return frozenset(range(len(places))) - kept
