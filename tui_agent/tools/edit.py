"""edit_file: replace one exact piece of a file by another."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tui_agent.tools import textfile
from tui_agent.tools.arguments import Arguments, Places, finished
from tui_agent.tools.diffs import Diff, unified
from tui_agent.tools.files import displayed, write_need
from tui_agent.tools.tool import Need, Output, Progress, ToolError
from tui_agent.workspace import guard

if TYPE_CHECKING:
    from tui_agent.workspace.reads import Reads

_MOST_COMPARED_LINES = 20_000
"""Lines of a file that are compared with a text that was not found."""
_CANDIDATES = 12
_SHOWN_LINES = 8
_SHOWN_CHARACTERS = 300
_SHOWN_PLACES = 12
_MOST_PLACES = 100_000

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


class EditFile:
    """Replace a piece of a file that stands there exactly once, or everywhere."""

    name = "edit_file"
    read_only = False
    description = (
        "Replace text in a file. `old` must be in the file exactly as given, white space included and without the line "
        "numbers of read_file, and exactly once: give enough lines around it, or set replace_all. The file's line "
        "ends, byte order mark and mode stay as they are."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file"},
            "old": {"type": "string", "description": "the text to replace"},
            "new": {"type": "string", "description": "the text to put in its place"},
            "replace_all": {"type": "boolean", "description": "replace every occurrence (default: false)"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path, reads: Reads) -> None:
        self._root = root
        self._reads = reads
        self._places = Places(root)

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To write that file; with the change as a diff."""
        text, old, new, everywhere = self._parse(arguments)
        path = self._places.at_need(text)
        _, _, change, _ = self._change(path, old, new, everywhere=everywhere)
        return write_need(self.name, self._root, path, change)

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Make the change."""
        return await finished(self._edit, *self._parse(arguments))

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[str, str, str, bool]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        text, old, new = given.text("path"), given.text("old"), given.text("new")
        if not old:
            raise ToolError(
                "'old' is empty: give the text to replace; a whole file is written with write_file"
            )
        if old == new:
            raise ToolError("'old' and 'new' are the same: there is nothing to change")
        return text, old, new, given.flag("replace_all")

    def _edit(self, text: str, old: str, new: str, everywhere: bool) -> Output:
        path = self._places.at_call(text)
        name = guard.relative(self._root, path)
        with textfile.writing:
            loaded, data, change, lines = self._change(path, old, new, everywhere=everywhere)
            with textfile.as_tool_error(name):
                status = textfile.replace(path, data, like=loaded.status)
            if self._reads.known(path):
                # of a file that was never read the model still knows only this piece
                self._reads.note(path, data, status)
            seen = {"seen": {name: known}} if (known := self._reads.content(path)) else {}
        count = "" if len(lines) == 1 else f"{len(lines)} places, "
        where = f"line {lines[0]}" if len(lines) == 1 else f"lines {_listed(lines)}"
        return Output(
            f"edited {name}: {count}{where} ({change.summary})",
            change.summary,
            meta={"tool": self.name, "read": [], "changed": [name], **seen},
            diff=displayed(change.text),
        )

    def _change(
        self, path: Path, old: str, new: str, *, everywhere: bool
    ) -> tuple[textfile.Loaded, bytes, Diff, list[int]]:
        """The file as it is, its new bytes, the difference, and the lines where it changes."""
        name = guard.relative(self._root, path)
        try:
            loaded = textfile.load(path, name)
        except FileNotFoundError as error:
            raise ToolError(f"there is no {name}: a new file is made with write_file") from error
        if textfile.is_binary(loaded.data):
            raise ToolError(f"{name} is binary and cannot be edited as text")
        if self._reads.changed(path):
            raise ToolError(
                f"{name} has changed since it was read: read it again, then edit what is there now"
            )
        before = textfile.decode(loaded.data)
        after, lines = replaced(before, old, new, name, everywhere=everywhere)
        return loaded, after.encode(), unified(before.shown(), after.shown(), name), lines


def replaced(
    before: textfile.Text, old: str, new: str, name: str, *, everywhere: bool
) -> tuple[textfile.Text, list[int]]:
    """The text with `old` replaced by `new`, and the lines (from 1) where it was.

    Line ends are looked through: `old` may be written with LF for a file with CR LF, and `new` takes over the line ends
    of what it replaces.

    Raises:
        ToolError: `old` is not there, or more than once and `everywhere` is not set.
    """
    text = before.text
    plain = text.replace("\r\n", "\n")
    wanted, put = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if wanted == put:
        raise ToolError("'old' and 'new' differ only in line ends, which stay as they are in the file")
    found = _occurrences(plain, wanted)
    if not found:
        raise ToolError(_not_found(plain, wanted, name))
    lines = _line_numbers(plain, found)
    if len(found) > 1 and not everywhere:
        raise ToolError(
            f"'old' is in {name} {len(found)} times (lines {_listed(lines)}): add lines around it until it is there "
            "only once, or set replace_all"
        )
    if everywhere:
        found = _apart(found, len(wanted))
        lines = _line_numbers(plain, found)
    originals = _Originals(text)
    pieces: list[str] = []
    done = 0
    for start in found:
        first, last = originals(start), originals(start + len(wanted))
        pieces += [text[done:first], put.replace("\n", _newline(text[first:last], before.newline))]
        done = last
    return textfile.Text("".join([*pieces, text[done:]]), before.encoding, before.mark), lines


def _occurrences(text: str, wanted: str) -> list[int]:
    """Where `wanted` begins, overlapping ones too: two of those are as ambiguous as any."""
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        if len(found) == _MOST_PLACES:
            raise ToolError(f"'old' is there more than {_MOST_PLACES} times: make it longer")
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _apart(found: Sequence[int], length: int) -> list[int]:
    """Of occurrences that overlap the first ones."""
    kept: list[int] = []
    for at in found:
        if not kept or at >= kept[-1] + length:
            kept.append(at)
    return kept


class _Originals:
    """Offsets of a text whose CR LF were made LF, as offsets of the text itself."""

    def __init__(self, text: str) -> None:
        # the k-th CR LF lies at plain offset (its offset - k): everything behind it is k + 1 further on
        self._at = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]

    def __call__(self, plain: int) -> int:
        return plain + bisect.bisect_left(self._at, plain)


def _newline(piece: str, default: str) -> str:
    if "\n" not in piece:
        return default
    return "\r\n" if piece.count("\r\n") * 2 > piece.count("\n") else "\n"


def _line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    numbers, line, done = [], 1, 0
    for offset in offsets:
        line += text.count("\n", done, offset)
        done = offset
        numbers.append(line)
    return numbers


def _listed(lines: Sequence[int]) -> str:
    listed = ", ".join(map(str, lines[:_SHOWN_PLACES]))
    return listed if len(lines) <= _SHOWN_PLACES else f"{listed} and {len(lines) - _SHOWN_PLACES} more"


# --- what to say when it is not there ----------------------------------------------------------------------------


def _not_found(text: str, wanted: str, name: str) -> str:
    """Why `wanted` may not have been found in `text`, and what is most like it."""
    if not text:
        return f"'old' is not in {name}: the file is empty"
    if _NUMBERED.match(wanted) and (bare := _NUMBERED.sub("", wanted)) and bare in text:
        return f"'old' is not in {name}, but without its line numbers it is: read_file puts them before each line"
    if "\ufffd" in wanted:
        return f"'old' is not in {name}: U+FFFD stands for bytes that are no text; choose a piece without it"
    lines = text.split("\n")
    sought = wanted.strip("\n").split("\n")
    same = _but_for_white_space(lines, sought)
    if same is not None:
        return (
            f"'old' is not in {name}, but for white space it is there from line {same + 1} on:\n"
            f"{_excerpt(lines, same, len(sought))}"
        )
    start = _most_alike(lines, sought)
    if start is None:
        return f"'old' is not in {name}, and nothing there is much like it: read the file again"
    return f"'old' is not in {name}. The most alike, from line {start + 1} on:\n{_excerpt(lines, start, len(sought))}"


def _but_for_white_space(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    bare = ["".join(line.split()) for line in lines]
    wanted = ["".join(line.split()) for line in sought]
    if not any(wanted):
        return None
    first = wanted[0]
    for start in range(len(bare) - len(wanted) + 1):
        if bare[start] == first and bare[start : start + len(wanted)] == wanted:
            return start
    return None


def _most_alike(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    """Where the lines begin that are most like the ones sought; None if none are."""
    anchor = max(range(len(sought)), key=lambda i: len(sought[i].strip()))
    words = set(_words(sought[anchor]))
    scored = []
    for number, line in enumerate(lines[:_MOST_COMPARED_LINES]):
        shared = len(words.intersection(_words(line[:_SHOWN_CHARACTERS])))
        if shared:
            scored.append((-shared, abs(len(line) - len(sought[anchor])), number))
    scored.sort()
    best, best_ratio = None, 0.5
    wanted = "\n".join(sought[:_SHOWN_LINES])[: _SHOWN_CHARACTERS * 2]
    for _, _, number in scored[:_CANDIDATES]:
        start = max(0, number - anchor)
        piece = "\n".join(lines[start : start + min(len(sought), _SHOWN_LINES)])[: _SHOWN_CHARACTERS * 2]
        ratio = difflib.SequenceMatcher(None, wanted, piece, autojunk=False).ratio()
        if ratio > best_ratio:
            best, best_ratio = start, ratio
    return best


def _words(line: str) -> list[str]:
    return re.findall(r"\w+", line)


def _excerpt(lines: Sequence[str], start: int, count: int) -> str:
    stop = min(len(lines), start + min(count, _SHOWN_LINES))
    rows = [f"{number + 1}\t{lines[number][:_SHOWN_CHARACTERS]}" for number in range(start, stop)]
    if count > _SHOWN_LINES:
        rows.append("...")
    return "\n".join(rows)
