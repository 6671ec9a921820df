"""bash: run a command in the workspace."""

from __future__ import annotations

import asyncio
import fnmatch
import glob
import itertools
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tui_agent.process import Left, ProcessError, Result, run
from tui_agent.tools.arguments import Arguments, title_of
from tui_agent.tools.commandline import places, proposal, words
from tui_agent.tools.tool import Need, Output, Progress, ToolError
from tui_agent.workspace import guard

SECONDS = 120
"""A command may take so long when it is not told otherwise."""
MOST_SECONDS = 3600
_MOST_CHARACTERS = 100_000
"""Characters of a command; the system takes no longer argument than 128 KB."""
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0"}
"""`git status` looks and writes nothing, so that it is in the way of no commit that a person makes meanwhile."""
_MOST_PLACES = 200
_MOST_MATCHES = 1000
"""A word with wildcards that stands for more files is not looked through: a person decides."""
_PATTERN = re.compile(r"[*?\[]")
_CLASS = re.compile(r"\[[!^]?\]?(?:\[([:.=])[^/]*?\1\]|[^\]/])*\]")


class Bash:
    """Run a shell command, its output as it comes, ended with all its children when the call is."""

    name = "bash"
    read_only = False
    description = (
        "Run a command in bash, in the workspace; each call begins there anew. There is no terminal and no input. "
        "Gives both output streams together and the exit code. A command that takes longer than its timeout is ended "
        "with all that it started. Prefer read_file, edit_file, glob and grep for what they do."
    )
    schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "the command"},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_SECONDS,
                "description": f"seconds it may take (default: {SECONDS})",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    }

    def __init__(self, root: Path) -> None:
        self._root = root
        self._left: list[Left] = []

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        """To run that command, with the rule that would allow its like."""
        text, _ = self._parse(arguments)
        # a word without a slash in front may be a link that leads out
        named = dict.fromkeys([*places(text)[:_MOST_PLACES], *words(text)[:_MOST_PLACES]])
        beyond = [place for place in named if self._is_beyond(place)]
        pattern = "" if beyond else proposal(text)
        return Need(
            "run",
            title_of(text.strip()),
            outside=bool(beyond),
            command=text,
            rule=f"{self.name}:{pattern}" if pattern else "",
            body=text,
            place=str(self._root),
            warning=f"names a place outside the workspace: {', '.join(beyond[:5])}" if beyond else "",
            editable="command",
        )

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        """Run it."""
        text, seconds = self._parse(arguments)
        try:
            result = await run(text, cwd=self._root, env=_ENVIRONMENT, timeout=seconds, on_output=progress)
        except ProcessError as error:
            raise ToolError(str(error)) from error
        if result.left is not None:
            self._left.append(result.left)
        notes = _notes(result, seconds)
        output = result.output or "(no output)"
        return Output(
            output.removesuffix("\n") + "\n" + notes,
            "timed out" if result.timed_out else f"exit {result.exit}",
            meta={
                "tool": self.name,
                "exit": result.exit,
                "ms": round(result.seconds * 1000),
                "timed_out": result.timed_out,
                "read": [],
                "changed": [],
            },
            error=result.exit != 0 or result.timed_out,
        )

    async def close(self) -> None:
        """End what commands have left running in the background."""
        left, self._left = self._left, []
        if left:
            await asyncio.gather(*(asyncio.to_thread(group.end) for group in left))

    def _parse(self, arguments: Mapping[str, Any]) -> tuple[str, int]:
        given = Arguments(self.name, arguments, self.schema["properties"])
        text = given.text("command")
        if not text.strip():
            raise ToolError("'command' is empty")
        if "\0" in text:
            raise ToolError("'command' holds a NUL, which no command can")
        if len(text.encode()) > _MOST_CHARACTERS:
            raise ToolError(
                f"'command' is too long (at most {_MOST_CHARACTERS} bytes): write a script with write_file and run that"
            )
        return text, given.whole("timeout", SECONDS, least=1, most=MOST_SECONDS)

    def _is_beyond(self, text: str) -> bool:
        if _PATTERN.search(text):
            return self._may_match_beyond(text)
        try:
            path = guard.resolve(self._root, text)
        except guard.PathError:
            return False
        if guard.inside(self._root, path):
            return False
        # a word such as /pattern/ is no path: nothing of that name lies in the root of the file system
        return len(path.parts) < 2 or Path(*path.parts[:2]).exists()

    def _may_match_beyond(self, pattern: str) -> bool:
        """True if the shell may find something outside the workspace for a word with wildcards."""
        if pattern.startswith("~"):
            pattern = str(Path.home()) + pattern[1:]
        # a class of characters (`[^a]`, `[[:alpha:]]`) is read as any, which finds no less
        pattern = _CLASS.sub("?", pattern)
        # such as `.*` and `.?`, which take the folder above in many shells
        dotted = [part for part in pattern.split("/") if part.startswith(".") and part != ".."]
        if any(fnmatch.fnmatchcase("..", part) for part in dotted):
            return True
        found = glob.iglob(pattern, root_dir=self._root)  # noqa: PTH207 - Path.glob takes no absolute pattern
        named = list(itertools.islice(found, _MOST_MATCHES + 1))
        return len(named) > _MOST_MATCHES or not all(guard.inside(self._root, name) for name in named)


def _notes(result: Result, seconds: int) -> str:
    notes = []
    if result.timed_out:
        notes.append(f"[timed out after {seconds} s and was ended; give it a longer timeout if it needs one]")
    if result.exit < 0:
        notes.append(f"[ended by {_signal_name(-result.exit)}]")
    else:
        notes.append(f"[exit code {result.exit}]")
    if result.left is not None:
        pids = ", ".join(map(str, result.left.pids))
        notes.append(f"[still running in the background, its output no longer heard: pid {pids}]")
    return "\n".join(notes)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
