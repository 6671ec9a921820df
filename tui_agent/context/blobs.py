"""Media and long outputs, stored once by their hash beside the log.

A file is written whole (temporary file, fsync, rename, fsync of the folder) before the record that names it, so a
record never names a file that is half there. Reading verifies the hash: what does not match is as good as missing.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from hashlib import sha256
from pathlib import Path

from tui_agent.context.errors import LogWriteError
from tui_agent.literal import clean

_LEFTOVER_SECONDS = 3600
"""A temporary file older than this was left by a killed process: no write takes that long."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_OUTPUT = re.compile(r"[0-9a-f]{64}\.txt")


class _Store:
    """Files whose names begin with the SHA-256 of what they hold, in one folder made (0700) with the first of them."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def _read(self, name: str) -> bytes | None:
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        return data if name.startswith(sha256(data).hexdigest()) else None

    def _keep(self, name: str, data: bytes) -> None:
        try:
            if self._read(name) is None:
                self._write(name, data)
            _sync_folder(self.folder)
        except OSError as error:
            ways = ("free some space or make the folder writable, then try again",)
            raise LogWriteError(self.folder / name, error.errno or 0, "could not be stored", ways) from error

    def _write(self, name: str, data: bytes) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_folder(self.folder.parent)
        self._sweep()
        descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            Path(temporary).replace(self.folder / name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _sweep(self) -> None:
        """Remove temporary files that a killed process left."""
        oldest = time.time() - _LEFTOVER_SECONDS
        for leftover in self.folder.glob(".*.tmp"):
            try:
                if leftover.stat().st_mtime < oldest:
                    leftover.unlink()
            except FileNotFoundError:
                continue


class BlobStore(_Store):
    """Images and other media, by their SHA-256."""

    def put(self, data: bytes) -> str:
        """Store `data` durably and return its SHA-256 in hex; what is there already is not written again.

        A file of that name whose content is wrong is replaced.

        Raises:
            LogWriteError: it could not be written; nothing half-written stays under the hash.
        """
        digest = sha256(data).hexdigest()
        self._keep(digest, data)
        return digest

    def get(self, digest: str) -> bytes | None:
        """The bytes of that SHA-256; None if they are missing, unreadable or not what the hash says."""
        return self._read(digest) if _DIGEST.fullmatch(digest) else None


class OutputStore(_Store):
    """Full texts of tool results that are too long to send, as `<sha256>.txt` (UTF-8)."""

    def put_text(self, text: str) -> str:
        """Store `text` durably and return the file's name; lone surrogates are replaced first.

        Raises:
            LogWriteError: it could not be written.
        """
        data = clean(text).encode()
        name = f"{sha256(data).hexdigest()}.txt"
        self._keep(name, data)
        return name

    def path(self, name: str) -> Path:
        """Where the output of that name lies, whether or not it is there.

        Raises:
            ValueError: `name` is not one that `put_text` gives; so no name leads out of the folder.
        """
        if not _OUTPUT.fullmatch(name):
            raise ValueError(f"not the name of a stored output: {name[:80]!r}")
        return self.folder / name

    def get(self, name: str) -> str | None:
        """The text of that name; None if it is missing, unreadable or not what the hash says."""
        data = self._read(name) if _OUTPUT.fullmatch(name) else None
        return None if data is None else data.decode()


def _sync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
