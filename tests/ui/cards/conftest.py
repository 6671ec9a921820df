"""The clock of the cards in a test's hand."""

from __future__ import annotations

import pytest

from tests.ui.cards.clock import Clock
from tui_agent.ui.cards import arming
from tui_agent.ui.cards.card import Card
from tui_agent.ui.chat.composer import Composer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Half a second, 0.3 s and a second are what they are for a person, but pass when the test says so."""
    made = Clock()
    monkeypatch.setattr(arming, "clock", made.read)
    monkeypatch.setattr(Card, "set_timer", lambda card, delay, act: made.set_timer(card, delay, act))
    monkeypatch.setitem(Composer.__init__.__kwdefaults__, "clock", made.read)
    return made
