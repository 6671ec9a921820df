"""read_file and write_file."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tui_agent.tools import images, textfile
from tui_agent.tools.arguments import Arguments, Places, finished, is_outside, title_of, write_warning
from tui_agent.tools.diffs import Diff, unified
from tui_agent.tools.textfile import size_words
from tui_agent.tools.tool import Need, Output, Progress, ToolError
from tui_agent.workspace import guard

if TYPE_CHECKING:
    from tui_agent.workspace.reads import Reads

LINES = 2_000
"""Lines that read_file gives when it is not told how many."""
_LINE_CHARACTERS = 2_000
_RESULT_CHARACTERS = 28_000
"""A result longer than what is stored of one would lose its middle."""
_MOST_WRITTEN = 10_000_000
_MOST_LISTED = 2_000
_DISPLAYED_DIFF = 400_000

_SIGNATURES = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xfd7zXZ", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
)


class ReadFile:
    """Read a file of the workspace: text with line numbers, or a picture."""

    name = "read_file"
    read_only = True
    description = (
        "Read a file. Text comes with line numbers (number, tab, line; the number is not part of the file), at most "
        f"{LINES} lines at once: use offset and limit for the rest of a long file. PNG, JPEG, GIF and WebP are shown "
        "as pictures. Paths are relative to the workspace."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line to read, from 1"},
            "limit": {"type": "integer", "minimum": 1, "maximum": LINES, "description": "how many lines"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path, reads: Reads, readable: Sequence[Path] = ()) -> None:
        """`readable` are folders outside the workspace that may be read as freely as it."""
        self._root = root
        self._reads = reads
        self._readable = readable
        self._places = Places(root)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To read that file."""
        text, offset, limit = self._parse(arguments)
        path = self._places.at_need(text)
        name = guard.relative(self._root, path)
        lines = f" {offset}-{offset + limit - 1}" if "offset" in arguments or "limit" in arguments else ""
        outside = is_outside(self._root, path, self._readable)
        return Need(
            "read",
            title_of(f"{name}{lines}"),
            paths=(path,),
            outside=outside,
            body=str(path),
            place=str(self._root),
            warning=f"outside the workspace: {path}" if outside else "",
        )

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """The lines asked for, or the picture."""
        return await asyncio.to_thread(self._read, *self._parse(arguments))

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[str, int, int]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        return (
            given.text("path"),
            given.whole("offset", 1, least=1, most=1_000_000_000),
            given.whole("limit", LINES, least=1, most=LINES),
        )

    def _read(self, text: str, offset: int, limit: int) -> Output:
        path = self._places.at_call(text)
        name = guard.relative(self._root, path)
        try:
            loaded = textfile.load(path, name)
        except FileNotFoundError as error:
            raise ToolError(_missing(self._root, path)) from error
        data = loaded.data
        if images.media_type(data):
            block, words = images.image_block(data, name)
            self._reads.note(path, data, loaded.status)
            content = [{"type": "text", "text": f"{name}: {words}"}, block]
            return Output(content, words, meta=self._meta(path, name))
        if textfile.is_binary(data):
            what = next((words for start, words in _SIGNATURES if data.startswith(start)), "not text")
            raise ToolError(f"{name} is binary ({size_words(len(data))}, {what}) and cannot be shown")
        self._reads.note(path, data, loaded.status)
        decoded = textfile.decode(data)
        shown, first, last, total = numbered(decoded.shown(), offset, limit)
        if total and offset > total:
            raise ToolError(f"{name} has only {total} line{'' if total == 1 else 's'}; offset is {offset}")
        notes = _notes(decoded, first, last, total)
        return Output(
            "\n".join(filter(None, (shown, *notes))),
            size_words(len(data)) if first <= 1 and last >= total else f"{last - first + 1} of {total} lines",
            meta=self._meta(path, name),
        )

    def _meta(self, path: Path, name: str) -> dict[str, Any]:
        seen = {name: self._reads.content(path)}
        return {"tool": self.name, "read": [name], "changed": [], "seen": seen}


class WriteFile:
    """Write a whole file, new or in place of an old one that the model knows."""

    name = "write_file"
    read_only = False
    description = (
        "Write a whole file; its folders are made. A file that exists must have been read before and is replaced: to "
        "change a part of it use edit_file. The content is written as given, line ends included."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file"},
            "content": {"type": "string", "description": "all of its text"},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path, reads: Reads) -> None:
        self._root = root
        self._reads = reads
        self._places = Places(root)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To write that file; with the change as a diff."""
        text, content = self._parse(arguments)
        path = self._places.at_need(text)
        name = guard.relative(self._root, path)
        old = self._old(path, name, content)
        return write_need(self.name, self._root, path, _change(old, content, name))

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Write it."""
        return await finished(self._write, *self._parse(arguments))

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[str, str]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        text, content = given.text("path"), given.text("content")
        if text.endswith("/"):
            raise ToolError(f"{text!r} names a folder, not a file")
        if len(content) > _MOST_WRITTEN:
            raise ToolError(f"the content is too long ({len(content)} characters; at most {_MOST_WRITTEN})")
        return text, content

    def _old(self, path: Path, name: str, content: str) -> textfile.Loaded | None:
        """The file as it is, None if there is none.

        Raises:
            ToolError: it may not be replaced, since the model does not know what is in it.
        """
        refuse_blocked(path, name)
        try:
            old = textfile.load(path, name)
        except FileNotFoundError:
            return None
        if not old.data or old.data == content.encode():
            return old
        if not self._reads.known(path):
            raise ToolError(
                f"{name} exists and was not read in this session: read it first, then decide what to keep"
            )
        if self._reads.changed(path):
            raise ToolError(f"{name} has changed since it was read: read it again, then decide what to keep")
        return old

    def _write(self, text: str, content: str) -> Output:
        path = self._places.at_call(text)
        name = guard.relative(self._root, path)
        data = content.encode()
        with textfile.writing:
            old = self._old(path, name, content)
            change = _change(old, content, name)
            with textfile.as_tool_error(name):
                status = textfile.replace(path, data, like=old.status if old else None)
            self._reads.note(path, data, status)
        lines = content.count("\n") + (not content.endswith("\n") and bool(content))
        verb = "created" if old is None else "wrote" if change.text else "wrote (nothing changed)"
        ends = _line_end_change(old, content)
        return Output(
            f"{verb} {name}: {lines} line{'' if lines == 1 else 's'}, {size_words(len(data))}{ends}",
            change.summary,
            meta={
                "tool": self.name,
                "read": [],
                "changed": [name],
                "seen": {name: self._reads.content(path)},
            },
            diff=displayed(change.text),
        )


