"""Themes: ours, a person's own, Textual's. The one under the cursor is shown at once; Enter keeps it in settings."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from tui_agent.literal import one_line
from tui_agent.settings.rules import SettingsError
from tui_agent.ui import own_themes, themes
from tui_agent.ui.cells import Column
from tui_agent.ui.contrast import weak
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing
from tui_agent.ui.looks import AUTO
from tui_agent.ui.words import short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.theme import Theme

    from tui_agent.ui.cells import Cell
    from tui_agent.ui.desk import Desk

_COLUMNS = (Column("theme", 26), Column("", 10), Column("to read"))
_OURS = {
    "dark": "light text on a dark ground",
    "light": "dark text on a light ground",
    "ansi": "the terminal's own 16 colours",
}
_READABLE = "every text at least 4.5 to 1"
_SAMPLE: tuple[tuple[str, str], ...] = (
    ("plain ", "$foreground"),
    ("dim ", "$text-muted"),
    ("key ", "$text-accent"),
    ("ok ", "$text-success"),
    ("to answer ", "$text-warning"),
    ("failed ", "$text-error"),
    ("+ added ", "$text-success on $success-muted"),
    ("- removed ", "$text-error on $error-muted"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A theme to choose: its name in settings, whose it is, how well it reads, and what is wrong with it."""

    name: str
    whose: str
    reads: str
    trouble: str = ""


class ThemeScreen(Listing):
    """The list of themes."""

    ACTION: ClassVar[str] = "theme"
    ENTER: ClassVar[str] = "keep"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.keys, "theme", empty="no themes")
        self._desk = desk
        self._before = desk.looks.name
        self._list: list[Row] = []

    # --- what is listed

    def load(self) -> None:
        self.rows.show(self._cells, 0, columns=_COLUMNS)
        self._read()

    def _read(self) -> None:
        self.run_worker(self._reading(), group="read", exclusive=True, exit_on_error=False)

    async def _reading(self) -> None:
        known = dict(self._desk.available_themes)
        self._list = await asyncio.to_thread(self._rows, known)
        names = [row.name for row in self._list]
        self.rows.show(self._cells, len(names), key=lambda index: names[index])
        if self._before in names:
            self.rows.move(names.index(self._before), tell=False)
        more = f"own themes: {one_line(short_path(str(self._desk.looks.folder)))}/NAME.toml"
        self.headline(more)
        self.refresh_keys()

    def _rows(self, known: dict[str, Theme]) -> list[Row]:
        """Every theme; reads files and measures, so it runs in a thread."""
        ground = "dark" if self._desk.looks.is_dark else "light"
        found = [Row(AUTO, "", f"as the terminal is: {ground} now")]
        found += [Row(name, "", words) for name, words in _OURS.items()]
        found += [self._own(name) for name in own_themes.names(self._desk.looks.folder)]
        found += [Row(name, "Textual's", _reads(known[name])) for name in themes.textual_themes(known)]
        return found

    def _own(self, name: str) -> Row:
        try:
            theme = own_themes.load(self._desk.looks.folder / f"{name}.toml")
        except SettingsError as error:
            return Row(name, "your own", "cannot be used", str(error))
        return Row(name, "your own", _reads(theme), own_themes.warning(theme))

    def _cells(self, index: int) -> Sequence[Cell]:
        row = self._list[index]
        now = " (in settings)" if row.name == self._desk.settings.theme else ""
        return f"{row.name}{now}", row.whose, row.reads

    # --- what is chosen

    def about(self, index: int) -> Content:
        row = self._list[index]
        sample = Content("").join([Content.styled(text, style) for text, style in _SAMPLE])
        parts = [sample]
        if row.trouble:
            parts.append(Content.styled(one_line(row.trouble), "$text-warning"))
        return Content("\n").join(parts)

    def offered(self) -> Sequence[Key]:
        return [Key("r", "read again", "again")]

    def moved(self, index: int) -> None:
        # where the cursor is by now: this may tell of where it was when the list was read
        if 0 <= self.rows.cursor < len(self._list):
            self._try(self._list[self.rows.cursor])

    def _try(self, row: Row) -> bool:
        try:
            self._desk.looks.show(row.name)
        except ValueError as error:
            self.note(str(error), "$text-error")
            return False
        self.note("")
        return True

    def choose(self, index: int) -> None:
        row = self._list[index]
        if self._try(row):
            self.run_worker(self._saving(row.name), group="save", exit_on_error=False)

    async def _saving(self, name: str) -> None:
        from tui_agent.settings.save import save

        try:
            settings = await asyncio.to_thread(save, self._desk.settings_path, {"theme": name})
        except SettingsError as error:
            self.note(f"shown, but not saved: {error}", "$text-error")
            return
        self._before = name
        self._desk.take_settings(settings)
        self.leave()

    def action_again(self) -> None:
        """Read the person's own themes again."""
        self._before = self._desk.looks.name
        self._read()

    def leave(self, action: str = "") -> None:
        """Close; a theme that was only looked at is put back."""
        if self._desk.looks.name != self._before:
            self._desk.looks.show(self._before)
        super().leave(action)


def _reads(theme: Theme) -> str:
    if theme.ansi:
        return "the terminal's palette"
    found = weak(theme)
    return f"a text with {found[0].shown} to 1" if found else _READABLE
