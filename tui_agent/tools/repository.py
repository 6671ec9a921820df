"""What the configuration of a git repository has git run: commands of git that look run it too.

A repository that came as a folder (an archive, a copy) brings its configuration and hooks along, and so does one that
lies inside of the workspace. What the person's own configuration names is theirs and is not looked at here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_RUNS = re.compile(
    r"(?:^|\])\s*(fsmonitor|external|command|textconv|clean|smudge|process|program|defaultkeycommand|sshcommand|gitproxy|"
    r"askpass|alternaterefscommand|uploadpack|vcs)[ \t]*=[ \t]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
"""Keys whose value is a program, in whatever section."""
_HARMLESS = re.compile(
    r'"?(?:true|false|yes|no|on|off|0|1|git-lfs (?:clean|smudge|filter-process)[ \w%-]*)?"?\s*'
)
_INCLUDES = re.compile(r'\[\s*include(?:if)?[\s".\]]', re.IGNORECASE)
_HOOKS = re.compile(r"(?:^|\])\s*hookspath[ \t]*=[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_HOOK = "post-index-change"
"""The one hook that runs when a command that looks brings the index up to date."""
_MODULE = b"\x00\x00\xe0\x00"
"""The mode of an entry of the index that is a repository of its own."""
_TO_FLAGS = (32, 44)
"""Bytes from that mode to the flags of the entry, with hashes of 20 and of 32 bytes."""
_MOST_BYTES = 64_000_000
_DEEPEST = 5
"""Repositories inside of each other."""


def program(folder: Path | str) -> str:
    """What the repository around a folder has git run where it only looks, in words; `""` without any."""
    here = Path(os.path.realpath(folder))
    for place in (here, *here.parents):
        try:
            if (git := _git_folder(place)) is not None:
                return _named(git, place, 0)
        except (OSError, UnicodeError) as error:
            return f"its configuration cannot be read ({error})"
    return ""


def _git_folder(place: Path) -> Path | None:
    """Where git keeps what belongs to a place: `.git`, what a file of that name tells, or the place itself (bare)."""
    entry = place / ".git"
    if entry.is_dir():
        return entry
    if entry.is_file():
        told = os.fsdecode(entry.read_bytes()[:4096]).removeprefix("gitdir:").strip()
        return Path(os.path.realpath(place / told))
    bare = (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()
    return place if bare else None


def _named(git: Path, place: Path, depth: int) -> str:
    common = _common(git)
    configs = [common / "config", git / "config", git / "config.worktree"]
    hooks = [common / "hooks"]
    for config in dict.fromkeys(configs):
        text = config.read_bytes().decode("utf-8", "replace") if config.is_file() else ""
        if _INCLUDES.search(text):
            return f"{config} takes in another file"
        for key, value in _RUNS.findall(text):
            if not _HARMLESS.fullmatch(value):
                return f"{config} has git run a program ({key.lower()})"
        hooks += [place / Path(value.strip().strip('"')).expanduser() for value in _HOOKS.findall(text)]
    if any((folder / _HOOK).exists() for folder in hooks):
        return f"the repository has a hook {_HOOK}"
    for module in _modules(git / "index", place):
        inner = _git_folder(module)
        if inner is None:
            continue
        if depth >= _DEEPEST:
            return "too many repositories lie inside of each other"
        if why := _named(inner, module, depth + 1):
            return why
    return ""


def _common(git: Path) -> Path:
    """The folder that the working trees of a repository share."""
    file = git / "commondir"
    return git / os.fsdecode(file.read_bytes()).strip() if file.is_file() else git


def _modules(index: Path, place: Path) -> Iterator[Path]:
    """Places of repositories that the index of a working tree names.

    Raises:
        OSError: it cannot be read, is very large, or has a form in which names are not whole.
    """
    if not index.is_file():
        return
    if index.stat().st_size > _MOST_BYTES:
        raise OSError("the index is very large")
    data = index.read_bytes()
    at = data.find(_MODULE)
    if at >= 0 and data[4:8] == b"\x00\x00\x00\x04":
        raise OSError("the names of its index are shortened")
    while at >= 0:
        for skipped in _TO_FLAGS:
            start = at + len(_MODULE) + skipped
            flags = int.from_bytes(data[start : start + 2])
            start += 4 if flags & 0x4000 else 2
            end = data.find(b"\0", start, start + 4096)
            if end > start and (place / os.fsdecode(data[start:end]) / ".git").exists():
                yield place / os.fsdecode(data[start:end])
        at = data.find(_MODULE, at + 1)
