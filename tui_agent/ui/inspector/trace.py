"""The newest lines of events.jsonl, followed as it grows: a session's trace, as it lies on disk.

Lines are kept as bytes, some thousands at most, and decoded when they are looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

MOST = 4000
"""Lines that are kept."""
_TAIL = 1024 * 1024
"""Bytes at the end of the file that are read first."""
_PIECE = 1024 * 1024
"""Bytes that are read at once while it grows."""


class Trace:
    """The end of a trace. `read` goes on where it stopped; a file that began anew is read from its start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[bytes] = []
        self.dropped = 0
        """Lines that were read and are no longer kept: what numbers a line for ever is its index plus this."""
        self.earlier = False
        """True if there is more in front of what was read."""
        self._place: tuple[int, int] | None = None
        self._offset = 0
        self._rest = b""

    def read(self) -> bool:
        """Read what is new, in a thread; True if anything was.

        Raises:
            FileNotFoundError: there is no trace (yet).
            OSError: it cannot be read.
        """
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            place = (status.st_dev, status.st_ino)
            if place != self._place or status.st_size < self._offset:
                if self._place is None:
                    self._begin(max(0, status.st_size - _TAIL))
                else:
                    self._begin(0)
                self._place = place
            new: list[bytes] = []
            file.seek(self._offset)
            while data := file.read(_PIECE):
                self._offset += len(data)
                *whole, self._rest = (self._rest + data).split(b"\n")
                new += whole
        if self.earlier and not self.lines and new:
            # the first one was cut into
            new = new[1:]
        self.lines += [line for line in new if line.strip()]
        if len(self.lines) > MOST:
            gone = len(self.lines) - MOST
            self.lines, self.dropped, self.earlier = (
                list(islice(self.lines, gone, None)),
                self.dropped + gone,
                True,
            )
        return bool(new)

    def _begin(self, offset: int) -> None:
        self._offset, self._rest = offset, b""
        self.earlier = self.earlier or offset > 0


def decoded(line: bytes) -> Mapping[str, Any]:
    """An event of the trace; without a name if the line is none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        return {"event": "", "line": line.decode("utf-8", "replace")}
    return event
