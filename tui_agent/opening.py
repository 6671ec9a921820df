"""The first half of opening a session: its folder, its log read, the bus of its events.

It stands apart from `wiring` so that a session's history can be shown before the rest of the engine is loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent import paths
from tui_agent.agent.bus import Bus, Trace
from tui_agent.changes import Appended
from tui_agent.context import Context, ContextError, Record
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionError, SessionFolder
from tui_agent.settings import secrets

if TYPE_CHECKING:
    from tui_agent.events import Event
    from tui_agent.settings.schema import Settings


class OpenError(Exception):
    """A session could not be opened; the message says why and what to do."""


class Log(Struct, frozen=True):
    """A session whose log is read."""

    folder: SessionFolder
    context: Context
    bus: Bus

    async def abandon(self) -> None:
        """Leave it: the session is not opened. A folder in which nothing was said goes."""
        self.bus.close()
        await asyncio.to_thread(self.folder.remove_if_unused)


async def read(
    workspace: Path,
    settings: Settings,
    *,
    resume: str | None = None,
    listen: Callable[[Event], None] | None = None,
) -> Log:
    """Read the log that `wiring.open_session` opens by the same arguments.

    Raises:
        OpenError: there is no such session, or its log cannot be read.
    """
    workspace = workspace.resolve()
    folder = await asyncio.to_thread(_folder, workspace, resume)
    bus = Bus(Trace(folder.events_path, secrets.redact))
    if listen is not None:
        bus.listen(listen)
    context = Context(
        folder.context_path,
        durability=settings.durability,
        on_append=lambda record: bus.emit(_appended(record)),
    )
    context.clean = _clean
    log = Log(folder, context, bus)
    try:
        await context.restore()
    except ContextError as error:
        await log.abandon()
        raise OpenError(str(error)) from error
    return log


def _folder(workspace: Path, resume: str | None) -> SessionFolder:
    try:
        if resume is None:
            return SessionFolder.create(workspace)
        if resume == "latest":
            entry = Catalog().latest(workspace)
            return entry.folder if entry is not None else SessionFolder.create(workspace)
        path = Path(resume).expanduser()
        if path.exists():
            return _folder_at(path.resolve(), workspace)
        return Catalog().find(resume).folder
    except SessionError as error:
        raise OpenError(str(error)) from error


def _folder_at(path: Path, workspace: Path) -> SessionFolder:
    """The session at a path: a session's folder of ours, else a copy of the log that lies there."""
    log = path / "context.jsonl" if path.is_dir() else path
    ours = paths.sessions_dir().resolve()
    if log.name == "context.jsonl" and log.parent.parent.parent == ours:
        return SessionFolder(log.parent)
    if not log.is_file():
        raise OpenError(f"{path} is no session: there is no context.jsonl")
    return SessionFolder.adopt(log, workspace)


def _clean(text: str) -> str:
    """The text of an answer as a person sees it."""
    if "<" not in text:
        return text
    from tui_agent.memory.markers import clean  # most histories show without it

    return clean(text)


def _appended(record: Record) -> Appended:
    return Appended(record.role, record.id, record.line)
