"""glob and grep: files by name, lines by pattern."""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from tui_agent.process import ProcessError, Result, run
from tui_agent.tools.arguments import Arguments, Places, is_outside, reason, title_of
from tui_agent.tools.grepping import MOST_FILE_BYTES, GlobFilter, Search, command
from tui_agent.tools.tool import Need, Output, Progress, ToolError
from tui_agent.workspace import guard, walk

MOST_FILES = 200
"""Files that glob names."""
MOST_MATCHES = 200
"""Matching lines that grep gives."""
_RESULT_CHARACTERS = 28_000
"""A result longer than what is stored of one would lose its middle."""
_LINE_CHARACTERS = 500
_MOST_PATTERN = 2_000
_READ_CHARACTERS = 2_000_000
"""Output of a search that is read; it is ended there."""
_SEARCH_SECONDS = 60.0
_WALK_SECONDS = 30.0


class Glob:
    """Files by name, the newest first."""

    name = "glob"
    read_only = True
    description = (
        "Find files by name, the newest first. `*` and `?` stay within one folder, `**/` goes through any, {a,b} is "
        "either. A pattern without a slash (*.py) matches in every folder. What git ignores is left out."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "such as src/**/*.{ts,tsx}"},
            "path": {"type": "string", "description": "the folder to look in (default: the workspace)"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path) -> None:
        self._root = root
        self._places = Places(root)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To look through that folder."""
        pattern, text = self._parse(arguments)
        return _need(self._root, self._places.at_need(text), pattern)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """The names of the files."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._glob, *self._parse(arguments), stop)
        finally:
            stop.set()

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[str, str]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        pattern = given.text("pattern")
        if not pattern.strip("/"):
            raise ToolError("'pattern' is empty: **/* is every file")
        if len(pattern) > _MOST_PATTERN:
            raise ToolError(f"'pattern' is too long ({len(pattern)} characters; at most {_MOST_PATTERN})")
        return pattern, given.text("path", ".") or "."

    def _glob(self, pattern: str, text: str, stop: threading.Event) -> Output:
        folder = self._places.at_call(text)
        _refuse_no_folder(self._root, folder)
        for base in (folder, self._root):
            if pattern.startswith(f"{base}/"):
                pattern = pattern.removeprefix(f"{base}/")
                folder = base
                break
        try:
            wanted = GlobFilter(pattern.removeprefix("./"))
        except ValueError as error:
            raise ToolError(f"{pattern!r} is no glob: {error}") from error
        deadline = time.monotonic() + _WALK_SECONDS
        newest: list[tuple[int, str]] = []
        count = 0
        complete = True
        for name in walk.names(folder):
            if stop.is_set() or time.monotonic() > deadline:
                complete = False
                break
            if not wanted.takes(name):
                continue
            try:
                changed = os.stat(folder / name).st_mtime_ns  # noqa: PTH116 - it went away between: not worth a word
            except OSError:
                continue
            count += 1
            push = heapq.heappush if len(newest) < MOST_FILES else heapq.heappushpop
            push(newest, (changed, name))
        names = [guard.relative(self._root, folder / name) for _, name in sorted(newest, reverse=True)]
        lines, kept = _fitting(names)
        if not count:
            lines.append(f"no file matches {pattern} (what git ignores is not looked at)")
        elif count > kept:
            lines.append(f"[the newest {kept} of {count} files; narrow the pattern to see others]")
        if not complete:
            lines.append(
                "[stopped after half a minute: there are more files than that; look in a smaller folder]"
            )
        return Output("\n".join(lines), f"{count} file{'' if count == 1 else 's'}", meta=_meta(self.name))


