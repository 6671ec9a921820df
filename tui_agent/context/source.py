"""A log's file, opened for reading, and the records of it that were decoded last."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

_BATCH = 128 * 1024
"""Bytes read at once: little enough to stay in the processor's cache between reading, splitting and decoding."""

_CACHE_BYTES = 4 * 1024 * 1024
"""Decoded bodies are kept up to this many bytes of their lines, so that looking twice does not decode twice."""
_FRAME_BYTES = 1024
"""What a decoded record takes beside the bytes of its line, about."""


class Source:
    """A file opened for reading; it stays readable when another file takes its name. Closed with its last reader."""

    __slots__ = ("descriptor",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Without O_NONBLOCK a named pipe in the place of the file would be waited for.
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def __del__(self) -> None:
        descriptor = getattr(self, "descriptor", None)
        if descriptor is not None:
            os.close(descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """The bytes there; fewer only if the file ends before."""
        data = os.pread(self.descriptor, length, offset)
        if len(data) == length or not data:
            return data
        parts = [data]
        got = len(data)
        while got < length and (data := os.pread(self.descriptor, length - got, offset + got)):
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def batches(self, size: int = _BATCH, *, start: int = 0) -> Iterator[tuple[int, list[bytes], bool, bool]]:
        """The lines of the file, from an offset on, in batches: offset of the first, the lines, whether all are ASCII,
        whether the last one has its newline."""
        offset = position = start
        carry: list[bytes] = []
        ascii_carry = True
        while chunk := os.pread(self.descriptor, size, position):
            position += len(chunk)
            lines = chunk.split(b"\n")
            rest = lines.pop()
            if not lines:
                carry.append(rest)
                ascii_carry = ascii_carry and rest.isascii()
                continue
            if carry:
                lines[0] = b"".join([*carry, lines[0]])
            yield offset, lines, ascii_carry and chunk.isascii(), True
            offset = position - len(rest)
            carry = [rest] if rest else []
            ascii_carry = rest.isascii()
        if carry:
            yield offset, [b"".join(carry)], ascii_carry, False


class Bodies:
    """The decoded records that were looked at last, by index; for several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[dict[str, Any], int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, index: int, size: int, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The record at `index`, whose line has `size` bytes; made if it is not kept."""
        with self._lock:
            found = self._kept.get(index)
            if found is not None:
                self._kept.move_to_end(index)
                return found[0]
        body = make()
        size += _FRAME_BYTES
        if size <= _CACHE_BYTES // 4:
            with self._lock:
                if index not in self._kept:
                    self._kept[index] = (body, size)
                    self._bytes += size
                while self._bytes > _CACHE_BYTES:
                    self._bytes -= self._kept.popitem(last=False)[1][1]
        return body
