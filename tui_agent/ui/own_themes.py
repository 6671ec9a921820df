"""Themes of a person's own: `<config>/themes/NAME.toml`.

    base = "dark"              # "dark" or "light": gives every colour that is left out
    [colors]
    primary = "#6cb6f0"        # primary secondary accent warning error success foreground background surface panel
    [variables]
    text-muted = "#a3afbc"     # any variable of the theme it is based on

What is wrong in a file is an error that names file and line. A text that cannot be read well is warned about.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui_agent.settings.load import locate, read
from tui_agent.settings.rules import SettingsError
from tui_agent.ui.contrast import weak
from tui_agent.ui.themes import DARK, LIGHT, NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLORS = (
    *("primary", "secondary", "accent", "warning", "error", "success"),
    *("foreground", "background", "surface", "panel"),
)
_BASES = {"dark": DARK, "light": LIGHT}
_KNOWN = ("base", "colors", "variables")
_WORST = 3
"""Weak contrasts that a warning names."""


def names(folder: Path) -> list[str]:
    """The names of the themes in a folder, whether they can be read or not."""
    return sorted(path.stem for path in folder.glob("*.toml")) if folder.is_dir() else []


def load(path: Path) -> Theme:
    """Read a theme. Its name is made of the file's name and what stands in it, so that a changed file is another theme.

    Raises:
        SettingsError: there is no such file, or something in it is not allowed.
    """
    if not path.is_file():
        raise SettingsError("there is no such theme", file=path)
    if path.stem in (*NAMED, "auto"):
        raise SettingsError(
            f"{path.stem} is the name of a theme that is there already; rename the file", file=path
        )
    tables, text = read(path)
    reader = _Reader(path, text)
    reader.only(tables, (), _KNOWN)
    base = reader.base(tables)
    colors = reader.colours(tables.get("colors", {}), ("colors",), _COLORS)
    variables = reader.colours(tables.get("variables", {}), ("variables",), tuple(base.variables))
    given = {name: colors.get(name, getattr(base, name)) for name in _COLORS}
    return Theme(
        name=f"own-{path.stem}-{crc32(text.encode()):08x}",
        dark=base.dark,
        variables={**base.variables, **_follow(colors), **variables},
        **given,
    )


def _follow(colors: dict[str, str]) -> dict[str, str]:
    """Variables of the base that would contradict a colour that was given."""
    follows = {"foreground": ("text",), "surface": ("footer-background",)}
    return {name: colors[color] for color, those in follows.items() if color in colors for name in those}


def warning(theme: Theme) -> str:
    """What of a theme cannot be read well, in words; empty if all can."""
    found = weak(theme)
    if not found:
        return ""
    more = f" and {len(found) - _WORST} more" if len(found) > _WORST else ""
    return "hard to read (under 4.5 to 1): " + ", ".join(map(str, found[:_WORST])) + more


class _Reader:
    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._text = text

    def error(self, path: tuple[str, ...], problem: str, allowed: str) -> SettingsError:
        line = locate(self._text, path)
        return SettingsError(problem, file=self._file, line=line, key=".".join(path), allowed=allowed)

    def only(self, table: dict[str, Any], path: tuple[str, ...], known: Sequence[str]) -> None:
        for name in table:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f", did you mean {near[0]}?" if near else ""
                raise self.error(
                    (*path, name), f"unknown key {'.'.join((*path, name))}{hint}", ", ".join(known)
                )

    def base(self, tables: dict[str, Any]) -> Theme:
        name = tables.get("base", "dark")
        if name not in _BASES:
            raise self.error(("base",), f'base is "{name}"', 'one of "dark", "light"')
        return _BASES[name]

    def colours(self, table: Any, path: tuple[str, ...], known: Sequence[str]) -> dict[str, str]:
        if not isinstance(table, dict):
            raise self.error(path, f"{path[0]} is no table", f"a table, [{path[0]}]")
        self.only(table, path, known)
        for name, value in table.items():
            try:
                colour = Color.parse(value) if isinstance(value, str) else None
            except ColorParseError:
                colour = None
            if colour is None or colour.a < 1 or colour.ansi is not None:
                raise self.error(
                    (*path, name), f"{path[0]}.{name} is {value!r}", 'a colour such as "#6cb6f0"'
                )
        return table
