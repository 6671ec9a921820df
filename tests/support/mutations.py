"""Damage to session files: what disks, editors, cables and other programs do to them, by a seeded choice.

`mutate(data, random)` gives one damaged file; `independent(data)` reads it in the plainest way and says which lines
are records, without any code of the program.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.support import sessions

KIMI = Path(__file__).parent.parent / "context" / "samples" / "kimi-cli"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364607f"
    "ff1f0002870180eb47ba920000000049454e44ae426082"
)

_TYPES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [1],
    {"type": 1},
    [{"type": "text"}],
    [None],
)
_HUGE = (
    "1" * 400,
    "-" + "9" * 30,
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    str(2**53),
    str(2**63),
    str(2**64),
    "0." + "1" * 500,
)
_MARKER = "\u2603marker\u2603"


def seeds() -> list[tuple[str, bytes]]:
    """Sound session files: our own, short and long, elided, with media, and Kimi CLI's."""
    own = b"".join(map(_line, sessions.records(40, seed=3)))
    kimi = [(f"kimi-{p.parent.name}-{p.stem}", p.read_bytes()) for p in sorted(KIMI.glob("*/*.jsonl"))]
    return [("own", own), ("elided", b"".join(map(_line, _elided()))), *kimi]


def blobs() -> dict[str, bytes]:
    """The media that the seeds name, by hash."""
    return {sha256(PNG).hexdigest(): PNG}


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _elided() -> list[dict[str, Any]]:
    """A short session with everything a log may hold."""
    image = {"type": "blob", "sha256": sha256(PNG).hexdigest(), "media_type": "image/png", "bytes": len(PNG)}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    uses = [
        {"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"command": f"echo {n}"}}
        for n in range(3)
    ]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"out {n} 世界"} for n in range(3)]
    params = {"model": "m", "max_tokens": 100, "thinking": None}
    return [
        {
            "role": "_system_prompt",
            "content": "be good",
            "blocks": [{"layer": "builtin", "source": "", "bytes": [0, 7]}],
        },
        {
            "role": "_tools",
            "sha256": "0" * 64,
            "tools": [{"name": "bash", "description": "run", "input_schema": {}}],
        },
        {"role": "_checkpoint", "id": 0, "uid": "c0", "at": "2026-01-01T00:00:00Z", "turn": True},
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image", "source": image}],
            "id": "u1",
        },
        {
            "role": "user",
            "content": [{"type": "text", "text": "a reminder"}],
            "id": "i1",
            "origin": "injection",
        },
        {"role": "_checkpoint", "id": 1, "uid": "c1", "at": "2026-01-01T00:00:01Z", "turn": False},
        {
            "role": "assistant",
            "content": [thinking, *uses[:2]],
            "id": "a1",
            "model": "m",
            "stop_reason": "tool_use",
        },
        {
            "role": "_usage",
            "token_count": 50,
            "exact": True,
            "through": "i1",
            "produced": "a1",
            "params": params,
        },
        {
            "role": "user",
            "content": [results[0]],
            "id": "r1",
            "origin": "tool",
            "meta": {"tool": "bash", "exit": 0},
        },
        {
            "role": "user",
            "content": [results[1]],
            "id": "r2",
            "origin": "tool",
            "meta": {"tool": "bash", "exit": 1},
        },
        {
            "role": "_elide",
            "id": "e1",
            "by": "user",
            "reason": "drop",
            "items": [{"record": "r1", "block": 0, "as": "[gone]"}],
        },
        {
            "role": "_elide",
            "id": "e2",
            "by": "auto",
            "reason": "micro",
            "items": [{"record": "i1", "block": 0, "as": None}],
        },
        {"role": "_restore_elided", "elide": "e1", "items": [0]},
        {"role": "_mark", "record": "u1", "pinned": True, "priority": 75, "by": "user"},
        {"role": "_state", "key": "goal", "value": {"text": "finish"}},
        {"role": "assistant", "content": [uses[2]], "id": "a2", "model": "m", "stop_reason": "tool_use"},
        {"role": "user", "content": [results[2]], "id": "r3", "origin": "tool", "meta": {"tool": "bash"}},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}], "id": "a3", "model": "m"},
        {
            "role": "_usage",
            "token_count": 90,
            "exact": True,
            "through": "r3",
            "produced": "a3",
            "params": params,
        },
        {"role": "_unheard_of", "content": {"any": ["thing"]}},
        {"role": "_rewind", "n": 1, "op": "revert", "backup": "context_1.jsonl", "undo": None, "redo": None},
        {"role": "_checkpoint", "id": 2, "uid": "c2", "at": "2026-01-01T00:00:02Z", "turn": True},
        {"role": "user", "content": "thanks", "id": "u2"},
    ]


