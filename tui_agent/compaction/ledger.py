"""What happened, by the log and not by a model: files, commands, failures and whether they were overcome.

It is computed from what each result's record says of itself (`meta`: tool, exit, read, changed, outcome), merged with
the ledger of the compaction before, and kept as `_state` of the key `ledger`, in at most 4 KiB. So it says the same
after a hundred compactions, and what a summary says can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from tui_agent.compaction.doubts import Fact, contradictions
from tui_agent.compaction.tally import (
    SHORT_NOTE,
    SHORT_SUBJECT,
    SUBJECT,
    Command,
    Failure,
    File,
    Kept,
    Tally,
    only_looks,
)
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from tui_agent.context.records import Record

STATE_KEY = "ledger"
MAX_BYTES = 4096
"""Bytes of the ledger as it is stored."""

_SPARED = 6
"""So many of the newest files, commands and failures go last."""
_COUNTERS = 40
"""Bytes that the counts of what was left out may grow by."""


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
        work = Tally(kept, records)
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


# --- the states of a log ---------------------------------------------------------------------------------------------


def _stored(value: object) -> Kept:
    """The ledger among the states; an empty one for what another program wrote there."""
    try:
        return msgspec.convert(value, Kept)
    except msgspec.ValidationError:
        return Kept()


def _todos(value: object) -> Iterator[tuple[str, str]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict) and isinstance(text := entry.get("text"), str) and text.strip():
            yield one_line(" ".join(text.split()), SUBJECT), str(entry.get("status", "pending"))


def _tasks(value: object) -> Iterator[str]:
    for entry in value if isinstance(value, list) else ():
        text = entry.get("command") or entry.get("title") if isinstance(entry, dict) else entry
        if isinstance(text, str) and text.strip():
            yield one_line(text, SUBJECT)


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
        [File(f.path, f.state, one_line(f.note, SHORT_NOTE), f.changes) for f in kept.files],
        [Command(one_line(c.text, SHORT_SUBJECT), c.exit, c.own) for c in kept.commands],
        [
            structs.replace(f, subject=one_line(f.subject, SHORT_SUBJECT), note=one_line(f.note, SHORT_NOTE))
            for f in kept.failures
        ],
        kept.through,
        kept.left_out,
    )


def _expendable(kept: Kept) -> Iterator[tuple[int, int, Struct]]:
    """All entries in the order in which they may go: their part (files, commands, failures), place there, and entry.

    The newest of each part go when nothing else is left, so that none crowds out what happened last.
    """
    found = [*_worth_least(kept)]
    spared = {
        (part, at)
        for part, count in enumerate((len(kept.files), len(kept.commands), len(kept.failures)))
        for at in range(max(0, count - _SPARED), count)
    }
    yield from (entry for entry in found if entry[:2] not in spared)
    yield from (entry for entry in found if entry[:2] in spared)


def _worth_least(kept: Kept) -> Iterator[tuple[int, int, Struct]]:
    """All entries, those that are easiest to find out again first, and in each kind the oldest."""
    yield from ((0, at, file) for at, file in enumerate(kept.files) if file.state == "read")
    passed = [(1, at, command) for at, command in enumerate(kept.commands) if command.exit == 0]
    yield from (entry for entry in passed if only_looks(entry[2].text))
    yield from ((2, at, failure) for at, failure in enumerate(kept.failures) if failure.overcome)
    yield from (entry for entry in passed if not only_looks(entry[2].text))
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
