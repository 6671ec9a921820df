"""What is written to the terminal, by a thread of its own: whoever draws never waits for a slow line.

Text is written in pieces straight to the file descriptor, so that what still waits is known: `behind` is true while
more than a few frames, or more than a slow line takes in half a second, have not been taken.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

_FRAMES = 2
"""Frames that may wait."""
_WAITING_BYTES = 8_192
"""Bytes that may wait; a line of 20 KB/s takes them in 0.4 s."""
_PIECE = 2_048
_STOP_S = 1.0
"""Seconds that a terminal may take for what is left at the end."""


class Writer(threading.Thread):
    """Writes to `fileno`.

    Args:
        caught_up: called, in this thread, when all was taken after `end_frame` had said that it was behind.
        gone: called, in this thread, when the terminal cannot be written any more.
    """

    def __init__(self, fileno: int, caught_up: Callable[[], None], gone: Callable[[], None]) -> None:
        super().__init__(name="terminal-output", daemon=True)
        self._fileno = fileno
        self._caught_up = caught_up
        self._gone = gone
        self._changed = threading.Condition()
        self._texts: list[str] = []
        self._bytes = self._frames = 0
        self._stopping = self._dead = self._told = False

    @property
    def behind(self) -> bool:
        """True while the terminal has not taken the last frames."""
        return self._frames > _FRAMES or self._bytes > _WAITING_BYTES

    def write(self, text: str) -> None:
        """Have a text written."""
        with self._changed:
            if not self._dead:
                self._texts.append(text)
                self._bytes += len(text)
                self._changed.notify()

    def end_frame(self) -> bool:
        """What was written since the last call is a frame; True if the terminal is behind now."""
        with self._changed:
            if not self._dead:
                self._frames += 1
                self._changed.notify()
            self._told = self._told or self.behind
            return self.behind

    def stop(self) -> None:
        """Write what is left and end; a terminal that does not take it is not waited for."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self.join(_STOP_S)

    def run(self) -> None:
        """Write until stopped."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._texts or self._frames or self._stopping)
                texts, self._texts = self._texts, []
                frames, waiting = self._frames, self._bytes
                if self._stopping and not texts:
                    return
            taken = self._write_all("".join(texts).encode("utf-8", "replace"))
            with self._changed:
                self._frames -= frames
                self._bytes -= waiting
                if not taken:
                    self._dead = True
                    self._texts, self._frames, self._bytes = [], 0, 0
                tell = self._told and not self._frames and not self._bytes
                self._told = self._told and not tell
            if tell:
                self._caught_up()
            if not taken:
                self._gone()
                return

    def _write_all(self, data: bytes) -> bool:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fileno, view[:_PIECE]) :]
            except BlockingIOError:
                select.select([], [self._fileno], [])
            except OSError:
                return False
        return True
