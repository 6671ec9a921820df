"""How a new record is written: with a name and a time, as JSON that any reader takes."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import msgspec

from tui_agent.literal import clean

DEEPEST = 200
"""Levels of nesting that are kept; what lies deeper is named in a word, since no consumer could walk it."""
_TOO_DEEP = "[nested too deeply]"


def complete(body: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that has what a new record of its role needs to be named: id and time, or uid and time."""
    fields = dict(body)
    role = fields.get("role")
    if role == "_checkpoint":
        fields.setdefault("uid", ulid())
    elif role in ("user", "assistant", "_elide") and not _is_name(fields.get("id")):
        fields["id"] = ulid()
    if role in ("user", "assistant", "_checkpoint") and not isinstance(fields.get("at"), str):
        fields["at"] = now()
    return fields


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def encode(body: Mapping[str, Any]) -> bytes:
    """The record as a line, with its newline. Lone surrogates are replaced, NaN and infinities become null.

    Raises:
        ValueError: a value in it has no form in JSON.
    """
    try:
        try:
            return _encode(body) + b"\n"
        except (UnicodeEncodeError, RecursionError):
            return _encode(tidy(body)) + b"\n"
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise ValueError(
            f"A record of role {body.get('role')!r} cannot be written as JSON: {error}"
        ) from error


def tidy(value: Any, depth: int = 0) -> Any:
    """A copy fit to be encoded: surrogates replaced, absurd numbers None, deep nesting cut."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        if depth >= DEEPEST:
            return _TOO_DEEP
        return {tidy(key): tidy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return _TOO_DEEP if depth >= DEEPEST else [tidy(item, depth + 1) for item in value]
    return value


def _plain(value: Any) -> Any:
    """What the encoder does not know by itself."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (Sequence, Set)):
        return list(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_last_ulid = 0


def ulid() -> str:
    """A new ULID: 48 bits of milliseconds and 80 random ones, in Crockford's base 32; ascending within a process."""
    global _last_ulid
    number = (time.time_ns() // 1_000_000) << 80 | random.getrandbits(80)
    if number <= _last_ulid:
        number = _last_ulid + 1
    _last_ulid = number
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def now() -> str:
    """The time of now: ISO 8601 in UTC with milliseconds."""
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1_000_000:03}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
