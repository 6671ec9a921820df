"""`tui-agent doctor SESSION`: one session looked over, from its folder's mode to the request it would send next."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tui_agent import paths
from tui_agent.cli.context import find_target
from tui_agent.cli.describe import repairs_of
from tui_agent.cli.failures import Failed
from tui_agent.cli.findings import Finding, Level, private
from tui_agent.cli.report import size, tokens
from tui_agent.context import Context, ContextError
from tui_agent.messages.exchange import open_calls
from tui_agent.messages.lint import repairs
from tui_agent.sessions import garbage
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import CONTEXT, META, SessionError, SessionFolder
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import Settings

_LISTED = 10
"""Things of a kind that are listed one by one; of more the number is said."""


async def examine(name: str, workspace: Path) -> AsyncIterator[Finding]:
    """Look over the session of that id, beginning of an id, or path.

    Raises:
        Failed: there is none.
    """
    path = _log_path(name, workspace)
    folder = SessionFolder(path.parent)
    ours = path.name == CONTEXT and _is_ours(folder)
    idle = ours and await asyncio.to_thread(garbage.is_idle, folder.path)
    if ours:
        for finding in _folder(folder, idle=idle):
            yield finding
    else:
        yield Finding("note", "session", f"{path} is no session of this program; it is only read")
    context = Context(path, read_only=True)
    try:
        if not await context.restore():
            yield Finding("note", "log", f"{path} is missing or empty")
            return
        async for finding in _log(context, folder, workspace, idle=idle):
            yield finding
    except ContextError as error:
        yield Finding("bad", "log", str(error))
    finally:
        await context.close()


def _log_path(name: str, workspace: Path) -> Path:
    if "/" in name or Path(name).exists():
        return find_target(name, None, workspace).path
    try:
        return Catalog().find(name).folder.context_path
    except SessionError as error:
        raise Failed(str(error)) from error


def _is_ours(folder: SessionFolder) -> bool:
    """Whether the folder is a session's: what lies in other people's folders is not for us to mend."""
    place = Path(os.path.realpath(folder.path)).parent.parent
    return (folder.path / META).exists() or place == Path(os.path.realpath(paths.sessions_dir()))


def _folder(folder: SessionFolder, *, idle: bool) -> Iterator[Finding]:
    yield Finding("ok", "session", f"{folder.id}, {folder.meta.title or 'untitled'}")
    yield private("folder", folder.path)
    yield _meta(folder)
    if idle:
        yield from _leftovers(folder)
    else:
        yield Finding("note", "lease", "a program is writing this session: what it is at is not judged")


def _meta(folder: SessionFolder) -> Finding:
    damage = folder.meta.damage
    if damage:

        async def mend() -> str:
            folder.save_meta()
            return f"{META} is written anew; the broken one is kept as {META}.broken"

        return Finding("bad", META, f"{damage}; only the title and what else stands in it are lost", mend)
    there = (folder.path / META).exists()
    return (
        Finding("ok", META, "sound")
        if there
        else Finding("note", META, "missing: the title is made of the first words")
    )


def _leftovers(folder: SessionFolder) -> Iterator[Finding]:
    for path in [*garbage.leftovers(folder.path), *_reserved(folder)]:

        async def mend(path: Path = path) -> str:
            path.unlink(missing_ok=True)
            return f"removed {path.name}"

        yield Finding(
            "bad", "leftover", f"{path.relative_to(folder.path)}: a program was killed while it wrote", mend
        )


def _reserved(folder: SessionFolder) -> list[Path]:
    """Backup names that a killed rewrite reserved: links to the log itself."""
    try:
        log = folder.context_path.stat()
    except OSError:
        return []
    return [path for path in folder.path.glob("context_*.jsonl") if os.path.samestat(path.stat(), log)]


async def _log(
    context: Context, folder: SessionFolder, workspace: Path, *, idle: bool
) -> AsyncIterator[Finding]:
    weight = context.weigh()
    held = f"{len(context.records):,} records, {len(context.history):,} messages"
    yield Finding("ok", "log", f"{held}, {tokens(weight.total, weight.mark)} tokens")
    for damage in context.damage[:_LISTED]:
        yield Finding("note", "damage", f"line {damage.line}: {damage.reason}; kept on disk, not used")
    if len(context.damage) > _LISTED:
        yield Finding(
            "note",
            "damage",
            f"{len(context.damage) - _LISTED} more lines; see: tui-agent inspect {context.path}",
        )
    calls = open_calls(context.history)
    if calls:
        names = ", ".join(sorted({str(call.get("name")) for call in calls}))

        async def mend() -> str:
            return await _close_calls(folder)

        level: Level = "bad" if idle else "note"
        yield Finding(level, "open calls", f"{len(calls)} without a result ({names})", mend if idle else None)
    async for finding in _request(folder, context, workspace):
        yield finding
    for finding in await asyncio.to_thread(lambda: [*_backups(folder, context), *_files(folder, context)]):
        yield finding


async def _close_calls(folder: SessionFolder) -> str:
    context = Context(folder.context_path)
    try:
        await context.restore()
        blocks = repairs(context.history, model="")
        if blocks:
            await context.append_message({"role": "user", "content": blocks}, origin="repair")
            await context.sync()
        return f"appended a record that says the calls were cut off ({len(blocks)} results)"
    except ContextError as error:
        raise Failed(str(error)) from error
    finally:
        await context.close()


async def _request(folder: SessionFolder, context: Context, workspace: Path) -> AsyncIterator[Finding]:
    from tui_agent.prompt.assembler import DoesNotFit
    from tui_agent.wiring import preview_request

    place = folder.meta.workspace
    try:
        settings = load()
    except SettingsError:
        settings = Settings()
    try:
        request, _ = await preview_request(context, Path(place) if place else workspace, settings)
    except DoesNotFit as error:
        for text in repairs_of(error.manifest.request.changes, context):
            yield Finding("note", "rule", text)
        yield Finding("bad", "next request", str(error))
        return
    for text in repairs_of(request.changes, context):
        yield Finding("note", "rule", text)
    yield Finding(
        "ok", "next request", f"valid: {len(request.messages):,} messages, {size(len(request.encode()))}"
    )


def _backups(folder: SessionFolder, context: Context) -> Iterator[Finding]:
    backups = context.backups()
    hashes = {
        str(record.body.get("backup")): record.body.get("sha256")
        for record in context.records
        if record.role in ("_rewind", "_compaction")
    }
    gone = 0
    for backup in backups:
        if not backup.exists:
            gone += 1
            yield Finding("note", "backup", f"{backup.name} is no longer kept")
        elif (wanted := hashes.get(backup.name)) and _digest(folder.path / backup.name) != wanted:
            yield Finding("bad", "backup", f"{backup.name} is not what was kept: another program changed it")
    kept = sum(backup.bytes for backup in backups if backup.exists)
    yield Finding("ok", "backups", f"{len(backups) - gone}, {size(kept)}")
    can = [name for name, possible in (("undo", context.can_undo), ("redo", context.can_redo)) if possible]
    yield Finding("ok", "undo", f"{' and '.join(can)} possible" if can else "there is nothing to undo")


def _files(folder: SessionFolder, context: Context) -> Iterator[Finding]:
    """Media and outputs: those on disk must be what their names say, those the log names must be there."""
    stored = 0
    for store in (folder.blobs.folder, folder.outputs.folder):
        for path in sorted(store.iterdir()) if store.is_dir() else ():
            if not path.name.startswith("."):
                stored += 1
                if _digest(path) != path.name[:64]:
                    yield Finding("bad", "file", f"{path.relative_to(folder.path)} is not what its name says")
    missing = {
        digest
        for record in context.records
        if record.damaged is None and b'"blob"' in record.raw
        for digest in _blobs(json.loads(record.raw, strict=False))
        if not (folder.blobs.folder / digest).exists()
    }
    for digest in sorted(missing)[:_LISTED]:
        yield Finding("bad", "file", f"blobs/{digest} is missing: [image missing] is sent in its place")
    yield Finding("ok", "files", f"{stored} media and outputs")


def _blobs(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        digest = value.get("sha256")
        if value.get("type") == "blob" and isinstance(digest, str) and "/" not in digest:
            yield digest
        for item in value.values():
            yield from _blobs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _blobs(item)


def _digest(path: Path) -> str:
    digest = sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