class Grep:
    """Lines of files by a regular expression."""

    name = "grep"
    read_only = True
    description = (
        "Search the lines of files for a regular expression. Gives path:line:text, for context lines path-line-text. "
        "What git ignores is left out; a path to a file searches that one. The pattern matches within one line."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "the regular expression"},
            "path": {
                "type": "string",
                "description": "the folder or file to search (default: the workspace)",
            },
            "glob": {"type": "string", "description": "only files with such a name: *.py, src/**, !*.min.js"},
            "ignore_case": {"type": "boolean", "description": "upper and lower case are the same"},
            "context": {
                "type": "integer",
                "minimum": 0,
                "maximum": 20,
                "description": "lines around each match",
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path, readable: Sequence[Path] = ()) -> None:
        """`readable` are folders outside the workspace that may be read as freely as it."""
        self._root = root
        self._readable = readable
        self._places = Places(root)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To search that folder or file."""
        search, text = self._parse(arguments)
        return _need(self._root, self._places.at_need(text), search.pattern, self._readable)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """The matching lines."""
        asked, text = self._parse(arguments)
        search = await asyncio.to_thread(self._placed, asked, text)
        output, complete = await _searched(search)
        prefix = guard.relative(self._root, Path(search.folder))
        return await asyncio.to_thread(
            _report, output, "" if prefix == "." else f"{prefix.rstrip('/')}/", search.pattern, complete
        )

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[Search, str]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        pattern, glob = given.text("pattern"), given.text("glob", "")
        if not pattern:
            raise ToolError("'pattern' is empty")
        for label, value in (("pattern", pattern), ("glob", glob)):
            if len(value) > _MOST_PATTERN:
                raise ToolError(f"{label!r} is too long ({len(value)} characters; at most {_MOST_PATTERN})")
            if "\n" in value or "\0" in value:
                raise ToolError(f"{label!r} holds a line break or NUL: lines are searched one by one")
        try:
            GlobFilter(glob)
        except ValueError as error:
            raise ToolError(f"{glob!r} is no glob: {error}") from error
        search = Search(
            pattern,
            "",
            glob=glob or None,
            ignore_case=given.flag("ignore_case"),
            context=given.whole("context", 0, least=0, most=20),
        )
        return search, given.text("path", ".") or "."

    def _placed(self, search: Search, text: str) -> Search:
        path = self._places.at_call(text)
        name = guard.relative(self._root, path)
        kind = _kind(path, name)
        if kind == "nothing":
            raise ToolError(f"there is no {name}")
        if kind not in ("file", "folder"):
            raise ToolError(f"{name} is {kind}: it cannot be searched")
        folder, file = (str(path), None) if kind == "folder" else (str(path.parent), path.name)
        return Search(search.pattern, folder, file, search.glob, search.ignore_case, search.context)


class _Line(Struct, frozen=True):
    path: str
    number: int
    is_match: bool
    text: str


def _ripgrep(program: str, search: Search) -> list[str]:
    words = [
        program,
        "--no-config",
        "--no-messages",
        "--color=never",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--null",
        "--hidden",
        "--no-require-git",
        "--no-ignore-dot",
        f"--max-filesize={MOST_FILE_BYTES}",
        f"--context={search.context}",
        f"--regexp={search.pattern}",
    ]
    if search.ignore_case:
        words.append("--ignore-case")
    if search.file is not None:
        return [*words, "--", f"./{search.file}"]
    if search.glob is not None:
        words.append(f"--glob={search.glob}")
    return [*words, "--glob=!.git", "--", "./"]


async def _searched(search: Search) -> tuple[str, bool]:
    """The output of a search, and whether it came to its end."""
    program = shutil.which("rg")
    refusal = ""
    if program:
        result = await _run(_ripgrep(program, search), search)
        # 2 with matches, or without a word: it met something that it could not read
        if result.exit in (0, 1) or _ended(result) or "\0" in result.output or not result.output.strip():
            return result.output, not _ended(result)
        refusal = result.output
        if "not allowed" in refusal:
            raise ToolError(f"the search failed: {refusal.strip()[:1000]}")
    # ripgrep's expressions do without look-around and back references; an old one may not know an option
    result = await _run(command(search), search)
    if result.exit != 0 and not _ended(result):
        raise ToolError(f"the search failed: {(refusal or result.output).strip()[:1000]}")
    return result.output, not _ended(result)


def _ended(result: Result) -> bool:
    return result.timed_out or result.cut


async def _run(argv: Sequence[str], search: Search) -> Result:
    try:
        return await run(
            argv,
            cwd=search.folder,
            timeout=_SEARCH_SECONDS,
            enough=_READ_CHARACTERS,
            env={"RIPGREP_CONFIG_PATH": None},
        )
    except ProcessError as error:
        raise ToolError(str(error)) from error


_ROW = re.compile(
    r"(?P<between>(?:(?!\./)[^\0\n]*\n|\./[^\0\n]*: (?:WARNING: stopped searching|binary file matches)[^\n]*\n)*)"
    r"(?P<path>[^\0]+)\0(?P<number>\d+)(?P<mark>[:-])(?P<text>[^\n]*)\n"
)
"""A line of output; before it what parts two groups, or a remark on a binary file. A path may hold a newline."""


def _parsed(output: str, complete: bool) -> list[list[_Line]]:
    """Groups of lines, in the order of their paths. What an ended search printed last may be half a line."""
    if complete and not output.endswith("\n"):
        output += "\n"
    groups: list[list[_Line]] = []
    for row in _rows(output[: output.rfind("\n") + 1]):
        line = _Line(
            row["path"].removeprefix("./"),
            int(row["number"]),
            row["mark"] == ":",
            row["text"].removesuffix("\r"),
        )
        if row["between"] or not groups or groups[-1][-1].path != line.path:
            groups.append([])
        groups[-1].append(line)
    return sorted(groups, key=lambda group: (group[0].path, group[0].number))


def _rows(output: str) -> Iterator[re.Match[str]]:
    """The rows of whole lines, each looked for where the one before ended, not anywhere in megabytes without one."""
    at = 0
    while output.find("\0", at) >= 0:
        row = _ROW.match(output, at)
        if row is not None:
            yield row
        at = row.end() if row is not None else output.find("\n", at) + 1
        if not at:
            return


def _report(output: str, prefix: str, pattern: str, complete: bool) -> Output:
    groups = _parsed(output, complete)
    context = any(not line.is_match for group in groups for line in group)
    total = sum(line.is_match for group in groups for line in group)
    files = len({group[0].path for group in groups})
    rows: list[str] = []
    shown = size = 0
    full = False
    for number, group in enumerate(groups):
        if context and number:
            rows.append("--")
        for line in group:
            text = line.text
            if len(text) > _LINE_CHARACTERS:
                text = f"{text[:_LINE_CHARACTERS]} [... {len(text) - _LINE_CHARACTERS} more characters]"
            mark = ":" if line.is_match else "-"
            row = f"{prefix}{line.path}{mark}{line.number}{mark}{text}"
            size += len(row) + 1
            full = shown == MOST_MATCHES or size > _RESULT_CHARACTERS
            if full:
                break
            rows.append(row)
            shown += line.is_match
        if full:
            break
    count = f"{total} match{'' if total == 1 else 'es'} in {files} file{'' if files == 1 else 's'}"
    if not complete:
        count = f"more than {count}"
        rows.append(
            "[the search was ended early: it found too much, or took a minute; narrow pattern, path or glob]"
        )
    if full:
        rows.append(f"[the first {shown} of {count}; narrow the pattern, path or glob to see others]")
    if not total and complete:
        rows.append(f"no line matches {pattern!r}")
    summary = f"{total}{'' if complete else '+'} in {files} file{'' if files == 1 else 's'}"
    if not total:
        summary = "no match" if complete else "ended early"
    return Output("\n".join(rows), summary, meta=_meta("grep"))


def _need(root: Path, path: Path, title: str, readable: Sequence[Path] = ()) -> Need:
    name = guard.relative(root, path)
    outside = is_outside(root, path, readable)
    return Need(
        "read",
        title_of(title if name == "." else f"{title} in {name}"),
        paths=(path,),
        outside=outside,
        body=f"{title}\n{path}" if outside else "",
        place=str(root),
        warning=f"outside the workspace: {path}" if outside else "",
    )


def _kind(path: Path, name: str) -> str:
    try:
        return guard.kind(path)
    except OSError as error:
        raise ToolError(f"{name} cannot be looked at: {reason(error)}") from error


def _refuse_no_folder(root: Path, path: Path) -> None:
    name = guard.relative(root, path)
    kind = _kind(path, name)
    if kind == "nothing":
        raise ToolError(f"there is no folder {name}")
    if kind != "folder":
        raise ToolError(f"{name} is no folder: give the folder to look in")


def _fitting(names: list[str]) -> tuple[list[str], int]:
    size = 0
    for number, name in enumerate(names):
        size += len(name) + 1
        if size > _RESULT_CHARACTERS:
            return names[:number], number
    return list(names), len(names)


def _meta(tool: str) -> dict[str, Any]:
    return {"tool": tool, "read": [], "changed": []}
