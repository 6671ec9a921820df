"""Memories as a TOML file, to keep or to take to another machine.

    format = 1

    [[memory]]
    key = "indent"
    scope = "user"
    body = "I use tabs"
    ...

Reading back what was written gives the same memories, character for character.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tui_agent.memory.schema import Memory, StoreError, fitted

_FORMAT = 1

_HIDDEN = re.compile("[\x80-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""What a terminal or an editor obeys and does not show; written as escapes."""

_FIRST = ("key", "scope", "body")
_DERIVED = ("rev",)


def dump(memories: Iterable[Memory]) -> str:
    """The memories as TOML; what is empty is left out."""
    import tomli_w

    tables = [f"format = {_FORMAT}\n"]
    for table in map(_table, memories):
        # texts of many lines as such, where that loses no carriage return
        readable = "\\r" not in repr(table)
        tables.append(tomli_w.dumps({"memory": [table]}, multiline_strings=readable))
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", "\n".join(tables))


def parse(text: str) -> Sequence[Memory]:
    """The memories of a TOML file; their `rev` is 0.

    Raises:
        StoreError: it is no such file, or a memory in it cannot be stored; the message says which.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StoreError(f"no TOML: {error}") from error
    if data.get("format") != _FORMAT:
        raise StoreError(f"no memories of this program: `format = {_FORMAT}` is missing")
    found = data.get("memory", [])
    if not isinstance(found, list):
        raise StoreError("`memory` has to be a list of tables: [[memory]]")
    return [_memory(number, values) for number, values in enumerate(found, 1)]


def _table(memory: Memory) -> dict[str, Any]:
    values = msgspec.structs.asdict(memory)
    names = [*_FIRST, *(name for name in values if name not in (*_FIRST, *_DERIVED))]
    kept = {name: values[name] for name in names if values[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}


def _memory(number: int, values: object) -> Memory:
    name = values.get("key") if isinstance(values, dict) else None
    what = f"memory {number}" + (f" ({name})" if isinstance(name, str) and name else "")
    try:
        given = {"id": "", "key": "", **values} if isinstance(values, dict) else values
        return fitted(msgspec.convert(given, Memory))
    except (msgspec.ValidationError, StoreError) as error:
        raise StoreError(f"{what}: {error}") from error
