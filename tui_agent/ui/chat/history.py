"""What a person sent before, and what they have not sent yet: two small files, never in the way.

`History` is `prompts.jsonl` beside a workspace's sessions, one JSON string a line. `Draft` is a session's
`draft.json`: the words in the composer and the prompts that wait, kept so that a crash loses nothing; they are
offered on open and never sent by themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = 1000
"""Entries of a history file that are read; when it holds twice as many it is shortened to these."""


class History:
    """Walk through what was sent, newest last. What stood in the composer is kept at the end of the walk."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries = list(entries)
        self._at: int | None = None
        self._kept = ""

    def __len__(self) -> int:
        return len(self._entries)

    def extend_before(self, older: Sequence[str]) -> None:
        """Put what a file held in front of what was sent since."""
        self._entries[:0] = older
        if self._at is not None:
            self._at += len(older)

    def add(self, text: str) -> None:
        """Remember what was sent or cleared; the walk ends."""
        if text.strip() and (not self._entries or self._entries[-1] != text):
            self._entries.append(text)
        self.leave()

    def leave(self) -> None:
        """End the walk: the next one starts at the newest entry."""
        self._at = None

    def earlier(self, current: str) -> str | None:
        """The entry before; None at the oldest. The first step keeps `current`."""
        at = len(self._entries) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._kept = current
        self._at = at - 1
        return self._entries[self._at]

    def later(self) -> str | None:
        """The entry after, at the end what was kept; None when there is no walk."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._entries):
            self._at = None
            return self._kept
        return self._entries[self._at]


def read_history(path: Path) -> list[str]:
    """The newest entries of the file, oldest first; a missing file or a damaged line is no entry.

    Raises:
        OSError: the file is there and cannot be read.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    entries = []
    for line in lines[-KEPT:]:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, str):
                entries.append(entry)
    if len(lines) > 2 * KEPT:
        _replace(path, b"".join(_line(entry) for entry in entries))
    return entries


def append_history(path: Path, text: str) -> None:
    """Add one entry to the file.

    Raises:
        OSError: it cannot be written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, _line(text))
    finally:
        os.close(handle)


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Draft:
    """Unsent words, and the prompts that waited when the program ended."""

    text: str = ""
    queue: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text.strip() or self.queue)

    @property
    def words(self) -> str:
        """All of it as one text: what waited first, then what was being written."""
        return "\n\n".join(part for part in (*self.queue, self.text) if part.strip())


def read_draft(path: Path) -> Draft:
    """The draft in the file; an empty one when it is missing or is not a draft.

    Raises:
        OSError: the file is there and cannot be read.
    """
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return Draft()
    if not isinstance(found, dict):
        return Draft()
    text, queue = found.get("text"), found.get("queue")
    prompts = tuple(item for item in queue if isinstance(item, str)) if isinstance(queue, list) else ()
    return Draft(text if isinstance(text, str) else "", prompts)


def write_draft(path: Path, draft: Draft) -> None:
    """Keep a draft in one step; an empty one removes the file.

    Raises:
        OSError: it cannot be written.
    """
    if draft:
        _replace(path, json.dumps({"text": draft.text, "queue": draft.queue}).encode())
    else:
        path.unlink(missing_ok=True)


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f"{path.name}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
