"""The section of MEMORY.md in which memories of a workspace are shared with a team.

    <!-- tui-agent memory -->
    ## Memory

    ### build
    Run `make -j2` before the tests.

    <!-- /tui-agent memory -->

People may edit it. The rest of the file is theirs: it stays as it is, byte for byte. A line of a text that would read
as a heading of the section or as a comment is written with a backslash before it, which Markdown does not show.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from tui_agent import paths
from tui_agent.memory.schema import Memory, StoreError, clean_body, clean_key
from tui_agent.workspace import guard

NAME = "MEMORY.md"

_START, _END = "<!-- tui-agent memory -->", "<!-- /tui-agent memory -->"
_TITLE = "## Memory"
_LARGEST_FILE = 1024 * 1024
"""Bytes of a file that is read and written."""

_MARK = re.compile(rb"^(<!-- /?tui-agent memory -->)[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_SPECIAL = re.compile(r"\\*(?:#{1,3}(?:\s|$)|<!--)")


class Shared(Struct, frozen=True):
    """A memory as it stands in the section."""

    key: str
    body: str


class Plan(Struct, frozen=True):
    """What writing a section would change; `diff` is in unified form, empty if nothing."""

    path: Path
    old: bytes | None
    new: bytes
    diff: str

    def write(self) -> None:
        """Write it, in one step: readers and a crash find the old file or the new one.

        Raises:
            StoreError: the file was changed since the plan was made, or cannot be written; then it is untouched.
        """
        if self.new == (self.old or b""):
            return
        if _read(self.path) != self.old:
            raise StoreError(f"{self.path} was changed meanwhile; look at the difference again")
        try:
            mode = None if self.old is None else self.path.stat().st_mode & 0o777
            paths.swap(self.path, self.new, mode)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error


def plan_section(path: Path, memories: Iterable[Memory | Shared]) -> Plan:
    """How the file looks with these memories as its section; without any, the section goes.

    Raises:
        StoreError: the file cannot be read, its section is damaged, or the path leads out of its folder.
    """
    old = _read(path)
    text = old or b""
    lines = b"\r\n" if b"\r\n" in text and b"\n" not in text.replace(b"\r\n", b"") else b"\n"
    section = _section(memories).encode().replace(b"\n", lines)
    where = _where(path, text)
    if where is not None:
        new = text[: where[0]] + section + text[where[1] :]
    elif section:
        gap = b"" if not text else lines if text.endswith(b"\n") else lines * 2
        new = text + gap + section
    else:
        new = text
    return Plan(path, old, new, _diff(path.name, text, new))


def write_section(path: Path, memories: Iterable[Memory | Shared]) -> str:
    """Write the section at once; returns what changed, in unified form.

    Raises:
        StoreError: as `plan_section` and `Plan.write`.
    """
    plan = plan_section(path, memories)
    plan.write()
    return plan.diff


def read_section(path: Path) -> Sequence[Shared]:
    """The memories in the file's section, in order; none if it has no section or is not there.

    Raises:
        StoreError: the file cannot be read, its section is damaged, or something in it cannot be stored.
    """
    text = _read(path) or b""
    where = _where(path, text)
    if where is None:
        return []
    inner = text[where[0] : where[1]].decode(errors="replace").replace("\r\n", "\n").split("\n")
    found: list[tuple[str, list[str]]] = []
    for line in inner[1:]:
        if line.startswith("### "):
            found.append((line[4:], []))
        elif line.strip() == _END:
            break
        elif found:
            found[-1][1].append(line[1:] if line.startswith("\\") and _SPECIAL.match(line) else line)
    return [_shared(path, key, "\n".join(lines)) for key, lines in found]


def _shared(path: Path, key: str, body: str) -> Shared:
    try:
        clean = clean_key(key)
        if not clean:
            raise StoreError("the key is missing")
        return Shared(clean, clean_body(body))
    except StoreError as error:
        raise StoreError(f"{path}, {key.strip() or '###'}: {error}") from error


def _section(memories: Iterable[Memory | Shared]) -> str:
    parts = [f"### {memory.key}\n{_escaped(memory.body)}\n" for memory in memories]
    return "\n".join([f"{_START}\n{_TITLE}\n", *parts, f"{_END}\n"]) if parts else ""


def _escaped(body: str) -> str:
    return "\n".join("\\" + line if _SPECIAL.match(line) else line for line in body.split("\n"))


def _where(path: Path, text: bytes) -> tuple[int, int] | None:
    """From where to where the section reaches; None if there is none."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return None
    if [mark[1].decode() for mark in marks] != [_START, _END]:
        raise StoreError(
            f"{path} holds a damaged memory section: there have to be one line {_START} and, below it, one {_END}"
        )
    return marks[0].start(), marks[1].end()


def _diff(name: str, old: bytes, new: bytes) -> str:
    before, after = _lines(old), _lines(new)
    return "\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))


def _lines(text: bytes) -> list[str]:
    lines = text.decode(errors="replace").split("\n")
    return lines if lines[-1] else lines[:-1]


def _read(path: Path) -> bytes | None:
    """The file, or None if there is none."""
    if not guard.inside(path.parent, path):
        raise StoreError(f"{path} is a link that leads out of its folder")
    try:
        kind = guard.kind(path)
        if kind == "nothing":
            return None
        if kind != "file":
            raise StoreError(f"{path} is {kind if kind.startswith('a') else f'a {kind}'}, not a file")
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST_FILE:
        raise StoreError(f"{path} is larger than {_LARGEST_FILE:,} bytes")
    return data
