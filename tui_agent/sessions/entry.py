"""A session in a list: what its files tell of it.

That comes from the two ends of its log (`context.peek`), from session.toml and from the names of its files; a session
whose parts are broken is marked. Reading it blocks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tui_agent.context.lease import holder_of
from tui_agent.context.peek import peek
from tui_agent.sessions.folder import CONTEXT, DRAFT, LOCK, META, RUNNING, SessionFolder


class Entry(Struct, frozen=True):
    """A session in a list.

    `at` is when its log changed last (ISO 8601, UTC). `bytes` is the size of the log and its backups. `tokens` is the
    size of the context after the last request, None if unknown. `first` and `last` are the user's words. `damaged`
    says in words what is broken, or is empty. `messages` is how many there are (a guess for long logs). `empty`:
    nothing was ever said or run in it, and no draft waits. `exact`: the tokens are. `in_use` names the program that
    writes it, or is empty.
    """

    id: str
    title: str
    workspace: str
    at: str
    bytes: int
    tokens: int | None
    model: str
    first: str
    last: str
    damaged: str
    archived: bool
    path: Path
    messages: int
    empty: bool
    exact: bool = True
    in_use: str = ""

    @property
    def folder(self) -> SessionFolder:
        """The session's files."""
        return SessionFolder(self.path)

    def as_json(self) -> dict[str, Any]:
        """The entry as JSON-ready mapping."""
        return {**asdict(self), "path": str(self.path)}


def entry_of(path: Path) -> Entry:
    """The session in this folder, as it is now."""
    meta = SessionFolder(path).meta
    problems = [meta.damage] if meta.damage else []
    first = last = model = title = ""
    tokens: int | None = None
    messages, exact = 0, True
    backups = any(path.glob("context_*.jsonl"))
    try:
        seen = peek(path / CONTEXT)
        first, last, model, tokens = seen.first, seen.last, seen.model, seen.tokens
        title, messages, exact = next(iter(seen.titles), ""), seen.messages, seen.exact
        if seen.damaged:
            problems.append(f"{seen.damaged} damaged line{'s' if seen.damaged > 1 else ''}")
    except FileNotFoundError:
        if backups:
            problems.append(f"{CONTEXT} is missing; its backups are there")
    except OSError as error:
        problems.append(f"{CONTEXT} cannot be read: {error.strerror}")
    return Entry(
        id=path.name,
        title=meta.title or title or "(untitled)",
        workspace=meta.workspace or _workspace_of(path.parent),
        at=datetime.fromtimestamp(changed_log(path), UTC).isoformat(timespec="seconds"),
        bytes=_size(path),
        tokens=tokens,
        model=model,
        first=first,
        last=last,
        damaged="; ".join(problems),
        archived=meta.archived,
        path=path,
        messages=messages,
        empty=not (
            messages or backups or problems or any((path / name).exists() for name in (DRAFT, RUNNING))
        ),
        exact=exact,
        in_use=_writer(path),
    )


def _writer(path: Path) -> str:
    holder = holder_of(path / LOCK)
    return f"process {holder.pid} on {holder.host}" if holder is not None else ""


def _workspace_of(place: Path) -> str:
    """The workspace of a bucket as another of its sessions names it, or else the readable part of its name."""
    for file in sorted(place.glob(f"*/{META}")):
        if workspace := SessionFolder(file.parent).meta.workspace:
            return workspace
    return place.name.rpartition("-")[0] or place.name


def _size(path: Path) -> int:
    total = 0
    for file in path.glob("context*.jsonl"):
        try:
            total += file.stat().st_size
        except OSError:
            continue
    return total


def changed_log(path: Path) -> float:
    """When the session's log changed, or else its folder; seconds since 1970."""
    return changed(path / CONTEXT) or changed(path)


def changed(path: Path) -> float:
    """When a file or a folder changed; 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
