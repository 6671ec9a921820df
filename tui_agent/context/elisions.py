"""Elisions: what an `_elide` record does to the blocks it names when they are sent. The originals stay on disk."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from tui_agent.messages.blocks import Block, text_block


class Elision(NamedTuple):
    """One item of an `_elide` record in force: `block` None is the whole record, `placeholder` None drops it."""

    elide: str
    item: int
    block: int | None
    placeholder: str | None
    by: str
    reason: str

    @property
    def is_shortening(self) -> bool:
        """True where the program put a few words in the place of something, to make room."""
        return self.by == "auto" and self.placeholder is not None and self.reason in _TO_MAKE_ROOM


_TO_MAKE_ROOM = ("micro", "budget", "ttl")

Targets = tuple[tuple[int, Elision], ...]
"""What an `_elide` record names: indices of records, and its items on them."""

Event = tuple[int, str, Targets]
"""An `_elide` (or `_restore_elided`, without targets): its index in the log, the id of the elide, its targets."""


class Elisions:
    """All that was elided and brought back in a log, in order, and what of it is in force."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.in_force: dict[int, tuple[Elision, ...]] = {}
        """By index of the record, oldest first. Replaced, not changed, when it is shown to somebody."""
        self.returned: dict[int, frozenset[int | None]] = {}
        """By index of the record: blocks (None: all of it) that were elided at some time and brought back."""
        self._items: dict[int, frozenset[int] | None] = {}
        """For the index of a `_restore_elided`: which items; None is all."""
        self._targets: dict[str, Targets] = {}
        self._on: dict[int, list[int]] = {}

    def add(self, index: int, name: str, targets: Targets, *, copy: bool) -> set[int]:
        """Take an `_elide`; returns the records it is on. `copy` leaves what was handed out as it is."""
        self._targets[name] = targets
        self._note(index, name, targets)
        in_force = dict(self.in_force) if copy else self.in_force
        for target, elision in targets:
            in_force[target] = (*in_force.get(target, ()), elision)
        self.in_force = in_force
        return {target for target, _ in targets}

    def bring_back(self, index: int, name: str, items: frozenset[int] | None, *, copy: bool) -> set[int]:
        """Take a `_restore_elided`; returns the records it is on."""
        self._note(index, name, ())
        self._items[index] = items
        in_force = dict(self.in_force) if copy else self.in_force
        for target, elision in self.targets(name):
            if items is None or elision.item in items:
                self.returned[target] = self.returned.get(target, frozenset()) | {elision.block}
        touched = {target for target, _ in self.targets(name)}
        for target in touched:
            left = _without(in_force.get(target, ()), name, items)
            if left:
                in_force[target] = left
            else:
                in_force.pop(target, None)
        self.in_force = in_force
        return touched

    def _note(self, index: int, name: str, targets: Targets) -> None:
        for target in {target for target, _ in targets or self.targets(name)}:
            self._on.setdefault(target, []).append(len(self.events))
        self.events.append((index, name, targets))

    def targets(self, name: str) -> Targets:
        """What the `_elide` record of that id names."""
        return self._targets.get(name, ())

    def on(self, target: int) -> tuple[Elision, ...]:
        """The elisions in force on a record."""
        return self.in_force.get(target, ())

    def at(self, bound: int, target: int) -> tuple[Elision, ...]:
        """Those that were in force on a record when the log was read up to the line at `bound`."""
        if not self.events or self.events[-1][0] <= bound:
            return self.on(target)
        found: tuple[Elision, ...] = ()
        for place in self._on.get(target, ()):
            index, name, targets = self.events[place]
            if index > bound:
                break
            if index in self._items:
                found = _without(found, name, self._items[index])
            else:
                found += tuple(elision for hit, elision in targets if hit == target)
        return found

    def after(self, bound: int) -> list[Event]:
        """The events behind the line at `bound`."""
        return self.events[bisect_right(self.events, bound, key=lambda event: event[0]) :]

    def first(self, count: int) -> Elisions:
        """What the first so many lines of the log say."""
        other = Elisions()
        for index, name, targets in self.events:
            if index >= count:
                break
            if index in self._items:
                other.bring_back(index, name, self._items[index], copy=False)
            else:
                other.add(index, name, targets, copy=False)
        return other


def _without(elisions: tuple[Elision, ...], name: str, items: frozenset[int] | None) -> tuple[Elision, ...]:
    return tuple(e for e in elisions if e.elide != name or (items is not None and e.item not in items))


def elide(blocks: list[Block], elisions: tuple[Elision, ...]) -> list[Block]:
    """`blocks` as they are sent: the newest elision of a block counts, one of the whole record before all."""
    newest = _newest(elisions)
    if None in newest:
        whole = newest[None]
        return [] if whole is None else _shorten_all(blocks, whole)
    kept = []
    for place, block in enumerate(blocks):
        if place not in newest:
            kept.append(block)
        elif (text := newest[place]) is not None:
            kept.append(_placeholder(block, text))
    return kept


def leaves_nothing(elisions: tuple[Elision, ...], blocks: int) -> bool:
    """True if a message of so many blocks has none left."""
    newest = _newest(elisions)
    if None in newest:
        return newest[None] is None
    return sum(placeholder is None for placeholder in newest.values()) >= blocks


def _newest(elisions: tuple[Elision, ...]) -> dict[int | None, str | None]:
    """The placeholder in force of each block; under None that of the whole record, which goes before its blocks."""
    newest: dict[int | None, str | None] = {}
    for elision in elisions:
        newest[elision.block] = elision.placeholder
    return newest


def _shorten_all(blocks: list[Block], text: str) -> list[Block]:
    """A whole record behind one placeholder: calls and results stay paired, the rest becomes one text."""
    paired = [_placeholder(block, text) for block in blocks if block.get("type") in _PAIRED]
    return paired or [text_block(text)]


_PAIRED = ("tool_result", "tool_use")


def _placeholder(block: Block, text: str) -> Block:
    match block.get("type"):
        case "tool_result":
            return {**block, "content": text}
        case "tool_use":
            return {**block, "input": {"elided": text}}
    return text_block(text)
