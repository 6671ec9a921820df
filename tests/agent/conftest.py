"""What tests of a session share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.longtalk import Weather
from tui_agent import wiring
from tui_agent.prompt.injections import Injections

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """The time by which entries of the provider's cache lapse, moved by the test, on both sides."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def product(self) -> datetime:
        """As the program reads it."""
        return _BEGIN + timedelta(seconds=self.seconds)

    def server(self) -> float:
        """As the simulated cache reads it."""
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("tui_agent.prompt.cache.clock", made.product)
    return made


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Weather:
    """A source of injections that sessions have beside their own."""
    made = Weather()
    monkeypatch.setattr(
        wiring,
        "Injections",
        lambda context, sources, **options: Injections(context, [*sources, made], **options),
    )
    return made
