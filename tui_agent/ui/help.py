"""What can be pressed here, then every key and command: one page from the tables the program itself goes by."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.over import Host, Over

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.geometry import Size

    from tui_agent.ui.bindings import Keys
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
    return Content("\n").join(_lines(keys, commands, problems, width, here))


def _lines(
    keys: Keys, commands: Sequence[Listed], problems: Sequence[str], width: int, here: Here | None
) -> list[Content]:
    """The page by its lines."""
    return [line for row in _rows(keys, commands, problems, width, here) for line in row]


def _rows(
    keys: Keys, commands: Sequence[Listed], problems: Sequence[str], width: int, here: Here | None
) -> list[list[Content]]:
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
    return rows


def _here(here: Here, width: int) -> list[list[Content]]:
    """The first section: what can be pressed here."""
    return [[_title(f"{HERE}{here.place}")], *(_row(key, words, width) for key, words in here.rows if key)]


def _head(text: str) -> list[Content]:
    return [Content(), _title(text)]


def _title(text: str) -> Content:
    return Content.styled(text, "bold $text-primary")


def _row(left: str, right: str, width: int, style: str = "") -> list[Content]:
    """Two columns, the right one wrapped inside its own."""
    left = literal.one_line(left)
    cells = cell_len(left)
    room = max(16, width - _COLUMN - 2)
    lines = textwrap.wrap(literal.one_line(right), room) or [""]
    if max(_COLUMN, cells + 2) + 2 + cell_len(lines[0]) > width:
        lines = ["", *lines]  # beside so long a name it would be cut
    gap = " " * max(2, _COLUMN - cells)
    first = Content.assemble("  ", (left, "bold"), gap, (lines[0], style))
    return [first, *(Content.assemble(" " * (_COLUMN + 2), (line, style)) for line in lines[1:])]


class Page(Static):
    """The page, of which only the lines that are seen are drawn."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._lines: list[Content] = []

    def tell(self, lines: list[Content]) -> None:
        """Show these lines."""
        same = len(lines) == len(self._lines)
        self._lines = lines
        self.update(Content("\n").join(lines), layout=not same)

    def row(self, text: str) -> int:
        """The row of a line with this text, else the first."""
        return next((row for row, line in enumerate(self._lines) if line.plain == text), 0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self.visual_style.rich_style)
        line, selected = self._lines[y], self.text_selection
        span = selected.get_span(y) if selected is not None else None
        if span is not None:
            style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            line = line.stylize(style, span[0], span[1] if span[1] >= 0 else None)
        width = self.size.width
        strips = Visual.to_strips(self, line, width, 1, self.visual_style, apply_selection=False, pad=True)
        return strips[0].apply_offsets(0, y)


class HelpScreen(Over):
    """The page over the chat. Esc, q, F1 or ? close it; arrows, PgUp and PgDn scroll it."""

    ACTION = "help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,enter", "leave", "Close", show=False),
    ]

    def __init__(self, keys: Keys) -> None:
        super().__init__(keys)
        self._commands: Sequence[Listed] = ()
        self._problems: Sequence[str] = ()
        self._here: Here | None = None
        self._at: str | None = None
        """The head that it is to begin with, "" for its top; None once it has begun."""
        self._page = Page()
        self._scroll = VerticalScroll(self._page, id="help")
        self._scroll.border_title = Content("keys and commands")
        self._scroll.border_subtitle = Content("Esc closes")
        self._told: object = None
        """What the page was made of."""

    def tell(
        self, keys: Keys, commands: Sequence[Listed], problems: Sequence[str], *, here: Here, at: str = ""
    ) -> None:
        """Tell of these when it is shown next, from the top or from the head `at`."""
        self.keys, self._commands, self._problems, self._here = keys, commands, problems, here
        self._at = at
        self._fill()
        if self._told is not None:
            self.clear_selection()

    def compose(self) -> ComposeResult:
        yield self._scroll

    def on_key(self, event: events.Key) -> None:
        """Whoever types on has read enough: it is the composer's."""
        if event.is_printable and event.character and event.key not in self.active_bindings:
            event.stop()
            self.leave()
            cast(Host, self.app).write(event.character)

    def on_resize(self) -> None:
        self._fill()

    def on_screen_resume(self) -> None:
        if self._at:
            self.call_after_refresh(self._begin)  # as far down as it goes is known then
        else:
            self._begin()

    def _fill(self) -> None:
        """Make the page for the columns that it has, before it is laid out with them."""
        width = min(self.app.size.width, _WIDEST) - _FRAME
        what = (self.keys, self._commands, self._problems, width, self._here)
        if what != self._told:
            self._told = what
            self._page.tell(_lines(*what))

    def _begin(self) -> None:
        """Scroll to where it is to begin."""
        at, self._at = self._at, None
        if at is not None:
            self._scroll.scroll_to(y=self._page.row(at) if at else 0, animate=False, immediate=True)
