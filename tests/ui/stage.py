"""One line to a running screen over a fake session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tui_agent.settings.schema import Settings
from tui_agent.ui.app import TuiAgent, Wanted
from tui_agent.ui.chat.screen import ChatScreen

PATIENCE = 20.0
"""Seconds after which a state that does not come is a failure."""


@dataclass
class Stage:
    """An app in a test: the pilot, the fake session, and ways to look."""

    app: TuiAgent
    pilot: Pilot[Any]
    sessions: list[FakeSession] = field(default_factory=list)

    @property
    def session(self) -> FakeSession:
        return self.sessions[-1]

    @property
    def chat(self) -> ChatScreen:
        return self.app._chat

    @property
    def lines(self) -> list[str]:
        """The rows of the screen as a person reads them."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, as fast as they can be handled."""
        for key in keys:
            self.app.post_message(events.Key(key, key_to_character(key)))
        await self._handled()

    async def type(self, text: str) -> None:
        """Press the keys of a text."""
        for character in text:
            key = character if character.isalnum() else _character_to_key(character)
            self.app.post_message(events.Key(key, character))
        await self._handled()

    async def _handled(self) -> None:
        """Wait until the app has passed its keys on and the widgets have taken them."""
        passed = asyncio.Event()
        self.app.call_later(passed.set)
        # one of them may have ended the app, which passes nothing on any more
        while self.app.is_running and (not passed.is_set() or self.app.pressing):
            await self.pilot.pause(0)
        await self.pilot.pause(0)

    async def settle(self) -> None:
        """Let everything that is under way be done: events heard, messages handled, the screen drawn."""
        await self._handled()
        for _ in range(3):
            await self.pilot.pause(0.005)

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for a state."""
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + PATIENCE, 0.005
        while not condition():
            if loop.time() > end:
                raise AssertionError(f"it never came: {what or condition}\n{self.text}")
            await self.pilot.pause(pause)
            pause = min(pause * 1.3, 0.05)  # looking costs as much as what is waited for
        await self.settle()


def folder(tmp_path: Path) -> Path:
    """A session's folder beside a workspace called shop."""
    made = tmp_path / "sessions" / "01SESSION"
    made.mkdir(parents=True, exist_ok=True)
    (made.parent / "shop").mkdir(exist_ok=True)
    return made


def app_with(
    tmp_path: Path,
    *,
    prepare: Callable[[FakeSession], None] | None = None,
    settings: Settings | None = None,
    sessions: list[FakeSession] | None = None,
    demo: bool = False,
) -> TuiAgent:
    """The app over a fake session that `prepare` fills (by default with two turns)."""
    made = sessions if sessions is not None else []
    place = folder(tmp_path)

    async def opener(wanted: Wanted, listen: Callable[[Any], None]) -> Any:
        session = FakeSession(place, listen, demo=demo)
        if prepare is None:
            conversation(session.context)
        else:
            prepare(session)
        made.append(session)
        return session

    return TuiAgent(Wanted(place.parent / "shop"), settings or Settings(), opener=opener)


@asynccontextmanager
async def stage(
    tmp_path: Path,
    *,
    size: tuple[int, int] = (80, 24),
    prepare: Callable[[FakeSession], None] | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Stage]:
    """Run the app until its session is attached."""
    sessions: list[FakeSession] = []
    app = app_with(tmp_path, prepare=prepare, settings=settings, sessions=sessions)
    async with app.run_test(size=size, notifications=True) as pilot:
        made = Stage(app, pilot, sessions)
        await made.until(lambda: made.chat.session is not None, "the session")
        await made.settle()
        yield made
