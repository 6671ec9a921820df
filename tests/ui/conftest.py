"""Times of the cards' focus rule, so that no test waits for a clock; one parse of the style sheets; a clipboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

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
