"""A real session in one line: real files, the real client, a scripted server or the demo model.

async with engine(tmp_path, server) as run:
    await run.say("hello")             # waits for the end of the turn
    run.heard                          # every event so far
    await run.until(ToolStarted)       # the next event of a kind (or one heard already and not yet taken)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.support.server import ScriptedServer
from tui_agent.agent.session import Session
from tui_agent.context import Context
from tui_agent.events import Answer, Asked, Event, TurnEnded
from tui_agent.settings.schema import Profile, Settings
from tui_agent.wiring import open_session

WAIT_SECONDS = 20
"""A wait that takes so long has failed."""

E = TypeVar("E", bound=Event)


def scripted_settings(server: ScriptedServer, **changes: Any) -> Settings:
    """Settings whose profile is the scripted server."""
    profile = Profile(
        **{
            "name": "scripted",
            "model": "scripted-1",
            "base_url": server.url,
            "auth": "none",
            "context_window": 200_000,
            "max_output_tokens": 4_096,
            **changes,
        }
    )
    return Settings(profile="scripted", profiles={"scripted": profile})


class Run:
    """A session that is open, what it told, and who answers its questions."""

    def __init__(self) -> None:
        self.session: Session = None  # type: ignore[assignment]
        self.heard: list[Event] = []
        self.answers: Callable[[Asked], Answer | None] = lambda asked: None
        self._taken = 0
        self._news = asyncio.Event()

    @property
    def context(self) -> Context:
        return self.session.context

    def hear(self, event: Event) -> None:
        self.heard.append(event)
        self._news.set()
        if isinstance(event, Asked) and (answer := self.answers(event)) is not None:
            asyncio.get_running_loop().call_soon(self.session.questions.answer, event.question.id, answer)

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.heard if isinstance(event, kind)]

    async def until(self, kind: type[E], fits: Callable[[E], bool] = lambda event: True) -> E:
        """The first event of this kind that fits and was not passed over by an earlier `until`."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                while self._taken < len(self.heard):
                    event = self.heard[self._taken]
                    self._taken += 1
                    if isinstance(event, kind) and fits(event):
                        return event
                self._news.clear()
                await self._news.wait()

    async def say(self, words: str) -> TurnEnded:
        """Submit and wait for the end of the turn."""
        self._taken = len(self.heard)
        await self.session.submit(words)
        ended = await self.until(TurnEnded)
        await self.session.until_idle()
        return ended


def once(asked: Asked) -> Answer:
    """Says yes to everything."""
    return Answer("once")


@asynccontextmanager
async def engine(
    workspace: Path,
    server: ScriptedServer | None = None,
    *,
    settings: Settings | None = None,
    resume: str | None = None,
    allow: Sequence[str] = (),
    answers: Callable[[Asked], Answer | None] = once,
    **options: Any,
) -> AsyncIterator[Run]:
    """Open a session in `workspace`: with the scripted server's model, or the demo model without one."""
    run = Run()
    run.answers = answers
    if settings is None:
        settings = scripted_settings(server) if server is not None else Settings(profile="demo")
    run.session = await open_session(
        workspace, settings, resume=resume, allow=allow, listen=run.hear, **options
    )
    try:
        yield run
    finally:
        async with asyncio.timeout(WAIT_SECONDS):
            await run.session.close()


async def reread(run: Run) -> Context:
    """The session's log as a fresh reader finds it."""
    context = Context(run.context.path, read_only=True)
    await context.restore()
    return context
