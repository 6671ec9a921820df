"""Lines that are typed, while everything else goes on."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress

_READ_BYTES = 4_096


class Listener(threading.Thread):
    """Reads the standard input; `heard(line)` is called in the loop with each line, with None at its end.

    The terminal's own line editing is left as it is: nothing is asked of the terminal.
    """

    def __init__(self, heard: Callable[[str | None], None]) -> None:
        super().__init__(name="standard input", daemon=True)
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._fileno = sys.stdin.fileno()

    def run(self) -> None:
        """Read to the end."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        begun = ""
        while True:
            try:
                data = os.read(self._fileno, _READ_BYTES)
            except OSError:  # the terminal is gone
                data = b""
            *lines, begun = (begun + decode(data)).split("\n")
            for line in lines:
                self._tell(line.removesuffix("\r"))
            if not data:
                if begun:
                    self._tell(begun)
                self._tell(None)
                return

    def _tell(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._heard, line)
