"""What each result in a log says of itself, counted up: the entries of the ledger, and how a result changes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from tui_agent.events import OWN_COMMAND
from tui_agent.literal import one_line
from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.context.records import Record

SUBJECT = 200
SHORT_SUBJECT = 80
NOTE = 160
SHORT_NOTE = 60
"""Characters of a path or command and of what is said of it, and what is left of them where room is short."""
_SHELLS = frozenset({"bash", OWN_COMMAND})

_BETWEEN = re.compile(r"&&|\|\||[;|\n]")
_LOOKING = (
    "ag awk cat cd cut date df diff du echo fd file find grep head id jq less ls md5sum nl od printf pwd rg sed "
    "sha256sum sort stat tail tree type uname uniq wc which whoami"
)
_LOOKS = frozenset(_LOOKING.split())
_GIT_LOOKS = frozenset({"blame", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"})
_ACTS = ("-i", "-delete", "-exec", "-ok", "-fprint", "-x", "--exec", "--in-place")
"""Arguments with which sed, find and fd change something."""

Doing = Literal["read", "changed"]
Outcome = Literal["failed", "denied", "cancelled"]


class File(Struct, array_like=True):
    """The newest that happened to a file, and how often it was changed."""

    path: str
    state: Doing
    note: str = ""
    changes: int = 0


class Command(Struct, array_like=True):
    """The newest run of a command. `exit` is None if it never came to an end; `own`: the person ran it."""

    text: str
    exit: int | None
    own: bool = False


class Failure(Struct, array_like=True):
    """A call that did not do what it should: how often in a row, what it said last, and if it succeeded since."""

    tool: str
    subject: str
    outcome: Outcome
    note: str
    times: int = 1
    overcome: bool = False


class Kept(Struct, omit_defaults=True):
    """The ledger as it is stored. `through` is the record up to which it was computed, `left_out` counts what was cut
    off for want of room: files, commands, failures."""

    files: list[File] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    through: str = ""
    left_out: tuple[int, int, int] = (0, 0, 0)


def only_looks(command: str) -> bool:
    """The command changes nothing, as far as its words tell: it can be run again to find out the same."""
    parts = [part.split() for part in _BETWEEN.split(command) if part.strip()]
    plain = not any(sign in command for sign in (">", "$(", "`"))
    return plain and bool(parts) and all(_looks(words) for words in parts)


def _looks(words: Sequence[str]) -> bool:
    name = words[0].rpartition("/")[2]
    if name == "git":
        return len(words) > 1 and words[1] in _GIT_LOOKS
    if name in ("sed", "find", "fd"):
        return not any(word.startswith(_ACTS) for word in words[1:])
    return name in _LOOKS


class Tally:
    """Results taken one after another; what happened to a thing last stands last."""

    def __init__(self, kept: Kept, records: Sequence[Record]) -> None:
        self._records = records
        self._known: dict[str, Mapping[str, Any]] | None = None
        self._files = {file.path: file for file in kept.files}
        self._commands = {(command.text, command.own): command for command in kept.commands}
        self._failures = {(failure.tool, failure.subject): failure for failure in kept.failures}
        self._through = kept.through
        self._left_out = kept.left_out

    def done(self) -> Kept:
        return Kept(
            list(self._files.values()),
            list(self._commands.values()),
            list(self._failures.values()),
            self._through,
            self._left_out,
        )

    def take(self, record: Record) -> None:
        self._through = record.id
        given = record.body.get("meta")
        meta: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        tool, subject = self._about(meta, record)
        if tool in _SHELLS and subject:
            self._command(tool, subject, meta)
        outcome = _outcome(meta, record)
        if outcome == "ok":
            self._overcome(tool, subject, _paths(meta, "changed"))
        else:
            self._fail(tool, subject, outcome, _said(record))
        summary = one_line(str(meta.get("summary") or ""), SHORT_NOTE)
        for path in _paths(meta, "read"):
            self._file(path, "read", "")
        for path in _paths(meta, "changed"):
            self._file(path, "changed", summary)

    def _about(self, meta: Mapping[str, Any], record: Record) -> tuple[str, str]:
        """The tool of a result, and what it was called for; from the call where the result does not say."""
        tool, title = meta.get("tool"), meta.get("title")
        if not (isinstance(tool, str) and tool and isinstance(title, str) and title):
            call = self._call(record)
            tool, title = tool or call.get("name", ""), title or _title(call.get("input"))
        return str(tool), one_line(str(title), SUBJECT)

    def _call(self, record: Record) -> Mapping[str, Any]:
        if self._known is None:
            self._known = {
                str(block.get("id")): block
                for answer in self._records
                if answer.role == "assistant"
                for block in _blocks(answer)
                if block.get("type") == "tool_use"
            }
        names = (str(block.get("tool_use_id")) for block in _blocks(record))
        return next((self._known[name] for name in names if name in self._known), {})

    def _file(self, path: str, state: Doing, note: str) -> None:
        old = self._files.pop(path, None)
        changes = (old.changes if old else 0) + (state == "changed")
        if old is not None and state == "read" and old.state == "changed":
            # what was changed stays so when it is read again
            state, note = "changed", old.note
        self._files[path] = File(path, state, note, changes)

    def _command(self, tool: str, text: str, meta: Mapping[str, Any]) -> None:
        code, own = meta.get("exit"), tool == OWN_COMMAND
        for known in _known_as(text):
            self._commands.pop((known, own), None)
        self._commands[text, own] = Command(text, code if type(code) is int else None, own)

    def _fail(self, tool: str, subject: str, outcome: Outcome, note: str) -> None:
        before = [self._failures.pop((tool, known), None) for known in _known_as(subject)]
        old = next(filter(None, before), None)
        times = old.times + 1 if old and not old.overcome else 1
        self._failures[tool, subject] = Failure(tool, subject, outcome, note, times)

    def _overcome(self, tool: str, subject: str, changed: Sequence[str]) -> None:
        shell, names = tool in _SHELLS, _known_as(subject)
        for failure in self._failures.values():
            same_tool = failure.tool == tool or (shell and failure.tool in _SHELLS)
            if (same_tool and failure.subject in names) or (
                failure.subject in changed and failure.tool not in _SHELLS
            ):
                failure.overcome = True


def _known_as(subject: str) -> tuple[str, str]:
    """How a subject may stand in the ledger: as it is, or cut short for want of room."""
    return subject, one_line(subject, SHORT_SUBJECT)


def _paths(meta: Mapping[str, Any], key: str) -> list[str]:
    paths = meta.get(key)
    return (
        [one_line(path, SUBJECT) for path in paths if isinstance(path, str)]
        if isinstance(paths, list)
        else []
    )


def _blocks(record: Record) -> list[dict[str, Any]]:
    content = record.body.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _title(arguments: object) -> str:
    """What a call is for: its command, its path, or the first text it is given."""
    if not isinstance(arguments, Mapping):
        return ""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    named = (texts[name] for name in ("command", "path", "file_path") if name in texts)
    return next(named, next(iter(texts.values()), ""))


def _outcome(meta: Mapping[str, Any], record: Record) -> Literal["ok"] | Outcome:
    match meta.get("outcome"):
        case "ok":
            return "ok"
        case "error":
            return "failed"
        case "denied":
            return "denied"
        case "cancelled" | "interrupted":
            return "cancelled"
    failed = any(block.get("is_error") for block in _blocks(record)) or meta.get("exit", 0) != 0
    return "failed" if failed else "ok"


def _said(record: Record) -> str:
    """The line of a failed result that says most: the last one that is not the tool's own remark."""
    text = "\n".join(
        result_text(block) if block.get("type") == "tool_result" else str(block.get("text", ""))
        for block in _blocks(record)
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not (line.startswith("[") and line.endswith("]"))]
    return one_line((telling or lines or [""])[-1], NOTE)
