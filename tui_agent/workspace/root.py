"""Which folder is worked in, and a name for it that stays the same."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NewType

WorkspaceId = NewType("WorkspaceId", str)
"""A readable part and a hash of the root's path: `shop-1f2e3d4c`."""

_SLUG_CHARACTERS = 40


def find_root(path: Path | str) -> Path:
    """The root of the git working tree that `path` lies in, or else the folder itself; links are followed.

    A file stands for its folder. A repository in the home folder (people keep their dotfiles in one) or in `/` counts
    for that folder only, not for everything below it.
    """
    folder = Path(os.path.realpath(path))
    if not folder.is_dir():
        folder = folder.parent
    if is_repository(folder):
        return folder
    too_far = {Path(os.path.realpath(Path.home())), Path(folder.anchor)}
    for parent in folder.parents:
        if parent in too_far:
            break
        if is_repository(parent):
            return parent
    return folder


def is_repository(folder: Path) -> bool:
    """True if `folder` is the root of a git working tree: it has a `.git` folder, or a `.git` file that names one."""
    entry = folder / ".git"
    try:
        if (entry / "HEAD").is_file():
            return True
        if not entry.is_file():
            return False
        with entry.open("rb") as file:
            return file.read(8) == b"gitdir: "
    except OSError:
        return False


def identity(path: Path | str) -> WorkspaceId:
    """The name of the workspace that `path` lies in: the same from each folder in it and through links."""
    root = find_root(path)
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:_SLUG_CHARACTERS] or "root"
    return WorkspaceId(f"{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}")
