"""Keys that come in one burst: each does what it says where the one before has led, and none is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.widget import Widget

from tests.ui.cards.clock import Clock
from tests.ui.cards.conftest import clock
from tests.ui.stage import Stage, stage
from tui_agent.events import Answer
from tui_agent.ui.cards.card import Card
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.history import append_history
from tui_agent.ui.chat.keep import HISTORY
from tui_agent.ui.hosted import HostedApp
from tui_agent.ui.order import Order

__all__ = ["clock"]


def burst(made: Stage, *keys: str, at: float | None = None) -> None:
    """Keys, and the letters of longer texts that name no key, as one read of the terminal brings them."""
    for key in keys:
        event = events.Key(_character_to_key(key), key) if len(key) == 1 else events.Key(key, None)
        if at is not None:
            event.time = at
        made.app.post_message(event)


async def _card(made: Stage, clock: Clock, **changes: object) -> Card:
    made.session.begin()
    made.session.ask(**changes)
    await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.has_keys, "the card")
    await clock.advance(made, 2)
    card = made.chat.dock.card
    assert card is not None
    return card


async def test_what_is_pressed_behind_esc_on_the_card_that_goes_back_is_written(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        burst(made, "ctrl+x", "g", "escape", *"hello")
        await made.until(lambda: made.chat.composer.text == "hello")
        assert made.chat.jump is None


async def test_what_is_pressed_behind_a_key_that_opens_a_place_is_for_the_place(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        burst(made, "?", "escape", *"ab", "ctrl+f", *"json", "escape", *"cd")
        await made.until(lambda: made.chat.composer.text == "abcd")
        assert made.chat.find_bar is None and made.app.screen is made.chat


async def test_enter_behind_words_that_open_the_reply_line_gives_them(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _card(made, clock)
        burst(made, *"no: use pnpm", "enter", *"and then", at=clock.now)
        await made.until(lambda: made.session.answers)
        assert made.session.answers == [("q1", Answer("no", note="no: use pnpm"))]
        await made.until(lambda: made.chat.composer.text == "and then")


async def test_enter_behind_tab_on_a_card_sends_the_draft(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await clock.type(made, "later")
        made.session.begin()
        made.session.ask()
        await made.until(lambda: made.chat.dock.card is not None)
        await clock.press(made, "tab")
        await clock.advance(made, 2)
        burst(made, "tab", "enter", at=clock.now)
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("later", "step")] and made.session.answers == []


@pytest.mark.parametrize("keys", [("tab",), ("f7",), ("ctrl+x", "a")])
async def test_a_letter_behind_the_key_that_goes_to_a_card_answers_it(
    keys: tuple[str, ...], clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await clock.type(made, "later")
        made.session.begin()
        made.session.ask()
        await made.until(lambda: made.chat.dock.card is not None)
        await clock.advance(made, 2)
        assert not made.chat.dock.has_keys
        burst(made, *keys, "y", at=clock.now)
        await made.until(lambda: made.chat.dock.has_keys and not made.app.pressing)
        await clock.advance(made, 2)
        await made.until(lambda: made.session.answers)
        assert made.session.answers == [("q1", Answer("once"))] and made.chat.composer.text == "later"


async def test_a_letter_behind_esc_on_a_card_is_written_and_answers_nothing(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await _card(made, clock)
        burst(made, "escape", "y", at=clock.now)
        await made.until(lambda: made.chat.composer.text == "y")
        await clock.advance(made, 2)
        assert made.session.answers == []


async def test_all_of_a_key_that_was_pressed_before_the_card_took_the_focus_is_the_composers(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        before = clock.now
        await _card(made, clock)
        burst(made, *"ab", "backspace", "c", "enter", at=before - 0.1)
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("ac", "step")] and made.session.answers == []


async def test_a_letter_that_waits_on_a_card_that_is_withdrawn_is_written(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _card(made, clock)
        await clock.press(made, "y")
        await made.session.settle(card.question.id, Answer("dismissed"))
        await made.until(lambda: made.chat.composer.text == "y")
        await clock.advance(made, 2)
        assert made.session.answers == [] and made.app.focused is made.chat.composer


async def test_what_is_typed_after_a_click_on_the_card_goes_on_in_the_reply_line(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        card = await _card(made, clock)
        await clock.type(made, "use it")
        row = next(number for number, line in enumerate(made.lines) if "$ " in line)
        await made.pilot.click(offset=(6, row))
        await clock.press(made, "y")
        await clock.advance(made, 2)
        assert card.words == "use ity" and made.session.answers == []


async def test_a_letter_is_taken_back_with_backspace(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _card(made, clock)
        await clock.press(made, "y", "backspace")
        await clock.advance(made, 2)
        assert made.session.answers == [] and made.app.focused is card


async def test_what_is_pressed_behind_an_answer_is_for_what_comes_next(clock: Clock, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        card = await _card(made, clock)
        let = asyncio.Event()
        answer = made.session.answer

        async def slowly(question: str, said: Answer) -> None:
            await let.wait()
            await answer(question, said)

        made.session.answer = slowly  # type: ignore[method-assign, assignment]
        await clock.press(made, "n")
        await clock.advance(made, 0.4)
        await clock.press(made, "y", "e", "s")
        assert card.words == ""
        let.set()
        await made.until(lambda: made.chat.composer.text == "yes")
        assert made.session.answers == [("q1", Answer("no"))]


async def test_words_of_a_reply_are_kept_while_another_card_is_at_the_front(
    clock: Clock, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        first = await _card(made, clock)
        made.session.ask(title="another one")
        await made.until(lambda: len(made.chat.dock.waiting) == 2)
        await clock.type(made, "use pnpm")
        assert first.words == "use pnpm"
        await clock.press(made, "f7")
        await made.until(lambda: made.chat.dock.card not in (None, first))
        await clock.press(made, "f7")
        await made.until(lambda: made.chat.dock.waiting[0] is first.question)
        await clock.advance(made, 2)
        await clock.press(made, "t")
        await clock.advance(made, 1)
        again = made.chat.dock.card
        assert again is not None and again.words == "use pnpm"


async def test_enter_and_tab_behind_words_take_what_is_found_for_them_later(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    for text in ("fix the parser", "write tests"):
        append_history(tmp_path / "sessions" / HISTORY, Prompt(text))
    (tmp_path / "sessions" / "shop").mkdir()
    (tmp_path / "sessions" / "shop" / "report.py").touch()
    async with stage(tmp_path) as made:
        composer = made.chat.composer
        burst(made, "ctrl+r", *"parser", "enter")
        await made.until(lambda: composer.text == "fix the parser" and not composer.searching)
        burst(made, *" @rep", "tab")
        await made.until(lambda: composer.text == "fix the parser @report.py ")
        burst(made, *"@rep", "tab", *"x")
        await made.settle()
        await made.until(lambda: composer.text.endswith("x") and not made.app.pressing)
        assert composer.text in ("fix the parser @report.py @repx", "fix the parser @report.py @report.py x")


class Slow(HostedApp):
    """An app that notes what reaches it."""

    def __init__(self) -> None:
        super().__init__([])
        self.had: list[str] = []

    async def on_key(self, event: events.Key) -> None:
        self.had.append(event.key)


async def test_keys_wait_while_they_are_held_and_those_that_waited_elsewhere_come_first() -> None:
    app = Slow()
    async with app.run_test() as pilot:
        async with app.hold_keys():
            for key in "cd":
                app.post_message(events.Key(key, key))
            await pilot.pause()
            assert app.had == []
            app.press_first([events.Key("a", "a"), events.Key("b", "b")])
            await pilot.pause()
        while app.pressing:
            await pilot.pause()
        assert app.had == ["a", "b", "c", "d"]


async def test_who_holds_keys_for_ever_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.ui.order.HOLDING", 0.0)
    app = Slow()
    async with app.run_test() as pilot:
        app.hold_keys()
        app.post_message(events.Key("a", "a"))
        while app.had != ["a"]:
            await pilot.pause()
        assert not app.pressing


class Deaf(Widget):
    """It takes what is sent to it, and never comes to an end with it."""

    def call_later(self, *_: Any, **__: Any) -> bool:
        return True


async def test_a_key_whose_taker_does_not_come_to_an_end_lets_the_next_one_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_agent.ui.order.PATIENCE", 0.0)
    app = Slow()
    async with app.run_test() as pilot:
        order = Order(app, app.press_now)  # type: ignore[arg-type]
        order.follow(events.Key("a", "a"), Deaf())
        assert order.keeps(events.Key("b", "b"))
        while app.had != ["b"]:
            await pilot.pause()
        assert not order.busy
