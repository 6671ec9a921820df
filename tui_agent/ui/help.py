"""Every key and every command on one page, generated from the tables the program itself goes by."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.bindings import ACTIONS, Action, Keys, short
from tui_agent.ui.over import Over

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.ui.commands import Listed

_MARKS = (
    ("18,734", "an exact count: the model's provider said so"),
    ("~1,204", "an estimate, made here"),
    ("≃690", "a share of an exact difference, by estimate"),
)
_COLUMN = 28
"""Cells of the left column."""


def page(keys: Keys, commands: Sequence[Listed], problems: Sequence[str] = (), width: int = 100) -> Content:
    """The whole page at a width. `problems` are what could not be used of the settings."""
    rows: list[Content] = []
    if problems:
        rows.append(_head("What settings say and cannot be used"))
        rows += [_row("", problem, width, "$text-error") for problem in problems]
    for group, actions in groupby(ACTIONS, key=lambda action: action.group):
        rows.append(_head(group))
        rows += [_row(_keys_of(action, keys), action.help, width) for action in actions]
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


def _head(text: str) -> Content:
    return Content.assemble("\n", (text, "bold $text-primary"))


def _row(left: str, right: str, width: int, style: str = "") -> Content:
    """Two columns, the right one wrapped inside its own."""
    cells = Content(left).cell_length
    room = max(16, width - _COLUMN - 2)
    lines = textwrap.wrap(literal.one_line(right), room) or [""]
    gap = " " * max(2, _COLUMN - cells)
    first = Content.assemble("  ", (literal.one_line(left), "bold"), gap, (lines[0], style))
    rest = [Content.assemble(" " * (_COLUMN + 2), (line, style)) for line in lines[1:]]
    return Content("\n").join([first, *rest])


def _keys_of(action: Action, keys: Keys) -> str:
    shown = [short(key) for key in action.keys] if action.fixed else keys.all(action.id)
    return "  ".join(shown)


class HelpScreen(Over):
    """The page over the chat. Esc, q, F1 or ? close it; arrows, PgUp and PgDn scroll it."""

    ACTION = "help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,enter", "leave", "Close", show=False),
    ]

    def __init__(self, keys: Keys, commands: Sequence[Listed], problems: Sequence[str] = ()) -> None:
        super().__init__(keys)
        self._what = (keys, commands, problems)
        self._page = Static(markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as scroll:
            scroll.border_title = Content("keys and commands")
            scroll.border_subtitle = Content("Esc closes")
            yield self._page

    def on_resize(self) -> None:
        # one cell less: the scroll bar may not be there yet
        self._page.update(page(*self._what, width=self._page.size.width - 1))
