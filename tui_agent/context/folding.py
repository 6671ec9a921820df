"""What each kind of record does to the table: requests weighed, marks, elisions, state, heads of rewrites.

A record that refers to others by id does so at once; of lines that are taken in bulk, when there is an index of ids.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_agent.context.elisions import Elision, leaves_nothing
from tui_agent.context.records import LARGEST, Damaged, Header, decode
from tui_agent.context.table import Head, Table

if TYPE_CHECKING:
    from tui_agent.context.source import Source

_NEARBY = 16
"""A usage names records that stand at most so many lines before it, nearly always."""

Apply = Callable[[int, Header, dict[str, Any]], None]


class Folding(Table):
    """A table that records are folded into, each by what its role says."""

    def __init__(self, source: Source | None = None) -> None:
        super().__init__(source)
        self.hollow: list[int] = []
        """Messages that have no content from the start."""
        self.live = True
        """False while lines are taken in bulk, before which nobody looks."""
        self.bulk = False
        """True while there is no index of ids yet."""
        self._waiting: list[tuple[Apply, int, Header, dict[str, Any]]] = []
        """What refers to other lines by id, until there is an index; and usages that do."""
        self._uncovered: list[tuple[int, Header]] = []

    def checkpoint(self, index: int, header: Header) -> None:
        number = header.id
        if type(number) is not int or not 0 <= number < LARGEST:
            raise Damaged("it is a checkpoint without a readable id")
        self.checkpoints.append(index)
        self.numbers.append(number)
        if number >= self.next_checkpoint:
            self.next_checkpoint = number + 1

    def _usage(self, index: int, header: Header, line: bytes) -> None:
        count = header.token_count
        if count is None or not 0 <= count < LARGEST:
            raise Damaged("it is a usage without a readable token count")
        boundary, produced = index, -1
        if header.through is not None or header.produced is not None:
            places = self._covered(index, header)
            if places is None:
                self._uncovered.append((index, header))
            boundary, produced = places or (-1, -1)
        self.usages.add(index, count, header.exact is not False, boundary, produced)

    def _covered(self, index: int, header: Header) -> tuple[int, int] | None:
        """Boundary and answer of a usage; None if they are not found without an index of ids."""
        boundary = self._place(header.through, index)
        produced = self._place(header.produced, index)
        if boundary is None or produced is None:
            return None
        if boundary < 0:
            return index, produced
        return (self._step_start(boundary, produced) if produced > boundary else boundary), produced

    def _place(self, name: str | None, before: int) -> int | None:
        """The index of the line of that id in front of `before`; -1: there is none; None: not known yet."""
        if name is None:
            return -1
        if not self.bulk:
            place = self.index.get(name, -1)
            return place if place < before else -1
        ids = self.ids
        for place in range(before - 1, max(before - _NEARBY, -1), -1):
            if ids[place] == name:
                return place
        return None

    def _step_start(self, boundary: int, produced: int) -> int:
        """The index up to which a request that ended with the record at `boundary` had read the log.

        What stands between its last message and the checkpoint of its step (an elision, a changed prompt) shaped it;
        what came after that checkpoint, while the answer was on its way, did not.
        """
        at = len(self.checkpoints)
        if at and self.checkpoints[-1] >= produced:
            at = bisect_left(self.checkpoints, produced)
        if not at or self.checkpoints[at - 1] <= boundary:
            return boundary
        step = self.checkpoints[at - 1]
        after = bisect_right(self.messages, boundary)
        return boundary if after < len(self.messages) and self.messages[after] < step else step

    def _prompt(self, index: int, header: Header, line: bytes) -> None:
        if not isinstance(header.content, str):
            raise Damaged("it is a system prompt without text")
        self.prompts.append(index)

    def _tools(self, index: int, header: Header, line: bytes) -> None:
        tools = decode(line).get("tools")
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise Damaged("it is a tool set without a list of tools")
        self.tools.append(index)

    def _state(self, index: int, header: Header, line: bytes) -> None:
        body = decode(line)
        key = body.get("key")
        if not isinstance(key, str) or "value" not in body:
            raise Damaged("it is a state without a key and a value")
        self.states.append((index, key))
        self.state[key] = index

    def _mark(self, index: int, header: Header, line: bytes) -> None:
        body = decode(line)
        target = body.get("record")
        if not isinstance(target, str):
            raise Damaged("it is a mark that names no record")
        self._soon(self._mark_known, index, header, body)

    def _mark_known(self, index: int, header: Header, body: dict[str, Any]) -> None:
        place = self._place(body["record"], index)
        marks = {key: value for key, value in body.items() if key not in ("role", "record", "id", "at")}
        self.apply_mark(index, -1 if place is None else place, marks)

    def _soon(self, apply: Apply, index: int, header: Header, body: dict[str, Any]) -> None:
        """Apply it, now or when there is an index of ids."""
        if self.bulk:
            self._waiting.append((apply, index, header, body))
        else:
            apply(index, header, body)

    def apply_mark(self, index: int, target: int, marks: dict[str, Any]) -> None:
        self.marks.append((index, target, marks))
        if target >= 0:
            self.marked[target] = self.marked.get(target, {}) | marks

    def _elide(self, index: int, header: Header, line: bytes) -> None:
        body = decode(line)
        items = body.get("items")
        if not isinstance(items, list):
            raise Damaged("it is an elision without a list of items")
        self._soon(self._elide_known, index, header, body)

    def _elide_known(self, index: int, header: Header, body: dict[str, Any]) -> None:
        name = str(header.id)
        by, reason = str(body.get("by", "")), str(body.get("reason", ""))
        targets: list[tuple[int, Elision]] = []
        for place, item in enumerate(body["items"]):
            if not isinstance(item, dict):
                continue
            target = self._message_at(item.get("record"), index)
            block, placeholder = item.get("block"), item.get("as")
            if target < 0 or not (block is None or (type(block) is int and 0 <= block < self.blocks[target])):
                continue
            if placeholder is None or isinstance(placeholder, str):
                targets.append((target, Elision(name, place, block, placeholder, by, reason)))
        self._show(self.elisions.add(index, name, tuple(targets), copy=self.live))

    def _message_at(self, name: object, before: int) -> int:
        place = self._place(name, before) if isinstance(name, str) else None
        return place if place is not None and place >= 0 and self.blocks[place] else -1

    def _restore_elided(self, index: int, header: Header, line: bytes) -> None:
        body = decode(line)
        name, items = body.get("elide"), body.get("items")
        if not isinstance(name, str) or not (items is None or isinstance(items, list)):
            raise Damaged("it brings back an elision without naming it")
        self._soon(self._restore_known, index, header, body)

    def _restore_known(self, index: int, header: Header, body: dict[str, Any]) -> None:
        name, items = body["elide"], body.get("items")
        chosen = None if items is None else frozenset(item for item in items if type(item) is int)
        self._show(self.elisions.bring_back(index, name, chosen, copy=self.live))

    def _show(self, touched: set[int]) -> None:
        """Keep `visible` in step with the elisions; views handed out before keep what they saw."""
        if not self.live:
            return
        visible = self.visible[:]
        for target in touched:
            at = bisect_left(visible, target)
            shown = at < len(visible) and visible[at] == target
            if self._is_empty(target):
                if shown:
                    del visible[at]
            elif not shown:
                visible.insert(at, target)
        self.visible = visible

    def settle(self) -> None:
        """All lines are taken in bulk: find out what is left to show; from now on changes are made in copies."""
        gone = {*self.hollow, *filter(self._is_empty, self.elisions.in_force)}
        self.visible = array("I", [i for i in self.messages if i not in gone]) if gone else self.messages[:]
        self.live = True

    def _is_empty(self, index: int) -> bool:
        """True if elisions leave nothing of the message."""
        return leaves_nothing(self.elisions.on(index), self.blocks[index])

    def _head(self, index: int, header: Header, line: bytes) -> None:
        body = decode(line)
        n, op, backup = body.get("n"), body.get("op"), body.get("backup")
        if (
            type(n) is not int
            or not 0 <= n < LARGEST
            or not isinstance(op, str)
            or not isinstance(backup, str)
        ):
            raise Damaged("it is the head of a rewrite without number, operation or backup")
        text = {
            key: body[key] if isinstance(body.get(key), str) else None for key in ("at", "to", "undo", "redo")
        }
        known = {"role", "n", "op", "backup", "id", *text}
        figures = {key: value for key, value in body.items() if key not in known}
        self.heads.append(
            Head(index, n, op, text["at"] or "", backup, text["to"], text["undo"], text["redo"], figures)
        )

    def take_waiting(self) -> None:
        """There is an index of ids now: take what had to wait for it."""
        self.bulk, self.live = False, False
        self.usages.correct(
            {self.usages.before(at): self._covered(at, header) or (at, -1) for at, header in self._uncovered}
        )
        for apply, place, header, body in self._waiting:
            apply(place, header, body)
        self._waiting.clear()
        self._uncovered.clear()
        self.settle()


# of the class, so that a table is not part of a circle and goes with its last reader
HANDLERS: dict[str, Callable[[Folding, int, Header, bytes], None]] = {
    "_usage": Folding._usage,
    "_system_prompt": Folding._prompt,
    "_tools": Folding._tools,
    "_state": Folding._state,
    "_mark": Folding._mark,
    "_elide": Folding._elide,
    "_restore_elided": Folding._restore_elided,
    "_compaction": Folding._head,
    "_rewind": Folding._head,
}
"""What takes a record of that role: its index, header and line."""
