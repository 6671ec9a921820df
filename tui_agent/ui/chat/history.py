"""What a person sent before, and what they have not sent yet: two small files, never in the way.

`History` is `prompts.jsonl` beside a workspace's sessions, a prompt a line: a JSON string, or an object where signs in
its words stand for something. `Draft` is a session's `draft.json`: what stands in the composer and the prompts that
wait, kept so that a crash loses nothing; they are offered on open and never sent by themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tui_agent.ui.chat.attachments import Prompt, from_json, joined, received, to_json

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

MOST_FOUND = 100
"""Entries that a search finds."""
KEPT = 1000
"""Entries of a history file that are read; when it holds twice as many it is shortened to these."""
_MOST_BYTES = 1_000_000
"""Bytes of an entry that is written to the file: a larger one can be had from the session that it was said in."""


class History:
    """Walk through what was sent, newest last. What stood in the composer is kept at the end of the walk."""

    def __init__(self, entries: Sequence[Prompt] = ()) -> None:
        self._entries = list(entries)
        self._at: int | None = None
        self._kept = Prompt()

    def __len__(self) -> int:
        return len(self._entries)

    def extend_before(self, older: Sequence[Prompt]) -> None:
        """Put what a file held in front of what was sent since."""
        self._entries[:0] = older
        if self._at is not None:
            self._at += len(older)

    def add(self, prompt: Prompt) -> None:
        """Remember what was sent or cleared; the walk ends."""
        if prompt and (not self._entries or self._entries[-1] != prompt):
            self._entries.append(prompt)
        self.leave()

    def leave(self) -> None:
        """End the walk: the next one starts at the newest entry."""
        self._at = None

    def earlier(self, current: Prompt) -> Prompt | None:
        """The entry before; None at the oldest. The first step keeps `current`."""
        at = len(self._entries) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._kept = current
        self._at = at - 1
        return self._entries[self._at]

    def later(self) -> Prompt | None:
        """The entry after, at the end what was kept; None when there is no walk."""
        if self._at is None:
            return None
        self._at += 1
        if self._at >= len(self._entries):
            self._at = None
            return self._kept
        return self._entries[self._at]

    def search(self, typed: str, limit: int = MOST_FOUND) -> list[Prompt]:
        """The entries that have all the words typed, newest first, each once. May take long: for a thread."""
        wanted = typed.casefold().split()
        found: dict[str, Prompt] = {}
        for prompt in reversed(self._entries):
            words = prompt.unfolded
            if words not in found and all(word in words.casefold() for word in wanted):
                found[words] = prompt
                if len(found) >= limit:
                    break
        return list(found.values())

    def folded(self, words: str, images: Sequence[Block]) -> Prompt:
        """What was sent as these words and pictures, with its signs if it is remembered."""
        for prompt in reversed(self._entries):
            if prompt.pastes and prompt.words == words and prompt.pictures == tuple(images):
                return prompt
        return received(words, images)


def read_history(path: Path) -> list[Prompt]:
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
            entry = from_json(json.loads(line))
            if entry is not None:
                entries.append(entry)
    if len(lines) > 2 * KEPT:
        _replace(path, b"".join(_line(entry) for entry in entries))
    return entries


def append_history(path: Path, prompt: Prompt) -> None:
    """Add one entry to the file.

    Raises:
        OSError: it cannot be written.
    """
    line = _line(prompt)
    if len(line) > _MOST_BYTES:
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _line(prompt: Prompt) -> bytes:
    return json.dumps(to_json(prompt)).encode() + b"\n"


class Draft(Struct, frozen=True):
    """Unsent words, and the prompts that waited when the program ended."""

    prompt: Prompt = field(default_factory=Prompt)
    queue: tuple[Prompt, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prompt or self.queue)

    @property
    def whole(self) -> Prompt:
        """All of it as one: what waited first, then what was being written."""
        return joined((*self.queue, self.prompt))


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
    queue = found.get("queue")
    waited = map(from_json, queue) if isinstance(queue, list) else ()
    words = found.get("draft", found.get("text"))  # drafts of version 0.1 say "text"
    return Draft(from_json(words) or Prompt(), tuple(filter(None, waited)))


def write_draft(path: Path, draft: Draft) -> None:
    """Keep a draft in one step; an empty one removes the file.

    Raises:
        OSError: it cannot be written.
    """
    if draft:
        fields = {"draft": to_json(draft.prompt), "queue": [to_json(prompt) for prompt in draft.queue]}
        _replace(path, json.dumps(fields).encode())
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
