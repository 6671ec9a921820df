"""Completion: what word stands before the cursor, which commands fit it, and the list that shows what fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from tui_agent import literal
from tui_agent.ui.cells import cut

if TYPE_CHECKING:
    from textual import events
    from textual.app import RenderResult

    from tui_agent.ui.chat.attachments import Prompt
    from tui_agent.ui.commands import Listed

MOST_SHOWN = 6
_FILE_WORD = re.compile(r'(?:^|(?<=[\s(]))@(?:"([^"]*)|([^\s"]*))\Z')
_COMMAND = re.compile(r"/([^\s/]+)\s(.*)", re.DOTALL)


class Candidate(Struct, frozen=True):
    """One completion: what replaces the word, how it is shown, one line of help.

    `whole`: nothing need follow it. `names` are all the words that mean it already. `prompt` is what it brings
    back, for one that was sent before.
    """

    text: str
    label: str
    words: str = ""
    whole: bool = False
    names: tuple[str, ...] = ()
    prompt: Prompt | None = None


class Word(Struct, frozen=True):
    """The word being completed: its kind, what was typed of it, and how many characters before the cursor it has.

    An `argument` belongs to a `command`; `sent`: the words looked for in what was sent before.
    """

    kind: Literal["command", "argument", "file", "sent"]
    typed: str
    length: int
    command: str = ""


def word_before(line: str, *, first: bool) -> Word | None:
    """The word to complete at the end of `line` (the text before the cursor); `first`: it is the first line."""
    if first and line.startswith("/") and not any(character.isspace() for character in line):
        return Word("command", line[1:], len(line))
    if match := _FILE_WORD.search(line):
        return Word("file", match[1] if match[1] is not None else match[2], len(match[0]))
    if first and (match := _COMMAND.match(line)):
        return Word("argument", match[2], len(match[2]), match[1])
    return None


def matching_commands(typed: str, commands: Sequence[Listed]) -> list[Candidate]:
    """The commands that fit what was typed: one of that name, those that begin with it, have it, have its letters."""
    letters = re.compile(".*?".join(map(re.escape, typed.lower())))
    found = []
    for command in commands:
        names = (command.name, *command.names)
        rank = min(_rank(typed.lower(), name, letters) for name in names)
        if rank < _NO_MATCH:
            tail = " " if command.argument else ""
            text = f"/{command.name}{tail}"
            found.append(
                (
                    rank,
                    command.name,
                    Candidate(text, _usage(command), _help(command), not command.argument, names),
                )
            )
    return [candidate for *_, candidate in sorted(found, key=lambda item: item[:2])]


_NO_MATCH = 4


def _rank(typed: str, name: str, letters: re.Pattern[str]) -> int:
    if name == typed:
        return 0
    return 1 if name.startswith(typed) else 2 if typed in name else 3 if letters.search(name) else _NO_MATCH


def _usage(command: Listed) -> str:
    return f"/{command.name} {command.argument}".rstrip()


def _help(command: Listed) -> str:
    return command.words + (
        f" (also{''.join(f' /{name}' for name in command.names)})" if command.names else ""
    )


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
        self._told: Content | None = None
        self.moved = False
        """A person has marked another candidate than the first."""
        self.display = False

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return bool(self._candidates)

    @property
    def wanted_rows(self) -> int:
        """Rows that showing the candidates takes."""
        return min(MOST_SHOWN, len(self._candidates)) or int(self._told is not None)

    @property
    def candidate(self) -> Candidate | None:
        """The marked one."""
        return self._candidates[self._at] if self._candidates else None

    def offer(self, word: Word | None, candidates: Sequence[Candidate], *, empty: str = "") -> None:
        """Show these candidates for that word; without any `empty` is said, or the list is closed."""
        self.word = word
        self._candidates = list(candidates) if word is not None else []
        self._told = Content.styled(f"  {empty}", "$text-muted") if empty and not self._candidates else None
        self._show()

    def tell(self, word: Word, command: Listed | None) -> None:
        """Show how a command is used while its argument is written; nothing where there is no such command."""
        self.word, self._candidates, self._told = word, [], None
        if command is not None and command.argument:
            self._told = Content.assemble(
                ("  ", ""), (literal.one_line(_usage(command)), "bold"), "  ", (_help(command), "$text-muted")
            )
        self._show()

    def _show(self) -> None:
        self._at, self.moved = 0, False
        self.display = bool(self.wanted_rows)
        self.refresh(layout=True)

    def close(self) -> None:
        """Close the list."""
        if self.wanted_rows:
            self.offer(None, ())

    def move(self, step: int) -> None:
        """Mark the candidate `step` further, around the ends."""
        if self._candidates:
            self._at = (self._at + step) % len(self._candidates)
            self.moved = True
            self.refresh()

    def render(self) -> RenderResult:
        if self._told is not None:
            return cut(self._told, max(1, self.size.width))
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
        whole = Content.assemble(
            ("> " if marked else "  ", "bold"),
            label.stylize("bold" if marked else ""),
            "  ",
            (literal.one_line(item.words), "$text-muted"),
        )
        return cut(whole, max(1, self.size.width)).stylize(Style.from_meta({"candidate": index}))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.wanted_rows

    def on_click(self, event: events.Click) -> None:
        index = event.style.meta.get("candidate")
        if isinstance(index, int) and index < len(self._candidates):
            event.stop()
            self.post_message(self.Taken(self._candidates[index]))
