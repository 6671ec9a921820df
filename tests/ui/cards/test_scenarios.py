"""What happens between a person who types and a card that comes, by the real times on a clock that the test moves."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.support.examples import some
from tests.ui.cards.clock import Clock
from tests.ui.stage import Stage, stage
from tui_agent.events import Answer
from tui_agent.ui.cards.card import Card

LONG = "\n".join(f"echo line {number}" for number in range(40))


async def _asked(made: Stage, **changes: object) -> Card:
    if not made.session.busy:
        made.session.begin()
    made.session.ask(**changes)
    await made.until(lambda: made.chat.dock.card is not None, "the card")
    card = made.chat.dock.card
    assert card is not None
    return card


async def _answered(made: Stage) -> list[tuple[str, Answer]]:
    await made.until(lambda: made.session.answers, "the answer")
    return made.session.answers


async def test_an_early_y_is_swallowed_and_never_typed(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        assert made.app.focused is card
        await clock.advance(made, 0.49)
        await clock.press(made, "y")
        assert "so not taken: y" in made.text
        await clock.advance(made, 5)
        assert made.session.answers == []
        assert made.chat.composer.text == "" and card.words == ""
        await clock.press(made, "y")
        await clock.advance(made, 0.29)
        assert made.session.answers == []
        await clock.advance(made, 0.02)
        assert await _answered(made) == [("q1", Answer("once"))]


async def test_a_key_counts_by_when_it_was_pressed_and_not_by_when_it_was_handled(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        pressed = clock.now + 0.2
        await clock.advance(made, 3)  # the program stood still meanwhile
        await clock.press(made, "y", at=pressed)
        await clock.advance(made, 1)
        assert made.session.answers == []


async def test_a_letter_does_not_act_when_the_program_stood_still_while_it_waited(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await clock.advance(made, 2)
        await clock.press(made, "y")
        clock.now += 0.8  # nothing runs: the timer and the next key both come late
        await clock.advance(made, 0)
        await clock.press(made, "e", at=clock.now - 0.6)
        await clock.advance(made, 2)
        assert made.session.answers == []
        assert card.words == "ye"


async def test_yes_but_use_pnpm_typed_two_seconds_after_the_card_opens_the_reply_line(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await clock.advance(made, 2)
        await clock.type(made, "yes but use pnpm")
        assert made.session.answers == []
        assert card.words == "yes but use pnpm"
        assert "yes but use pnpm" in made.text
        await clock.advance(made, 30)
        assert made.session.answers == []
        await clock.press(made, "enter")
        assert await _answered(made) == [("q1", Answer("no", note="yes but use pnpm"))]


async def test_typing_through_the_appearance_of_a_card_keeps_every_letter_and_answers_nothing(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await clock.type(made, "yes, n")
        await _asked(made)
        await clock.type(made, "ow we try y and n")
        await clock.advance(made, 10)
        assert made.chat.composer.text == "yes, now we try y and n"
        assert made.app.focused is made.chat.composer
        assert made.session.answers == []


async def test_a_key_pressed_just_before_the_card_took_the_focus_is_typed(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        assert made.app.focused is card
        await clock.press(made, "y", at=clock.now - 0.02)  # it was on its way when the card came
        assert made.chat.composer.text == "y"
        assert made.app.focused is made.chat.composer
        await clock.type(made, "es")
        await clock.advance(made, 5)
        assert made.chat.composer.text == "yes"
        assert made.session.answers == []


async def test_a_card_waits_for_a_second_without_keys(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await clock.press(made, "a", "backspace")
        await clock.advance(made, 0.9)
        await _asked(made)
        assert made.app.focused is made.chat.composer
    async with stage(tmp_path) as made:
        await clock.press(made, "a", "backspace")
        await clock.advance(made, 1.1)
        card = await _asked(made)
        assert made.app.focused is card


async def test_a_card_over_a_draft_says_tab_to_answer_and_keeps_the_draft(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await clock.type(made, "use y")
        await clock.advance(made, 60)
        card = await _asked(made)
        assert made.app.focused is made.chat.composer
        assert "Tab to answer" in made.text
        await clock.advance(made, 5)
        await clock.press(made, "y")
        assert made.chat.composer.text == "use yy"
        await clock.press(made, "ctrl+x", "a")
        assert made.app.focused is card
        assert "Tab to answer" not in made.text
        await clock.press(made, "n")
        await clock.advance(made, 0.31)
        assert await _answered(made) == [("q1", Answer("no"))]
        assert made.chat.composer.text == "use yy"


async def test_of_two_cards_the_second_comes_to_the_front_unarmed(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await _asked(made, body="git push --force")
        await made.until(lambda: "answer 1 of 2" in made.text, "the count")
        assert "2 to answer" in made.lines[0]
        await clock.advance(made, 2)
        await clock.press(made, "y")
        await clock.advance(made, 0.3)
        await made.until(lambda: "answer 2 of 2" in made.text, "the next card")
        assert "git push --force" in made.text
        await clock.press(made, "y")
        await clock.advance(made, 0.45)
        await clock.press(made, "y")
        await clock.advance(made, 5)
        assert made.session.answers == [("q1", Answer("once"))]
        assert made.chat.composer.text == ""
        await clock.press(made, "n")
        await clock.advance(made, 0.3)
        await made.until(lambda: len(made.session.answers) == 2, "the second answer")
        assert made.session.answers[1] == ("q2", Answer("no"))


async def test_tab_goes_round_cards_and_composer(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made, body="first")
        await _asked(made, body="second")
        await clock.press(made, "tab")
        assert made.app.focused is made.chat.composer and "$ first" in made.text
        await clock.press(made, "tab")
        assert made.app.focused is made.chat.dock.card
        assert "$ second" in made.text and "answer 2 of 2" in made.text
        await clock.press(made, "tab", "tab")
        assert "$ first" in made.text and "answer 1 of 2" in made.text
        assert made.session.answers == []


async def test_e_in_records_is_for_the_record_while_a_card_waits(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
        card = await _asked(made)
        await clock.advance(made, 10)
        assert not made.chat.dock.has_keys
        await clock.press(made, "e")
        await clock.advance(made, 5)
        await made.until(lambda: made.session.performed, "the record is left out")
        assert made.session.performed[0][0] == "elide"
        assert made.session.answers == [] and card.words == ""
        assert made.chat.panel is not None and made.chat.panel.has_focus_within


@pytest.mark.parametrize("letter", some(["ｙ", "Ｙ", "Y", "ⓨ"], 2))
async def test_letters_of_input_methods_are_the_letters(clock: Clock, tmp_path: Path, letter: str) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await clock.advance(made, 2)
        await clock.type(made, letter, every=0.4)
        assert await _answered(made) == [("q1", Answer("once"))]


@pytest.mark.parametrize("typed", some(["y\u0301", "ý", "й", "ÿ"], 2))
async def test_letters_of_dead_keys_and_other_scripts_are_words(
    clock: Clock, tmp_path: Path, typed: str
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await clock.advance(made, 2)
        await clock.type(made, typed, every=0.05)
        await clock.advance(made, 5)
        assert made.session.answers == []
        assert card.words == typed


async def test_what_is_pasted_is_never_an_answer(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await clock.advance(made, 0.5)
        for words in ("y", "y y"):
            await clock.paste(made, "y")
            await clock.advance(made, 1)
            assert made.session.answers == []
            assert card.words == words
            await clock.press(made, "escape")
            await clock.advance(made, 2)


async def test_a_paste_just_after_a_second_card_came_is_swallowed_and_enter_refuses_nothing(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await _asked(made, body="pnpm test")
        await _asked(made, body="git push --force")
        await clock.advance(made, 2)
        await clock.press(made, "y")
        await clock.advance(made, 0.3)
        await made.until(lambda: "answer 2 of 2" in made.text, "the next card")
        card = made.chat.dock.card
        assert card is not None
        await clock.paste(made, "pasted")
        assert "pasted before the card could be read, so not taken: pasted" in made.text
        assert not card.writes
        await clock.advance(made, 0.2)
        await clock.press(made, "enter")
        await clock.advance(made, 5)
        assert made.session.answers == [("q1", Answer("once"))]
        assert made.chat.composer.text == ""
        await clock.paste(made, "use pnpm")
        await clock.press(made, "enter")
        await made.until(lambda: len(made.session.answers) == 2, "the second answer")
        assert made.session.answers[1] == ("q2", Answer("no", note="use pnpm"))


async def test_a_paste_made_just_before_the_card_took_the_focus_is_the_composers(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        assert made.chat.dock.has_keys
        await clock.paste(made, "and then", at=clock.now - 0.02)
        await made.until(lambda: made.chat.composer.text == "and then", "the draft")
        assert made.app.focused is made.chat.composer
        assert card.words == "" and made.session.answers == []


async def test_words_left_with_esc_come_back(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await clock.advance(made, 2)
        await clock.type(made, "use pnpm")
        await clock.press(made, "escape")
        assert card.words == "" and made.app.focused is card
        await clock.advance(made, 2)
        await clock.press(made, "t")
        await clock.advance(made, 0.4)
        assert card.words == "use pnpm"
        await clock.press(made, "tab")
        assert made.app.focused is made.chat.composer and card.words == "use pnpm"
        await clock.press(made, "tab", "enter")
        assert await _answered(made) == [("q1", Answer("no", note="use pnpm"))]


OF_A_FILE = "--- a/x.sh\n+++ b/x.sh\n@@ -1,0 +1,40 @@\n" + "".join(f"+echo line {n}\n" for n in range(40))
TOO_LONG = {
    "a command": {"body": LONG},
    "a change": {"tool": "edit_file", "body": "x.sh", "diff": OF_A_FILE, "editable": ""},
}
"""What does not fit on a card."""


@pytest.mark.parametrize(
    ("what", "by"),
    [
        pytest.param("a command", "keys", marks=pytest.mark.slow),
        ("a command", "wheel"),
        pytest.param("a change", "keys", marks=pytest.mark.slow),
        ("a change", "space"),
    ],
)
async def test_what_is_longer_than_the_card_is_not_allowed_before_its_end_was_seen(
    clock: Clock, tmp_path: Path, what: str, by: str
) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made, **TOO_LONG[what])
        await clock.advance(made, 2)
        await clock.press(made, "y")
        await clock.advance(made, 0.3)
        assert "scroll to the end first" in made.text and made.session.answers == []
        await clock.press(made, "pagedown")  # the chat's, also now
        assert card.unseen
        row = next(index for index, line in enumerate(made.lines) if "echo line 1" in line)
        for _ in range(60):
            if not card.unseen:
                break
            assert made.session.answers == []
            if by == "wheel":
                await made.pilot._post_mouse_events([events.MouseScrollDown], offset=(10, row))
            else:
                await clock.press(made, "down" if by == "keys" else "space")
        assert "echo line 39" in made.text
        await clock.press(made, "up", "up")  # the end was seen: it may be scrolled away again
        await clock.press(made, "y")
        await clock.advance(made, 0.3)
        assert await _answered(made) == [("q1", Answer("once"))]


async def test_a_click_of_the_first_half_second_answers_nothing(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await clock.type(made, "a draft")
        await _asked(made)
        row = next(index for index, line in enumerate(made.lines) if "[y] once" in line)
        await made.pilot.click(offset=(made.lines[row].index("[y] once") + 1, row))
        assert made.session.answers == []
        await clock.advance(made, 0.6)
        await made.pilot.click(offset=(made.lines[row].index("[y] once") + 1, row))
        assert await _answered(made) == [("q1", Answer("once"))]
        assert made.chat.composer.text == "a draft"
