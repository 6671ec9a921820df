"""A session's folder and its session.toml.

    <sessions>/<slug>-<sha8 of the workspace's path>/<session id>/
        context.jsonl        the conversation; context_<N>.jsonl are its backups
        events.jsonl         the trace
        session.toml         title, workspace, pinned backups, where it was forked from
        draft.json           unsent words
        running.json         the command that a person runs, while it runs
        blobs/  outputs/     media and long outputs, by hash
        lock                 who writes

Losing session.toml loses what stands in it and nothing else: a broken one is reported in `Meta.damage`, and kept as
session.toml.broken when a new one is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import fields, replace

from tui_agent import paths
from tui_agent.context.records import ulid
from tui_agent.literal import clean
from tui_agent.workspace.root import identity

if TYPE_CHECKING:
    from tui_agent.context.blobs import BlobStore, OutputStore

CONTEXT = "context.jsonl"
META = "session.toml"
LOCK = "lock"
DRAFT = "draft.json"
RUNNING = "running.json"


class SessionError(Exception):
    """A session cannot be found, read or changed; the message says which and what to do."""


class Meta(Struct, frozen=True):
    """What session.toml says. `created` is ISO 8601; `pinned` are names of backups; `forked_from` is the id or path
    of the session it was copied from. `unknown` are keys of other versions, kept. `damage` says why the file could
    not be used, or is empty."""

    title: str = ""
    workspace: str = ""
    created: str = ""
    archived: bool = False
    pinned: tuple[str, ...] = ()
    forked_from: str = ""
    unknown: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    damage: str = ""


class SessionFolder:
    """The files of one session. Making one of these touches nothing on the disk; its methods block for a moment."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.id = self.path.name
        self.context_path = self.path / CONTEXT
        self.events_path = self.path / "events.jsonl"
        self.draft_path = self.path / DRAFT
        self.running_path = self.path / RUNNING
        self.lock_path = self.path / LOCK

    @classmethod
    def create(
        cls, workspace: Path | str, *, root: Path | None = None, title: str = "", forked_from: str = ""
    ) -> SessionFolder:
        """Make the folder of a new session for a workspace, under `root` or else the user's sessions.

        Raises:
            SessionError: the folder cannot be made.
        """
        place = (root or paths.sessions_dir()) / bucket(workspace)
        folder = cls(place / ulid())
        try:
            paths.private_folder(place)
            folder.path.mkdir(mode=0o700)
            created = datetime.now(UTC).isoformat(timespec="seconds")
            folder._write(
                Meta(
                    title=title, workspace=str(resolved(workspace)), created=created, forked_from=forked_from
                )
            )
        except OSError as error:
            raise SessionError(f"no session can be made in {place}: {error.strerror}") from error
        return folder

    @classmethod
    def adopt(cls, context: Path | str, workspace: Path | str, *, root: Path | None = None) -> SessionFolder:
        """A new session that goes on from a copy of another context.jsonl, such as Kimi CLI's or one that was mailed.

        What lies beside it as blobs and outputs is copied too. The original is only read.

        Raises:
            SessionError: it cannot be read, or the copy cannot be made; then nothing is left of the copy.
        """
        source = Path(context)
        folder = cls.create(workspace, root=root, forked_from=str(resolved(source)))
        try:
            with source.open("rb") as original:
                descriptor = os.open(folder.context_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as copy:
                    shutil.copyfileobj(original, copy, 1 << 20)
                    copy.flush()
                    os.fsync(copy.fileno())
            for beside in ("blobs", "outputs"):
                if (source.parent / beside).is_dir():
                    shutil.copytree(source.parent / beside, folder.path / beside)
                    (folder.path / beside).chmod(0o700)
        except (OSError, shutil.Error) as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SessionError(f"{source} cannot be copied into a session: {reason}") from error
        return folder

    @cached_property
    def blobs(self) -> BlobStore:
        """Images and other media."""
        from tui_agent.context.blobs import BlobStore

        return BlobStore(self.path / "blobs")

    @cached_property
    def outputs(self) -> OutputStore:
        """Full texts of long tool results."""
        from tui_agent.context.blobs import OutputStore

        return OutputStore(self.path / "outputs")

    @property
    def meta(self) -> Meta:
        """What session.toml says now. A file that is missing or broken says nothing, and a broken one why."""
        file = self.path / META
        try:
            tables = tomllib.loads(file.read_bytes().decode())
        except FileNotFoundError:
            return Meta()
        except OSError as error:
            return Meta(damage=f"{META} cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            return Meta(damage=f"{META} is not UTF-8")
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            return Meta(damage=f"{META} is not TOML: {error}")
        return _meta(tables)

    def save_meta(self, **changes: Any) -> Meta:
        """Change session.toml in one step: title, archived, pinned, forked_from, workspace. Returns what it says now.

        Raises:
            SessionError: the session's folder is gone, or the file cannot be written.
            TypeError: there is no such field.
        """
        before = self.meta
        after = replace(before, **changes)
        try:
            if not self.path.is_dir():
                raise SessionError(f"session {self.id} is gone: {self.path} does not exist")
            if before.damage and (self.path / META).is_file():
                (self.path / META).replace(self.path / f"{META}.broken")
            self._write(replace(after, damage=""))
        except OSError as error:
            raise SessionError(f"{self.path / META} cannot be written: {error.strerror}") from error
        return replace(after, damage="")

    def remove_if_unused(self) -> None:
        """Remove the folder of a session in which nothing was said: no log, no backup, no unsent words, no media.

        Whatever lies there besides the files that a session begins with keeps the folder as it is. A folder that cannot
        be removed stays; `sessions gc` lists it.
        """
        begun_with = {self.events_path.name, META, LOCK}
        with contextlib.suppress(OSError):
            if {file.name for file in self.path.iterdir()} <= begun_with:
                for name in begun_with:
                    (self.path / name).unlink(missing_ok=True)
                self.path.rmdir()
                self.path.parent.rmdir()

    def _write(self, meta: Meta) -> None:
        import tomli_w

        tables = dict(meta.unknown)
        for item in fields(Meta):
            value = getattr(meta, item.name)
            if item.name not in ("unknown", "damage") and value:
                tables[item.name] = _clean(value)
        paths.write_private(self.path / META, tomli_w.dumps(tables).encode())


def bucket(workspace: Path | str) -> str:
    """The folder's name that holds the sessions of a workspace: the same from each folder of a git working tree."""
    return identity(workspace)


def resolved(path: Path | str) -> Path:
    """The path with its links followed, so that a workspace has one name."""
    return Path(os.path.realpath(path))


def _meta(tables: dict[str, Any]) -> Meta:
    known: dict[str, Any] = {}
    damage = ""
    for name, default in (
        ("title", ""),
        ("workspace", ""),
        ("created", ""),
        ("archived", False),
        ("forked_from", ""),
    ):
        value = tables.pop(name, default)
        if isinstance(value, datetime):
            value = value.isoformat()
        if type(value) is type(default):
            known[name] = value
        else:
            damage = damage or f"{META}: {name} is not a {type(default).__name__}"
    pinned = tables.pop("pinned", [])
    if isinstance(pinned, list) and all(isinstance(name, str) for name in pinned):
        known["pinned"] = tuple(pinned)
    else:
        damage = damage or f"{META}: pinned is not a list of names"
    return Meta(**known, unknown=MappingProxyType(tables), damage=damage)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    return [clean(item) for item in value] if isinstance(value, tuple) else value
