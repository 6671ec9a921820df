"""The files of the workspace, as git would list them: tracked and untracked ones, without what is ignored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tui_agent.process import ProcessError, capture
from tui_agent.workspace.guard import inside
from tui_agent.workspace.ignore import Ignore
from tui_agent.workspace.root import find_root, is_repository

_GIT_SECONDS = 60.0

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
"""A repository's own settings may name a program as file watcher; listing files must not run it."""

_GIT_ENVIRONMENT = {
    "GIT_DIR": None,
    "GIT_WORK_TREE": None,
    "GIT_INDEX_FILE": None,
    "GIT_PREFIX": None,
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


def files(root: Path) -> Iterator[Path]:
    """The files below `root` as paths that begin with it, in no order. Blocks: for a thread.

    Where git is installed and `root` lies in a working tree, git lists them; else .gitignore files are read here
    (also .git/info/exclude, and those between the working tree's root and `root`). Hidden files count, `.git` does
    not. Repositories inside the working tree are listed by their own rules. Links to folders are not followed; a link
    to a file is listed if the file lies inside `root`. What is no file (pipes, devices) and what cannot be read is
    left out. Names that are not UTF-8 are spelled as `os.fsdecode` does.
    """
    for name in names(root):
        yield root / name


def names(root: Path) -> Iterator[str]:
    """The files of `files` as texts relative to `root`, with `/` between the parts."""
    listed = _git_list(root)
    yield from _walked(root) if listed is None else _existing(root, listed)


# --- by git ------------------------------------------------------------------------------------------------------


def _git_list(root: Path) -> bytes | None:
    """What git lists below `root`, each name ended by a NUL; None where it cannot or should not."""
    top = find_root(root)
    if not is_repository(top):
        return None
    try:
        if top != Path(os.path.realpath(root)) and _git(root, "check-ignore", "-q", ".")[0] == 0:
            # an ignored folder was named as the workspace: its files are wanted all the same
            return None
        code, output = _git(root, "ls-files", "-z", "-co", "--exclude-standard")
    except ProcessError:
        return None
    return output if code == 0 else None


def _git(folder: Path, *arguments: str) -> tuple[int, bytes]:
    return capture([*_GIT, *arguments], cwd=folder, env=_GIT_ENVIRONMENT, timeout=_GIT_SECONDS)


def _existing(root: Path, listed: bytes) -> Iterator[str]:
    """What of git's list are files; git names deleted ones too, and repositories inside the tree as folders."""
    real = os.path.realpath(root)
    straight: dict[str, bool] = {}
    for raw in dict.fromkeys(listed.split(b"\0")):
        name = os.fsdecode(raw.rstrip(b"/"))
        path = os.path.join(root, name)  # noqa: PTH118 - a hundred thousand Path objects cost half a second
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        parent = os.path.dirname(name)  # noqa: PTH120
        if parent not in straight:
            # a folder that git tracks may have been replaced by a link
            here = os.path.join(real, parent) if parent else real  # noqa: PTH118
            straight[parent] = os.path.realpath(here) == here
        if not straight[parent]:
            continue
        if stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and _leads_to_file_inside(root, path)):
            yield name
        elif name and stat.S_ISDIR(mode) and is_repository(Path(path)):
            for inner in names(Path(path)):
                yield f"{name}/{inner}"


def _leads_to_file_inside(root: Path, path: str) -> bool:
    return os.path.isfile(path) and inside(root, path)  # noqa: PTH113


# --- without git -------------------------------------------------------------------------------------------------

_Rules = tuple[tuple[str, Ignore], ...]
"""The files of patterns in force in a folder, outermost first, each with the folder that it speaks about."""


def _walked(root: Path) -> Iterator[str]:
    real = Path(os.path.realpath(root))
    waiting: list[tuple[str, _Rules]] = [("", _rules_above(real))]
    while waiting:
        prefix, rules = waiting.pop()
        folder = real / prefix
        rules = (() if prefix and is_repository(folder) else rules) + _rules_in(folder)
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            what = _what(real, entry)
            if not what or entry.name == ".git" or _is_ignored(rules, entry.path, folder=what == "folder"):
                continue
            if what == "folder":
                waiting.append((f"{prefix}{entry.name}/", rules))
            else:
                yield prefix + entry.name


def _what(root: Path, entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        if entry.is_file(follow_symlinks=False):
            return "file"
        return "file" if entry.is_symlink() and _leads_to_file_inside(root, entry.path) else ""
    except OSError:
        return ""


def _rules_above(root: Path) -> _Rules:
    """The rules of the folders between the working tree's root and `root`, if they do not ignore `root` itself."""
    top = find_root(root)
    rules: _Rules = ()
    for folder in reversed([root, *root.parents]):
        if not folder.is_relative_to(top):
            continue
        if folder != top and _is_ignored(rules, str(folder), folder=True):
            return ()
        if folder != root:
            rules += _rules_in(folder)
    return rules


def _rules_in(folder: Path) -> _Rules:
    rules: _Rules = ()
    for file in (folder / ".git" / "info" / "exclude", folder / ".gitignore"):
        try:
            text = file.read_text(encoding="utf-8-sig", errors="surrogateescape") if file.is_file() else ""
        except OSError:
            continue
        if ignore := Ignore(text):
            rules += ((f"{folder}/", ignore),)
    return rules


def _is_ignored(rules: _Rules, path: str, *, folder: bool) -> bool:
    """Whether the innermost rule that says something about `path` ignores it (gitignore(5))."""
    for base, ignore in reversed(rules):
        said = ignore.says(path.removeprefix(base), folder=folder)
        if said is not None:
            return said
    return False
