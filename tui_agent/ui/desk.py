"""The part of the app that settings rule: its looks and keys, and the places where they and the model are changed.

A place gets the app as a `Desk`: the settings in force, `take_settings` for those that were saved, the session to
switch, and the looks for a preview.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from tui_agent.ui import remap
from tui_agent.ui.hosted import HostedApp
from tui_agent.ui.looks import AUTO, Looks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tui_agent.agent.session import Session
    from tui_agent.settings.schema import Settings
    from tui_agent.ui.answers import GroundTold


class Desk(HostedApp):
    """An app with settings, which can change while it runs."""

    def __init__(
        self, css_path: list[str | PurePath], settings: Settings, *, later_styles: Sequence[PurePath] = ()
    ) -> None:
        super().__init__(css_path, keyboard=settings.terminal.keyboard, later_styles=later_styles)
        self.settings = settings
        self.keys = remap.resolve(settings.keys)
        self.session: Session | None = None
        # before the app runs: a theme that is set later makes every style sheet be read again
        self.looks = Looks(self, settings)
        self.asks_ground = settings.theme == AUTO

    @property
    def settings_path(self) -> Path | None:
        """Where settings are saved; None for the user's own file."""
        return self.settings.file

    def take_settings(self, settings: Settings) -> None:
        """Go by these settings from now on, as far as that is possible in a running session."""
        self.settings = settings
        self.looks.take(settings)
        self.keys = remap.resolve(settings.keys)
        self.set_keymap(self.keys.keymap)
        self.keys_changed()
        if self.session is not None:
            self.session.take_settings(settings)

    async def opened(self, what: str) -> bool:
        """Wait until the session is open; False if there is none. `what` waits for it, in words."""
        return self.session is not None

    def keys_changed(self) -> None:
        """Other keys are in force."""

    def performed(self, text: str) -> None:
        """Say in the chat what a place has done."""

    def on_ground_told(self, event: GroundTold) -> None:
        self.looks.ground_told(dark=event.dark)

    # --- places; what they need is imported when they are opened

    def show_settings(self) -> None:
        """Open the settings."""
        from tui_agent.ui.settings import SettingsScreen

        self.push_screen(SettingsScreen(self))

    def show_themes(self) -> None:
        """Open the list of themes."""
        from tui_agent.ui.theme_list import ThemeScreen

        self.push_screen(ThemeScreen(self))

    def show_models(self) -> None:
        """Open the list of models."""
        from tui_agent.ui.models import ModelScreen

        self.push_screen(ModelScreen(self))

    def show_connect(self) -> None:
        """Open the list of endpoints to connect to."""
        from tui_agent.ui.connect import ConnectScreen

        self.push_screen(ConnectScreen(self))
