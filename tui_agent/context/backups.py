"""The files a log was before: which there are, what made them, which may go.

A backup's cause and figures stand in the head record of the file that took its place. Each head also says where the
head in force lies in the backup it names, so the whole chain is read from the newest head without reading the files.
Where a link of the chain is gone the file still counts, with what the file system tells of it.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tui_agent.context.errors import NoSuchBackup
from tui_agent.context.records import decode
from tui_agent.context.rotate import backup_number, backup_path, backups_of, reserved
from tui_agent.context.source import Source

if TYPE_CHECKING:
    from tui_agent.context.table import Head


class Backup(Struct, frozen=True):
    """One kept file.

    `op` is what was done when it was made (revert, clear, restore, undo, redo, prompt, compaction, edit), `at` when;
    both empty if that is not known. `bytes` is its size; `records` and `tokens` (the context's weight then) are None if
    not known. `exists` is False for one that is no longer kept. `figures` is what the head record says besides.
    """

    name: str
    n: int
    op: str
    at: str
    bytes: int
    records: int | None
    tokens: int | None
    pinned: bool
    exists: bool
    figures: Mapping[str, Any] = field(default_factory=dict)


def list_backups(path: Path, head: Head | None) -> list[Backup]:
    """The backups of the log at `path`, newest first; `head` is the log's head in force."""
    unmade = reserved(path, 0 if head is None else head.n)
    files = {n: file for n, file in backups_of(path).items() if n not in unmade}
    pinned = pinned_names(path)
    causes = _causes(path, None if head is None else _fields(head))
    found = []
    for n in sorted({*files, *causes}, reverse=True):
        cause, name = causes.get(n, {}), backup_path(path, n).name
        try:
            status = files[n].stat() if n in files else None
        except FileNotFoundError:
            status = None
        at = cause.get("at")
        if not at and status is not None:
            at = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
        found.append(
            Backup(
                name=name,
                n=n,
                op=str(cause.get("op") or ""),
                at=str(at or ""),
                bytes=(_whole(cause.get("bytes")) or 0) if status is None else status.st_size,
                records=_whole(cause.get("records")),
                tokens=_whole(cause.get("tokens")),
                pinned=name in pinned,
                exists=status is not None,
                figures=cause,
            )
        )
    return found


def find_backup(path: Path, name: str) -> Path:
    """The file of a backup.

    Raises:
        NoSuchBackup: it is none of this log, or no longer kept.
    """
    files = {file.name: file for file in backups_of(path).values()}
    if name not in files:
        raise NoSuchBackup(name, "no backup of that name is kept", tuple(files))
    return files[name]


def is_kept(path: Path, name: str | None) -> bool:
    """True if the name is that of a backup of the log, and the file is there."""
    return name is not None and backup_number(path, name) > 0 and path.with_name(name).is_file()


def pinned_names(path: Path) -> frozenset[str]:
    """The backups that a person pinned: `pinned` in the session.toml beside the log."""
    try:
        with path.with_name("session.toml").open("rb") as file:
            names = tomllib.load(file).get("pinned")
    except (OSError, ValueError):
        return frozenset()
    return (
        frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    )


def prunable(backups: Collection[Backup], *, keep: int | None, max_bytes: int | None) -> list[Backup]:
    """Which backups go, oldest first, so that at most `keep` of them and `max_bytes` remain.

    Pinned ones never go, but count. None: no limit.
    """
    kept = sorted((backup for backup in backups if backup.exists), key=lambda backup: backup.n)
    total, count = sum(backup.bytes for backup in kept), len(kept)
    gone = []
    for backup in kept:
        if (keep is None or count <= keep) and (max_bytes is None or total <= max_bytes):
            break
        if backup.pinned:
            continue
        gone.append(backup)
        total -= backup.bytes
        count -= 1
    return gone


def _fields(head: Head) -> dict[str, Any]:
    return {**head.figures, "n": head.n, "op": head.op, "at": head.at, "backup": head.backup, "to": head.to}


def _causes(path: Path, fields: dict[str, Any] | None) -> dict[int, dict[str, Any]]:
    """What heads say, by the number of the backup they name; from the newest back until a file is missing."""
    found: dict[int, dict[str, Any]] = {}
    while fields is not None:
        n = _whole(fields.get("n"))
        if n is None or n in found or (found and n >= min(found)):
            break
        found[n] = fields
        fields = _head_in(backup_path(path, n), fields.get("head"))
    return found


def _head_in(file: Path, place: object) -> dict[str, Any] | None:
    """The head record at [offset, length] in a backup."""
    if not (
        isinstance(place, list) and len(place) == 2 and all(_whole(number) is not None for number in place)
    ):
        return None
    offset, length = place
    with contextlib.suppress(OSError, OverflowError):
        fields = decode(Source(file).read(offset, min(length, 1 << 24)))
        if fields.get("role") in ("_rewind", "_compaction"):
            return {key: value for key, value in fields.items() if key != "role"}
    return None


def _whole(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
