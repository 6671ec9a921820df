"""Which key answers a card, and which does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.ui.stage import Stage, stage
from tui_agent.events import Answer, Asked, Question
from tui_agent.ui.cards.card import Card
from tui_agent.ui.reply import ReplyLine


async def _asked(made: Stage, **changes: object) -> Card:
    made.session.begin()
    made.session.ask(**changes)
    await made.until(lambda: made.chat.dock.card is not None, "the card")
    card = made.chat.dock.card
    assert card is not None
    return card


@pytest.mark.usefixtures("quick")
async def test_a_card_takes_the_focus_from_an_idle_empty_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        assert made.app.focused is card
        assert "Tab to answer" not in made.text


@pytest.mark.usefixtures("quick")
async def test_a_card_leaves_the_focus_to_a_composer_with_a_draft(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("yes but")
        await _asked(made)
        assert made.app.focused is made.chat.composer
        assert "Tab to answer" in made.text
        await made.type(" use y")
        assert made.chat.composer.text == "yes but use y"
        assert made.session.answers == []


@pytest.mark.usefixtures("quick")
async def test_tab_goes_to_the_card_over_a_draft_which_is_kept(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("yes but")
        card = await _asked(made)
        await made.press("tab")
        assert made.app.focused is card
        assert made.chat.composer.text == "yes but"


@pytest.mark.usefixtures("writing")
async def test_a_card_leaves_the_focus_to_somebody_who_just_pressed_a_key(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("a")
        await made.press("backspace")
        await _asked(made)
        assert made.app.focused is made.chat.composer
        await made.press("tab")
        assert made.app.focused is made.chat.dock.card


@pytest.mark.usefixtures("quick")
async def test_a_card_does_not_take_the_focus_from_the_inspector(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
        await _asked(made)
        assert not made.chat.dock.has_keys
        await made.press("ctrl+x", "a")
        await made.settle()
        assert made.chat.dock.has_keys


@pytest.mark.usefixtures("unarmed")
async def test_keys_of_the_first_half_second_are_swallowed_and_never_typed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await made.type("yn")
        await made.press("enter", "down", "space")
        assert made.session.answers == []
        assert made.chat.composer.text == ""
        assert card.words == ""


@pytest.mark.usefixtures("quick")
async def test_a_letter_alone_answers(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await made.press("y")
        await made.until(lambda: made.session.answers, "the answer")
        assert made.session.answers == [("q1", Answer("once"))]
        assert made.chat.dock.card is None
        assert made.app.focused is made.chat.composer


@pytest.mark.usefixtures("typist")
async def test_words_that_begin_with_a_letter_of_the_card_open_the_reply_line(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await made.type("yes but use pnpm")
        assert made.session.answers == []
        assert card.words == "yes but use pnpm"
        await made.press("enter")
        await made.until(lambda: made.session.answers, "the answer")
        assert made.session.answers == [("q1", Answer("no", note="yes but use pnpm"))]


@pytest.mark.usefixtures("quick")
async def test_a_character_that_is_no_letter_of_the_card_opens_the_reply_line(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await made.type("use pnpm")
        assert card.words == "use pnpm"
        await made.press("escape")
        assert card.words == ""
        assert made.app.focused is card
        assert made.session.answers == []


@pytest.mark.usefixtures("quick")
async def test_a_full_width_letter_of_an_input_method_is_the_letter(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        made.app.post_message(events.Key("ｙ", "ｙ"))
        await made.until(lambda: made.session.answers, "the answer")
        assert made.session.answers == [("q1", Answer("once"))]


@pytest.mark.usefixtures("quick")
async def test_arrows_and_enter_answer_and_enter_alone_does_not(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await made.press("enter")
        assert made.session.answers == []
        await made.press("down", "down", "down", "enter")
        await made.until(lambda: made.session.answers, "the answer")
        assert made.session.answers == [("q1", Answer("no"))]


@pytest.mark.usefixtures("quick")
async def test_a_click_on_a_choice_answers(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        row = next(index for index, line in enumerate(made.lines) if "[n] no" in line)
        column = made.lines[row].index("[n] no")
        await made.pilot.click(offset=(column + 1, row))
        await made.until(lambda: made.session.answers, "the answer")
        assert made.session.answers == [("q1", Answer("no"))]


@pytest.mark.usefixtures("quick")
async def test_escape_means_later_and_keeps_what_runs(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await made.press("escape")
        await made.settle()
        assert made.app.focused is made.chat.composer
        assert made.session.cancels == 0
        assert made.chat.dock.card is not None
        assert "1 to answer" in made.lines[0]


@pytest.mark.usefixtures("quick")
async def test_one_card_at_a_time_says_which_of_how_many(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        made.session.ask(body="git push")
        await made.until(lambda: "answer 1 of 2" in made.text, "the count")
        assert "2 to answer" in made.lines[0]
        assert "git push" not in made.text
        await made.press("y")
        await made.until(lambda: "answer 2 of 2" in made.text, "the next card")
        assert "git push" in made.text
        assert made.chat.dock.has_keys
        await made.press("n")
        await made.until(lambda: len(made.session.answers) == 2, "the second answer")
        assert made.chat.dock.card is None


@pytest.mark.usefixtures("quick")
async def test_a_question_asked_again_behind_a_card_counts_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        for _ in range(3):
            await made.chat.withdraw("ways")
            question = Question("ways", "ways", "what now?", choices=("send it again (/retry)",))
            await made.chat.offer(question, lambda answer: None, at_once=False)
        await made.settle()
        assert "answer 1 of 2" in made.text
        assert "2 to answer" in made.lines[0]


@pytest.mark.usefixtures("quick")
async def test_next_card_brings_the_other_one(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        made.session.ask(body="git push")
        await made.until(lambda: "answer 1 of 2" in made.text)
        await made.press("ctrl+x", "a")
        await made.until(lambda: "git push" in made.text, "the other card")
        assert made.chat.dock.has_keys


@pytest.mark.usefixtures("typist")
async def test_words_written_in_a_card_that_is_withdrawn_go_to_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _asked(made)
        await made.type("use pnpm")
        await made.session.settle("q1", Answer("dismissed"))
        await made.until(lambda: made.chat.dock.card is None, "no card")
        assert made.chat.composer.text == "use pnpm"
        assert made.app.focused is made.chat.composer


@pytest.mark.usefixtures("quick")
async def test_so_do_words_that_were_left_with_esc_but_not_those_of_the_card(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made, body="git push", editable="command")
        for keys in ("e", "use pnpm"):
            await made.type(keys)
            await made.until(lambda: card.writes)
            await made.press("escape")
            await made.until(lambda: not card.writes and card.armed)
        await made.session.settle("q1", Answer("dismissed"))
        await made.until(lambda: made.chat.dock.card is None, "no card")
        assert made.chat.composer.text == "use pnpm"


@pytest.mark.usefixtures("quick")
async def test_two_presses_give_one_answer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        card.answer(Answer("once"))
        card.answer(Answer("once"))
        await made.until(lambda: made.session.answers)
        assert len(made.session.answers) == 1


@pytest.mark.usefixtures("quick")
async def test_a_choice_is_answered_by_arrows(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(Asked(Question("c1", "choice", "which one?", choices=("red", "blue"))))
        await made.until(lambda: made.chat.dock.card is not None)
        await made.press("down", "down", "enter")
        await made.until(lambda: made.session.answers)
        assert made.session.answers == [("c1", Answer("answer", note="blue"))]


@pytest.mark.usefixtures("quick")
async def test_a_free_answer_is_typed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(Asked(Question("t1", "text", "what is it called?")))
        await made.until(lambda: made.chat.dock.card is not None)
        await made.type("report")
        assert isinstance(made.app.focused, ReplyLine)
        await made.press("enter")
        await made.until(lambda: made.session.answers)
        assert made.session.answers == [("t1", Answer("answer", note="report"))]


@pytest.mark.usefixtures("quick")
async def test_words_that_were_left_go_on_when_others_are_typed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made)
        await made.type("use pnpm")
        await made.press("escape")
        await made.settle()
        assert not card.writes
        await made.type("not npm")
        await made.press("enter")
        await made.until(lambda: made.session.answers)
        assert [answer for _, answer in made.session.answers] == [Answer("no", note="use pnpm not npm")]


@pytest.mark.usefixtures("quick")
async def test_an_edit_that_was_left_goes_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _asked(made, body="git push", editable="command")
        await made.press("e")
        await made.until(lambda: card.writes)
        await made.type(" --dry-run")
        await made.press("escape")
        await made.until(lambda: not card.writes)
        await made.press("e")
        await made.until(lambda: card.writes)
        assert card.words == "git push --dry-run"