# --- damage -----------------------------------------------------------------------------------------------------


def mutate(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """One or two kinds of damage, and their names."""
    chosen = chance.choices(MUTATORS, k=chance.choice((1, 1, 2)))
    for mutator in chosen:
        data = mutator(data, chance)
    return "+".join(mutator.__name__.strip("_") for mutator in chosen), data


def _flip(data: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if damaged:
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def _cut_end(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _cut_span(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randint(1, 300) :]


def _insert(data: bytes, chance: random.Random, what: bytes) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + what + data[place:]


def _nul_run(data: bytes, chance: random.Random) -> bytes:
    length = chance.choice((1, 7, 512, 5000))
    if chance.random() < 0.5:
        return _insert(data, chance, bytes(length))
    place = chance.randrange(len(data) + 1)
    return data[:place] + bytes(min(length, len(data) - place)) + data[place + length :]


def _bad_utf8(data: bytes, chance: random.Random) -> bytes:
    return _insert(
        data,
        chance,
        chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88", b"\x80" * 9, b"\xc0\xaf")),
    )


def _odd_characters(data: bytes, chance: random.Random) -> bytes:
    odd = (
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\r",
        b"\x00",
        b"\\ud800",
        b"\x1b[2J",
        b"\xef\xbb\xbf",
        b"\t",
        b"\n\n \n",
    )
    return _insert(data, chance, chance.choice(odd))


def _on_lines(data: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    lines = data.split(b"\n")
    change(lines)
    return b"\n".join(lines)


def _duplicate_line(data: bytes, chance: random.Random) -> bytes:
    return _on_lines(data, lambda lines: lines.insert(chance.randrange(len(lines)), chance.choice(lines)))


def _swap_lines(data: bytes, chance: random.Random) -> bytes:
    def swap(lines: list[bytes]) -> None:
        a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]

    return _on_lines(data, swap)


def _drop_line(data: bytes, chance: random.Random) -> bytes:
    return _on_lines(data, lambda lines: lines.__delitem__(chance.randrange(len(lines))))


def _join_lines(data: bytes, chance: random.Random) -> bytes:
    def join(lines: list[bytes]) -> None:
        place = chance.randrange(max(1, len(lines) - 1))
        lines[place : place + 2] = [b"".join(lines[place : place + 2])]

    return _on_lines(data, join)


def _split_line(data: bytes, chance: random.Random) -> bytes:
    return _insert(data, chance, b"\n")


def _no_last_newline(data: bytes, chance: random.Random) -> bytes:
    return data.rstrip(b"\n")


def _crlf(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _bom(data: bytes, chance: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def _on_value(data: bytes, chance: random.Random, raw: Callable[[], str]) -> bytes:
    """Put the JSON text that `raw` gives in the place of a value chosen among all of one record's."""

    def change(lines: list[bytes]) -> None:
        place = chance.randrange(len(lines))
        try:
            record = json.loads(lines[place])
        except (ValueError, RecursionError):
            return
        slots = _slots(record)
        if slots:
            holder, key = chance.choice(slots)
            holder[key] = _MARKER
            text = json.dumps(record, ensure_ascii=False).replace(f'"{_MARKER}"', raw(), 1)
            lines[place] = text.encode("utf-8", "replace")

    return _on_lines(data, change)


def _slots(value: Any) -> list[tuple[Any, Any]]:
    """All places in a JSON value where another may stand."""
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return []
    return [(value, key) for key, _ in pairs] + [slot for _, inner in pairs for slot in _slots(inner)]


def _swap_type(data: bytes, chance: random.Random) -> bytes:
    return _on_value(data, chance, lambda: json.dumps(chance.choice(_TYPES)))


def _huge_number(data: bytes, chance: random.Random) -> bytes:
    return _on_value(data, chance, lambda: chance.choice(_HUGE))


def _nest(data: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((50, 150, 100_000))
    opening, closing = chance.choice((("[", "]"), ('{"type":', "}")))
    return _on_value(data, chance, lambda: opening * depth + "1" + closing * depth)


def _drop_field(data: bytes, chance: random.Random) -> bytes:
    def change(lines: list[bytes]) -> None:
        place = chance.randrange(len(lines))
        try:
            record = json.loads(lines[place])
        except (ValueError, RecursionError):
            return
        slots = [slot for slot in _slots(record) if isinstance(slot[0], dict)]
        if slots:
            holder, key = chance.choice(slots)
            del holder[key]
            lines[place] = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")

    return _on_lines(data, change)


MUTATORS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _flip, _cut_end, _cut_span, _nul_run, _bad_utf8, _odd_characters),
    *(_duplicate_line, _swap_lines, _drop_line, _join_lines, _split_line, _no_last_newline, _crlf, _bom),
    *(_swap_type, _swap_type, _swap_type, _huge_number, _huge_number, _nest, _drop_field),
)


def type_swaps(data: bytes) -> list[bytes]:
    """The file once for each field of each record and each other type in its place."""
    lines = data.split(b"\n")
    found = []
    for place, line in enumerate(lines):
        if not line:
            continue
        for index in range(len(_slots(json.loads(line)))):
            for value in _TYPES:
                record = json.loads(line)
                holder, key = _slots(record)[index]
                holder[key] = value
                changed = json.dumps(record, ensure_ascii=False).encode()
                found.append(b"\n".join([*lines[:place], changed, *lines[place + 1 :]]))
    return found


# --- the independent reading ------------------------------------------------------------------------------------


def independent(data: bytes) -> dict[int, bytes | None]:
    """For each line that is not blank its number (from 1), and its bytes if it is a record or None if it is damaged."""
    found: dict[int, bytes | None] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip(b" \t\r"):
            found[number] = line if _is_record(line) else None
    return found


def _is_record(line: bytes) -> bool:
    """True for a JSON object in UTF-8 with a role that is text, and what a record of that role cannot do without: a
    message has no content, text or a list of objects that name their type; for others see `_NEEDED`."""
    try:
        record = json.loads(line.decode("utf-8").removeprefix("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict) or not isinstance(record.get("role"), str):
        return False
    if not record["role"].startswith("_") and not _is_content(record.get("content")):
        return False
    return all(
        is_right(record.get(field, _ABSENT)) for field, is_right in _NEEDED.get(record["role"], {}).items()
    )


def _is_content(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("type"), str) for part in value
    )


_ABSENT = object()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_HEAD: dict[str, Callable[[Any], bool]] = {"n": _is_count, "op": _is_text, "backup": _is_text}
_NEEDED: dict[str, dict[str, Callable[[Any], bool]]] = {
    "_system_prompt": {"content": _is_text},
    "_tools": {
        "tools": lambda value: isinstance(value, list) and all(isinstance(tool, dict) for tool in value)
    },
    "_checkpoint": {"id": _is_count},
    "_usage": {"token_count": _is_count},
    "_state": {"key": _is_text, "value": lambda value: value is not _ABSENT},
    "_mark": {"record": _is_text},
    "_elide": {"items": _is_list},
    "_restore_elided": {
        "elide": _is_text,
        "items": lambda value: value in (_ABSENT, None) or isinstance(value, list),
    },
    "_rewind": _HEAD,
    "_compaction": _HEAD,
}
"""What a record of a role cannot do without."""
