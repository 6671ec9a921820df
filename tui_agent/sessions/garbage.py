"""What can be cleared away: listed first, deleted only when told to.

Never listed: anything of a session that a program is writing, backups, and what is younger than an hour (a media file
is written before the record that names it).
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui_agent.context.errors import LogBusy
from tui_agent.context.lease import Lease
from tui_agent.sessions.folder import LOCK, SessionError

if TYPE_CHECKING:
    from tui_agent.sessions.entry import Entry

_HASH = re.compile(rb"[0-9a-f]{64}")
_STORES = ("blobs", "outputs")
_YOUNG_SECONDS = 3600
TRASH_DAYS = 7.0
"""Deleted sessions stay at least this long, unless asked otherwise."""


class Candidate(Struct, frozen=True):
    """Something that nothing needs. `bytes` is what its removal frees, `why` says in words what it is, `session` is the
    folder of the session it belongs to."""

    kind: Literal["trash", "empty", "leftover", "orphan"]
    path: Path
    bytes: int
    why: str
    session: Path


def candidates(
    sessions: Iterable[Entry],
    deleted: Iterable[Entry],
    *,
    trash_days: float = TRASH_DAYS,
    now: float | None = None,
) -> list[Candidate]:
    """What can be cleared away: sessions deleted `trash_days` ago, sessions in which nothing was ever said, temporary
    files that a killed program left, media and outputs that no record, backup or draft names.

    `now` is the time in seconds since 1970. Reads the logs of all sessions that have media: call it in a thread.

    Raises:
        SessionError: a log cannot be read, so that nobody can say what it names.
    """
    now = time.time() if now is None else now
    found = []
    for entry in deleted:
        days = (now - entry.path.stat().st_mtime) / 86_400
        if days >= trash_days:
            why = f"deleted {days:.0f} days ago: {entry.title}"
            found.append(Candidate("trash", entry.path, _size(entry.path), why, entry.path))
    for entry in sessions:
        if is_idle(entry.path):
            found += _of_session(entry, now - _YOUNG_SECONDS)
    return found


def remove(candidate: Candidate) -> None:
    """Delete it for good.

    Raises:
        SessionError: it cannot be deleted, or its session is in use by now.
    """
    if candidate.kind != "trash" and not is_idle(candidate.session):
        raise SessionError(f"session {candidate.session.name} is in use; nothing of it was deleted")
    try:
        if candidate.path.is_dir() and not candidate.path.is_symlink():
            shutil.rmtree(candidate.path)
        else:
            candidate.path.unlink(missing_ok=True)
    except OSError as error:
        raise SessionError(f"{candidate.path} cannot be deleted: {error.strerror}") from error


def is_idle(session: Path) -> bool:
    """True if no program writes the session."""
    if not (session / LOCK).exists():
        return True
    lease = Lease(session / LOCK)
    try:
        lease.acquire()
    except (LogBusy, OSError):
        return False
    lease.release()
    return True


def orphans(session: Path) -> list[Path]:
    """The media and outputs of a session that no record of its log and backups, and no draft, names.

    Raises:
        SessionError: a file that may name them cannot be read.
    """
    stored = [
        file for folder in _STORES for file in _files(session / folder) if _HASH.match(file.name.encode())
    ]
    named: set[bytes] = set()
    for file in _files(session, deep=True) if stored else ():
        if file.parent.name not in _STORES:
            try:
                with file.open("rb") as lines:
                    for line in lines:
                        named.update(_HASH.findall(line))
            except OSError as error:
                raise SessionError(f"{file} cannot be read: {error.strerror}") from error
    return [file for file in stored if file.name[:64].encode() not in named]


def leftovers(session: Path) -> list[Path]:
    """Temporary files in a session's folder, of any age."""
    return [file for file in _files(session, deep=True) if file.name.endswith(".tmp")]


def _of_session(entry: Entry, before: float) -> Iterator[Candidate]:
    path = entry.path
    if entry.empty:
        if all(_changed(file) < before for file in [path, *_files(path, deep=True)]):
            yield Candidate("empty", path, _size(path), "nothing was said in it", path)
        return
    for file in leftovers(path):
        if _changed(file) < before:
            yield Candidate("leftover", file, file.lstat().st_size, "left by a program that was killed", path)
    for file in orphans(path):
        if _changed(file) < before:
            yield Candidate("orphan", file, file.lstat().st_size, "nothing names it", path)


def _files(path: Path, *, deep: bool = False) -> Iterator[Path]:
    try:
        items = sorted(path.iterdir())
    except OSError:
        return
    for item in items:
        if item.is_dir() and not item.is_symlink():
            if deep:
                yield from _files(item, deep=True)
        else:
            yield item


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return time.time()


def _size(path: Path) -> int:
    return sum(file.lstat().st_size for file in _files(path, deep=True))
