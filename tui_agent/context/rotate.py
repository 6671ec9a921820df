"""The one way a log is rewritten: build beside, keep the old file whole as a backup, swap.

A rewrite is one step. (a) The bulk of the new file is built as `context.jsonl.tmp`. Then, with appends held: (b) the
old file gets a second name, `context_<n>.jsonl`, which at the same time reserves the number; (c) the new file gets
what was appended meanwhile and its head record, and is synced; (d) it takes the name `context.jsonl`. Killed
anywhere, the next process finds the state before or after, and `sweep` removes what was left. Numbers ascend and are
never used twice: the newest is kept in the head record.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import threading
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.context.errors import LogWriteError
from tui_agent.context.log import Log, copy, sync_folder, write_all, write_error
from tui_agent.context.source import Source

if TYPE_CHECKING:
    from tui_agent.context.pieces import Piece

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES})
"""What systems say where a file cannot have a second name."""

_HASHED_AT_ONCE = 32 << 20
"""Bytes: between two pieces the thread waits for its turn with the interpreter, which on a busy machine takes long."""


def backups_of(path: Path) -> dict[int, Path]:
    """The files beside a log that have the name of a backup of it, by number, ascending."""
    try:
        beside = list(path.parent.iterdir())
    except FileNotFoundError:
        return {}
    return dict(sorted((n, file) for file in beside if (n := backup_number(path, file.name))))


def backup_number(path: Path, name: str) -> int:
    """The number in the name of a backup of the log; 0 for any other name."""
    pattern = re.escape(path.stem) + r"_([1-9][0-9]{0,14})" + re.escape(path.suffix)
    match = re.fullmatch(pattern, name)
    return int(match[1]) if match else 0


def backup_path(path: Path, n: int) -> Path:
    """Where the backup of that number lies."""
    return path.with_name(f"{path.stem}_{n}{path.suffix}")


def reserved(path: Path, newest: int) -> dict[int, Path]:
    """Names that a killed rewrite reserved for a backup it never made, by number.

    That is a second name of the log itself, and an empty file whose number is above `newest`, the newest that a head
    record names.
    """
    try:
        own = path.stat()
    except FileNotFoundError:
        return {}
    found = {}
    for n, backup in backups_of(path).items():
        with contextlib.suppress(FileNotFoundError):
            status = backup.lstat()
            if (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino) or (
                n > newest and status.st_size == 0
            ):
                found[n] = backup
    return found


def sweep(path: Path, newest: int) -> list[str]:
    """Remove what a killed rewrite left; only for who holds the lease. Returns the names removed.

    That is the unfinished new file, an unfinished copy of the old one, and names that were only `reserved`.
    """
    leftovers = [
        found
        for found in path.parent.glob(f"{_literal(path.stem)}*{_literal(path.suffix)}.tmp")
        if re.fullmatch(r"(_[0-9]+)?", found.name.removesuffix(path.suffix + ".tmp")[len(path.stem) :])
    ]
    leftovers += reserved(path, newest).values()
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)
    return [leftover.name for leftover in leftovers]


def _literal(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


class Kept(Struct, frozen=True):
    """The old file, kept: its number, name, size in bytes and SHA-256."""

    n: int
    name: str
    bytes: int
    sha256: str


class Rewrite:
    """One rewrite of a log: `build` in a thread, then `commit` in a thread while nothing is appended.

    Whoever gives up in between calls `abandon`.
    """

    def __init__(self, log: Log, digest: Digest) -> None:
        self._log = log
        self._digest = digest
        self._temporary = log.path.with_name(log.path.name + ".tmp")
        self._target: int | None = None
        self._size = 0

    def build(self, pieces: Iterable[Piece]) -> None:
        """(a) Write the bulk of the new file.

        Raises:
            LogWriteError: the disk refused; nothing is changed.
        """
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            self._target = os.open(self._temporary, flags, 0o600)
            self._write(pieces)
        except OSError as error:
            self.abandon()
            raise write_error(self._log.path, error, "the new file could not be built") from error

    def look(self) -> Source:
        """What stands in the new file so far, opened for reading."""
        return Source(self._temporary)

    def commit(
        self, tail: Iterable[Piece], first: int, head: Callable[[Kept], bytes]
    ) -> tuple[Kept, Source, int]:
        """(b) to (d). `first` is the lowest number that may be used, `head` makes the head record's line, with that of
        a record before it if there is one; it may `look` at what stands before those, and what it raises stops it all.

        Returns what was kept, the new file opened for reading, and the offset of what `head` made.

        Raises:
            LogWriteError: the disk refused. Nothing is changed, unless `Log.broken` is set: then the new file is in
                place and may not last.
            LogChanged: another program changed the file.
        """
        backup: Path | None = None
        target = self._target
        if target is None:
            raise LogWriteError(self._log.path, 0, "a rewrite was committed before it was built")
        try:
            self._log.verify()
            old, size = Source(self._log.path), self._log.size
            os.fdatasync(old.descriptor)
            n, backup = self._reserve(old, size, first)
            kept = Kept(n, backup.name, size, self._digest.finish(old, size))
            self._write(tail)
            at = self._size
            self._write([head(kept)])
            os.fsync(target)
            sync_folder(self._log.path.parent)
            source = Source(self._temporary)
            self._temporary.replace(self._log.path)
        except BaseException as error:
            if backup is not None:
                with contextlib.suppress(OSError):
                    backup.unlink()
            self.abandon()
            if isinstance(error, OSError):
                raise write_error(self._log.path, error, "it could not be rewritten") from error
            raise
        self._target = None
        self._log.adopt(target, self._size)
        try:
            sync_folder(self._log.path.parent)
        except OSError as error:
            self._log.broken = write_error(
                self._log.path, error, "it was rewritten, but the disk did not confirm its new name"
            )
        return kept, source, at

    def abandon(self) -> None:
        """Remove the unfinished file."""
        target, self._target = self._target, None
        if target is not None:
            os.close(target)
            with contextlib.suppress(OSError):
                self._temporary.unlink()

    def _write(self, pieces: Iterable[Piece]) -> None:
        target = self._target
        if target is None:
            raise OSError(errno.EBADF, "the new file is not open")
        for piece in pieces:
            if isinstance(piece, bytes):
                write_all(target, piece)
                self._size += len(piece)
            else:
                source, offset, length = piece
                copy(source.descriptor, offset, length, target)
                self._size += length

    def _reserve(self, old: Source, size: int, n: int) -> tuple[int, Path]:
        """Give the old file its second name; the name is the reservation of the number."""
        path = self._log.path
        while True:
            backup = backup_path(path, n)
            try:
                os.link(path, backup)
                return n, backup
            except FileExistsError:
                n += 1
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                return self._reserve_copy(old, size, n)

    def _reserve_copy(self, old: Source, size: int, n: int) -> tuple[int, Path]:
        """The same where a file cannot have two names: a synced copy, renamed over a name made exclusively."""
        path = self._log.path
        copied = backup_path(path, n).with_name(backup_path(path, n).name + ".tmp")
        target = os.open(copied, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            copy(old.descriptor, 0, size, target)
            os.fsync(target)
        except BaseException:
            copied.unlink()
            raise
        finally:
            os.close(target)
        while True:
            backup = backup_path(path, n)
            try:
                os.close(os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            except FileExistsError:
                n += 1
                continue
            try:
                copied.replace(backup)
            except BaseException:
                backup.unlink()
                raise
            return n, backup


class Digest:
    """The SHA-256 of a log that grows, computed beside other work, so that no rewrite of a long one waits for it."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._done = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    def follow(self, source: Source, size: int) -> None:
        """Take in the file up to `size` bytes, in a thread of its own."""
        self.stop()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._take, args=(source, size), name="sha256 of the log", daemon=True
        )
        self._thread.start()

    def finish(self, source: Source, size: int) -> str:
        """The digest of the first `size` bytes, which were never fewer before.

        Raises:
            OSError: the file could not be read.
        """
        self._join()
        self._stopped = False
        self._take(source, size)
        if self._done != size:
            raise OSError(errno.EIO, "the file could not be read to its end")
        return self._hash.hexdigest()

    def stop(self) -> None:
        """Take in no more for now."""
        self._stopped = True
        self._join()

    def _take(self, source: Source, size: int) -> None:
        if self._done >= size:
            return
        buffer = memoryview(mmap.mmap(-1, min(_HASHED_AT_ONCE, size - self._done)))
        with contextlib.suppress(OSError):
            while self._done < size and not self._stopped:
                piece = buffer[: size - self._done]
                got = os.preadv(source.descriptor, [piece], self._done)
                if not got:
                    return
                self._hash.update(piece[:got])
                self._done += got

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None