def write_need(tool: str, root: Path, path: Path, change: Diff) -> Need:
    """What a call needs that makes `change` to the file at `path`."""
    warning = write_warning(root, path)
    return Need(
        "write",
        title_of(guard.relative(root, path)),
        paths=(path,),
        outside=is_outside(root, path),
        rule="" if warning else tool,
        diff=displayed(change.text),
        place=str(root),
        warning=warning,
    )


def refuse_blocked(path: Path, name: str) -> None:
    """
    Raises:
        ToolError: a file stands where a folder of the path would have to be, or something that is no file at its end.
    """
    textfile.refuse_special(path, name)
    for parent in path.parents:
        if os.path.lexists(parent):
            if not parent.is_dir():
                raise ToolError(f"{name} cannot be there: {parent} is not a folder")
            return


def numbered(text: str, offset: int, limit: int) -> tuple[str, int, int, int]:
    """Lines `offset` to `offset + limit - 1` with their numbers, first and last number, and how many there are.

    Lines count from 1; a long one is cut; fewer come where they would not fit into one result.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    out: list[str] = []
    size = 0
    last = offset - 1
    width = len(str(min(total, offset + limit - 1)))
    for number in range(offset, min(total, offset + limit - 1) + 1):
        line = lines[number - 1].removesuffix("\r")
        if len(line) > _LINE_CHARACTERS:
            line = (
                f"{line[:_LINE_CHARACTERS]} [... {len(line) - _LINE_CHARACTERS} more characters in this line]"
            )
        row = f"{number:>{width}}\t{line}"
        size += len(row) + 1
        if size > _RESULT_CHARACTERS and out:
            break
        out.append(row)
        last = number
    return "\n".join(out), offset, last, total


def _notes(text: textfile.Text, first: int, last: int, total: int) -> list[str]:
    notes = []
    if not total:
        notes.append("[the file is empty]")
    elif last < total:
        notes.append(f"[lines {first}-{last} of {total}; the next ones: offset={last + 1}]")
    elif first > 1:
        notes.append(f"[lines {first}-{last} of {total}]")
    if text.mixed:
        notes.append("[line ends are mixed: some CR LF, some LF]")
    elif text.newline == "\r\n":
        notes.append("[lines end in CR LF]")
    if text.encoding != "utf-8":
        notes.append(f"[encoded as {text.encoding.upper()}]")
    elif text.invalid:
        count = text.invalid
        notes.append(f"[{count} byte{' is' if count == 1 else 's are'} not UTF-8 and shown as U+FFFD]")
    return notes


def _change(old: textfile.Loaded | None, content: str, name: str) -> Diff:
    if old is not None and textfile.is_binary(old.data):
        return Diff(f"the binary file {name} ({size_words(len(old.data))}) is replaced by text\n", 0, 0)
    before = textfile.decode(old.data).shown() if old else ""
    return unified(before, content, name)


def _line_end_change(old: textfile.Loaded | None, content: str) -> str:
    if old is None or "\n" not in content:
        return ""
    before = textfile.decode(old.data)
    after = textfile.Text(content)
    if "\n" not in before.text or before.newline == after.newline:
        return ""
    words = {"\n": "LF", "\r\n": "CR LF"}
    return f" (its lines ended in {words[before.newline]} and now end in {words[after.newline]})"


def displayed(diff: str) -> str:
    """A diff as far as a person can be expected to look at it."""
    if len(diff) <= _DISPLAYED_DIFF:
        return diff
    return f"{diff[:_DISPLAYED_DIFF]}\n[... {len(diff) - _DISPLAYED_DIFF} more characters of this change]\n"


def _missing(root: Path, path: Path) -> str:
    """What to tell of a file that is not there, with names that look like it."""
    name = guard.relative(root, path)
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_LISTED), strict=False)]
    except OSError:
        return f"there is no {name}, nor the folder it would be in"
    lowered = {n.lower(): n for n in names}
    close = difflib.get_close_matches(path.name.lower(), lowered, n=3)
    if not close:
        return f"there is no {name}"
    return f"there is no {name}; near it: {', '.join(guard.relative(root, path.parent / lowered[n]) for n in close)}"
