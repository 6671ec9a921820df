"""Is this path inside the workspace, once every link in it has been followed?"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


class PathError(Exception):
    """A text cannot be a path; the message says why."""


def resolve(root: Path | str, text: str) -> Path:
    """The place that `text` names: from `root` on if it is relative, `~` is the home folder, `..` and links followed.

    It need not exist; then the part that does is followed.

    Raises:
        PathError: it is empty, or holds characters that no path can.
    """
    if not text:
        raise PathError("the path is empty")
    if text == "~" or text.startswith("~/"):
        text = str(Path.home()) + text[1:]
    try:
        return Path(os.path.realpath(os.path.join(root, text)))  # noqa: PTH118 - Path would drop a trailing `/.`
    except ValueError as error:
        # a NUL, or half a character
        raise PathError(f"{text!r} is no path: {error}") from error


def inside(root: Path | str, path: Path | str) -> bool:
    """True if `path`, its links followed, is `root` or lies below it."""
    try:
        real = Path(os.path.realpath(os.path.join(root, path)))  # noqa: PTH118 - a relative path is one below root
    except ValueError:
        return False
    return real.is_relative_to(os.path.realpath(root))


def in_git(path: Path) -> bool:
    """True if a part of the path is `.git`, as any file system would read the name.

    Some take capitals for small letters, and some pass over characters without width.
    """
    return any(_UNSEEN.sub("", part).casefold() == ".git" for part in path.parts)


def relative(root: Path | str, path: Path) -> str:
    """`path` as people and models read it: from `root` on if it lies below, else whole."""
    for base in (Path(root), Path(os.path.realpath(root))):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


def kind(path: Path) -> str:
    """What lies at `path`, links followed: `file`, `folder`, `nothing`, or in words what else it is.

    Opening anything but a file can wait for ever (a pipe) or never end (a device).

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    for test, words in _KINDS:
        if test(mode):
            return words
    return "something that is no file"


_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def head(path: Path, most: int) -> bytes:
    """The first bytes of a file, links followed. Never waits for what is none.

    Raises:
        OSError: there is no file, or it cannot be read.
    """
    # not blocking: a pipe is opened at once, and then seen to be one
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(code, f"it is {kind(path)}, not a file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
