"""Times of the cards' focus rule, so that no test waits for a clock."""

from __future__ import annotations

import pytest

from tui_agent.ui.cards import arming
from tui_agent.ui.chat import screen

NEVER = 3600.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards are armed at once, a letter acts at once, and the composer counts as idle at once."""
    monkeypatch.setattr(arming, "ARMING", 0.0)
    monkeypatch.setattr(arming, "ALONE", 0.001)
    monkeypatch.setattr(screen, "_IDLE", 0.0)


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
    monkeypatch.setattr(screen, "_IDLE", NEVER)
