"""What can be pressed here, then every key and command: one page from the tables the program itself goes by."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.bindings import ACTIONS, Keys
from tui_agent.ui.over import Host, Over

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui_agent.ui.commands import Here, Listed

_MARKS = (
    ("18,734", "an exact count: the model's provider said so"),
    ("~1,204", "an estimate, made here"),
    ("≃690", "a share of an exact difference, by estimate"),
)
HERE = "Here: "
"""Begins the head of the section about the place the help was called from."""
EVERY_KEY = "Writing"
"""The head of the first section of the table."""
_WIDEST, _FRAME = 100, 5
"""The most columns of the page, and those of its border, the space inside it and the scroll bar."""
_COLUMN = 28
"""Cells of the left column."""


def page(
    keys: Keys,
    commands: Sequence[Listed],
    problems: Sequence[str] = (),
    width: int = 100,
    here: Here | None = None,
) -> Content:
    """The whole page at a width. `problems` are what could not be used of the settings."""
    rows = _here(here, width) if here is not None else []
    if problems:
        rows.append(_head("What settings say and cannot be used"))
        rows += [_row("", problem, width, "$text-error") for problem in problems]
    for group, actions in groupby(ACTIONS, key=lambda action: action.group):
        rows.append(_head(group))
        rows += [_row("  ".join(keys.of(action)), action.help, width) for action in actions]
    rows.append(_head("Commands"))
    for command in commands:
        also = "".join(f" /{name}" for name in command.names)
        name = f"/{command.name} {command.argument}".rstrip()
        rows.append(_row(name, command.words + (f" (also{also})" if also else ""), width))
    rows.append(_head("Numbers"))
    rows += [_row(mark, words, width) for mark, words in _MARKS]
    rows.append(_head("Your own keys"))
    example = 'jump = "f6, ctrl+x j"'
    rows.append(_row("[keys]", f"in settings.toml: an action's name and its keys, as in  {example}", width))
    rows.append(_row("names", ", ".join(action.id for action in ACTIONS if not action.fixed), width))
    return Content("\n").join(rows)


def _here(here: Here, width: int) -> list[Content]:
    """The first section: what can be pressed here."""
    return [_title(f"{HERE}{here.place}"), *(_row(key, words, width) for key, words in here.rows if key)]


def _head(text: str) -> Content:
    return Content.assemble("\n", _title(text))


def _title(text: str) -> Content:
    return Content.styled(text, "bold $text-primary")


def _row(left: str, right: str, width: int, style: str = "") -> Content:
    """Two columns, the right one wrapped inside its own."""
    cells = Content(left).cell_length
    room = max(16, width - _COLUMN - 2)
    lines = textwrap.wrap(literal.one_line(right), room) or [""]
    if max(_COLUMN, cells + 2) + 2 + Content(lines[0]).cell_length > width:
        lines = ["", *lines]  # beside so long a name it would be cut
    gap = " " * max(2, _COLUMN - cells)
    first = Content.assemble("  ", (literal.one_line(left), "bold"), gap, (lines[0], style))
    rest = [Content.assemble(" " * (_COLUMN + 2), (line, style)) for line in lines[1:]]
    return Content("\n").join([first, *rest])


class HelpScreen(Over):
    """The page over the chat. Esc, q, F1 or ? close it; arrows, PgUp and PgDn scroll it.

    `at` is the head it is scrolled to when it opens.
    """

    ACTION = "help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,enter", "leave", "Close", show=False),
    ]

    def __init__(
        self,
        keys: Keys,
        commands: Sequence[Listed],
        problems: Sequence[str] = (),
        *,
        here: Here | None = None,
        at: str = "",
    ) -> None:
        super().__init__(keys)
        self._what = (keys, commands, problems)
        self._here = here
        self._at = at
        self._page = Static(markup=False)
        self._width = 0
        self._heads: list[str] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as scroll:
            scroll.border_title = Content("keys and commands")
            scroll.border_subtitle = Content("Esc closes")
            self._fill()
            yield self._page

    def on_key(self, event: events.Key) -> None:
        """Whoever types on has read enough: it is the composer's."""
        if event.is_printable and event.character and event.key not in self.active_bindings:
            event.stop()
            self.leave()
            cast(Host, self.app).write(event.character)

    def on_resize(self) -> None:
        self._fill()
        if self._at:
            heads = self._heads
            self.call_after_refresh(self._go_to, heads.index(self._at) if self._at in heads else 0)
            self._at = ""

    def _fill(self) -> None:
        """Make the page for the columns that it has, before it is laid out with them."""
        width = min(self.app.size.width, _WIDEST) - _FRAME
        if width != self._width:
            self._width = width
            content = page(*self._what, width=width, here=self._here)
            self._heads = content.plain.split("\n") if self._at else []
            self._page.update(content)

    def _go_to(self, row: int) -> None:
        self.query_one(VerticalScroll).scroll_to(y=row, animate=False, immediate=True)
