"""The chat screen: the session's events and the person's keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.hostile import TEXTS, acts
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent import changes
from tui_agent import events as said
from tui_agent.messages.blocks import text_block
from tui_agent.settings.schema import Settings


async def _cleared(made: Stage) -> None:
    await made.press("ctrl+c")
    await made.settle()


async def test_ctrl_c_stops_what_runs_then_clears_the_draft_then_quits_the_second_time(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("draft")
        await made.press("ctrl+c")
        await made.until(lambda: made.session.cancels == 1)
        assert made.chat.composer.text == "draft"
        await _cleared(made)
        assert made.chat.composer.text == ""
        await made.press("up")
        assert made.chat.composer.text == "draft", "up brings it back"
        await _cleared(made)
        await made.press("ctrl+c")
        await made.until(lambda: "again to quit" in made.text)
        assert not made.session.closed
        await made.press("ctrl+c")
        await made.until(lambda: made.session.closed, "the end")


async def test_ctrl_c_copies_a_selection_before_it_stops_anything(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("copy me")
        await made.press("shift+home")
        await made.settle()
        await made.press("ctrl+c")
        await made.until(lambda: made.app.clipboard == "copy me", "the clipboard")
        assert made.session.cancels == 0


async def test_words_that_wait_for_their_turn_to_begin_are_not_met_with_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def submit(self: FakeSession, text: str, **options: object) -> None:
        self.busy = True

    monkeypatch.setattr(FakeSession, "submit", submit)
    async with stage(tmp_path) as made:
        await made.type("go")
        await made.press("enter")
        await made.until(lambda: "starting" in made.lines[0], "that it starts")
        made.session.begin()
        await made.until(lambda: "asking" in made.lines[0], "the turn")


async def test_escape_stops_what_runs_and_docked_panels_stay(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None)
        made.session.begin()
        await made.settle()
        await made.press("escape")
        await made.until(lambda: made.session.cancels == 1)
        assert made.chat.panel is not None
        await made.press("escape")
        await made.until(lambda: made.app.focused is made.chat.composer)


async def test_escape_twice_opens_the_jump_card_and_escape_closes_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("escape", "escape")
        await made.until(lambda: made.chat.jump is not None, "the card")
        await made.press("escape")
        await made.until(lambda: made.chat.jump is None)
        assert made.app.focused is made.chat.composer
        assert made.session.performed == []


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_key_that_is_pressed_again_after_another_is_not_pressed_twice(
    tmp_path: Path, key: str
) -> None:
    async with stage(tmp_path) as made:
        await made.press(key, "x", "backspace", key)
        await made.settle()
        assert made.chat.jump is None and made.app.is_running
        await made.press(key)
        await made.until(lambda: made.chat.jump is not None or not made.app.is_running)


async def test_the_leader_key_lists_the_letters_and_a_letter_acts_without_typing(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("draft")
        await made.press("ctrl+x")
        await made.until(lambda: any("  g jump back" in line for line in made.lines[-4:]), "the letters")
        await made.press("u")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("undo",)]
        assert made.chat.composer.text == "draft"
        await made.until(lambda: "there is nothing to undo" in made.text)


async def test_a_letter_without_an_action_after_the_leader_key_is_not_typed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("ctrl+x", "z", "a")
        assert made.chat.composer.text == "a"
        await made.press("ctrl+x", "escape", "b")
        assert made.chat.composer.text == "ab"


async def test_keys_of_settings_are_in_force_and_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    settings = Settings(keys={"undo": "f12", "nonsense": "f5"})
    async with stage(tmp_path, settings=settings, size=(120, 36)) as made:
        await made.until(lambda: "[keys] nonsense: there is no such action" in made.text)
        await made.press("f12")
        await made.until(lambda: made.session.performed == [("undo",)])


async def test_going_back_shows_the_chat_as_it_was_and_gives_the_words_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        assert "add a --json flag" in made.text
        await made.press("ctrl+x", "g")
        await made.until(lambda: "messages leave the chat" in made.text, "the preview")
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("revert", "2")])
        await made.until(lambda: "what was before is context_1.jsonl" in made.text, "what it did")
        assert made.chat.composer.text == "add a --json flag to the report command"
        assert "question 1" in made.text
        assert "^x u undo" in made.lines[-1]


async def test_a_second_enter_of_a_jump_does_not_send_the_words_that_came_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        clock = [100.0]
        made.chat.composer._clock = lambda: clock[0]
        await made.press("f6")
        await made.until(lambda: made.chat.jump is not None)
        await made.press("enter")
        await made.until(lambda: not made.chat.composer.is_blank)
        words = made.chat.composer.text
        await made.press("enter")
        assert made.chat.composer.text == words
        clock[0] += 1
        await made.press("enter")
        assert made.chat.composer.is_blank


async def test_words_of_a_jump_do_not_overwrite_a_draft(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("draft")
        await made.press("f6")
        await made.until(lambda: made.chat.jump is not None)
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        await made.until(lambda: "Up brings them back" in made.text)
        assert made.chat.composer.text == "draft"
        await made.press("up")
        assert made.chat.composer.text == "add a --json flag to the report command"


async def test_without_a_checkpoint_the_jump_card_says_so(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=lambda session: None) as made:
        await made.press("f6")
        await made.until(lambda: "there is no checkpoint yet" in made.text)


async def test_revert_without_a_number_opens_the_card_and_with_one_goes_there(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/rewind")
        await made.press("enter")
        await made.until(lambda: made.chat.jump is not None)
        await made.press("escape")
        await made.until(lambda: made.chat.jump is None)
        await made.type("/revert 0")
        await made.press("enter")
        await made.until(lambda: made.session.performed == [("revert", "0")])


async def test_printable_keys_go_to_the_composer_from_everywhere(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)
        await made.type("x")
        await made.settle()
        await made.type("yz")
        assert made.chat.composer.text == "xyz"
        assert made.app.focused is made.chat.composer


async def test_page_keys_scroll_the_chat_while_writing(tmp_path: Path) -> None:
    def many(session: FakeSession) -> None:
        conversation(session.context, 20)

    async with stage(tmp_path, prepare=many) as made:
        await made.type("draft")
        end = made.chat.transcript.scroll_y
        await made.press("pageup")
        await made.until(lambda: made.chat.transcript.scroll_y < end)
        await made.press("ctrl+home")
        await made.until(lambda: made.chat.transcript.scroll_y == 0)
        await made.press("ctrl+end")
        await made.until(lambda: made.chat.transcript.scroll_y == made.chat.transcript.max_scroll_y)
        assert made.chat.composer.text == "draft"


async def test_lines_that_come_below_are_counted_and_end_goes_there(tmp_path: Path) -> None:
    def many(session: FakeSession) -> None:
        conversation(session.context, 20)

    async with stage(tmp_path, prepare=many) as made:
        await made.press("pageup")
        await made.settle()
        made.session.begin()
        made.session.emit(said.TextDelta("one\n\ntwo\n\nthree\n\n"))
        await made.until(lambda: "new lines below, End" in made.text, "the count")
        view, row = made.chat.transcript, next(line for line in made.lines if "new lines below" in line)
        assert row.index("new lines") > 40, "at the right, where lines seldom reach"
        assert row.startswith(view.render_line(view.size.height - 1).text[:40])
        await made.press("end")
        await made.until(lambda: "new lines below" not in made.text)


async def test_counting_lines_below_lays_nothing_out(tmp_path: Path) -> None:
    def many(session: FakeSession) -> None:
        conversation(session.context, 20)

    async with stage(tmp_path, prepare=many) as made:
        await made.press("pageup")
        made.session.begin()
        made.session.emit(said.TextDelta("line\n\n" * 10))
        await made.until(lambda: made.chat.transcript.new_lines > 20, "the count")
        layouts: list[object] = []
        made.chat.screen_layout_refresh_signal.subscribe(made.chat, layouts.append)
        made.session.emit(said.TextDelta("line\n\n" * 10))
        await made.until(lambda: made.chat.transcript.new_lines > 40, "a higher count")
        assert f" {made.chat.transcript.new_lines} new lines below, End" in made.text
        assert not layouts


@pytest.mark.usefixtures("quick")
async def test_the_end_is_followed_while_cards_come_and_go(tmp_path: Path) -> None:
    def many(session: FakeSession) -> None:
        conversation(session.context, 6)

    async with stage(tmp_path, size=(120, 36), prepare=many) as made:
        transcript = made.chat.transcript
        for height in (36, 20, 36, 24, 30):
            await made.pilot.resize_terminal(120, height)
            made.session.begin()
            question = made.session.ask()
            await made.until(lambda: made.chat.dock.card is not None)
            await made.session.settle(question.id, said.Answer("once"))
            made.session.emit(said.TextDelta("line\n\n" * 4), said.ReplyEnded("r", "end_turn", "line"))
            made.session.end()
            await made.until(lambda: made.chat.dock.card is None)
            assert transcript.follow
            assert transcript.scroll_y == transcript.max_scroll_y


async def test_a_click_in_the_chat_leaves_the_focus_to_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.pilot.click("#transcript", offset=(5, 3))
        assert made.app.focused is made.chat.composer


async def test_a_click_on_the_footer_does_what_the_key_does(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        column = made.lines[-1].index("jump back")
        await made.pilot.click(offset=(column, 23))
        await made.until(lambda: made.chat.jump is not None)


async def test_what_is_weighed_stands_in_the_status_line(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(said.Weighed(31_000, 30_000, 1_000, "estimated", 200_000))
        await made.until(lambda: "30,000 ~+1,000" in made.lines[0])
        made.session.emit(said.UsageReported(100, 50, 30_000, 0, 30_150))
        await made.until(lambda: " 30,150 " in made.lines[0])


async def test_what_the_session_came_to_follows_each_request(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        assert "cache" not in made.lines[0]
        made.session.cost = "cache 96 %, $ 0.42"
        made.session.emit(said.UsageReported(100, 50, 30_000, 0, 30_150))
        await made.until(lambda: "cache 96 %, $ 0.42" in made.lines[0])


async def test_what_happens_is_named_in_the_status_line(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        session = made.session
        session.begin()
        await made.until(lambda: "asking" in made.lines[0])
        session.emit(said.ToolUseDelta("c1", "bash", 40))
        await made.until(lambda: "writing bash" in made.lines[0])
        session.emit(said.RetryWaiting(2, 5, 3.0, "429"))
        await made.until(lambda: "try 2/5 in 3 s" in made.lines[0])
        session.emit(changes.LogFailed("no space left", ("free some",)))
        await made.until(lambda: "not saved" in made.lines[0])
        session.emit(changes.LogRecovered())
        session.end()
        await made.until(lambda: "ready" in made.lines[0])


async def test_a_paused_queue_says_so_and_is_kept(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.emit(said.QueueChanged((said.QueuedPrompt("p1", "then this"),), paused=True))
        await made.until(lambda: "waits, paused" in made.text and "then this" in made.text)
        await made.until(lambda: made.session.folder.draft_path.exists(), "the queue on disk")


async def test_the_screen_stays_small_in_widgets(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        made.session.ask()
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None and made.chat.dock.card is not None)
        for _ in range(3):
            await made.press("right")
            await made.settle()
        await made.press("f6")
        await made.until(lambda: made.chat.jump is not None)
        assert len(list(made.chat.walk_children())) <= 80


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 12))])
async def test_hostile_text_shows_literally_everywhere(part: int, tmp_path: Path) -> None:
    names = sorted(TEXTS)[part::12]
    async with stage(tmp_path, size=(117, 24)) as made:
        session = made.session
        await made.press("f3")
        await made.until(lambda: made.chat.panel is not None)
        for name in names:
            text = TEXTS[name][:600]
            session.context.say("user", text_block(text))
            session.context.line(text.encode("utf-8", "replace"), damaged=text or "empty")
            session.emit(said.TitleChanged(text), said.ModelChanged(text, 200_000, False))
            session.begin(text)
            session.emit(
                said.QueueChanged((said.QueuedPrompt("p1", text),)), changes.Appended("user", "r1", 1)
            )
            session.ask(title=text, body=text, place=text, rule=text, warning=text, editable=text)
            await made.until(lambda: made.chat.dock.card is not None)
            card = made.chat.dock.card
            assert made.chat.panel is not None and card is not None
            made.chat.panel.changed()
            card.question = replace(card.question, diff=text)
            card.redraw(body=True)
            await made.pilot.pause(0)
            for line in made.lines:
                assert not acts(line), (name, line)
            await session.cancel()
            await made.until(lambda: made.chat.dock.card is None)


async def test_keys_right_behind_the_key_that_opens_a_place_are_the_places(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.type("draft")
        await made.press("ctrl+x", "i", "right", "right")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.tab.NAME == "Backups")
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is None)
        await made.press("ctrl+x", "g", "escape")
        await made.settle()
        assert made.chat.jump is None
        await made.press("ctrl+x", "g", "enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed[0][0] == "revert"
        assert not made.session.submitted


async def test_the_keys_are_those_of_rest_though_a_turn_says_its_end_before_it_is_over(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.until(lambda: "^c stop" in made.text)
        made.session.emit(said.TurnEnded("budget", 1, 2.0))
        await made.until(lambda: "ready" in made.text)
        assert "^c stop" in made.text, "what it leaves behind is still written, and can be stopped"
        made.session.busy = False
        await made.until(lambda: "^c stop" not in made.text)


async def test_words_behind_a_command_that_takes_none_are_given_back_with_that_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/new and mend the parser")
        await made.press("enter")
        await made.until(lambda: "/new takes no words behind it" in made.text)
        assert made.chat.composer.text == "/new and mend the parser"


async def test_commands_that_need_a_record_say_so(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for name, usage in (("edit", "usage: /edit RECORD [TEXT]"), ("record", "usage: /record RECORD")):
            made.chat.composer.put(f"/{name}")
            await made.press("enter")
            await made.until(lambda: usage in made.text)  # noqa: B023
