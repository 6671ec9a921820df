"""A grep for machines without ripgrep: the same output, in a process of its own.

Python's regular expressions can take for ever and hold the interpreter meanwhile; a process can be ended. It prints,
as `rg --null --no-heading --line-number` does, `path NUL number:line` for a match, `path NUL number-line` for a line
around one, and `--` between groups that do not touch.
"""

from __future__ import annotations

import codecs
import itertools
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tui_agent.workspace import walk
from tui_agent.workspace.ignore import glob_regex

MOST_FILE_BYTES = 64 * 1024 * 1024
"""Larger files are not searched."""
_BINARY_HEAD = 8192


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for: the lines of `file`, or of the files below `folder` (whose name matches `glob`)."""

    pattern: str
    folder: str
    file: str | None = None
    glob: str | None = None
    ignore_case: bool = False
    context: int = 0


def command(search: Search) -> list[str]:
    """The command that searches, run from any folder.

    It takes nothing from the folder it runs in: a module that lies there is not imported.
    """
    start = (
        "import sys; sys.path.insert(0, sys.argv[1]); from tui_agent.tools.grepping import main; "
        "sys.exit(main(sys.argv[2]))"
    )
    package = Path(__file__).resolve().parents[2]
    return [sys.executable, "-I", "-W", "ignore", "-c", start, str(package), json.dumps(asdict(search))]


def main(arguments: str) -> int:
    """Search and print; 0: all was searched, 2: the pattern or the glob is none (it prints why)."""
    search = Search(**json.loads(arguments))
    try:
        regex = re.compile(search.pattern, re.IGNORECASE if search.ignore_case else 0)
        wanted = GlobFilter(search.glob) if search.glob else None
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        sys.stdout.write(f"{error}\n")
        return 2
    names = [search.file] if search.file else walk.names(Path(search.folder))
    found = False
    for name in names:
        if wanted is not None and not search.file and not wanted.takes(name):
            continue
        lines = _lines(Path(search.folder, name))
        hits = {number for number, line in enumerate(lines) if regex.search(line)}
        label = b"./" + os.fsencode(name)
        for first, last in _groups(sorted(hits), search.context, len(lines)):
            if found and search.context:
                sys.stdout.buffer.write(b"--\n")
            found = True
            for number in range(first, last + 1):
                mark = b":" if number in hits else b"-"
                text = lines[number].encode("utf-8", "surrogateescape")
                sys.stdout.buffer.write(b"%s\0%d%s%s\n" % (label, number + 1, mark, text))
    sys.stdout.flush()
    return 0


def _groups(hits: Sequence[int], context: int, count: int) -> list[tuple[int, int]]:
    """First and last line of each run of matches and the lines around them; runs that touch are one."""
    groups: list[tuple[int, int]] = []
    for hit in hits:
        first, last = max(0, hit - context), min(count - 1, hit + context)
        if groups and first <= groups[-1][1] + 1:
            groups[-1] = (groups[-1][0], last)
        else:
            groups.append((first, last))
    return groups


class GlobFilter:
    """File names by a glob: without a slash in any folder, with one from the searched folder on; `!` in front: all but.

    Raises:
        ValueError: it is no glob.
    """

    def __init__(self, glob: str) -> None:
        self._wanted = not glob.startswith("!")
        patterns = [_anchored(pattern) for pattern in braces(glob.removeprefix("!"))]
        self._regex = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.DOTALL)

    def takes(self, name: str) -> bool:
        """True if the file, or a folder it is in, is one of those the glob names."""
        at = len(name)
        while at > 0:
            if self._regex.fullmatch(name, 0, at):
                return self._wanted
            at = name.rfind("/", 0, at)
        return not self._wanted


def _anchored(pattern: str) -> str:
    pattern = pattern.removesuffix("/")
    if "/" in pattern:
        return glob_regex(pattern.removeprefix("/"))
    return f"(?:.*/)?{glob_regex(pattern)}"


def braces(glob: str, most: int = 200) -> list[str]:
    """The globs that `{a,b}` in one stands for; braces may be nested, a backslash takes their meaning.

    Raises:
        ValueError: there are more than `most`, or a brace is not closed.
    """
    waiting, done = [glob], []
    while waiting:
        current = waiting.pop()
        group = _first_group(current)
        if group is None:
            done.append(current)
        else:
            start, stop, choices = group
            waiting += [current[:start] + choice + current[stop:] for choice in reversed(choices)]
        if len(waiting) + len(done) > most:
            raise ValueError(f"the glob stands for more than {most} others")
    return done


def _first_group(glob: str) -> tuple[int, int, list[str]] | None:
    start, depth, cuts, at = -1, 0, [], 0
    while at < len(glob):
        character = glob[at]
        if character == "\\":
            at += 1
        elif character == "{":
            if depth == 0:
                start, cuts = at, [at]
            depth += 1
        elif character == "," and depth == 1:
            cuts.append(at)
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                cuts.append(at)
                pieces = [glob[a + 1 : b] for a, b in itertools.pairwise(cuts)]
                return start, at + 1, pieces
        at += 1
    if depth:
        raise ValueError("a { is not closed")
    return None


def _lines(path: Path) -> Sequence[str]:
    """The lines of a text file; none of what is no text, too large, a link or unreadable."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_FILE_BYTES:
            return []
        data = path.read_bytes()
    except OSError:
        return []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data[:_BINARY_HEAD]:
        return []
    else:
        # a NUL further on ends what is taken for text
        text = data.removeprefix(codecs.BOM_UTF8).partition(b"\0")[0].decode("utf-8", "surrogateescape")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
