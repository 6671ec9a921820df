"""The kinds of work the demo model can do: which calls, and what to say of their results.

A task keeps no state. `calls(done)` gives the calls that come after the results in `done`, `()` when there are no more;
`report(done)` says what came of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tui_agent.llm.demo.words import code, counted, file_lines, filled, first_line, parted, plural, quote

Fault = Literal["", "server", "overloaded", "cut"]

_REFUSED = re.compile(
    r"(?:not run|rejected|stopped)\b|.*\bcall (?:was )?(?:denied|refused|not allowed)\b"
    r"|.*\b(?:person|user)\b.{0,40}\b(?:denied|declined|refused|rejected|interrupted|cancell?ed)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """A call that has its result, as the model was given it."""

    call: Call
    text: str
    error: bool = False

    @property
    def refused(self) -> bool:
        """It did not run because somebody did not want it to."""
        return self.error and _REFUSED.match(self.text) is not None


class Task(Protocol):
    """A piece of work. `intro` is said with its first calls; `thinking` and `fault` belong to the answer it ends in."""

    @property
    def intro(self) -> str: ...
    @property
    def thinking(self) -> str: ...
    @property
    def fault(self) -> Fault: ...

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        """The calls to make next; `()`: none."""
        ...

    def report(self, done: Sequence[Done]) -> str:
        """What to say when it is over."""
        ...


@dataclass(frozen=True, slots=True)
class Say:
    """Say something; no calls."""

    text: str
    thinking: str = ""
    fault: Fault = ""
    intro: str = ""

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        return ()

    def report(self, done: Sequence[Done]) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Work:
    """What the tasks with calls share."""

    @property
    def thinking(self) -> str:
        return ""

    @property
    def fault(self) -> Fault:
        return ""


@dataclass(frozen=True, slots=True)
class Read(_Work):
    """Read a file, or lines `first` to `last` of it, and quote its beginning."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def intro(self) -> str:
        return f"I'll read {code(self.path)}."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if done:
            return ()
        arguments: dict[str, Any] = {"path": self.path}
        if self.first is not None:
            arguments["offset"] = self.first
            if self.last is not None:
                arguments["limit"] = max(1, self.last - self.first + 1)
        return (Call("read_file", arguments),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, f"{code(self.path)} could not be read")
        lines = file_lines(result.text)
        return f"{code(self.path)}: {plural(len(lines), 'line')} came back.\n\n{quote(lines)}"


@dataclass(frozen=True, slots=True)
class List(_Work):
    """List files by a pattern."""

    pattern: str
    path: str = ""

    @property
    def intro(self) -> str:
        return f"I'll list the files that match {code(self.pattern)}."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if done:
            return ()
        place = {"path": self.path} if self.path else {}
        return (Call("glob", {"pattern": self.pattern, **place}),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, "The files could not be listed")
        lines, remark = parted(result.text)
        if not lines:
            return f"No file matches {code(self.pattern)}."
        return f"{code(self.pattern)} matches {plural(len(lines), 'file')}.\n\n{quote(lines)}{said(remark)}"


@dataclass(frozen=True, slots=True)
class Search(_Work):
    """Search file contents. `exact` words are searched for as they are, not as a pattern."""

    pattern: str
    path: str = ""
    glob: str = ""
    ignore_case: bool = False

    @property
    def intro(self) -> str:
        return f"I'll search for {code(self.pattern)}."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if done:
            return ()
        arguments: dict[str, Any] = {"pattern": self.pattern}
        if self.path:
            arguments["path"] = self.path
        if self.glob:
            arguments["glob"] = self.glob
        if self.ignore_case:
            arguments["ignore_case"] = True
        return (Call("grep", arguments),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, "The search failed")
        lines, remark = parted(result.text)
        if not lines:
            return f"Nothing matches {code(self.pattern)}."
        return f"{code(self.pattern)} gave {plural(len(lines), 'line')}.\n\n{quote(lines)}{said(remark)}"


