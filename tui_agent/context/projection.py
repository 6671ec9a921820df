"""The lines of a log folded into what they mean: history, prompt, tools, state, marks, elisions, bookmarks.

A projection holds a few numbers for each line and no bodies; those are read from the file when they are looked at.
`feed` takes one line, whether it comes from a restore or was written just now, so that the live projection and that
of a fresh process are the same by construction. `prefix` is the projection of the first lines alone.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate, count
from operator import add
from typing import Any, cast

from msgspec import Struct, field

from tui_agent.context.elisions import Elision, Elisions, elide, leaves_nothing
from tui_agent.context.kimi import is_kimi, normalise
from tui_agent.context.records import (
    BOM,
    KIMI_PARTS,
    LARGEST,
    LONG_NUMBER,
    UNREADABLE,
    Damaged,
    Header,
    Record,
    decode,
    digest_id,
    is_utf8,
    may_hold_long_number,
    read_header,
    salvage,
)
from tui_agent.context.source import Bodies, Source
from tui_agent.context.usages import Usages
from tui_agent.messages.blocks import Block, text_block

_BLANK = -1
_DAMAGED = ""
_NEARBY = 16
"""A usage names records that stand at most so many lines before it, nearly always."""
MARKS = ("pinned", "priority", "ttl", "compressible")
"""Marks that a message may carry from the start; `_mark` records change them and may add others."""


class Damage(Struct, frozen=True):
    """A line that is not a record: its number from 1, where it lies in bytes, and why it is not one."""

    line: int
    offset: int
    length: int
    reason: str


class Head(Struct, frozen=True):
    """The record a rewrite ends with: what was done, the backup it made, and where undo and redo lead."""

    index: int
    n: int
    op: str
    at: str
    backup: str
    to: str | None
    undo: str | None
    redo: str | None
    figures: Mapping[str, Any] = field(default_factory=dict)


Apply = Callable[[int, Header, dict[str, Any]], None]


class Projection:
    """What a log means, and where each of its lines lies."""

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.starts = array("Q")
        self.lengths = array("Q")
        self.lines = array("Q")
        self.roles = array("I")
        self.origins = array("I")
        self.blocks = array("I")
        """Content blocks of a message; 0 for any other line."""
        self.ids: list[str | None] = []
        self.index: dict[str, int] = {}
        self.damage: dict[int, str] = {}
        self.messages = array("I")
        """Indices of all messages, and of those that have something left to show."""
        self.visible = array("I")
        self._hollow: list[int] = []
        """Messages that have no content from the start."""
        self.checkpoints = array("I")
        self.numbers = array("Q")
        self.next_checkpoint = 0
        """One above the highest id of a checkpoint."""
        self.usages = Usages()
        self.prompts: list[int] = []
        self.tools: list[int] = []
        self.states: list[tuple[int, str]] = []
        self.marks: list[tuple[int, int, dict[str, Any]]] = []
        self.elisions = Elisions()
        self.heads: list[Head] = []
        self.state: dict[str, int] = {}
        self.marked: dict[int, dict[str, Any]] = {}
        self.next_line = 1
        self.size = 0
        self.torn = False
        """True if the last line has no newline."""
        self.version = 0
        """Changes with every line: who keeps figures by it knows when to count again."""
        self._names: list[str] = [_DAMAGED]
        self._codes: dict[str, int] = {_DAMAGED: 0}
        self._same: dict[str, int] = {}
        self._live = True
        """False while lines are taken in bulk, before which nobody looks."""
        self._bulk = False
        """True while there is no index of ids yet."""
        self._waiting: list[tuple[Apply, int, Header, dict[str, Any]]] = []
        """What refers to other lines by id, until there is an index; and usages that do."""
        self._uncovered: list[tuple[int, Header]] = []
        self._bodies = Bodies()

    # --- taking lines ------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, source: Source) -> Projection:
        """The projection of a whole file; blocks (call it in a thread)."""
        self = cls(source)
        self._bulk = True
        self._take_all()
        if self._index_all():
            return self
        self = cls(source)
        self._live = False
        self._take_all()
        self._settle()
        return self

    def _take_all(self) -> None:
        if self.source is not None:
            for offset, lines, sound, ended in self.source.batches():
                self.size = self._take(lines, offset, sound=sound) - (not ended)
                self.torn = not ended

    def _index_all(self) -> bool:
        """Make the index of ids after a bulk load, and take what had to wait for it; False if an id is there twice.

        One pass over all ids costs a fifth of what it costs to add each in its turn.
        """
        index: dict[str | None, int] = dict(zip(self.ids, range(len(self.ids)), strict=True))
        nameless = self.ids.count(None)
        if len(index) < len(self.ids) - nameless + (nameless > 0):
            return False
        index.pop(None, None)
        self.index = cast("dict[str, int]", index)
        self._bulk, self._live = False, False
        self.usages.correct(
            {self.usages.before(at): self._covered(at, header) or (at, -1) for at, header in self._uncovered}
        )
        for apply, place, header, body in self._waiting:
            apply(place, header, body)
        self._waiting.clear()
        self._uncovered.clear()
        self._settle()
        return True

    def feed(self, line: bytes, offset: int) -> int:
        """Take the next line (without its newline), which lies at `offset`; returns its index."""
        self._take([line], offset, sound=False)
        return len(self.starts) - 1

    def _take(self, lines: list[bytes], offset: int, *, sound: bool) -> int:
        """Take the next lines, which lie behind one another from `offset` on; `sound` if they are known to be UTF-8.

        A blank line is nothing. Returns where the next line would lie. A restore spends its time in this loop.
        """
        roles, origins, blocks = self.roles.append, self.origins.append, self.blocks.append
        ids, codes, known, handlers = self.ids, self._codes, self.index, _HANDLERS
        messages, visible = self.messages.append, self.visible.append
        hollow, live, bulk, use = self._hollow.append, self._live, self._bulk, self.usages.add
        first = index = len(self.starts)
        step = self.checkpoints[-1] if self.checkpoints else -1
        blanks, odd = 0, dict[int, int]()
        for line in lines:
            name: str | None
            try:
                try:
                    if (sound or line.isascii() or is_utf8(line)) and (
                        len(line) <= LONG_NUMBER or not may_hold_long_number(line)
                    ):
                        header = read_header(line)
                    else:
                        header = salvage(line)
                except UNREADABLE:
                    if not line.strip(b" \t\r"):
                        odd[index - first + blanks] = _BLANK
                        blanks += 1
                        continue
                    header = salvage(line)
                    if line.startswith(BOM):
                        odd[index - first + blanks] = len(BOM)
                role, origin, held = header.role, 0, 0
                if role == "assistant" or role == "user" or role == "tool":
                    own, content = header.id, header.content
                    kimi = role == "tool" or type(own) is not str or header.tool_calls is not None
                    name = own if type(own) is str and (bulk or own not in known) else self._local_id(line)
                    if type(content) is list:
                        held = len(content)
                        for part in content:
                            if part.type in KIMI_PARTS:
                                kimi = True
                    elif content is not None:
                        held = 1
                    if kimi:
                        role, held, origin = self._kimi(line)
                    elif header.origin is not None:
                        origin = codes.get(header.origin) or self._code(header.origin)
                    messages(index)
                    if not held:
                        hollow(index)
                    elif live:
                        visible(index)
                elif role == "_checkpoint":
                    own = header.uid
                    name = own if type(own) is str and (bulk or own not in known) else None
                    self._checkpoint(index, header)
                    step = index
                else:
                    own = header.id
                    name = own if type(own) is str and (bulk or own not in known) else None
                    if role == "_elide" and name is None:
                        header.id = name = self._local_id(line)
                    if (
                        role == "_usage"
                        and step == index - 2 > 0
                        and header.produced is not None
                        and header.produced == ids[-1]
                        and header.through is not None
                        and header.through in (ids[-2], ids[-3])
                        and header.token_count is not None
                        and 0 <= header.token_count < LARGEST
                    ):
                        # As a step writes it: its checkpoint, the answer, the usage.
                        use(index, header.token_count, header.exact is not False, step, index - 1)
                    elif (handler := handlers.get(role)) is not None:
                        handler(self, index, header, line)
                code = codes.get(role) or self._code(role)
            except Damaged as error:
                self.damage[index] = str(error)
                name, code, origin, held = None, 0, 0, 0
            roles(code)
            origins(origin)
            blocks(held)
            ids.append(name)
            if name is not None and not bulk:
                known[name] = index
            index += 1
        self.version += len(lines)
        return self._place_lines(lines, offset, odd)

    def _place_lines(self, lines: list[bytes], offset: int, odd: dict[int, int]) -> int:
        """Note where lines lie. `odd` tells, by place, which are _BLANK or begin with so many bytes of a mark."""
        if len(lines) == 1 and not odd:
            size = len(lines[0])
            self.starts.append(offset)
            self.lengths.append(size)
            self.lines.append(self.next_line)
            self.next_line += 1
            return offset + size + 1
        sizes = list(map(len, lines))
        offsets: list[int] = list(map(add, accumulate(sizes, initial=offset), count()))
        numbers = range(self.next_line, self.next_line + len(lines))
        self.next_line += len(lines)
        if not odd:
            self.starts.extend(array("Q", offsets[:-1]))
            self.lengths.extend(array("Q", sizes))
            self.lines.extend(array("Q", numbers))
            return offsets[-1]
        for place, (start, size, number) in enumerate(zip(offsets, sizes, numbers, strict=False)):
            skip = odd.get(place, 0)
            if skip != _BLANK:
                self.starts.append(start + skip)
                self.lengths.append(size - skip)
                self.lines.append(number)
        return offsets[-1]

    def _code(self, name: str) -> int:
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = len(self._names)
            self._names.append(name)
        return code

    def _local_id(self, line: bytes) -> str:
        """An id for a record without one: the same in every process that reads the same lines before it."""
        stem = digest_id(line, 0)[:-2]
        n = self._same.get(stem, 0) + 1
        while f"{stem}-{n}" in self.index:
            n += 1
        self._same[stem] = n
        return f"{stem}-{n}"

    def _kimi(self, line: bytes) -> tuple[str, int, int]:
        """Role, number of blocks and origin of a message that may be in Kimi CLI's dialect."""
        body = _in_our_form(decode(line))
        role = body.get("role")
        content = body.get("content")
        origin = body.get("origin")
        blocks = len(content) if isinstance(content, list) else int(content is not None)
        return (
            "assistant" if role == "assistant" else "user",
            blocks,
            self._code(origin) if isinstance(origin, str) else 0,
        )

    # --- one kind of record each ---------------------------------------------------------------------------------

    def _checkpoint(self, index: int, header: Header) -> None:
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
        if not self._bulk:
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
        self._apply_mark(index, -1 if place is None else place, marks)

    def _soon(self, apply: Apply, index: int, header: Header, body: dict[str, Any]) -> None:
        """Apply it, now or when there is an index of ids."""
        if self._bulk:
            self._waiting.append((apply, index, header, body))
        else:
            apply(index, header, body)

    def _apply_mark(self, index: int, target: int, marks: dict[str, Any]) -> None:
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
        self._show(self.elisions.add(index, name, tuple(targets), copy=self._live))

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
        self._show(self.elisions.bring_back(index, name, chosen, copy=self._live))

    def _show(self, touched: set[int]) -> None:
        """Keep `visible` in step with the elisions; views handed out before keep what they saw."""
        if not self._live:
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

    def _settle(self) -> None:
        """All lines are taken in bulk: find out what is left to show; from now on changes are made in copies."""
        gone = {*self._hollow, *filter(self._is_empty, self.elisions.in_force)}
        self.visible = array("I", [i for i in self.messages if i not in gone]) if gone else self.messages[:]
        self._live = True

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

    # --- a prefix ------------------------------------------------------------------------------------------------

    def prefix(self, count: int) -> Projection:
        """The projection of the first `count` lines, as a fresh restore of them would build it."""
        other = Projection(self.source)
        other._live = False
        for name in ("starts", "lengths", "lines", "roles", "origins", "blocks"):
            setattr(other, name, getattr(self, name)[:count])
        other.ids = self.ids[:count]
        other.index = {name: index for index, name in enumerate(other.ids) if name is not None}
        other.damage = {index: reason for index, reason in self.damage.items() if index < count}
        other._names, other._codes = self._names, self._codes
        other.messages = self.messages[: bisect_left(self.messages, count)]
        other._hollow = [index for index in self._hollow if index < count]
        cut = bisect_left(self.checkpoints, count)
        other.checkpoints, other.numbers = self.checkpoints[:cut], self.numbers[:cut]
        other.next_checkpoint = max(other.numbers, default=-1) + 1
        other.usages = self.usages.first(self.usages.before(count))
        other.prompts = self.prompts[: bisect_left(self.prompts, count)]
        other.tools = self.tools[: bisect_left(self.tools, count)]
        other.states = [item for item in self.states if item[0] < count]
        other.state = {key: index for index, key in other.states}
        other.heads = [head for head in self.heads if head.index < count]
        for index, target, marks in self.marks:
            if index < count:
                other._apply_mark(index, target, marks)
        other.elisions = self.elisions.first(count)
        other._same = _counted(other.ids) if self._same else {}
        if count:
            other.next_line = self.lines[count - 1] + 1
            other.size = min(self.starts[count - 1] + self.lengths[count - 1] + 1, self.size)
            other.torn = self.torn and other.size == self.size
        other.version = count
        other._settle()
        return other

    @property
    def is_compact(self) -> bool:
        """True if every byte of the file belongs to a record: no damage, no blank lines, nothing torn."""
        return (
            not self.damage
            and not self.torn
            and self.size == sum(self.lengths) + len(self.lengths)
            and self.next_line == len(self.lines) + 1
        )

    def close_last_line(self) -> None:
        """The file gets the newline that its last line lacks."""
        if self.torn:
            self.size += 1
            self.torn = False

    # --- looking -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.starts)

    def role(self, index: int) -> str:
        return self._names[self.roles[index]]

    def origin(self, index: int) -> str | None:
        return self._names[self.origins[index]] or None

    def id(self, index: int) -> str:
        name = self.ids[index]
        return name if name is not None else digest_id(self.raw(index), self.lines[index])

    def find(self, name: str) -> int:
        """The index of the line of that id.

        Raises:
            ValueError: there is none.
        """
        index = self.index.get(name)
        if index is None:
            digits = name.rpartition("-")[2]
            if name.startswith("L") and digits.isascii() and digits.isdigit() and len(digits) < 16:
                index = bisect_left(self.lines, int(digits))
            if index is None or index >= len(self) or self.id(index) != name:
                raise ValueError(f"There is no record {name!r} in this context.")
        return index

    def raw(self, index: int) -> bytes:
        return self.source.read(self.starts[index], self.lengths[index]) if self.source else b""

    def record(self, index: int) -> Record:
        return Record(self, index)

    def body(self, index: int) -> dict[str, Any]:
        """The record at `index`, normalised; {} for a damaged line."""
        return self._bodies.get(index, self.lengths[index], lambda: self._decode(index))

    def _decode(self, index: int) -> dict[str, Any]:
        if index in self.damage:
            return {}
        body = decode(self.raw(index))
        return _in_our_form(body) if self.blocks[index] else body

    def content(self, index: int, elisions: tuple[Elision, ...] = ()) -> list[Block]:
        """The blocks of a message with elisions applied."""
        content = self.body(index).get("content")
        blocks: list[Block]
        if isinstance(content, str):
            blocks = [text_block(content)]
        else:
            blocks = list(content) if isinstance(content, list) else []
        return elide(blocks, elisions) if elisions else blocks

    def is_words(self, index: int) -> bool:
        """True for a person's words."""
        return self.role(index) == "user" and not self.origins[index]

    @property
    def head(self) -> Head | None:
        return self.heads[-1] if self.heads else None

    @property
    def change(self) -> Head | None:
        """The head of the change of history that undo undoes: behind an undo or a redo, of the one that stands again.

        Those lead to where the file that they brought back led to; every other change leads to its own backup.
        """
        return next((head for head in reversed(self.heads) if head.undo == head.backup), None)

    @property
    def redo(self) -> str | None:
        """The backup that redo leads to; None after a message behind the head."""
        head = self.head
        if head is None or (self.messages and self.messages[-1] > head.index):
            return None
        return head.redo

    def extend(self, line: bytes, offset: int) -> int:
        """`feed` for a whole line at the end of the file."""
        index = self.feed(line, offset)
        self.size = offset + len(line) + 1
        self.torn = False
        return index

    def effective_marks(self, index: int) -> dict[str, Any]:
        """The marks of a record: those it was written with, changed by `_mark` records."""
        body = self.body(index)
        own = {key: body[key] for key in MARKS if key in body}
        return own | self.marked.get(index, {})


# of the class, so that a projection is not part of a circle and goes with its last reader
_HANDLERS: dict[str, Callable[[Projection, int, Header, bytes], None]] = {
    "_usage": Projection._usage,
    "_system_prompt": Projection._prompt,
    "_tools": Projection._tools,
    "_state": Projection._state,
    "_mark": Projection._mark,
    "_elide": Projection._elide,
    "_restore_elided": Projection._restore_elided,
    "_compaction": Projection._head,
    "_rewind": Projection._head,
}


def _in_our_form(body: dict[str, Any]) -> dict[str, Any]:
    if not is_kimi(body):
        return body
    forms = normalise(body)
    return forms[0] if forms else {**body, "content": []}


def _counted(ids: list[str | None]) -> dict[str, int]:
    """How often each `L...` id was given, by its stem."""
    same: dict[str, int] = {}
    for name in ids:
        if name is not None and name[0:1] == "L" and name[13:14] == "-" and name[14:].isdigit():
            same[name[:13]] = max(same.get(name[:13], 0), int(name[14:]))
    return same
