"""How the screen looks: its style sheets; theme, signs and motion as settings say, changed while the program runs.

`theme = "auto"` follows the terminal: COLORFGBG gives the first guess, the terminal's own answer the last word.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, Protocol

from tui_agent import paths
from tui_agent.ui import themes
from tui_agent.ui.answers import guess

if TYPE_CHECKING:
    from textual.filter import LineFilter
    from textual.theme import Theme

    from tui_agent.settings.schema import Settings

AUTO = "auto"


def styles_folder() -> Path:
    """Where the style sheets lie: in the installed package, or beside it in a checkout.

    Raises:
        FileNotFoundError: in neither.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "styles", package.parent / "styles"):
        if (folder / "app.tcss").is_file():
            return folder
    raise FileNotFoundError(f"no style sheets in {package / 'styles'}: install tui-agent again")


def style_sheets() -> list[str | PurePath]:
    """The style sheets, by name."""
    return sorted(styles_folder().glob("*.tcss"))


class Shown(Protocol):
    """What `Looks` changes of an app."""

    theme: str
    animation_level: Literal["none", "basic", "full"]
    sign_filters: list[LineFilter]

    def register_theme(self, theme: Theme) -> None:
        """Make a theme known."""

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The themes that are known."""

    def repaint(self) -> None:
        """Draw everything anew."""


class Looks:
    """The looks of one app. `problems` say what of the settings could not be used."""

    def __init__(self, app: Shown, settings: Settings, *, folder: Path | None = None) -> None:
        self._app = app
        self._folder = folder
        self._motion = app.animation_level
        self._dark = guess(os.environ.get("COLORFGBG")) is not False
        self._name = AUTO
        self.problems: list[str] = []
        for theme in themes.THEMES:
            app.register_theme(theme)
        self.take(settings)

    @property
    def folder(self) -> Path:
        """Where a person's own themes lie."""
        return self._folder if self._folder is not None else paths.config_dir() / "themes"

    @property
    def name(self) -> str:
        """The theme in force, by its name in settings."""
        return self._name

    @property
    def is_dark(self) -> bool:
        """Whether the terminal's ground counts as dark."""
        return self._dark

    def take(self, settings: Settings) -> None:
        """Look as these settings say. What cannot be used is said in `problems`."""
        self.problems = []
        plain, still = settings.glyphs == "ascii", settings.motion == "reduced"
        if plain != bool(self._app.sign_filters):
            self._app.sign_filters = _ascii() if plain else []
            self._app.repaint()
        self._app.animation_level = "none" if still else self._motion
        try:
            self.show(settings.theme)
        except ValueError as error:
            self.problems.append(str(error))
            self.show(AUTO)

    def show(self, name: str) -> None:
        """Show a theme, by its name in settings.

        Raises:
            ValueError: there is no such theme, or its file cannot be used; the one before stays.
        """
        theme = self._theme_of(name)
        self._name = name
        if self._app.theme != theme:
            self._app.theme = theme

    def ground_told(self, *, dark: bool) -> None:
        """The terminal told whether its ground is dark."""
        self._dark = dark
        if self._name == AUTO:
            self.show(AUTO)

    def _theme_of(self, name: str) -> str:
        """The app's name of a theme."""
        if name == AUTO:
            return themes.DARK_NAME if self._dark else themes.LIGHT_NAME
        if name in themes.NAMED:
            return themes.NAMED[name].name
        if name in themes.textual_themes(self._app.available_themes):
            return name
        from tui_agent.settings.rules import SettingsError
        from tui_agent.ui import own_themes

        try:
            theme = own_themes.load(self.folder / f"{Path(name).name}.toml")
        except SettingsError as error:
            raise ValueError(f"theme {name!r}: {error}") from error
        self._app.register_theme(theme)
        return theme.name


def _ascii() -> list[LineFilter]:
    from tui_agent.ui.ascii import AsciiSigns  # not needed by those who have all signs

    return [AsciiSigns()]
