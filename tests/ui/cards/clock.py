"""A clock that a test moves: the cards' real times, none of them waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from textual import events
from textual.keys import _character_to_key, key_to_character

from tests.ui.stage import Stage


@dataclass(eq=False)
class Alarm:
    """A timer of that clock."""

    due: float
    owner: Any
    callback: Callable[[], None]
    alive: bool = True

    def stop(self) -> None:
        self.alive = False


@dataclass
class Clock:
    """Seconds that pass only in `advance`; keys carry the time at which they are pressed."""

    now: float = 1_000.0
    alarms: list[Alarm] = field(default_factory=list)

    def read(self) -> float:
        return self.now

    def set_timer(self, owner: Any, delay: float, callback: Callable[[], None]) -> Alarm:
        alarm = Alarm(self.now + delay, owner, callback)
        self.alarms.append(alarm)
        return alarm

    async def advance(self, made: Stage, seconds: float) -> None:
        """Let time pass; what is due happens in its order."""
        end = self.now + seconds
        while due := [alarm for alarm in self.alarms if alarm.alive and alarm.due <= end]:
            alarm = min(due, key=lambda alarm: alarm.due)
            alarm.stop()
            self.now = max(self.now, alarm.due)
            alarm.owner.call_later(alarm.callback)
            await made.settle()
        self.now = end

    async def press(self, made: Stage, *keys: str, at: float | None = None) -> None:
        """Press keys one after the other, at this moment or at `at`."""
        for key in keys:
            await self._post(made, key, key_to_character(key), at)

    async def type(self, made: Stage, text: str, *, every: float = 0.12) -> None:
        """Press the keys of a text, `every` seconds one."""
        for character in text:
            key = character if character.isalnum() else _character_to_key(character)
            await self._post(made, key, character, None)
            await self.advance(made, every)

    async def paste(self, made: Stage, text: str, *, at: float | None = None) -> None:
        """Paste a text, at this moment or at `at`."""
        event = events.Paste(text)
        event.time = self.now if at is None else at
        made.app.post_message(event)
        await made.settle()

    async def _post(self, made: Stage, key: str, character: str | None, at: float | None) -> None:
        event = events.Key(key, character)
        event.time = self.now if at is None else at
        made.app.post_message(event)
        await made._handled()
        await made.settle()
