"""Full collections of garbage wait for a moment without keys, and are made at the latest when much was made."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.stage import stage
from tui_agent.settings.schema import Settings
from tui_agent.ui import garbage
from tui_agent.ui.app import TuiAgent
from tui_agent.ui.garbage import Garbage
from tui_agent.ui.switching import Wanted


class Cycle:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def full() -> Iterator[list[int]]:
    """Grows by one with each full collection."""
    found: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            found.append(info["collected"])

    gc.collect()
    gc.callbacks.append(count)
    yield found
    gc.callbacks.remove(count)


def make(middle: int) -> None:
    """Make so much that the middle generation is collected so many times, with garbage in it."""
    for _ in range(middle):
        kept = [Cycle() for _ in range(50)]
        gc.collect(1)
        assert kept


@pytest.fixture
def sparing() -> Iterator[tuple[Garbage, list[bool]]]:
    """One at work, and whether nobody types."""
    idle = [False]
    spared = Garbage(lambda seconds: idle[0])
    yield spared, idle
    spared.end()


async def test_while_somebody_types_no_full_collection_is_made(
    sparing: tuple[Garbage, list[bool]], full: list[int]
) -> None:
    spared, idle = sparing
    spared.begin()
    make(60)
    await asyncio.sleep(0)
    assert full == []
    idle[0] = True
    make(1)
    await asyncio.sleep(0)
    assert len(full) == 1 and full[0] > 0


async def test_at_the_latest_it_is_made_under_the_keys(
    sparing: tuple[Garbage, list[bool]], full: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "_LATEST", 30)
    spared, _ = sparing
    spared.begin()
    make(31)
    await asyncio.sleep(0)
    assert len(full) == 1


async def test_it_is_made_again_only_when_a_quarter_of_what_lives_is_new(
    sparing: tuple[Garbage, list[bool]], full: list[int]
) -> None:
    spared, idle = sparing
    spared.begin()
    idle[0] = True
    make(20)
    await asyncio.sleep(0)
    assert len(full) == 1
    for _ in range(60):
        gc.collect(1)
    await asyncio.sleep(0)
    assert len(full) == 1
    lives = [[number] for number in range(len(gc.get_objects()))]
    make(20)
    await asyncio.sleep(0)
    assert len(full) == 2
    assert lives


async def test_a_key_that_is_for_no_draft_is_one_too(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("f1")
        await made.until(lambda: len(made.app.screen_stack) == 2)
        before = made.app._touched
        await made.press("down")
        assert made.app._touched > before


async def test_a_thread_that_allocates_has_it_made_by_the_loop(
    sparing: tuple[Garbage, list[bool]], full: list[int]
) -> None:
    spared, idle = sparing
    spared.begin()
    idle[0] = True
    await asyncio.to_thread(make, 20)
    await asyncio.sleep(0)
    assert len(full) == 1


async def test_an_end_while_the_session_is_opened_leaves_the_collector_alone(tmp_path: Path) -> None:
    before = gc.get_threshold()
    opening, never = asyncio.Event(), asyncio.Event()

    async def opener(*_: object) -> Any:
        opening.set()
        await never.wait()

    app = TuiAgent(Wanted(tmp_path), Settings(), opener=opener)
    async with app.run_test():
        await opening.wait()
    assert gc.get_threshold() == before


async def test_the_program_gives_the_collector_back(tmp_path: Path) -> None:
    before = gc.get_threshold()
    async with stage(tmp_path) as made:
        await made.until(lambda: gc.get_threshold() != before, "the collector is ours")
        assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold() == before
