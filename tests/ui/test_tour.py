"""The guided demo: its steps wait for what they ask for, and it gives way to the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.ui.stage import Stage, stage
from tui_agent import changes
from tui_agent.llm.demo.phrases import tasks
from tui_agent.ui.chat import composer
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.tour import STEPS, WORDS, Tour


@asynccontextmanager
async def tour(tmp_path: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Stage]:
    """A stage on which the tour has begun."""
    async with stage(tmp_path, size=size) as made:
        await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))
        await made.settle()
        yield made


def said(made: Stage) -> str:
    """The screen, on one line."""
    return " ".join(made.text.split())


def at(made: Stage) -> int:
    assert isinstance(made.chat.guide, Tour)
    return made.chat.guide.at


def test_the_demo_model_understands_the_words_of_the_tour() -> None:
    assert tasks(WORDS, [])


@pytest.mark.usefixtures("quick")
async def test_every_step_waits_for_the_key_it_names(tmp_path: Path) -> None:
    async with tour(tmp_path) as made:
        assert made.chat.composer.text == WORDS
        assert at(made) == 0
        made.session.begin()
        await made.until(lambda: at(made) == 1)
        made.chat.composer.clear()
        made.session.ask()
        await made.until(lambda: made.chat.dock.has_keys)
        assert "y allows it once" in said(made)
        await made.type("y")
        await made.until(lambda: at(made) == 2)
        made.session.end()
        await made.press("ctrl+x", "i")
        await made.until(lambda: at(made) == 3)
        assert "tour 4/6" in made.text, "also where a panel lies over the chat"
        await made.press("ctrl+x", "i")
        await made.until(lambda: at(made) == 4)
        await made.press("ctrl+x", "g")
        await made.until(lambda: made.chat.jump is not None)
        assert at(made) == 4
        await made.press("enter")
        await made.until(lambda: at(made) == 5)
        made.session.emit(changes.Rotated("undo", "context_2.jsonl", 3))
        await made.until(lambda: at(made) == len(STEPS))
        assert "That is all of it" in made.text


async def test_words_that_need_no_leave_do_not_hold_the_tour_up(tmp_path: Path) -> None:
    async with tour(tmp_path) as made:
        made.chat.composer.clear()
        made.session.begin("hello")
        await made.until(lambda: at(made) == 1)
        assert "a card asks you" in said(made), "none waits yet"
        made.session.end()
        await made.until(lambda: at(made) == 2)


@pytest.mark.parametrize(
    ("size", "words"), [((80, 24), "close it: Esc or ^x i."), ((120, 36), "close it: ^x i.")]
)
async def test_the_tour_says_how_the_inspector_is_closed_on_this_screen(
    tmp_path: Path, size: tuple[int, int], words: str
) -> None:
    async with tour(tmp_path, size) as made:
        made.session.begin()
        made.session.end()
        await made.until(lambda: at(made) == 2)
        await made.press("ctrl+x", "i")
        await made.until(lambda: at(made) == 3)
        await made.settle()
        assert words in said(made)
        await made.press("escape")
        await made.settle()
        assert (at(made) == 4) == ("Esc" in words)


async def test_the_tour_is_left_by_key_by_name_and_by_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composer, "SETTLING", 0.0)
    async with tour(tmp_path) as made:
        await made.press("ctrl+x", "full_stop")
        await made.until(lambda: made.chat.guide is None)
        assert "skips the tour" not in made.text
        await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))
        await made.settle()
        row = next(index for index, line in enumerate(made.lines) if "skips the tour" in line)
        await made.pilot.click(offset=(made.lines[row].index("skips"), row))
        await made.until(lambda: made.chat.guide is None)
        made.chat.composer.clear()
        await made.type("/tour")
        await made.press("escape")
        await made.press("enter")
        await made.until(lambda: "no tour is on" in made.text)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (109, 24), (110, 24), (120, 36), (200, 50)])
async def test_every_step_is_read_whole_at_every_width(tmp_path: Path, size: tuple[int, int]) -> None:
    async with tour(tmp_path, size) as made:
        guide = made.chat.guide
        assert isinstance(guide, Tour)
        for step in range(len(STEPS) + 1):
            guide._at = step
            guide.update(guide.text())
            await made.settle()
            shown = " ".join(" ".join(made.lines[-1 - guide.rows : -1]).split())
            assert " ".join(guide.text().plain.split()) in shown, step
        assert made.chat.transcript.size.height >= 8


@pytest.mark.usefixtures("quick")
async def test_the_chat_keeps_its_rows_beside_a_card_and_the_tour(tmp_path: Path) -> None:
    async with tour(tmp_path) as made:
        made.chat.composer.clear()
        made.session.ask(body="\n".join(f"line {number}" for number in range(50)))
        await made.until(lambda: made.chat.dock.has_keys)
        await made.settle()
        assert made.chat.transcript.size.height >= 8
        assert "[y] once" in made.text


async def test_words_that_were_typed_before_the_tour_began_stay(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("mine")
        await made.chat.begin_tour(Tour(made.chat), Prompt(WORDS))
        assert made.chat.composer.text == "mine"
