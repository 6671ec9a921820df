"""What is sent, item by item, computed from the request that goes out, and what is not sent and why.

The items tile the canonical form of the request, which is what its hash is made of: each byte belongs to one item. The
punctuation between two items belongs to the first of them, that around the parts of a request is framing. The tokens
of all items are the total that stands on the status bar and triggers compaction: the framing carries what no other
item accounts for, and takes off what the estimates of the others are too high. So it is an estimate itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from tui_agent.messages.tokens import Estimator, Mark, Tokens

if TYPE_CHECKING:
    from tui_agent.messages.request import Breakpoint, Request
    from tui_agent.messages.spans import Spans

Section = Literal["tools", "system", "messages", "frame"]
SECTIONS: tuple[Section, ...] = ("tools", "system", "messages", "frame")
"""In the order in which a provider reads them; the frame is of no place."""

Kind = Literal[
    "tool", "layer", "words", "answer", "result", "injection", "summary", "note", "repair", "params", "framing",
    "memory", "block",
]  # fmt: skip
"""What an item is: a tool's definition, a layer of the system prompt, a person's words, an answer, a tool's result, an
injection, a summary, a note that the program wrote (of a checkpoint, a command, ...), what validity demanded, the
parameters, framing; of what is left out also a memory and a block that was not valid."""

_FRAMING = "framing"
_UNATTRIBUTED = "framing and what is not accounted for"
_TAKEN_OFF = "taken off: the estimates are too high"


class Total(msgspec.Struct, frozen=True):
    """The weight of the whole request: `count` = `exact` + `pending`, in tokens; `mark` says how sure."""

    count: int
    exact: int
    pending: int
    mark: Mark


class Item(msgspec.Struct, frozen=True):
    """One item of the request, or one that is left out of it.

    `name` is for a person: the tool, the layer, the tool of a result. `source` says where it is from: the server of a
    tool, the file of a layer, the sources of an injection, the model of an answer. `record` is the id of the log's
    record (of a layer and a tool that of the prompt and the tool set), `message` the number of the API message from 0,
    None outside of messages. `start` and `end` are byte offsets in the canonical form. `cached`: the provider is
    expected to read it from its cache. What is not `kept` has no bytes and a `reason`; its `tokens` are what it would
    weigh.
    """

    section: Section
    kind: Kind
    name: str
    tokens: Tokens
    source: str = ""
    record: str = ""
    message: int | None = None
    start: int = 0
    end: int = 0
    cached: bool = False
    kept: bool = True
    reason: str = ""


class About(msgspec.Struct, frozen=True):
    """What an item is, where it is from and the record that holds it; see `Item`."""

    kind: Kind
    name: str
    source: str = ""
    record: str = ""


class Books(Protocol):
    """What the log knows of the items of a request."""

    def tokens(self, record: str) -> Tokens:
        """What a record weighs as it is sent; raises ValueError if there is none."""

    def message(self, record: str) -> About:
        """What the message of a record is; raises ValueError if there is none."""

    def layers(self) -> Sequence[About]:
        """What each block of the system prompt is, in order."""

    def tools(self) -> About:
        """The record of the tool set; its name does not count."""

    def memories(self) -> Sequence[Mapping[str, Any]]:
        """Every memory that is told: id, rev, scope and key."""

    def left_out(self) -> Iterable[Item]:
        """What is in the log, or would be told, and is not sent."""


class Manifest(msgspec.Struct, frozen=True):
    """The items of a request in the order of sending, what is left out, and the total.

    `window` and `reserve` (for the answer) are in tokens; `guessed`: nobody has told that window. `served` is the last
    place of the request that the provider is expected to read from its cache, in the order tools, system, messages;
    None if nothing is.
    """

    request: Request
    total: Total
    window: int
    reserve: int
    books: Books
    estimator: Estimator
    served: Breakpoint | None = None
    guessed: bool = False

    @property
    def items(self) -> list[Item]:
        """Every item that is sent, with its bytes and tokens, computed when asked. In the order of sending."""
        found = list(self._counted())
        rest = self.total.count - sum(item.tokens.count for item in found)
        sure = self.total.mark == "exact" and all(item.tokens.mark == "exact" for item in found)
        return [*found, *self._frame(Tokens(rest, "exact" if sure or not rest else "estimated"))]

    @property
    def left_out(self) -> list[Item]:
        """What is not sent and why, computed when asked."""
        return [*self.books.left_out(), *self._mended()]

    @property
    def memories(self) -> Sequence[Mapping[str, Any]]:
        """Every memory that the request tells: its id, rev, scope and key, looked up when asked."""
        return self.books.memories()

    @property
    def unattributed(self) -> int:
        """Tokens of the total that the framing carries: rounding, the endpoint's own frame; negative where the
        estimates are too high."""
        return sum(item.tokens.count for item in self.items if item.section == "frame")

    def text(self, item: Item) -> str:
        """The exact text of an item that is sent."""
        return self.request.encode()[item.start : item.end].decode()

    # --- items -----------------------------------------------------------------------------------------------------

    def _counted(self) -> Iterator[Item]:
        spans = self.request.spans
        yield from self._tools(spans)
        yield from self._layers(spans)
        for index in range(len(self.request.messages)):
            yield from self._message(index, spans)

    def _tools(self, spans: Spans) -> Iterator[Item]:
        about = self.books.tools()
        for index, tool in enumerate(self.request.tools):
            name = str(tool.get("name", ""))
            yield Item(
                "tools",
                "tool",
                name,
                Tokens(self.estimator.count(tool), "estimated"),
                source=server_of(name),
                record=about.record,
                start=spans.tools[index],
                end=spans.tools[index + 1],
                cached=self._is_served("tool", index),
            )

    def _layers(self, spans: Spans) -> Iterator[Item]:
        layers = self.books.layers()
        known = len(layers) == len(self.request.system)
        for index, block in enumerate(self.request.system):
            about = layers[index] if known else About("layer", f"system {index + 1}")
            yield _item(
                "system",
                about,
                Tokens(self.estimator.count(block), "estimated"),
                start=spans.system[index],
                end=spans.system[index + 1],
                cached=self._is_served("system", index),
            )

    def _message(self, index: int, spans: Spans) -> Iterator[Item]:
        """A message by its records: blocks of one record in a row are one item."""
        starts, records = spans.blocks(index), self.request.blocks[index]
        cuts = [at for at in range(len(records)) if not at or records[at] != records[at - 1]]
        sizes: dict[str, int] = {}
        for at, stop in zip(cuts, [*cuts[1:], len(records)], strict=True):
            sizes[records[at]] = sizes.get(records[at], 0) + starts[stop] - starts[at]
        passed: dict[str, int] = {}
        for at, stop in zip(cuts, [*cuts[1:], len(records)], strict=True):
            record = records[at]
            begin = passed.get(record, 0)
            passed[record] = begin + starts[stop] - starts[at]
            yield _item(
                "messages",
                self._about(record),
                self._share(index, record, begin, passed[record], sizes[record]),
                message=index,
                start=starts[at],
                end=starts[stop],
                cached=self._is_served("message", index, stop - 1),
            )

    def _about(self, record: str) -> About:
        if not record:
            return About("repair", "put in so that the request is valid")
        try:
            return self.books.message(record)
        except ValueError:
            return About("note", record, record=record)

    def _share(self, index: int, record: str, begin: int, end: int, size: int) -> Tokens:
        """The tokens of a part of a record; the parts of one record sum up to its weight."""
        if not record:
            blocks = self.request.messages[index]["content"]
            names = self.request.blocks[index]
            put_in = [block for block, name in zip(blocks, names, strict=True) if not name]
            whole = Tokens(self.estimator.count(put_in), "estimated")
        else:
            try:
                whole = self.books.tokens(record)
            except ValueError:
                whole = Tokens(0, "estimated")
        if end - begin == size:
            return whole
        return Tokens(whole.count * end // size - whole.count * begin // size, "estimated")

    def _frame(self, rest: Tokens) -> Iterator[Item]:
        """The pieces between the sections, in the order of their bytes; `rest` goes with the first."""
        for number, (start, end, params) in enumerate(self.request.spans.frame):
            tokens = rest if number == 0 else Tokens(0, "exact")
            name = _UNATTRIBUTED if tokens.count > 0 else _TAKEN_OFF if tokens.count else _FRAMING
            about = About("params", "parameters") if params else About("framing", name)
            yield _item("frame", about, tokens, start=start, end=end)

    def _is_served(self, *place: str | int) -> bool:
        return self.served is not None and _order(place) <= _order(self.served)

    def _mended(self) -> Iterator[Item]:
        """What was left out so that the request is valid."""
        for change in self.request.changes:
            if "left out" in change.text:
                section: Section = (
                    "tools" if change.rule == "tools" else "system" if change.rule == "system" else "messages"
                )
                yield Item(
                    section,
                    "block",
                    change.rule,
                    Tokens(0, "exact"),
                    record=change.record,
                    kept=False,
                    reason=change.text,
                )


def server_of(tool: str) -> str:
    """The server that a tool is of, by its name (`mcp__<server>__<tool>`); empty for the program's own."""
    parts = tool.split("__", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "mcp" else ""


def _item(section: Section, about: About, tokens: Tokens, **place: Any) -> Item:
    return Item(section, about.kind, about.name, tokens, source=about.source, record=about.record, **place)


_ORDER = {"tool": 0, "system": 1, "message": 2}


def _order(place: Sequence[Any]) -> tuple[int, ...]:
    return (_ORDER[place[0]], *place[1:])
