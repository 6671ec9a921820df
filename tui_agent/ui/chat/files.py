"""The files that `@` completes: the workspace's, as git lists them, and its folders, best matches first.

Listed in a thread and kept for a few seconds; what a longer word matches is looked for in what the shorter one did.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tui_agent.ui import words as figures
from tui_agent.ui.chat.attachments import mention
from tui_agent.ui.chat.completion import MOST_SHOWN, Candidate

_MOST_FILES = 100_000
"""Files of a workspace that are offered; the rest of a larger one is not."""
_FRESH = 10.0
"""Seconds for which a listing of the workspace is good."""

ListFiles = Callable[[Path], Iterator[Path]]


def fitting(typed: str, paths: Iterable[str]) -> list[str]:
    """The paths that have the letters typed in order."""
    letters = re.compile(".*?".join(map(re.escape, _query(typed)))).search
    return [path for path in paths if letters(path.lower())]


def best(typed: str, paths: Iterable[str], limit: int = MOST_SHOWN) -> list[str]:
    """Of paths that fit, the best ones: where the words are in the name's head, the name, the path, or spread out.

    Among equals names that are not hidden come first, then short ones. Folders end in `/`.
    """
    query = _query(typed)
    ranked: list[tuple[int, bool, int, str]] = []
    for path in paths:
        lower = path.lower()
        name = lower.rstrip("/").rpartition("/")[2]
        whole = query and query in (name, name.partition(".")[0])
        rank = (
            0
            if whole
            else 1
            if name.startswith(query)
            else 2
            if query in name
            else 3
            if query in lower
            else 4
        )
        hidden = (path.startswith(".") or "/." in path) and "." not in query
        ranked.append((rank, hidden, len(path), path))
    ranked.sort()
    return [path for *_, path in ranked[:limit]]


def _query(typed: str) -> str:
    return typed.lower().removeprefix("./")


def with_folders(files: Sequence[str]) -> dict[str, int]:
    """The files, and the folders that hold them (ending in `/`) with how many files are below each; a file has 0."""
    folders: Counter[str] = Counter()
    for path in files:
        end = path.rfind("/")
        while end > 0:
            folders[path[: end + 1]] += 1
            end = path.rfind("/", 0, end)
    return {**dict.fromkeys(files, 0), **folders}


class Files:
    """The files of a workspace."""

    def __init__(
        self, root: Path, walk: ListFiles | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._walk = walk
        self._clock = clock
        self._listed: dict[str, int] = {}
        self._at: float | None = None
        self._listing = asyncio.Lock()
        self._before: tuple[str, Sequence[str]] = ("", ())
        """What was typed last, and what fitted."""

    async def match(self, typed: str) -> list[Candidate]:
        """The best files for what was typed.

        Raises:
            OSError: the workspace cannot be read.
        """
        # shielded: a listing that the next key makes useless is still good for the keys after it
        await asyncio.shield(self._list_anew())
        return await asyncio.to_thread(self._match, typed)

    async def _list_anew(self) -> None:
        async with self._listing:
            if self._at is None or self._clock() - self._at > _FRESH:
                self._listed = await asyncio.to_thread(self._list)
                self._before = ("", tuple(self._listed))
                self._at = self._clock()

    def _match(self, typed: str) -> list[Candidate]:
        shorter, found = self._before
        found = fitting(typed, found if typed.startswith(shorter) else self._listed)
        self._before = (typed, found)
        return [self._candidate(path) for path in best(typed, found)]

    def _candidate(self, path: str) -> Candidate:
        said = mention(path)
        whole = (path,) if said == f"@{path}" else ()  # one in quotes still lacks the last of them
        if path.endswith("/"):
            count = self._listed.get(path, 0)
            # to type on behind: one in quotes stays open
            words = f"folder, {count:,} file{'s' if count != 1 else ''}"
            return Candidate(said.removesuffix('"'), path, words, names=whole)
        try:
            found = (self._root / path).stat()
        except OSError:
            return Candidate(f"{said} ", path, names=whole)
        changed = figures.clock(datetime.fromtimestamp(found.st_mtime).astimezone().isoformat())
        return Candidate(f"{said} ", path, f"{figures.size(found.st_size)}, changed {changed}", names=whole)

    def _list(self) -> dict[str, int]:
        from tui_agent.workspace.walk import files  # not needed before the first @

        listed = []
        for path in (self._walk or files)(self._root):
            listed.append((path.relative_to(self._root) if path.is_absolute() else path).as_posix())
            if len(listed) >= _MOST_FILES:
                break
        return with_folders(listed)
