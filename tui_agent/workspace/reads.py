"""What the model has read, by content, so that nothing it has not seen is overwritten."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from pathlib import Path

from msgspec import Struct

_SETTLED_NS = 2_000_000_000
"""A file whose time stamp is this much older than the look at it cannot have changed again within the same tick."""


_SHORT = 16
"""Hex digits by which contents are told apart where they are written down."""


class _Seen(Struct, frozen=True):
    digest: bytes
    signature: tuple[int, int, int] | None
    """Size, inode and time of change in nanoseconds; None while they cannot be trusted."""


class Changed(Struct, frozen=True):
    """A file that is not what the model knows: its content then and now, as written down; `now` is "" if it is gone or
    cannot be read."""

    path: Path
    known: str
    now: str


class Reads:
    """The files whose content the model knows: those it read, and those it wrote itself. Safe to use from threads.

    Paths are resolved ones (`guard.resolve`).
    """

    def __init__(self) -> None:
        self._seen: dict[Path, _Seen] = {}
        self._earlier: dict[Path, str] = {}
        self._looked: dict[Path, _Seen] = {}
        self._lock = threading.Lock()

    def note(self, path: Path, data: bytes, status: os.stat_result | None = None) -> None:
        """The model knows the file at `path` as `data`; `status` is what `fstat` said when it was read or written."""
        self.note_digest(path, hashlib.sha256(data).digest(), status)

    def note_digest(self, path: Path, digest: bytes, status: os.stat_result | None = None) -> None:
        """The like of `note` for content that was hashed (SHA-256) while it was read."""
        with self._lock:
            self._seen[path] = _Seen(digest, _signature(status))

    def note_earlier(self, path: Path, known: str) -> None:
        """The model knew the file as that (`content`) in a run before. It has to read it anew before it writes it."""
        with self._lock:
            self._earlier.setdefault(path, known)

    def forget(self) -> None:
        """The model knows no file any more."""
        with self._lock:
            self._seen.clear()
            self._earlier.clear()

    def content(self, path: Path) -> str:
        """The content that the model knows of a file, as it is written down; "" for one it never read."""
        seen = self._seen.get(path)
        return seen.digest.hex()[:_SHORT] if seen is not None else self._earlier.get(path, "")

    def known(self, path: Path) -> bool:
        """True if the model has read or written that file."""
        return path in self._seen

    def changed(self, path: Path) -> bool:
        """True if the file is not what the model knows: changed, gone, unreadable. False for one it never read."""
        seen = self._seen.get(path)
        if seen is None:
            return False
        try:
            status = path.stat()
        except OSError:
            return True
        if seen.signature is not None and seen.signature == _signature(status):
            return False
        if self._digest(path) != seen.digest:
            return True
        with self._lock:
            if self._seen.get(path) is seen:
                self._seen[path] = _Seen(seen.digest, _signature(status))
        return False

    def stale(self) -> list[Changed]:
        """The files the model knows that have changed since, by path. Looks at each: for a thread."""
        found = []
        with self._lock:
            paths = {*self._seen, *self._earlier}
        for path in sorted(paths):
            known = self.content(path)
            if path in self._seen and not self.changed(path):
                continue
            digest = self._digest(path)
            now = digest.hex()[:_SHORT] if digest is not None else ""
            if now != known:
                found.append(Changed(path, known, now))
        return found

    def _digest(self, path: Path) -> bytes | None:
        """The SHA-256 of a file as it is; None if it is none, or cannot be read."""
        try:
            status = path.stat()
            looked = self._looked.get(path)
            if looked is not None and looked.signature is not None and looked.signature == _signature(status):
                return looked.digest
            if not stat.S_ISREG(status.st_mode):
                return None
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
        except OSError:
            return None
        self._looked[path] = _Seen(digest, _signature(status))
        return digest


def _signature(status: os.stat_result | None) -> tuple[int, int, int] | None:
    if status is None or time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED_NS:
        return None
    return status.st_size, status.st_ino, status.st_ctime_ns
