"""The lines of a log folded into what they mean: history, prompt, tools, state, marks, elisions, bookmarks.

A projection holds a few numbers for each line and no bodies (`table`); `folding` knows the kinds of records.
`feed` takes one line, whether it comes from a restore or was written just now, so that the live projection and that
of a fresh process are the same by construction. `prefix` is the projection of the first lines alone.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import accumulate, count
from operator import add
from typing import TYPE_CHECKING, cast

from tui_agent.context.folding import HANDLERS, Folding
from tui_agent.context.kimi import in_our_form
from tui_agent.context.records import (
    BOM,
    KIMI_PARTS,
    LARGEST,
    LONG_NUMBER,
    UNREADABLE,
    Damaged,
    decode,
    digest_id,
    is_utf8,
    may_hold_long_number,
    read_header,
    salvage,
)
from tui_agent.context.table import DAMAGED

if TYPE_CHECKING:
    from tui_agent.context.source import Source

_BLANK = -1


class Projection(Folding):
    """What a log means: takes its lines, in bulk and one by one."""

    def __init__(self, source: Source | None = None) -> None:
        super().__init__(source)
        self._codes: dict[str, int] = {DAMAGED: 0}
        self._same: dict[str, int] = {}

    @classmethod
    def load(cls, source: Source) -> Projection:
        """The projection of a whole file; blocks (call it in a thread)."""
        self = cls(source)
        self.bulk = True
        self._take_all()
        if self._index_all():
            return self
        self = cls(source)
        self.live = False
        self._take_all()
        self.settle()
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
        self.take_waiting()
        return True

    def feed(self, line: bytes, offset: int) -> int:
        """Take the next line (without its newline), which lies at `offset`; returns its index."""
        self._take([line], offset, sound=False)
        return len(self.starts) - 1

    def extend(self, line: bytes, offset: int) -> int:
        """`feed` for a whole line at the end of the file."""
        index = self.feed(line, offset)
        self.size = offset + len(line) + 1
        self.torn = False
        return index

    def _take(self, lines: list[bytes], offset: int, *, sound: bool) -> int:
        """Take the next lines, which lie behind one another from `offset` on; `sound` if they are known to be UTF-8.

        A blank line is nothing. Returns where the next line would lie. A restore spends its time in this loop.
        """
        roles, origins, blocks = self.roles.append, self.origins.append, self.blocks.append
        ids, codes, known, handlers = self.ids, self._codes, self.index, HANDLERS
        messages, visible = self.messages.append, self.visible.append
        hollow, live, bulk, use = self.hollow.append, self.live, self.bulk, self.usages.add
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
                    self.checkpoint(index, header)
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
            code = self._codes[name] = len(self.names)
            self.names.append(name)
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
        body = in_our_form(decode(line))
        role = body.get("role")
        content = body.get("content")
        origin = body.get("origin")
        blocks = len(content) if isinstance(content, list) else int(content is not None)
        return (
            "assistant" if role == "assistant" else "user",
            blocks,
            self._code(origin) if isinstance(origin, str) else 0,
        )

    # --- a prefix ------------------------------------------------------------------------------------------------

    def prefix(self, count: int) -> Projection:
        """The projection of the first `count` lines, as a fresh restore of them would build it."""
        other = Projection(self.source)
        other.live = False
        for name in ("starts", "lengths", "lines", "roles", "origins", "blocks"):
            setattr(other, name, getattr(self, name)[:count])
        other.ids = self.ids[:count]
        other.index = {name: index for index, name in enumerate(other.ids) if name is not None}
        other.damage = {index: reason for index, reason in self.damage.items() if index < count}
        other.names, other._codes = self.names, self._codes
        other.messages = self.messages[: bisect_left(self.messages, count)]
        other.hollow = [index for index in self.hollow if index < count]
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
                other.apply_mark(index, target, marks)
        other.elisions = self.elisions.first(count)
        other._same = _counted(other.ids) if self._same else {}
        if count:
            other.next_line = self.lines[count - 1] + 1
            other.size = min(self.starts[count - 1] + self.lengths[count - 1] + 1, self.size)
            other.torn = self.torn and other.size == self.size
        other.version = count
        other.settle()
        return other


def _counted(ids: list[str | None]) -> dict[str, int]:
    """How often each `L...` id was given, by its stem."""
    same: dict[str, int] = {}
    for name in ids:
        if name is not None and name[0:1] == "L" and name[13:14] == "-" and name[14:].isdigit():
            same[name[:13]] = max(same.get(name[:13], 0), int(name[14:]))
    return same
