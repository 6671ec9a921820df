"""A line of context.jsonl: read as little of it as is needed, written whole.

Reading has two steps. `parse` reads the header of a line (who, which id, the shape of the content) with a typed
decoder that skips the rest; what that refuses is tried once more with Python's lenient decoder before it is called
damaged. `decode` reads the whole line when somebody looks at it, and takes every line that `parse` took.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.context.encoding import DEEPEST, tidy
from tui_agent.context.encoding import ulid as ulid  # others take it from here
from tui_agent.literal import clean

if TYPE_CHECKING:
    from tui_agent.context.table import Table

KIMI_PARTS = frozenset({"think", "image_url", "audio_url", "video_url", "audio", "video"})
"""Types of content parts that only Kimi CLI's dialect has."""

LARGEST = 2**53
"""Counts and ids at or above this are damage: no program writes them and not every JSON reader keeps them."""

LONG_NUMBER = 4300
"""Digits from which on Python refuses to read an integer (its guard against quadratic time)."""
_DIGITS = re.compile(rb"[0-9]{%d}" % (LONG_NUMBER + 1))
_DIGIT = b"0123456789"
_SAMPLE = 2048

BOM = b"\xef\xbb\xbf"


class Damaged(ValueError):
    """The line is not a record; the message says why."""


class Part(msgspec.Struct, gc=False):
    """What the header reads of a block."""

    type: str


class Header(msgspec.Struct, gc=False):
    """What is read of every line: who wrote it, what it is called, the shape of its content, and figures."""

    role: str
    id: int | str | None = None
    uid: str | None = None
    origin: str | None = None
    content: str | list[Part] | None = None
    tool_calls: msgspec.Raw | None = None
    token_count: int | None = None
    exact: bool | None = None
    through: str | None = None
    produced: str | None = None


UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What the fast decoders raise."""

read_header = msgspec.json.Decoder(Header).decode
"""The header of a line, fast and strict; raises UNREADABLE. Does not see bad UTF-8 in what it skips."""

_generic = msgspec.json.Decoder().decode


def parse(line: bytes) -> Header:
    """The header of a line (without its newline).

    Raises:
        Damaged: it is not a JSON object, not UTF-8, has no role or content of an unknown shape.
    """
    if len(line) > LONG_NUMBER and may_hold_long_number(line):
        return salvage(line)
    try:
        return read_header(line)
    except UNREADABLE:
        return salvage(line)


def salvage(line: bytes) -> Header:
    """The header of a line that the fast decoder refused. Only messages and prompts need content of a known shape.

    Raises:
        Damaged: as `parse`.
    """
    fields = _lenient(line)
    role = fields.get("role")
    if not isinstance(role, str):
        raise Damaged("it has no role")
    content = fields.get("content")
    parts: str | list[Part] | None
    if content is None or isinstance(content, str):
        parts = content
    elif isinstance(content, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in content
    ):
        parts = [Part(part["type"]) for part in content]
    elif role.startswith("_") and role != "_system_prompt":
        parts = None
    else:
        raise Damaged("its content is neither text nor a list of blocks with a type")
    calls = fields.get("tool_calls")
    return Header(
        role=role,
        id=_of(fields, "id", str) or _whole(fields, "id"),
        uid=_of(fields, "uid", str),
        origin=_of(fields, "origin", str),
        content=parts,
        tool_calls=None if calls is None else msgspec.Raw(b"[]"),
        token_count=_whole(fields, "token_count"),
        exact=_of(fields, "exact", bool),
        through=_of(fields, "through", str),
        produced=_of(fields, "produced", str),
    )


def decode(line: bytes) -> dict[str, Any]:
    """The whole record, for any line that `parse` takes.

    Numbers that JSON readers cannot hold (1e999, NaN) are None, lone surrogates are replaced, and what is nested
    deeper than 200 levels is named in its place.
    """
    try:
        value = _generic(line)
    except UNREADABLE:
        return _on_a_fresh_stack(line)
    if line.count(b"[") + line.count(b"{") > DEEPEST:
        value = tidy(value)
    return dict(value) if isinstance(value, dict) else {}


def is_utf8(data: bytes) -> bool:
    """True if the bytes are valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def digest_id(line: bytes, n: int) -> str:
    """The id of a record that has none: `L`, twelve hex digits of its line's SHA-256, and a number."""
    return f"L{sha256(line).hexdigest()[:12]}-{n}"


def _lenient(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"it is not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text.removeprefix("\ufeff"), strict=False)
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    except ValueError as error:
        raise Damaged(f"it is not JSON: {str(error)[:80]}") from None
    if not isinstance(value, dict):
        raise Damaged("it is not a JSON object")
    return {clean(key): clean(item) if isinstance(item, str) else item for key, item in value.items()}


def _on_a_fresh_stack(line: bytes) -> dict[str, Any]:
    """`line` decoded leniently in a thread of its own: how deep nesting may go depends on the stack in use."""
    found: list[dict[str, Any]] = []

    def work() -> None:
        try:
            found.append(tidy(_lenient(line)))
        except (Damaged, RecursionError):
            return

    thread = threading.Thread(target=work, name="decode")
    thread.start()
    thread.join()
    return found[0] if found else {}


def may_hold_long_number(line: bytes) -> bool:
    """True if the line has more digits in a row than Python reads as one integer.

    So long a run covers two of every 2048th byte: nearly all lines cost a look at a few bytes.
    """
    sample = line[::_SAMPLE]
    if len(sample.translate(None, _DIGIT)) > len(sample) - 2:
        return False
    return _DIGITS.search(line) is not None


def _of(fields: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    value = fields.get(key)
    return value if isinstance(value, kind) else None


def _whole(fields: Mapping[str, Any], key: str) -> int | None:
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Record:
    """One line of the log, decoded when it is looked at.

    `line` counts from 1. `offset` and `length` are bytes, without the newline. `damaged` says why the line is not a
    record, or is None. `origin` says who wrote a record of role `user` when it was not a person.
    """

    __slots__ = ("_index", "_table")

    def __init__(self, table: Table, index: int) -> None:
        self._table = table
        self._index = index

    def __repr__(self) -> str:
        return f"Record(line={self.line}, role={self.role!r}, id={self.id!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (self.line, self.id, self.raw) == (other.line, other.id, other.raw)

    def __hash__(self) -> int:
        return hash((self.line, self.offset))

    @property
    def index(self) -> int:
        """Its place among `Context.records`, from 0."""
        return self._index

    @property
    def line(self) -> int:
        return self._table.lines[self._index]

    @property
    def offset(self) -> int:
        return self._table.starts[self._index]

    @property
    def length(self) -> int:
        return self._table.lengths[self._index]

    @property
    def role(self) -> str:
        """The role; empty for a damaged line. A result in Kimi CLI's dialect (role `tool`) is of role `user`."""
        return self._table.role(self._index)

    @property
    def id(self) -> str:
        """The id made with it; without one `L<12 hex digits of its line's SHA-256>-<n>`."""
        return self._table.id(self._index)

    @property
    def origin(self) -> str | None:
        return self._table.origin(self._index)

    @property
    def raw(self) -> bytes:
        """The bytes of the line."""
        return self._table.raw(self._index)

    @property
    def body(self) -> dict[str, Any]:
        """The record, Kimi CLI's dialect normalised; empty for a damaged line. Not to be changed."""
        return self._table.body(self._index)

    @property
    def damaged(self) -> str | None:
        return self._table.damage.get(self._index)

    @property
    def at(self) -> str | None:
        """When it was written, as it says."""
        value = self.body.get("at")
        return value if isinstance(value, str) else None
