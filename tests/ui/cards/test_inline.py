"""Answers that stand in the transcript, right under what caused them: the ways out of a failure, a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.stage import Stage, stage
from tui_agent import events as said

pytestmark = pytest.mark.usefixtures("quick")

WAYS = (
    "wait until the model has room again, which may be a matter of minutes or of an hour, or of a day",
    "go back to an earlier checkpoint, before what the model cannot take, and ask in other words (/revert)",
    "choose another model (/model)",
    "check base_url (https://example.org/model), not /tmp and not (/etc)",
)


async def _failed(made: Stage, size: int = 1) -> None:
    made.session.begin()
    message = "\n".join(f"The model is overloaded, line {number}." for number in range(size))
    made.session.emit(said.RequestFailed("overloaded", message, WAYS))
    made.session.end("error")
    await made.until(lambda: "(/model)" in made.text, "the ways out")


def _place(made: Stage, words: str) -> tuple[int, int]:
    row = next(number for number, line in enumerate(made.lines) if words in line)
    return made.lines[row].index(words) + 1, row


async def test_a_click_on_a_way_out_goes_it(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await _failed(made)
        await made.pilot.click(offset=_place(made, "choose another"))
        await made.until(lambda: made.app.screen is not made.chat, "the list of models")
        assert "models" in made.text


async def test_a_click_on_an_inline_answer_half_out_of_view_hits_that_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(60, 24)) as made:
        await _failed(made, size=12)
        transcript = made.chat.transcript
        # the way to /revert takes two rows: scroll until only its second one is seen, at the very top
        while "go back to an earlier" in made.text:
            transcript.scroll_relative(y=1, animate=False)
            for _ in range(3):
                made.session.emit(said.Notice("one more line"))
            await made.settle()
            transcript.scroll_end(animate=False)
            await made.settle()
        while "(/revert)" not in made.text:
            transcript.scroll_relative(y=-1, animate=False)
            await made.settle()
        assert "go back to an earlier" not in made.text and "line 0" not in made.text
        await made.pilot.click(offset=_place(made, "(/revert)"))
        await made.until(lambda: made.chat.jump is not None, "the jump card")
        assert made.app.focused is not made.chat.composer
        await made.press("escape")
        await made.until(lambda: made.chat.jump is None)


async def test_at_the_lower_edge_too_a_click_hits_the_way_it_is_on(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(60, 24)) as made:
        await _failed(made)
        for _ in range(8):
            made.session.emit(said.Notice("one more line"))
        await made.settle()
        transcript = made.chat.transcript
        while "one more line" in made.text or "choose another" in made.text:
            transcript.scroll_relative(y=-1, animate=False)
            await made.settle()
        assert "overloaded" in made.text and "(/revert)" in made.text
        await made.pilot.click(offset=_place(made, "go back to an earlier"))
        await made.until(lambda: made.chat.jump is not None, "the jump card")


async def test_words_around_an_answer_are_no_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await _failed(made)
        for words in ("The model is overloaded", "wait until", "check base_url", "(/etc)"):
            await made.pilot.click(offset=_place(made, words))
            await made.settle()
        assert made.app.screen is made.chat and made.chat.jump is None
        assert made.app.focused is made.chat.composer
        assert made.session.performed == []


async def test_inline_answers_never_take_the_focus_and_are_reached_by_keys(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await _failed(made)
        assert made.app.focused is made.chat.composer and made.chat.dock.card is None
        made.chat.set_focus(made.chat.transcript)
        await made.settle()
        await made.press("enter")
        await made.until(lambda: made.chat.dock.card is not None, "the ways as a card")
        assert "what now?" in made.text
        await made.press("down", "down", "enter")
        await made.until(lambda: made.app.screen is not made.chat, "the list of models")


async def test_a_click_on_the_checkpoint_above_half_a_turn_opens_the_card_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        transcript = made.chat.transcript
        for number in range(20):
            made.session.emit(said.Notice(f"line {number} of more"))
        await made.until(lambda: "line 19" in made.text and "checkpoint 2" not in made.text, "the end")
        for _ in range(60):
            if "checkpoint 2" in made.text:
                break
            transcript.scroll_relative(y=-1, animate=False)
            await made.settle()
        assert "line 19" not in made.text
        await made.pilot.click(offset=_place(made, "checkpoint 2"))
        await made.until(lambda: made.chat.jump is not None and "stay in a backup" in made.text, "the card")
