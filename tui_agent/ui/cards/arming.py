"""When a key answers a card. The clock decides, and the moment at which a key was pressed, not when it was handled.

A card that came to the front takes no key for half a second. A letter acts when it stands alone for 0.3 s. A program
that stood still meanwhile has not looked whether another key came: then the letter waits once more.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from textual.timer import Timer

ARMING = 0.5
"""Seconds for which a card that came to the front swallows its keys."""
ALONE = 0.3
"""Seconds for which a letter has to stand alone before it acts."""
_LATE = 0.1
"""Seconds by which a timer may be late before it proves nothing."""

Standing = Literal["stray", "early", "counts"]
"""How a key stands to the card: pressed before the card took the focus, before the card could be read, or after."""


def clock() -> float:
    """Seconds, as the keys' own times are counted."""
    return time.monotonic()


class SetsTimers(Protocol):
    """What runs something after some seconds."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer: ...


class Gate:
    """The rule of one card. `act` carries out a letter that stood alone."""

    def __init__(self, timers: SetsTimers, act: Callable[[str], None]) -> None:
        self._timers = timers
        self._act = act
        self._front = clock()
        self._took = float("-inf")
        self._letter = ""
        self._due = 0.0
        self._timer: Timer | None = None

    def close(self) -> None:
        """The card comes to the front now."""
        self._front = clock()
        self.forget()

    def been_read(self) -> None:
        """The card has been there for long."""
        self._front = float("-inf")

    def take(self) -> None:
        """The card takes the focus now, from somebody who may be about to write."""
        self._took = clock()

    @property
    def open(self) -> bool:
        """True when what is pressed now counts."""
        return clock() - self._front >= ARMING

    def standing(self, at: float) -> Standing:
        """How a key that was pressed at that time stands to the card."""
        if at < self._took:
            return "stray"
        return "counts" if at - self._front >= ARMING else "early"

    @property
    def letter(self) -> str:
        """The letter that waits to stand alone, as it was typed."""
        return self._letter

    def hold(self, character: str) -> None:
        """Let a letter wait until it stands alone."""
        self._letter = character
        self._wait()

    def forget(self) -> str:
        """The letter that waits does not act; it is given back."""
        letter, self._letter = self._letter, ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        return letter

    def _wait(self) -> None:
        self._due = clock() + ALONE
        self._timer = self._timers.set_timer(ALONE, self._stood)

    def _stood(self) -> None:
        if not self._letter:
            return
        if clock() - self._due > _LATE:
            self._wait()
        else:
            self._act(self.forget())


def letter_of(character: str) -> str:
    """Which letter a typed character is: the full-width ones of input methods are letters too."""
    return unicodedata.normalize("NFKC", character).lower()
