"""A log's first and last words, its size and model, read from its two ends.

A list of sessions needs a title and a few figures of each; opening hundreds of logs whole for that would take
minutes. Only the head and the tail are read, so what is told is what they show: the figures of the last request, a
count of messages scaled up from what was seen, damage only where it was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from tui_agent.context.kimi import is_kimi, normalise
from tui_agent.context.records import LARGEST, Damaged, decode, parse
from tui_agent.literal import clean

_FIRST_WINDOW = 64 * 1024
_LARGEST_WINDOW = 4 * 1024 * 1024
"""Bytes read at each end: the first try, and at most, when the words are not found in less."""

_WORDS_CHARACTERS = 2000
"""So much of a person's words is kept."""

_TITLE_CHARACTERS = 60


class Peek(Struct, frozen=True):
    """What the two ends of a log tell.

    `first` and `last` are a person's words (the beginning of them), empty where none were found. `tokens` is the
    size of the context after the last request (`exact`, or estimated), None if no usage was found. `model` is who
    answered last. `at` is the time of the newest record, or else of the file (ISO 8601, UTC). `bytes` is the file's
    size. `messages` is an estimate unless the whole file was read. `damaged` counts the unreadable lines seen.
    """

    first: str
    last: str
    tokens: int | None
    model: str
    at: str
    bytes: int
    damaged: int
    messages: int
    exact: bool = True

    @property
    def titles(self) -> tuple[str, ...]:
        """Candidates for a title, best first: the first line with letters of the first and of the last words."""
        return tuple(dict.fromkeys(title for title in (_title(self.first), _title(self.last)) if title))


def peek(path: Path | str) -> Peek:
    """Look at both ends of the log at `path`; blocks for some milliseconds (call it in a thread).

    Raises:
        OSError: the file is missing or cannot be read.
    """
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        head, end = _read_head(file.fileno(), size)
        tail, start = _read_tail(file.fileno(), end, size)
    seen, read = head.messages + tail.messages, end + size - start
    return Peek(
        first=head.first or tail.first,
        last=tail.last or head.last,
        tokens=head.tokens if tail.tokens is None else tail.tokens,
        model=tail.model or head.model,
        at=tail.at or head.at or datetime.fromtimestamp(status.st_mtime, UTC).isoformat(),
        bytes=size,
        damaged=head.damaged + tail.damaged,
        messages=seen if read == size else round(seen * size / max(read, 1)),
        exact=head.exact if tail.tokens is None else tail.exact,
    )


class _Seen:
    """What the lines read so far tell."""

    def __init__(self, data: bytes) -> None:
        self.first = ""
        self.last = ""
        self.tokens: int | None = None
        self.exact = True
        self.model = ""
        self.at = ""
        self.damaged = 0
        self.messages = 0
        for line in data.split(b"\n"):
            if line.strip():
                self._see(line)

    def _see(self, line: bytes) -> None:
        try:
            parse(line)
        except Damaged:
            self.damaged += 1
            return
        record = decode(line)
        for body in normalise(record) if is_kimi(record) else [record]:
            self._note(body)

    def _note(self, body: Mapping[str, Any]) -> None:
        self.at = _time(body.get("at")) or self.at
        role = body.get("role")
        if role == "_usage":
            count = body.get("token_count")
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < LARGEST:
                self.tokens, self.exact = count, body.get("exact") is not False
        elif role == "assistant":
            self.messages += 1
            model = body.get("model")
            self.model = model if isinstance(model, str) and model else self.model
        elif role == "user":
            self.messages += 1
            words = "" if body.get("origin") else _text(body.get("content"))
            self.first = self.first or words
            self.last = words or self.last


def _read_head(descriptor: int, size: int) -> tuple[_Seen, int]:
    """The first lines, as many as it takes to find a person's words, and where the last of them ends."""
    for window in _windows(size):
        data = os.pread(descriptor, window, 0)
        end = size if window >= size else data.rfind(b"\n") + 1
        seen = _Seen(data[:end])
        if seen.first:
            break
    return seen, end


def _read_tail(descriptor: int, begin: int, size: int) -> tuple[_Seen, int]:
    """The last lines behind `begin`, enough of them to find words and a usage, and where the first of them starts."""
    for window in _windows(size - begin):
        start = max(begin, size - window)
        data = os.pread(descriptor, size - start, start)
        if start > begin:
            whole = data.find(b"\n") + 1
            data, start = (data[whole:], start + whole) if whole else (b"", size)
        seen = _Seen(data)
        if seen.last and seen.tokens is not None:
            break
    return seen, start


def _windows(size: int) -> Iterator[int]:
    """Growing sizes, in bytes, up to the whole or the largest."""
    window = _FIRST_WINDOW
    while window < min(size, _LARGEST_WINDOW):
        yield window
        window *= 4
    yield min(size, _LARGEST_WINDOW)


def _text(content: object) -> str:
    """A person's words out of content of any shape, the beginning of them."""
    if isinstance(content, str):
        return clean(content[:_WORDS_CHARACTERS])
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
    return clean("\n".join(text for text in texts if isinstance(text, str))[:_WORDS_CHARACTERS])


def _time(value: object) -> str:
    """A record's time as ISO 8601 in UTC; empty if it is none."""
    if not isinstance(value, str):
        return ""
    try:
        return datetime.fromisoformat(value).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return ""


def _title(words: str) -> str:
    lines = (" ".join(line.split()) for line in words.splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), "")
    return line if len(line) <= _TITLE_CHARACTERS else line[: _TITLE_CHARACTERS - 1].rstrip() + "…"
