"""The files of a workspace that tell a model what to do, and the files that these import with `@path`.

A path is relative to the file that names it. An imported file is one of the workspace's that is read as it stands:
nothing that a tool could not read without asking, which means none outside of the folder that is worked in, unless it
lies below the file that names it (one of a folder above is read from there down). For others a person would have to be
asked, and the prompt asks nobody: they are refused, which is said. A file is told once, whoever names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from tui_agent.literal import one_line
from tui_agent.prompt.imports import Named, names
from tui_agent.workspace import guard

FILES = ("AGENTS.md", "CLAUDE.md", "MEMORY.md", "CODEBUDDY.md")
"""Files of instructions that the workspace may hold, in the order they are read in each folder."""

MAX_FILE_BYTES = 32 * 1024
"""Of a longer file the head is taken, and a notice says so."""
MAX_DEPTH = 5
"""So many imports may lead to a file."""
MAX_IMPORTS = 50
MAX_IMPORTED_BYTES = 128 * 1024
"""Of all files that are imported; then no more are."""
_LOOKED_AT = 200
"""Words of one file that may be imports."""
_NAMED = 5
_NAME_CHARACTERS = 80
"""So many of the imports that are left out a notice names, and so much of each."""


class Guide(Struct, frozen=True):
    """A file: its path as it is shown, its text, and the file that imports it (""; none does)."""

    shown: str
    text: str
    by: str = ""


class Guides:
    """One reading of the files from `root` down to `folder`.

    After `read` was gone through, `notices` says what could not be read or was shortened, and `named` holds the
    places of all that is imported, or will be once it is there.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.notices: list[str] = []
        self.named: set[Path] = set()
        self._read: set[Path] = set()
        self._texts: set[str] = set()
        self._imports = 0
        self._bytes = 0
        self._left: dict[tuple[str, str], list[str]] = {}
        """What is not imported, by the file that names it and why."""

    def read(self) -> Iterator[Guide]:
        """The files with something in them, each before those that it imports; what several say alike, once."""
        own = [folder / name for folder in self._folders() for name in FILES]
        # they have their own place, also where another one imports them
        self._read.update(guard.resolve(path.parent, path.name) for path in own)
        for path in own:
            shown = guard.relative(self._root, path)
            if not guard.inside(self._root, path):
                self.notices.append(f"{shown} was not read: it is a link that leads out of {self._root}")
            elif (text := read_text(path, shown, self.notices)) and text not in self._texts:
                yield from self._told(path, Guide(shown, text), 0)
        for (by, why), words in self._left.items():
            more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
            self.notices.append(f"{by} imports {', '.join(words[:_NAMED])}{more}: {why}")

    def _folders(self) -> list[Path]:
        try:
            parts = self._folder.relative_to(self._root).parts
        except ValueError:
            return [self._folder]
        folders = [self._root]
        for part in parts:
            folders.append(folders[-1] / part)
        return folders

    def _told(self, path: Path, guide: Guide, depth: int) -> Iterator[Guide]:
        self._texts.add(guide.text)
        yield guide
        for name in islice(names(guide.text), _LOOKED_AT):
            yield from self._import(path, guide.shown, name, depth + 1)

    def _import(self, by: Path, by_shown: str, name: Named, depth: int) -> Iterator[Guide]:
        path, what = self._find(by, name)
        if path is None or what == "folder":
            if name.meant:
                self._leave(by_shown, name, "it is a folder" if what else "there is no such file")
            return
        if path in self._read:
            return
        if why := self._refusal(by, path, depth):
            self._leave(by_shown, name, f"not read, {why}")
            return
        self._read.add(path)
        shown = guard.relative(self._root, path)
        text = read_text(path, shown, self.notices)
        if "\0" in text:
            self._leave(by_shown, name, "not read, it is no text")
        elif text and text not in self._texts:
            self._imports += 1
            self._bytes += len(text.encode(errors="replace"))
            yield from self._told(path, Guide(shown, text, by_shown), depth)

    def _leave(self, by: str, name: Named, why: str) -> None:
        self._left.setdefault((by, why), []).append(one_line(f"@{name.paths[-1]}", _NAME_CHARACTERS))

    def _find(self, by: Path, name: Named) -> tuple[Path | None, str]:
        """What is there under one of the paths, links followed; where a file may come to be is noted."""
        for text in name.paths:
            try:
                path = guard.resolve(by.parent, text)
                what = guard.kind(path)
            except (guard.PathError, OSError):
                continue
            if what != "folder" and self._may_read(by, path):
                self.named.add(path)
            if what != "nothing":
                return path, what
        return None, ""

    def _refusal(self, by: Path, path: Path, depth: int) -> str:
        """Why a file is not imported; "" if it is."""
        if not self._may_read(by, path):
            return f"what lies outside of {self._folder} takes your consent; ask for it in your words"
        if depth > MAX_DEPTH:
            return f"more than {MAX_DEPTH} imports lead to it"
        if self._imports >= MAX_IMPORTS:
            return f"{MAX_IMPORTS} files are imported already"
        if self._bytes >= MAX_IMPORTED_BYTES:
            return f"{MAX_IMPORTED_BYTES // 1024} KB are imported already"
        return ""

    def _may_read(self, by: Path, path: Path) -> bool:
        return guard.inside(self._folder, path) or guard.inside(by.parent, path)


def read_text(path: Path, shown: str, notices: list[str]) -> str:
    """The text of a file, or its head if it is long; "" if there is none. `notices` gets what a person should know."""
    try:
        data = guard.head(path, MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as error:
        notices.append(f"{shown} was not read: {error.strerror or error}")
        return ""
    if len(data) > MAX_FILE_BYTES:
        notices.append(f"{shown} is longer than {MAX_FILE_BYTES // 1024} KB: its head was taken")
        data = data[:MAX_FILE_BYTES].rsplit(b"\n", 1)[0]
    return data.decode("utf-8", "replace").strip()
