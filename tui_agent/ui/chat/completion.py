"""Completion of `/` commands and `@` files: what fits the word under the cursor, and the list that shows it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from tui_agent import literal

if TYPE_CHECKING:
    from textual import events
    from textual.app import RenderResult

    from tui_agent.ui.commands import Listed

MOST_SHOWN = 6
_MOST_FILES = 100_000
"""Files of a workspace that are offered; the rest of a larger one is not."""
_FRESH = 10.0
"""Seconds for which a listing of the workspace is good."""
_FILE_WORD = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")

ListFiles = Callable[[Path], Iterator[Path]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One completion: what replaces the word, how it is shown, one line of help.

    `whole`: nothing need follow it. `names` are all the words that mean it already.
    """

    text: str
    label: str
    words: str = ""
    whole: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """The word being completed: its kind, what was typed of it, and how many characters before the cursor it has."""

    kind: Literal["command", "file"]
    typed: str
    length: int


def word_before(line: str, *, first: bool) -> Word | None:
    """The word to complete at the end of `line` (the text before the cursor); `first`: it is the first line."""
    if first and line.startswith("/") and not any(character.isspace() for character in line):
        return Word("command", line[1:], len(line))
    match = _FILE_WORD.search(line)
    return Word("file", match[1], len(match[1]) + 1) if match else None


def matching_commands(typed: str, commands: Sequence[Listed]) -> list[Candidate]:
    """The commands that begin with what was typed, or have a name that does, by name."""
    found = []
    for command in sorted(commands, key=lambda command: command.name):
        if not any(name.startswith(typed) for name in (command.name, *command.names)):
            continue
        also = "".join(f" /{name}" for name in command.names)
        words = command.words + (f" (also{also})" if also else "")
        label = f"/{command.name} {command.argument}".rstrip()
        tail = " " if command.argument else ""
        names = (command.name, *command.names)
        found.append(Candidate(f"/{command.name}{tail}", label, words, not command.argument, names))
    return found


def matching_files(typed: str, files: Sequence[str], limit: int = MOST_SHOWN) -> list[Candidate]:
    """The files that fit what was typed, best first: in the name's head, the name, the path, as letters in order."""
    query = typed.lower()
    letters = re.compile(".*?".join(map(re.escape, query)))
    ranked: list[tuple[int, int, str]] = []
    for path in files:
        lower = path.lower()
        name = lower.rsplit("/", 1)[-1]
        if name.startswith(query):
            rank = 0
        elif query in name:
            rank = 1
        elif query in lower:
            rank = 2
        elif letters.search(lower):
            rank = 3
        else:
            continue
        ranked.append((rank, len(path), path))
    ranked.sort()
    return [Candidate(f"@{path} ", path) for _, _, path in ranked[:limit]]


class Files:
    """The files of a workspace, listed in a thread and kept for a few seconds."""

    def __init__(
        self, root: Path, walk: ListFiles | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._walk = walk
        self._clock = clock
        self._listed: list[str] = []
        self._at: float | None = None

    async def match(self, typed: str) -> list[Candidate]:
        """The best files for what was typed.

        Raises:
            OSError: the workspace cannot be read.
        """
        if self._at is None or self._clock() - self._at > _FRESH:
            self._listed = await asyncio.to_thread(self._list)
            self._at = self._clock()
        return await asyncio.to_thread(matching_files, typed, self._listed)

    def _list(self) -> list[str]:
        from tui_agent.workspace.walk import files  # not needed before the first @

        listed = []
        for path in (self._walk or files)(self._root):
            listed.append((path.relative_to(self._root) if path.is_absolute() else path).as_posix())
            if len(listed) >= _MOST_FILES:
                break
        return listed


class Completion(Widget):
    """The list above the composer. It is shown while it has candidates.

    Posts `Taken` when one is clicked; the composer drives it by keys.
    """

    @dataclass
    class Taken(Message):
        """A candidate was chosen with the mouse."""

        candidate: Candidate

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.word: Word | None = None
        self._candidates: list[Candidate] = []
        self._at = 0
        self.display = False

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return bool(self._candidates)

    @property
    def wanted_rows(self) -> int:
        """Rows that showing the candidates takes."""
        return min(MOST_SHOWN, len(self._candidates))

    @property
    def candidate(self) -> Candidate | None:
        """The marked one."""
        return self._candidates[self._at] if self._candidates else None

    def offer(self, word: Word | None, candidates: Sequence[Candidate]) -> None:
        """Show these candidates for that word; none closes the list."""
        self.word = word
        self._candidates = list(candidates) if word is not None else []
        self._at = 0
        self.display = bool(self._candidates)
        self.refresh(layout=True)

    def close(self) -> None:
        """Close the list."""
        if self._candidates:
            self.offer(None, ())

    def move(self, step: int) -> None:
        """Mark the candidate `step` further, around the ends."""
        if self._candidates:
            self._at = (self._at + step) % len(self._candidates)
            self.refresh()

    def render(self) -> RenderResult:
        rows = max(1, min(MOST_SHOWN, self.size.height))
        start = min(max(0, self._at - rows + 1), max(0, len(self._candidates) - rows))
        shown = self._candidates[start : start + rows]
        column = max((Content(item.label).cell_length for item in shown), default=0)
        lines = [self._row(start + index, item, column) for index, item in enumerate(shown)]
        return Content("\n").join(lines)

    def _row(self, index: int, item: Candidate, column: int) -> Content:
        marked = index == self._at
        label = Content(literal.one_line(item.label))
        label = label.pad_right(max(0, column - label.cell_length))
        row = Content.assemble(
            ("> " if marked else "  ", "bold"),
            label.stylize("bold" if marked else ""),
            "  ",
            (literal.one_line(item.words), "$text-muted"),
        ).truncate(max(1, self.size.width), ellipsis=True)
        return row.stylize(Style.from_meta({"candidate": index}))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.wanted_rows

    def on_click(self, event: events.Click) -> None:
        index = event.style.meta.get("candidate")
        if isinstance(index, int) and index < len(self._candidates):
            event.stop()
            self.post_message(self.Taken(self._candidates[index]))
