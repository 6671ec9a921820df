"""A settings file that somebody may change by hand while the program runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.settings.load import load

if TYPE_CHECKING:
    from tui_agent.settings.schema import Settings


def stamp(file: Path) -> object:
    """What is different when a file was written anew; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watch:
    """One settings file, from now on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp = stamp(file)

    def look(self) -> Settings | None:
        """What the file says, if it was written since the last look. Reads a file: call it in a thread.

        Raises:
            SettingsError: it cannot be read, or something in it is not allowed; said once for each change.
        """
        now = stamp(self._file)
        if now == self._stamp:
            return None
        self._stamp = now
        return load(self._file)
