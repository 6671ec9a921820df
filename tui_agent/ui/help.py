"""Every key and every command on one page, generated from the tables the program itself goes by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.bindings import ACTIONS, Action, Keys, short

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui_agent.ui.commands import Listed

_MARKS = (
    ("18,734", "an exact count: the model's provider said so"),
    ("~1,204", "an estimate, made here"),
    ("≃690", "a share of an exact difference, by estimate"),
)
_COLUMN = 26
"""Cells of the left column."""


def page(keys: Keys, commands: Sequence[Listed], problems: Sequence[str] = ()) -> Content:
    """The whole page. `problems` are what could not be used of the settings."""
    rows: list[Content] = []
    if problems:
        rows += [_head("What settings say and cannot be used")]
        rows += [Content.styled(f"  {literal.one_line(problem)}", "$text-error") for problem in problems]
    for group, actions in groupby(ACTIONS, key=lambda action: action.group):
        rows.append(_head(group))
        rows += [_row(_keys_of(action, keys), action.help) for action in actions]
    rows.append(_head("Commands"))
    for command in commands:
        also = "".join(f" /{name}" for name in command.names)
        name = f"/{command.name} {command.argument}".rstrip()
        rows.append(_row(name, command.words + (f" (also{also})" if also else "")))
    rows.append(_head("Numbers"))
    rows += [_row(mark, words) for mark, words in _MARKS]
    rows.append(_head("Your own keys"))
    rows.append(
        Content('  [keys] in settings.toml: an action\'s name = its keys, as in  jump = "f6, ctrl+x j"')
    )
    names = ", ".join(action.id for action in ACTIONS if not action.fixed)
    rows.append(Content.styled(f"  names: {names}", "$text-muted"))
    return Content("\n").join(rows[1:] if not rows[0].plain else rows)


def _head(text: str) -> Content:
    return Content.assemble("\n", (text, "bold $text-primary"))


def _row(left: str, right: str) -> Content:
    cells = Content(left).cell_length
    gap = " " * max(2, _COLUMN - cells)
    return Content.assemble("  ", (literal.one_line(left), "bold"), gap, literal.one_line(right))


def _keys_of(action: Action, keys: Keys) -> str:
    shown = [short(key) for key in action.keys] if action.fixed else keys.all(action.id)
    return "  ".join(shown)


class HelpScreen(ModalScreen[None]):
    """The page over the chat. Esc, q, F1 or ? close it; arrows, PgUp and PgDn scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,enter", "dismiss", "Close", show=False),
    ]

    def __init__(self, keys: Keys, commands: Sequence[Listed], problems: Sequence[str] = ()) -> None:
        super().__init__()
        self._page = page(keys, commands, problems)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as scroll:
            scroll.border_title = Content("keys and commands")
            scroll.border_subtitle = Content("Esc closes")
            yield Static(self._page, markup=False)
