"""Settings that a person changes by hand while a session is open are in force from their next words on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.events import Notice
from tui_agent.settings.load import way_back
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.watch import Watch

if TYPE_CHECKING:
    from tui_agent.events import Emit
    from tui_agent.settings.schema import Settings


class Heeding:
    """The settings of one session and their file. `now` gives those in force, `take` puts others in force."""

    def __init__(self, now: Callable[[], Settings], take: Callable[[Settings], None], emit: Emit) -> None:
        file = now().file
        self._watch = Watch(file) if file is not None else None
        self._now = now
        self._take = take
        self._emit = emit

    async def heed(self) -> None:
        """Take what the file says by now; of one that cannot be used it is said what is wrong, and nothing changes."""
        if self._watch is None:
            return
        try:
            fresh = await asyncio.to_thread(self._watch.look)
        except SettingsError as error:
            text = f"{error}; the settings stay as they were. {way_back(error)}"
            self._emit(Notice(text, "warning", "settings"))
            return
        if fresh is not None and fresh != self._now():
            self._take(fresh)
            self._emit(Notice("settings.toml was changed: it holds from now on", "info", "settings"))
