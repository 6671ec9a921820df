"""What the terminal tells somebody who looks elsewhere: the state in the window's title, and the bell.

The bell rings once for each card that waits, and once at the end of a turn that took long, or of all turns of a goal;
never within 15 seconds of a key, because whoever presses keys is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent import events as said

if TYPE_CHECKING:
    from tui_agent.events import Event

AWAY_S = 15.0
"""Seconds without a key after which nobody is thought to look."""


class Attention:
    """Hears events and keys; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._key = self._began = clock()
        self._cards: dict[str, bool] = {}
        """The cards that wait, and whether the bell rang for them."""
        self._state = ""
        self._finished = False
        """A long turn has ended and nobody was told."""
        self._pursues = self._in_turn = False

    @property
    def words(self) -> str:
        """What happens, in words for the title; empty while nothing has to be said."""
        return "waiting for you" if self._cards else self._state

    def key(self) -> None:
        """Somebody is here."""
        self._key = self._clock()
        self._finished = False
        if self._state == "done":
            self._state = ""

    def hear(self, event: Event) -> None:
        """Something happened."""
        match event:
            case said.StateChanged(key="goal", value=value):
                self._pursue(active=isinstance(value, dict) and value.get("status") == "active")
            case said.TurnStarted():
                self._state, self._finished, self._in_turn = "working", False, True
                if not self._pursues:
                    self._began = self._clock()
            case said.TurnEnded(reason=reason) if self._pursues and reason not in ("failed", "cancelled"):
                self._in_turn = False  # the next turn of the goal follows, or it is said why not
            case said.TurnEnded(reason=reason):
                self._in_turn = False
                self._state = (
                    "failed" if reason == "failed" else "stopped" if reason == "cancelled" else "done"
                )
                self._finished = reason != "cancelled" and self._clock() - self._began >= AWAY_S
            case said.Asked(question=question):
                self._cards[question.id] = False
            case said.Answered(question=question):
                self._cards.pop(question, None)
            case _:
                pass

    def _pursue(self, *, active: bool) -> None:
        """A goal is worked on, or not any more: the bell is for the end of that, however short its last turn was."""
        began, self._pursues = active and not self._pursues, active
        if self._in_turn:
            return
        if began:
            self._state, self._began = "working", self._clock()
        elif not active and self._state == "working":
            self._state, self._finished = "done", self._clock() - self._began >= AWAY_S

    def wait(self) -> float | None:
        """Seconds until the bell has to ring, 0 for now, None for never as things are."""
        if not self._finished and all(self._cards.values()):
            return None
        return max(0.0, self._key + AWAY_S - self._clock())

    def rang(self) -> None:
        """The bell rang: for what there is now it does not ring again."""
        self._finished = False
        self._cards = dict.fromkeys(self._cards, True)


def title(name: str, state: str) -> str:
    """The window's title."""
    return f"{name}: {state}" if state else name
