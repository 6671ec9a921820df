"""The card that goes back: which turns there are, what going there means, and the chat as it would be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent.messages.blocks import text_block
from tui_agent.ui.cards.jump import Jump

pytestmark = pytest.mark.usefixtures("quick")

ASKED = ("list the files", "go on", "write the report", "go on", "go on", "run the tests")


def _turns(session: FakeSession) -> None:
    context = session.context
    context.line({"role": "_system_prompt", "content": "You are an agent."})
    for number, words in enumerate(ASKED):
        context.mark_turn(words)
        context.say("user", text_block(words))
        context.say(
            "assistant", text_block("\n\n".join(f"answer {number} line {line}" for line in range(30)))
        )


async def _open(made: Stage, keys: tuple[str, ...] = ("ctrl+x", "g")) -> Jump:
    await made.press(*keys)
    await made.until(lambda: made.chat.jump is not None and "stay in a backup" in made.text, "the card")
    jump = made.chat.jump
    assert jump is not None
    return jump


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_it_says_what_leaves_and_shows_the_chat_as_it_would_be(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with stage(tmp_path, size=size, prepare=_turns) as made:
        await _open(made)
        said = " ".join(made.text.replace("│", " ").split())
        assert "2 messages leave the chat and stay in a backup; undo returns." in said
        assert "Files stay as they are." in said and "is stopped" not in said
        assert "answer 4 line 29" in made.text and "answer 5" not in made.text
        await made.press("down")
        await made.until(lambda: "4 messages leave" in made.text, "the turn before")
        assert "answer 3 line 29" in made.text
        await made.press("end")
        await made.until(lambda: "The chat would be empty." in made.text, "the first turn")
        await made.press("home", "down")
        await made.until(lambda: "4 messages leave" in made.text, "the turn before")
        await made.press("enter")
        await made.until(lambda: made.session.performed, "going back")
        assert made.session.performed == [("revert", "4")]
        assert made.chat.jump is None


async def test_page_keys_scroll_the_preview(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        jump = await _open(made)
        cursor, end = jump.rows.cursor, jump.preview.scroll_y
        await made.press("pageup", "pageup")
        await made.until(lambda: jump.preview.scroll_y < end, "another page")
        assert jump.rows.cursor == cursor
        assert "answer 4 line 29" not in made.text
        await made.press("pagedown", "pagedown")
        await made.until(lambda: "answer 4 line 29" in made.text, "the end")


def _late_turns(session: FakeSession) -> None:
    _turns(session)
    for point in session.context.checkpoints():
        point.id += 1_032_550
        point.tokens += 12_345_000


async def test_long_numbers_are_shown_whole(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_late_turns) as made:
        await made.press("ctrl+x", "g")
        await made.until(lambda: "run the tests" in made.text and "list the files" in made.text, "the turns")
        newest = next(line for line in made.lines if "1032555" in line)
        assert "run the tests" in newest and "12,350,400" in newest.split()


async def test_turns_with_the_same_words_are_told_apart(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        await _open(made)
        for which in ("1 of 3 go on", "2 of 3 go on", "3 of 3 go on"):
            assert which in made.text
        assert "1 of 1" not in made.text


async def test_words_filter_the_turns_and_esc_takes_the_filter_back_first(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        jump = await _open(made)
        await made.press("slash")
        await made.type("report")
        await made.until(lambda: len(jump.rows) == 1, "the one turn")
        await made.until(lambda: "8 messages leave" in made.text, "its preview")
        assert "answer 1 line 29" in made.text
        await made.press("escape")
        await made.until(lambda: len(jump.rows) == len(ASKED), "all turns")
        assert made.chat.jump is jump and made.app.focused is jump.rows
        await made.press("slash")
        await made.type("go")
        await made.until(lambda: len(jump.rows) == 3, "three turns")
        await made.press("down")
        await made.press("enter")
        await made.until(lambda: made.app.focused is jump.rows, "the list")
        assert made.session.performed == []
        await made.press("enter")
        await made.until(lambda: made.session.performed, "going back")
        assert made.session.performed[0] in [("revert", str(turn)) for turn in (1, 3, 4)]


async def test_a_filter_without_hits_promises_nothing_and_enter_does_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        jump = await _open(made)
        await made.press("slash")
        await made.type("zebra")
        await made.until(lambda: len(jump.rows) == 0)
        await made.until(lambda: "leave the chat" not in made.text, "no promise")
        await made.press("enter")
        await made.settle()
        await made.press("enter")
        await made.settle()
        assert made.session.performed == []


async def test_the_mouse_chooses_a_turn_and_then_goes_there(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        await _open(made)
        row = next(number for number, line in enumerate(made.lines) if "write the report" in line)
        await made.pilot.click(offset=(30, row))
        await made.until(lambda: "8 messages leave" in made.text, "its preview")
        assert made.session.performed == []
        column = made.lines[-1].index("go back here")
        await made.pilot.click(offset=(column, 23))
        await made.until(lambda: made.session.performed == [("revert", "2")], "going back")


async def test_it_says_that_a_running_turn_is_stopped_as_long_as_one_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        await _open(made)
        made.session.begin()
        await made.until(
            lambda: "The turn that runs is stopped." in " ".join(made.text.replace("│", " ").split())
        )
        made.session.end()
        await made.until(lambda: "The turn that runs" not in made.text, "the end of it")


async def test_it_closes_when_history_is_rewritten_beneath_it(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_turns) as made:
        await _open(made)
        await made.session.perform("revert", "3")
        await made.until(lambda: made.chat.jump is None, "no card of what is gone")
        assert made.app.focused is made.chat.composer
