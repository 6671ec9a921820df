"""What can go wrong with a log, as one family; bad ids are plain ValueErrors that name the valid ones."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from msgspec import Struct


class ContextError(Exception):
    """A log could not be read, written or changed; the message names the file and the way out.

    `ways` are the ways out as a list of words, where there are several.
    """

    ways: tuple[str, ...] = ()


class LogReadError(ContextError):
    """The file cannot be read: a folder, no permission, an I/O error. `path` is the file."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be read: {why}.")
        self.path = path


class LogWriteError(ContextError):
    """The disk refused; nothing was added to the context.

    `path` is the file, `errno` the system's number (0 for a write that was cut short without one), `ways` the ways
    out, in words.
    """

    def __init__(self, path: Path, errno: int, what: str, ways: tuple[str, ...] = ()) -> None:
        reason = os.strerror(errno) if errno else "the write was cut short"
        advice = "; ".join(ways)
        advice = f" {advice[0].upper()}{advice[1:]}." if advice else ""
        super().__init__(f"{path}: {what}: {reason}.{advice}")
        self.path = path
        self.errno = errno
        self.ways = ways


class Holder(Struct, frozen=True):
    """Who holds a session's lease: host name, process id, and since when (ISO 8601, UTC); "" and 0 if unknown."""

    host: str
    pid: int
    since: str


def _local(at: str) -> str:
    """A time in ISO 8601 as a person says it here: `12:04` today, `29 Nov 12:04` before; as it is if it is none."""
    try:
        moment = datetime.fromisoformat(at).astimezone()
    except (ValueError, OverflowError, OSError):
        return at
    is_today = moment.date() == datetime.now().astimezone().date()
    return moment.strftime("%H:%M") if is_today else f"{moment.day} {moment:%b %H:%M}"


class LogBusy(ContextError):
    """Another process writes this session. `holder` says which, `who` in words."""

    def __init__(self, holder: Holder) -> None:
        who = f"process {holder.pid} on {holder.host}" if holder.pid else "another process"
        since = f" since {_local(holder.since)}" if holder.since else ""
        self.who = f"{who}{since}"
        super().__init__(f"The session is open for writing by {self.who}. Close it there, or open read-only.")
        self.holder = holder


class LogChanged(ContextError):
    """Somebody else changed the file since it was read; nothing was written. `restore()` reads it anew."""

    def __init__(self, path: Path, change: str) -> None:
        super().__init__(f"{path} was changed by another program ({change}). Nothing was written; reload it.")
        self.path = path
        self.change = change


class ReadOnlyLog(ContextError):
    """The context was opened read-only."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was opened read-only. Open it for writing to change it.")
        self.path = path


class NoSuchBackup(ContextError):
    """The backup is not there: never made, or no longer kept. `name` is the file's name."""

    def __init__(self, name: str, why: str = "no such backup", known: tuple[str, ...] = ()) -> None:
        have = f" Backups: {', '.join(known)}." if known else ""
        super().__init__(f"{name}: {why}.{have}")
        self.name = name


class NothingToUndo(ContextError):
    """There is no operation to undo or to redo; the message says which and why."""
