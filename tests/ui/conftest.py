"""Times of the cards' focus rule, so that no test waits for a clock; one parse of the style sheets; a clipboard; pauses
that ask only widgets that have something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from textual._queue import Queue
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

from tui_agent.ui.cards import arming
from tui_agent.ui.chat import answering, copying

NEVER = 3600.0


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    """Each app has Textual keep what it parsed; here the next app finds it too, if its variables are the same."""
    parse = Stylesheet._parse_rules
    kept: dict[tuple[Any, ...], list[RuleSet]] = {}

    def parsed(
        sheet: Stylesheet, css: str, read_from: tuple[str, str], *rest: Any, **more: Any
    ) -> list[RuleSet]:
        key = (css, read_from, rest, tuple(more.items()), tuple(sheet._variables.items()))
        if key not in kept:
            kept[key] = parse(sheet, css, read_from, *rest, **more)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parsed)
        yield


@pytest.fixture(scope="session", autouse=True)
def busy_asked() -> Iterator[None]:
    """A pause of Textual's pilot sends a message to every widget and waits until all are handled.

    Here it is not sent to a widget that waits for its next message: that one has handled all it had.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", _all_handled)
        yield


async def _all_handled(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """Wait until app, screen and widgets have handled what was sent to them before, and what came of that.

    False after an error of the app.
    """
    app = pilot.app
    for _ in range(_ROUNDS):
        busy = (
            [pump for pump in app.screen.walk_children(with_self=True) if not _waits(pump)]
            if app._screen_stack
            else []
        )
        if not await _heard([app, *busy], app._exception_event, timeout):
            return False
        if not busy:
            break
    await asyncio.sleep(_MOMENT)
    return True


_ROUNDS = 3
"""How often what came of messages is waited for too."""
_MOMENT = 0.0015
"""Seconds that a pause takes at least, as one of the pilot does by its work: a letter that stood alone has acted."""


async def _heard(pumps: list[MessagePump], failed: asyncio.Event, timeout: float) -> bool:
    """Send each of them a message, and wait until all are handled, or for an error."""
    left, done = 0, asyncio.Event()

    def handled() -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    left = sum(pump.call_later(handled) for pump in pumps)
    if left:
        ends = [asyncio.create_task(event.wait()) for event in (done, failed)]
        _, pending = await asyncio.wait(ends, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if len(pending) == len(ends):
            raise WaitForScreenTimeout("widgets have not handled what was sent to them")
    return not left


def _waits(pump: MessagePump) -> bool:
    """Has it handled all that was sent to it?"""
    queue: Queue[Any] = pump._message_queue
    return queue.empty() and any(not waiter.done() for waiter in queue.ready_event._waiters)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards are armed at once, a letter acts at once, and the composer counts as idle at once."""
    monkeypatch.setattr(arming, "ARMING", 0.0)
    monkeypatch.setattr(arming, "ALONE", 0.001)
    monkeypatch.setattr(answering, "_IDLE", 0.0)


@pytest.fixture
def unarmed(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `quick`, but a card stays in the half second in which its keys are swallowed."""
    monkeypatch.setattr(arming, "ARMING", NEVER)


@pytest.fixture
def typist(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `quick`, but every key comes before the one before it stood alone for long enough."""
    monkeypatch.setattr(arming, "ALONE", NEVER)


@pytest.fixture
def writing(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `quick`, but a key has always just been pressed."""
    monkeypatch.setattr(answering, "_IDLE", NEVER)


@pytest.fixture
def clipboard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A clipboard program that takes everything."""
    taken: list[str] = []

    def copy_with(command: list[str], text: str) -> bool:
        taken.append(text)
        return True

    monkeypatch.setattr(copying, "clipboard_command", lambda: ["program"])
    monkeypatch.setattr(copying, "copy_with", copy_with)
    return taken