@dataclass(frozen=True, slots=True)
class Run(_Work):
    """Run a command and quote what it printed."""

    command: str

    @property
    def intro(self) -> str:
        return f"I'll run {code(self.command)}."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        return () if done else (Call("bash", {"command": self.command}),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        ran = str(result.call.arguments.get("command") or self.command)
        if result.error:
            return failure(result, f"{code(ran)} did not succeed")
        lines, remark = parted(result.text)
        if not lines:
            return f"{code(ran)} printed nothing" + (f" ({remark})." if remark else ".")
        return f"{code(ran)} printed {counted(lines, remark)}:\n\n{quote(lines)}"


@dataclass(frozen=True, slots=True)
class Write(_Work):
    """Write a whole file."""

    path: str
    content: str

    @property
    def intro(self) -> str:
        return f"I'll write {code(self.path)}."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        return () if done else (Call("write_file", {"path": self.path, "content": self.content}),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, f"{code(self.path)} was not written")
        lines = plural(len(self.content.splitlines()), "line")
        return f"{code(self.path)} is written ({lines}). The tool said: {first_line(result.text)}"


@dataclass(frozen=True, slots=True)
class Replace(_Work):
    """Replace text in a file: read it, then edit the region that holds every occurrence."""

    path: str
    old: str
    new: str

    @property
    def intro(self) -> str:
        return f"I'll read {code(self.path)}, then change it."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if not done:
            return (Call("read_file", {"path": self.path}),)
        if len(done) > 1 or done[0].error:
            return ()
        region = _region(file_lines(done[0].text), self.old)
        if region is None:
            return ()
        edit = {"path": self.path, "old": region, "new": region.replace(self.old, self.new)}
        return (Call("edit_file", edit),)

    def report(self, done: Sequence[Done]) -> str:
        if done[0].error:
            return failure(done[0], f"{code(self.path)} could not be read, so nothing was changed")
        if len(done) == 1:
            return f"{code(self.path)} does not contain {code(self.old)}; nothing was changed."
        if done[1].error:
            return failure(done[1], f"{code(self.path)} was not changed")
        times = plural(_region_count(done[0], self.old), "place")
        what = f"{code(self.old)} is now {code(self.new)} in {code(self.path)}, in {times}."
        return f"{what} The tool said: {first_line(done[1].text)}"


@dataclass(frozen=True, slots=True)
class AddLine(_Work):
    """Add a line at the end of a file; a file that is not there is created."""

    path: str
    line: str

    @property
    def intro(self) -> str:
        return f"I'll read {code(self.path)}, then add the line."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        if not done:
            return (Call("read_file", {"path": self.path}),)
        if len(done) > 1 or done[0].refused:
            return ()
        lines = file_lines(done[0].text)
        if done[0].error or not any(lines):
            return (Call("write_file", {"path": self.path, "content": self.line + "\n"}),)
        tail = _unique_tail(lines)
        return (Call("edit_file", {"path": self.path, "old": tail, "new": f"{tail}\n{self.line}"}),)

    def report(self, done: Sequence[Done]) -> str:
        result = done[-1]
        if result.error:
            return failure(result, f"{code(self.path)} was not changed")
        return f"The line {code(self.line)} is in {code(self.path)} now. The tool said: {first_line(result.text)}"


@dataclass(frozen=True, slots=True)
class Todo(_Work):
    """Write the todo list."""

    items: tuple[tuple[str, str], ...]
    """Text and status (pending, active, done) of each."""
    quiet: bool = False
    """It is written on the way, and not worth a word."""

    @property
    def intro(self) -> str:
        return "" if self.quiet else "I'll write the todo list."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        items = [{"text": text, "status": status} for text, status in self.items]
        return () if done else (Call("todo", {"items": items}),)

    def report(self, done: Sequence[Done]) -> str:
        if done[-1].error:
            return failure(done[-1], "The todo list was not written")
        if self.quiet:
            return ""
        marks = {"done": "x", "active": "~", "pending": " "}
        lines = [f"- [{marks[status]}] {text}" for text, status in self.items]
        return f"The todo list has {plural(len(self.items), 'item')}:\n\n" + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Parallel(_Work):
    """Several tasks at once: in each round the next calls of all of them."""

    tasks: tuple[Task, ...]

    @property
    def intro(self) -> str:
        return f"I'll do these {len(self.tasks)} things at once."

    def calls(self, done: Sequence[Done]) -> tuple[Call, ...]:
        parts = self._shared(done)
        return tuple(call for task, part in zip(self.tasks, parts, strict=True) for call in task.calls(part))

    def report(self, done: Sequence[Done]) -> str:
        parts = self._shared(done)
        return "\n\n".join(task.report(part) for task, part in zip(self.tasks, parts, strict=True))

    def _shared(self, done: Sequence[Done]) -> list[list[Done]]:
        """The results by task: each round gave every task as many as it had calls in it."""
        parts: list[list[Done]] = [[] for _ in self.tasks]
        at = 0
        while at < len(done):
            counts = [len(task.calls(part)) for task, part in zip(self.tasks, parts, strict=True)]
            if not any(counts):
                break
            for part, count in zip(parts, counts, strict=True):
                part.extend(done[at : at + count])
                at += count
        return parts


def failure(result: Done, what: str) -> str:
    """A sentence about a call that failed, with the tool's own words."""
    why = "the call was not allowed. The answer was" if result.refused else "the tool said"
    return f"{what}: {why}:\n\n{quote(filled(result.text))}"


def said(remark: str) -> str:
    """A tool's remark as a paragraph."""
    return f"\n\nThe tool adds: {remark}" if remark else ""


def _region(lines: Sequence[str], old: str) -> str | None:
    """The lines from the first to the last that hold `old`, widened until they occur once; None if none does."""
    whole = "\n".join(lines)
    if not old or old not in whole:
        return None
    start = whole.index(old)
    end = whole.rindex(old) + len(old)
    while whole.count(whole[start:end]) > 1:
        start = max(0, start - 1)
        end = min(len(whole), end + 1)
    return whole[start:end]


def _region_count(read: Done, old: str) -> int:
    return "\n".join(file_lines(read.text)).count(old)


def _unique_tail(lines: Sequence[str]) -> str:
    """The fewest last lines that occur once in the file."""
    whole = "\n".join(lines)
    for count in range(1, len(lines) + 1):
        tail = "\n".join(lines[-count:])
        if tail.strip() and whole.count(tail) == 1:
            return tail
    return whole
