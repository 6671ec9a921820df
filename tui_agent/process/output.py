"""Where the output of a command goes: into memory, its beginning and its end, and whole into a file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import BinaryIO

SPOOL_LIMIT = 256 * 1024 * 1024
"""Bytes written to a spool file at most, so that a runaway command does not fill the disk."""


class Kept:
    """The beginning and the end of a text of any length."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - limit // 2
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self.omitted = 0

    def add(self, text: str) -> None:
        if self._head_room:
            piece, text = text[: self._head_room], text[self._head_room :]
            self._head.append(piece)
            self._head_room -= len(piece)
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
        while self._tail_size > self._tail_room:
            over = self._tail_size - self._tail_room
            oldest = self._tail.popleft()
            if len(oldest) > over:
                self._tail.appendleft(oldest[over:])
            dropped = min(len(oldest), over)
            self._tail_size -= dropped
            self.omitted += dropped

    def text(self) -> str:
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.omitted:
            return head + tail
        return f"{head}\n[... {self.omitted} characters left out ...]\n{tail}"


class Spool:
    """A file that takes the whole output; it stops at its limit or at the first failed write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._size = 0
        self.whole = True

    def add(self, text: str) -> None:
        if not self.whole:
            return
        data = text.encode("utf-8", "replace")
        if self._size + len(data) > SPOOL_LIMIT:
            self.whole = False
            return
        try:
            if self._file is None:
                self._file = self._path.open("wb", buffering=0)
            self._file.write(data)
        except OSError:
            self.whole = False
        self._size += len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
