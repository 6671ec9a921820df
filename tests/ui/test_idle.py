"""A screen on which nothing happens: nothing is drawn, and nothing comes again by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.screen import Screen
from textual.timer import Timer

from tests.support.examples import some
from tests.ui.stage import Stage, stage
from tui_agent import events as said


def ticking(made: Stage) -> list[Timer]:
    """The timers that come again and again."""
    return [timer for timer in _timers(made) if timer._repeat is None and timer._active.is_set()]


def _timers(made: Stage) -> Iterator[Timer]:
    yield from made.app._timers
    for screen in made.app.screen_stack:
        for widget in screen.walk_children(with_self=True):
            yield from widget._timers


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(["inspector", "find", "palette", "queue", "help"], 2))
async def test_with_a_card_waiting_and_a_place_open_nothing_is_drawn_and_nothing_ticks(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    async with stage(tmp_path, size=(200, 50)) as made:
        made.session.begin("add a --json flag")
        made.session.emit(said.TextDelta("I will look."), said.ToolStarted("call1", "bash", "pnpm test"))
        await made.type("a draft")
        made.session.ask()
        await made.until(lambda: made.chat.dock.card is not None)
        await made.press(
            *{"inspector": ("ctrl+x", "i"), "find": ("ctrl+f",), "queue": ("ctrl+x", "w")}.get(place, ())
        )
        await made.press(*{"palette": ("ctrl+p",), "help": ("f1",)}.get(place, ()))
        if place == "inspector":
            await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
            made.app.set_focus(made.chat.composer)
        await made.until(lambda: not ticking(made), f"that nothing ticks: {ticking(made)}")
        monkeypatch.setattr(Screen, "_compositor_refresh", lambda screen: drawn.append(screen))
        for _ in range(200):
            await asyncio.sleep(0)
        assert (drawn, ticking(made)) == ([], [])


@pytest.mark.usefixtures("quick")
async def test_while_something_runs_the_seconds_tick(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        assert not ticking(made)
        made.session.begin("add a --json flag")
        await made.until(lambda: ticking(made))
        made.session.end()
        await made.until(lambda: not ticking(made))
