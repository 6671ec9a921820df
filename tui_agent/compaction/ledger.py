"""What happened, by the log and not by a model: files, commands, failures and whether they were overcome.

It is computed from what each result's record says of itself (`meta`: tool, exit, read, changed, outcome), merged with
the ledger of the compaction before, and kept as `_state` of the key `ledger`, in at most 4 KiB. So it says the same
after a hundred compactions, and what a summary says can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, field, structs

from tui_agent.compaction.doubts import Fact, contradictions
from tui_agent.events import OWN_COMMAND
from tui_agent.literal import one_line
from tui_agent.messages.blocks import result_text

if TYPE_CHECKING:
    from tui_agent.context.records import Record

STATE_KEY = "ledger"
MAX_BYTES = 4096
"""Bytes of the ledger as it is stored."""

_SUBJECT = 200
_SHORT_SUBJECT = 80
_NOTE = 160
_SHORT_NOTE = 60
"""Characters, and what is left of them where room is short."""
_COUNTERS = 40
"""Bytes that the counts of what was left out may grow by."""
_SHELLS = frozenset({"bash", OWN_COMMAND})

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


class Ledger:
    """The facts of a session. `todos` and `tasks` are those in force: they are states of their own in the log."""

    def __init__(self, kept: Kept, todos: Sequence[tuple[str, str]] = (), tasks: Sequence[str] = ()) -> None:
        self._kept = kept
        self.todos = tuple(todos)
        self.tasks = tuple(tasks)

    @classmethod
    def of(cls, records: Sequence[Record], state: Mapping[str, Any], *, most: int = MAX_BYTES) -> Ledger:
        """The facts in a log's records, merged with the ledger among its states, in at most so many bytes.

        Reads bodies: call it in a thread.
        """
        kept = _stored(state.get(STATE_KEY))
        work = _Merge(kept, records)
        results = [record for record in records if record.origin in ("tool", "command")]
        known = next((at for at, record in enumerate(results) if record.id == kept.through), -1)
        for record in results[known + 1 :]:
            work.take(record)
        return cls(
            _capped(work.done(), most), list(_todos(state.get("todo"))), list(_tasks(state.get("tasks")))
        )

    @property
    def files(self) -> Sequence[File]:
        """Oldest first by what happened last."""
        return self._kept.files

    @property
    def commands(self) -> Sequence[Command]:
        """Oldest first by their newest run."""
        return self._kept.commands

    @property
    def failures(self) -> Sequence[Failure]:
        """Oldest first."""
        return self._kept.failures

    @property
    def pending(self) -> list[str]:
        """What is not done, in words: open todos, the active one first, and running tasks."""
        todos = [text for text, status in self.todos if status == "active"]
        todos += [text for text, status in self.todos if status == "pending"]
        return [*todos, *(f"running in the background: {task}" for task in self.tasks)]

    def value(self) -> dict[str, Any]:
        """What is stored as `_state`: at most `MAX_BYTES` of JSON."""
        stored: dict[str, Any] = msgspec.to_builtins(self._kept)
        return stored

    def words(self) -> str:
        """The facts to read, newest last; empty if there are none."""
        return "\n".join(line for line in _words(self) if line)

    def contradictions(self, summary: str) -> list[str]:
        """Where a summary says otherwise than the newest facts, in words."""
        return contradictions(summary, self.facts())

    def facts(self) -> list[Fact]:
        """What can be held against a summary, newest first."""
        # a command may have changed a file without the log knowing which
        certain = [file for file in self.files if file.state == "changed" or not self.commands]
        found = [_file_fact(file) for file in certain]
        found += [_command_fact(command) for command in self.commands if command.exit is not None]
        found += [
            Fact("done" if status == "done" else "open", text, f"the todo is {status}")
            for text, status in self.todos
        ]
        return found[::-1]


class _Merge:
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
        summary = one_line(str(meta.get("summary") or ""), _SHORT_NOTE)
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
        return str(tool), one_line(str(title), _SUBJECT)

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
        self._commands.pop((text, own), None)
        self._commands[text, own] = Command(text, code if type(code) is int else None, own)

    def _fail(self, tool: str, subject: str, outcome: Outcome, note: str) -> None:
        old = self._failures.pop((tool, subject), None)
        times = old.times + 1 if old and not old.overcome else 1
        self._failures[tool, subject] = Failure(tool, subject, outcome, note, times)

    def _overcome(self, tool: str, subject: str, changed: Sequence[str]) -> None:
        shell = tool in _SHELLS
        for failure in self._failures.values():
            same_tool = failure.tool == tool or (shell and failure.tool in _SHELLS)
            if (same_tool and failure.subject == subject) or (
                failure.subject in changed and failure.tool not in _SHELLS
            ):
                failure.overcome = True


# --- what is read ----------------------------------------------------------------------------------------------------


def _stored(value: object) -> Kept:
    """The ledger among the states; an empty one for what another program wrote there."""
    try:
        return msgspec.convert(value, Kept)
    except msgspec.ValidationError:
        return Kept()


def _paths(meta: Mapping[str, Any], key: str) -> list[str]:
    paths = meta.get(key)
    return (
        [one_line(path, _SUBJECT) for path in paths if isinstance(path, str)]
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
    return one_line((telling or lines or [""])[-1], _NOTE)


def _todos(value: object) -> Iterator[tuple[str, str]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict) and isinstance(text := entry.get("text"), str) and text.strip():
            yield one_line(" ".join(text.split()), _SUBJECT), str(entry.get("status", "pending"))


def _tasks(value: object) -> Iterator[str]:
    for entry in value if isinstance(value, list) else ():
        text = entry.get("command") or entry.get("title") if isinstance(entry, dict) else entry
        if isinstance(text, str) and text.strip():
            yield one_line(text, _SUBJECT)


# --- how much is kept ------------------------------------------------------------------------------------------------


def _capped(kept: Kept, most: int) -> Kept:
    """The same in at most so many bytes: what is easiest to find out again goes first, oldest first, and is counted."""
    if _size(kept) <= most:
        return kept
    kept = _shortened(kept)
    excess = _size(kept) + _COUNTERS - most
    gone = (set[int](), set[int](), set[int]())
    for place, at, entry in _expendable(kept):
        if excess <= 0:
            break
        gone[place].add(at)
        excess -= _size(entry) + len(",")
    counts = [old + len(cut) for old, cut in zip(kept.left_out, gone, strict=True)]
    return Kept(
        [file for at, file in enumerate(kept.files) if at not in gone[0]],
        [command for at, command in enumerate(kept.commands) if at not in gone[1]],
        [failure for at, failure in enumerate(kept.failures) if at not in gone[2]],
        kept.through,
        (counts[0], counts[1], counts[2]),
    )


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


def _shortened(kept: Kept) -> Kept:
    """With the notes and the names of commands cut short; paths stay whole, since they are looked up."""
    return Kept(
        [File(f.path, f.state, one_line(f.note, _SHORT_NOTE), f.changes) for f in kept.files],
        [Command(one_line(c.text, _SHORT_SUBJECT), c.exit, c.own) for c in kept.commands],
        [
            structs.replace(
                f, subject=one_line(f.subject, _SHORT_SUBJECT), note=one_line(f.note, _SHORT_NOTE)
            )
            for f in kept.failures
        ],
        kept.through,
        kept.left_out,
    )


def _expendable(kept: Kept) -> Iterator[tuple[int, int, Struct]]:
    """All entries in the order in which they may go: their part (files, commands, failures), place there, and entry."""
    yield from ((0, at, file) for at, file in enumerate(kept.files) if file.state == "read")
    yield from ((1, at, command) for at, command in enumerate(kept.commands) if command.exit == 0)
    yield from ((2, at, failure) for at, failure in enumerate(kept.failures) if failure.overcome)
    yield from ((1, at, command) for at, command in enumerate(kept.commands) if command.exit != 0)
    yield from ((0, at, file) for at, file in enumerate(kept.files) if file.state == "changed")
    yield from ((2, at, failure) for at, failure in enumerate(kept.failures) if not failure.overcome)


# --- in words --------------------------------------------------------------------------------------------------------


def _words(ledger: Ledger) -> Iterator[str]:
    kept = ledger._kept
    changed = [file for file in kept.files if file.state == "changed"]
    read = [file.path for file in kept.files if file.state == "read"]
    yield _line("Files changed", [_changed(file) for file in changed])
    yield _line("Files read, not changed", read)
    yield _line("Commands, newest run", [_run(command) for command in kept.commands])
    yield _line("Failures not overcome", [_failed(f) for f in kept.failures if not f.overcome])
    yield _line("Failures overcome since", [_failed(f) for f in kept.failures if f.overcome])
    yield _line("Todos", [f"{text} ({status})" for text, status in ledger.todos])
    yield _line("Running in the background", ledger.tasks)
    counts = zip(kept.left_out, ("file", "command", "failure"), strict=True)
    older = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
    yield f"Older, not listed: {', '.join(older)}" if older else ""


def _line(title: str, entries: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(f"- {entry}" for entry in entries) if entries else ""


def _changed(file: File) -> str:
    times = f"{file.changes} times, last " if file.changes > 1 else ""
    return file.path + (
        f" ({times}{file.note})" if file.note else f" ({file.changes} times)" if times else ""
    )


def _run(command: Command) -> str:
    ended = "did not end by itself" if command.exit is None else f"exit code {command.exit}"
    return f"`{command.text}`: {ended}" + (" (run by the user)" if command.own else "")


def _failed(failure: Failure) -> str:
    what = f"{failure.tool} {failure.subject}".strip()
    outcome = {"failed": "failed", "denied": "refused by the user", "cancelled": "stopped by the user"}
    times = f" {failure.times} times" if failure.times > 1 else ""
    return f"{what}: {outcome[failure.outcome]}{times}" + (f": {failure.note}" if failure.note else "")


def _file_fact(file: File) -> Fact:
    words = "the log has it changed" if file.state == "changed" else "the log has it read and not changed"
    return Fact(file.state, file.path, words)


def _command_fact(command: Command) -> Fact:
    words = f"its newest run ended with exit code {command.exit}"
    return Fact("passed" if command.exit == 0 else "failed", command.text, words)
