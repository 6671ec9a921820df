"""Find sessions: list, search, rename, archive, delete with undo.

Everything here reads and moves files, so it blocks: call it in a thread. A session whose parts are broken is listed
and marked (`entry`), never hidden.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent import paths
from tui_agent.sessions import garbage
from tui_agent.sessions.contents import first_hit
from tui_agent.sessions.entry import Entry, changed, changed_log, entry_of
from tui_agent.sessions.folder import SessionError, SessionFolder, bucket

if TYPE_CHECKING:
    from tui_agent.sessions.contents import Clean
    from tui_agent.sessions.index import SearchIndex

_LEAST_PREFIX = 4
"""Characters: a shorter beginning of an id is taken for a slip of the hand."""

_CHECKPOINT = re.compile(rb'"role"\s*:\s*"_checkpoint"')
_HEAD = 512
"""Bytes of a line in which its role is looked for; a checkpoint is shorter."""


class Hit(Struct, frozen=True):
    """Where a search found its text: on `line` of the session's log (from 1; 0: in its title), with the words around
    it."""

    entry: Entry
    line: int
    excerpt: str


class Census(Struct, frozen=True):
    """How many records and how many checkpoints a log holds."""

    records: int
    checkpoints: int


class Catalog:
    """The sessions under one folder, by default the user's. Deleted ones wait in a trash folder beside it.

    `follow` is told the id of each session that is `gone` (archived or deleted) or back, and returns what went wrong
    with what belongs to it elsewhere; `trouble` has its last words. `clean` takes out of the text of answers what is
    not for a person's eyes: it is neither found nor shown.
    """

    def __init__(
        self, root: Path | None = None, *, follow: Callable[..., str] | None = None, clean: Clean = str
    ) -> None:
        self._follow = follow
        self._clean = clean
        self.trouble = ""
        self.root = root if root is not None else paths.sessions_dir()
        self.trash = self.root.parent / paths.trash_dir().name

    def list(self, workspace: Path | None = None, archived: bool | None = False) -> Sequence[Entry]:
        """The sessions, the newest first: of one workspace or of all; archived or not, or both (None).

        Sessions in which nothing was ever said are left out.

        Raises:
            SessionError: the folder of sessions cannot be read.
        """
        return list(self.each(workspace, archived))

    def each(self, workspace: Path | None = None, archived: bool | None = False) -> Iterator[Entry]:
        """As `list`, one by one as they are read: the newest are there at once.

        Raises:
            SessionError: the folder of sessions cannot be read.
        """
        for entry in map(entry_of, _newest_first(self._folders(workspace))):
            if not entry.empty and (archived is None or entry.archived == archived):
                yield entry

    def latest(self, workspace: Path) -> Entry | None:
        """The session of the workspace that was used last and is not archived; None if there is none."""
        for path in _newest_first(self._folders(workspace)):
            entry = entry_of(path)
            if not entry.empty and not entry.archived:
                return entry
        return None

    def find(self, prefix: str) -> Entry:
        """The session whose id is `prefix` or begins with it, in any workspace, archived or not, empty or not.

        Raises:
            SessionError: there is none, or more than one.
        """
        return entry_of(self._find(prefix, self._folders(None), "session"))

    def deleted(self) -> Sequence[Entry]:
        """The sessions in the trash, the last deleted first."""
        found = sorted(_folders(self.trash), key=changed, reverse=True)
        return [entry_of(path) for path in found]

    def rename(self, prefix: str, title: str) -> Entry:
        """Give a session another title; an empty one goes back to the user's first words.

        Raises:
            SessionError: there is no such session, or it cannot be written.
        """
        path = self.find(prefix).path
        SessionFolder(path).save_meta(title=" ".join(title.split()))
        return entry_of(path)

    def archive(self, prefix: str) -> Entry:
        """Take a session out of the usual lists.

        Raises:
            SessionError: as `rename`.
        """
        path = self.find(prefix).path
        SessionFolder(path).save_meta(archived=True)
        return self._followed(entry_of(path))

    def unarchive(self, prefix: str) -> Entry:
        """Put a session back into the usual lists.

        Raises:
            SessionError: as `rename`.
        """
        path = self.find(prefix).path
        SessionFolder(path).save_meta(archived=False)
        return self._followed(entry_of(path))

    def delete(self, prefix: str) -> Entry:
        """Move a session into the trash; `undelete` brings it back. The entry says where it lies now.

        Raises:
            SessionError: there is no such session, a program is writing it, or it cannot be moved.
        """
        path = self.find(prefix).path
        if not garbage.is_idle(path):
            raise SessionError(f"session {path.name} is in use; close it there first")
        moved = _move(path, self.trash / path.parent.name)
        os.utime(moved)
        return self._followed(entry_of(moved), gone=True)

    def undelete(self, prefix: str) -> Entry:
        """Bring a session back from the trash.

        Raises:
            SessionError: there is no such session in the trash, or it cannot be moved.
        """
        path = self._find(prefix, _folders(self.trash), "deleted session")
        return self._followed(entry_of(_move(path, self.root / path.parent.name)))

    def _followed(self, entry: Entry, *, gone: bool = False) -> Entry:
        if self._follow is not None:
            self.trouble = self._follow(entry.id, gone=gone or entry.archived)
        return entry

    @cached_property
    def index(self) -> SearchIndex:
        """The index of what was said in these sessions."""
        from tui_agent.sessions.index import SearchIndex  # SQLite is needed for searching only

        return SearchIndex(self.root, clean=self._clean)

    def search(
        self,
        text: str,
        workspace: Path | None = None,
        archived: bool | None = None,
        *,
        go_on: Callable[[], bool] = lambda: True,
    ) -> Sequence[Hit]:
        """The sessions whose title holds `text`, the newest first, then those in which a message holds every word of
        it, the best first. What has no words in it (`->`) is looked for as it stands.

        The index is brought up to date first; `go_on` is asked meanwhile, and False ends the search with what is there.

        Raises:
            SessionError: the folder of sessions cannot be read.
        """
        if not text.strip():
            return []
        entries = self.list(workspace, archived)
        wanted = text.casefold()
        titles = [Hit(entry, 0, entry.title) for entry in entries if wanted in entry.title.casefold()]
        named = {hit.entry.path for hit in titles}
        return [*titles, *self.said(text, [e for e in entries if e.path not in named], go_on=go_on)]

    @property
    def notice(self) -> str:
        """What a person should know about the index, or nothing."""
        return self.index.notice

    def said(
        self,
        text: str,
        entries: Sequence[Entry],
        *,
        fresh: bool = True,
        go_on: Callable[[], bool] = lambda: True,
        excerpts: int | None = None,
    ) -> Sequence[Hit]:
        """Those of the sessions in which a message holds every word of `text`, the best first; `go_on` as in `search`.

        Not `fresh`: at once, from what the index knows already. Only the first `excerpts` hits have one.
        """
        logs = {entry.folder.context_path: entry for entry in entries}
        return list(self._said(text, logs, fresh=fresh, go_on=go_on, excerpts=excerpts))

    def _said(
        self,
        text: str,
        logs: Mapping[Path, Entry],
        *,
        fresh: bool,
        go_on: Callable[[], bool],
        excerpts: int | None,
    ) -> Iterator[Hit]:
        from tui_agent.fulltext import query
        from tui_agent.sessions.index import IndexFailed

        if query(text):
            try:
                if fresh:
                    self.index.update(logs, go_on)
                found = self.index.search(text)
            except IndexFailed as error:
                self.index.notice = f"searched without an index, which is slower: {error}"
            else:
                mine = [hit for hit in found if hit.log in logs]
                for number, hit in enumerate(mine):
                    shown = excerpts is None or number < excerpts
                    yield Hit(logs[hit.log], hit.line, hit.excerpt(text, self._clean) if shown else "")
                return
        for log, entry in logs.items() if fresh else ():
            if go_on() and (seen := first_hit(log, text, self._clean)) is not None:
                yield Hit(entry, *seen)

    def census(self, entry: Entry) -> Census:
        """Count what the log of a session holds; nothing where it cannot be read."""
        records = checkpoints = 0
        try:
            with entry.folder.context_path.open("rb") as log:
                for line in log:
                    records += 1
                    checkpoints += _CHECKPOINT.search(line[:_HEAD]) is not None
        except OSError:
            pass
        return Census(records, checkpoints)

    def bucket(self, workspace: Path) -> str:
        """The name of the folder that holds the sessions of a workspace."""
        return bucket(workspace)

    def gc_candidates(self, *, trash_days: float = garbage.TRASH_DAYS) -> Sequence[garbage.Candidate]:
        """What can be cleared away for good with `garbage.remove`; nothing is deleted by this.

        Raises:
            SessionError: something cannot be read.
        """
        sessions = map(entry_of, self._folders(None))
        return garbage.candidates(sessions, self.deleted(), trash_days=trash_days)

    def _folders(self, workspace: Path | None) -> Sequence[Path]:
        return _folders(self.root, bucket(workspace) if workspace is not None else None)

    def _find(self, prefix: str, folders: Sequence[Path], what: str) -> Path:
        wanted = prefix.strip().upper()
        found = [path for path in folders if path.name.upper() == wanted]
        if not found and len(wanted) >= _LEAST_PREFIX:
            found = [path for path in folders if path.name.upper().startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(sorted(path.name for path in found)[:5])
            raise SessionError(f"{len(found)} {what}s begin with {prefix!r}: {ids}")
        if what == "session" and any(
            path.name.upper().startswith(wanted) for path in _folders(self.trash) if wanted
        ):
            raise SessionError(
                f"session {prefix!r} was deleted; bring it back with: tui-agent sessions undelete {prefix}"
            )
        raise SessionError(f"there is no {what} {prefix!r}; see: tui-agent sessions list --all")


def _folders(root: Path, name: str | None = None) -> list[Path]:
    """The session folders under a root, of one bucket or of all."""
    try:
        buckets = [root / name] if name is not None else [path for path in root.iterdir() if path.is_dir()]
        return [path for place in buckets if place.is_dir() for path in place.iterdir() if _is_session(path)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SessionError(f"{error.filename} cannot be read: {error.strerror}") from error


def _is_session(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith(".")


def _newest_first(folders: Sequence[Path]) -> Iterator[Path]:
    return iter(sorted(folders, key=changed_log, reverse=True))


def _move(path: Path, place: Path) -> Path:
    target = place / path.name
    try:
        paths.private_folder(place)
        if target.exists():
            raise FileExistsError(errno.EEXIST, "something of that name is there", str(target))
        path.rename(target)
    except OSError as error:
        raise SessionError(f"session {path.name} cannot be moved to {place}: {error.strerror}") from error
    with contextlib.suppress(OSError):  # the folder it came from, if that was its last session
        path.parent.rmdir()
    return target
