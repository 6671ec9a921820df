"""What a log is after a compaction: a summary in place of its older messages, and the rest of it word for word.

    prompt, tools, checkpoint 0, summary
    messages picked out of what is replaced, the states in force, marks and elisions on what was picked (an elision
        that is mostly about others without their items' texts)
    everything from the first message on behind which all stay (checkpoints, states, marks, elisions)
    everything that came while the summary was made, and a stamp: an estimate of the whole

Records are copied byte by byte, in their order and with their ids and numbers. So one can go back to a checkpoint
behind the summary as before, and finds the states that were in force there. Figures of requests and head records are
left out: they tell of another history, which is the backup's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.context.pieces import HISTORY, TARGETED, aims_at, first_at
from tui_agent.context.records import Record

if TYPE_CHECKING:
    from tui_agent.context.projection import Projection

Line = Record | Mapping[str, Any]

_NAMED = frozenset({"user", "assistant", "_elide"})
_LEFT_OUT = HISTORY | {"_system_prompt", "_tools"}


class Replacement(Struct, frozen=True):
    """What a compaction puts in the place of a history.

    `summary` is the message (with its id) that stands for everything that does not stay, `kept` are the ids of the
    messages that stay. Only records that begin before byte `until` of the log are touched; what is behind follows.
    `generation` is `Context.generation` at the time the log was looked at. `states` are put in force anew, the other
    states stay. `prompt` and `tools` are records to put in force; None leaves those that are. `elided` are items of an
    elision (by auto, reason budget) on what stays.
    """

    summary: Mapping[str, Any]
    kept: Collection[str]
    until: int
    generation: int
    states: Mapping[str, Any] = {}
    prompt: Mapping[str, Any] | None = None
    tools: Mapping[str, Any] | None = None
    elided: Sequence[Mapping[str, Any]] = ()


def compose(log: Projection, change: Replacement) -> list[Line]:
    """The lines of the new file up to what came behind byte `until`."""
    return _Composer(log, change).lines()


class _Composer:
    def __init__(self, log: Projection, change: Replacement) -> None:
        self._log = log
        self._change = change
        self._last = first_at(log, change.until)
        self._kept = frozenset(change.kept)
        self._names: set[str] = set()
        """The ids that what refers to records may refer to."""

    def lines(self) -> list[Line]:
        log, change = self._log, self._change
        cut = self._cut()
        found: list[Line] = [*self._in_force(log.prompts, change.prompt)]
        found += self._in_force(log.tools, change.tools)
        found.append({"role": "_checkpoint", "id": 0, "turn": False})
        found.append(change.summary)
        found += map(_named, self._taken(i for i in log.messages if i < cut and log.id(i) in self._kept))
        found += self._states(cut)
        others = self._taken(i for i in range(cut) if log.role(i) in TARGETED and self._aims(i))
        found += map(self._thinned, others)
        found += map(self._thinned, self._taken(i for i in range(cut, self._last) if self._stays(i)))
        if change.elided:
            found.append({"role": "_elide", "by": "auto", "reason": "budget", "items": list(change.elided)})
        return found

    def _cut(self) -> int:
        """The index behind the last message that is before the ones that all stay."""
        log = self._log
        place = first = bisect_left(log.visible, self._last)
        while place and log.id(log.visible[place - 1]) in self._kept:
            place -= 1
        end = log.visible[place] if place < first else self._last
        before = bisect_left(log.messages, end)
        return log.messages[before - 1] + 1 if before else 0

    def _in_force(self, places: list[int], new: Mapping[str, Any] | None) -> list[Line]:
        if new is not None:
            return [new]
        behind = bisect_left(places, self._last)
        return [self._log.record(places[behind - 1])] if behind else []

    def _states(self, cut: int) -> list[Line]:
        """What is in force where the copied part begins, and the new ones."""
        newest = {key: index for index, key in self._log.states if index < cut}
        old = [index for key, index in newest.items() if key not in self._change.states]
        new = [{"role": "_state", "key": key, "value": value} for key, value in self._change.states.items()]
        return [*map(self._log.record, sorted(old)), *new]

    def _taken(self, indices: Iterable[int]) -> list[Record]:
        found: list[Record] = []
        for index in indices:
            found.append(self._log.record(index))
            if (name := self._log.ids[index]) is not None:
                self._names.add(name)
        return found

    def _thinned(self, record: Record) -> Line:
        """A record with its name; an elision without what it says of messages that are gone, items in their places."""
        items = record.body.get("items")
        if record.role != "_elide" or not isinstance(items, list):
            return _named(record)
        there = [isinstance(item, dict) and item.get("record") in self._names for item in items]
        if all(there):
            return _named(record)
        thin = [item if stays else {"record": None} for item, stays in zip(items, there, strict=True)]
        return {**record.body, "id": record.id, "items": thin}

    def _stays(self, index: int) -> bool:
        log = self._log
        role = log.role(index)
        if index in log.damage or role in _LEFT_OUT:
            return False
        if role == "_state":
            return log.body(index).get("key") not in self._change.states
        return role not in TARGETED or self._aims(index)

    def _aims(self, index: int) -> bool:
        return aims_at(self._log.body(index), self._names)


def _named(record: Record) -> Line:
    """A message or elision that keeps its id also where it has none of its own."""
    if record.role not in _NAMED or record.body.get("id") == record.id:
        return record
    return {**record.body, "id": record.id}
