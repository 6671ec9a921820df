"""Writing: what sends, what breaks a line, what completes, what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.support.hostile import TEXTS, acts
from tests.ui.stage import stage
from tui_agent.events import TextDelta
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.completion import Candidate, Word, matching_commands
from tui_agent.ui.chat.history import Draft, append_history, write_draft
from tui_agent.ui.chat.keep import HISTORY, Keep
from tui_agent.ui.commands import listed


async def test_enter_sends_and_empties_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("hello")
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("hello", "step")]
        assert made.chat.composer.text == ""


@pytest.mark.parametrize(
    ("keys", "sent"),
    [([], ""), (["ctrl+c", "n", "e", "w"], "new"), (["x"], "offeredx"), (["left", "right"], "offered")],
)
async def test_enter_sends_words_that_came_unasked_once_another_key_was_pressed(
    keys: list[str], sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(tmp_path) as made:
        monkeypatch.setattr(made.chat.composer, "_clock", lambda: 0.0)
        made.chat.composer.offer(Prompt("offered"))
        await made.press(*keys, "enter")
        await made.settle()
        assert made.session.submitted == ([(sent, "step")] if sent else [])
        assert made.chat.composer.text == ("" if sent else "offered")


TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize("way", ["pasted", "typed", "sent before", "put", "searched for"])
async def test_what_turns_a_line_around_is_seen_in_the_composer_and_sent_as_it_is_seen(
    way: str, tmp_path: Path
) -> None:
    async with stage(tmp_path, size=(120, 24)) as made:
        composer, text = made.chat.composer, f"a{'b'.join(TURNING)}c"
        match way:
            case "typed":
                for character in text:
                    made.app.post_message(events.Key(character, character))
            case "sent before":
                composer.past.add(Prompt(text))
                await made.press("up")
            case "put":
                composer.put(text)
            case _:
                if way == "searched for":
                    await made.press("ctrl+r")
                    await made.until(lambda: composer.searching, "the search")
                made.app.post_message(events.Paste(text))
        await made.settle()
        seen = f"a{'b'.join(f'<U+{ord(character):04X}>' for character in TURNING)}c"
        await made.until(lambda: composer.text == seen, "the signs")
        assert seen in made.text
        if way != "searched for":
            await made.press("enter")
            await made.until(lambda: made.session.submitted == [(seen, "step")], "what was seen")


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["a", "b", "backspace", "c"], "ac"),
        (["a", "b", "left", "c"], "acb"),
        (["a", "space", "b", "ctrl+w", "c"], "a c"),
        (["a", "enter", "b", "backspace", "c"], "c"),
    ],
)
async def test_keys_that_edit_keep_their_place_among_those_that_write(
    keys: list[str], text: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await made.press(*keys)
        await made.until(lambda: made.chat.composer.text)
        assert made.chat.composer.text == text


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_a_new_line_has_keys_of_its_own(key: str, tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("a")
        await made.press(key)
        await made.type("b")
        assert made.chat.composer.text == "a\nb"
        assert made.session.submitted == []


async def test_a_backslash_before_enter_is_a_new_line(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("a\\")
        await made.press("enter")
        await made.type("b")
        assert made.chat.composer.text == "a\nb"


async def test_blank_words_are_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("  ")
        await made.press("enter")
        await made.settle()
        assert made.session.submitted == []


async def test_ctrl_s_sends_at_the_end_of_the_turn_and_the_line_above_says_which(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.settle()
        await made.type("later")
        await made.until(lambda: "Enter: at the next step   ^s: at the end of the turn" in made.text)
        await made.press("ctrl+s")
        await made.until(lambda: "waits, at the end of the turn: later" in made.text, "the queue line")
        assert made.session.submitted == [("later", "turn")]


async def test_a_command_is_completed_with_its_help_and_carried_out(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/cont")
        await made.until(lambda: "say what the context holds and weighs" in made.text, "the help line")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("context",)]
        await made.until(lambda: "19,938 of 200,000 tokens" in made.text, "what it says")
        assert made.session.submitted == []


async def test_tab_takes_a_command_that_wants_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/ren")
        await made.until(lambda: made.chat.completion.is_open)
        await made.press("tab")
        assert made.chat.composer.text == "/rename "
        await made.type("a new name")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("rename", "a", "new", "name")]
        await made.until(lambda: "a new name" in made.lines[0], "the new title")


async def test_tab_on_a_folder_that_is_written_already_goes_on_to_what_is_in_it(tmp_path: Path) -> None:
    (deep := tmp_path / "sessions" / "shop" / "src" / "deep").mkdir(parents=True)
    (deep / "a.py").write_text("x = 1\n")
    async with stage(tmp_path) as made:
        composer, completion = made.chat.composer, made.chat.completion
        await made.type("@src")
        for written in ("@src/", "@src/deep/", "@src/deep/a.py "):
            await made.until(lambda: completion.is_open and completion.word == composer.word(), "the list")
            await made.press("tab")
            assert composer.text == written


async def test_enter_takes_no_completion_of_a_word_that_has_grown_since(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        composer, completion = made.chat.composer, made.chat.completion
        for key in ("enter", "tab"):
            await made.type("/undo")
            await made.until(
                lambda: completion.word is not None and completion.word.typed == "undo", "the list"
            )
            # what a burst of keys leaves: the list is still that of its first ones
            completion.offer(Word("command", "", 1), [Candidate("/clear", "/clear", "", True, ("clear",))])
            composer._own_key(events.Key(key, None))
            assert composer.text == ("" if key == "enter" else "/undo")
        await made.settle()
        assert made.session.performed == [("undo",)]


async def test_arrows_choose_among_completions(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/re")
        await made.until(lambda: made.chat.completion.is_open)
        first = made.chat.completion.candidate
        await made.press("down")
        assert made.chat.completion.candidate != first
        last = matching_commands("re", listed(made.session.commands))[-1]
        await made.press("up", "up")
        assert made.chat.completion.candidate == last != first


async def test_a_click_takes_a_completion(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/ren")
        await made.until(lambda: made.chat.completion.is_open)
        row = next(index for index, line in enumerate(made.lines) if "/rename TITLE" in line)
        await made.pilot.click(offset=(4, row))
        await made.until(lambda: made.chat.composer.text == "/rename ")


async def test_a_file_of_the_workspace_is_completed(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        (made.app.wanted.workspace / "report.py").write_text("")
        await made.type("look at @rep")
        await made.until(lambda: made.chat.completion.is_open, "the files")
        await made.press("enter")
        assert made.chat.composer.text == "look at @report.py "
        assert made.session.submitted == []
        await made.press("ctrl+u")
        await made.until(lambda: made.chat.composer.text == "")
        await made.type("look at @report.py")
        await made.until(lambda: made.chat.completion.is_open, "the files again")
        await made.press("enter")
        await made.until(lambda: made.session.submitted, "a name typed whole lacks nothing")


async def test_escape_closes_the_list_before_anything_else(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("/re")
        await made.until(lambda: made.chat.completion.is_open)
        await made.press("escape")
        await made.settle()
        assert not made.chat.completion.is_open
        assert made.chat.composer.text == "/re"
        assert made.session.cancels == 0


async def test_an_unknown_command_is_said_and_not_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/nonsense")
        await made.press("enter")
        await made.until(lambda: "there is no command /nonsense" in made.text)
        assert made.session.submitted == []


async def test_words_that_begin_with_a_path_are_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/etc/passwd is wrong")
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [("/etc/passwd is wrong", "step")]


async def test_up_and_down_at_the_edges_walk_through_what_was_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for words in ("one", "two"):
            await made.type(words)
            await made.press("enter")
        await made.until(lambda: len(made.session.submitted) == 2)
        await made.type("draft")
        composer = made.chat.composer
        await made.press("up")
        assert composer.text == "two"
        await made.press("up", "up")
        assert composer.text == "one"
        await made.press("down", "down")
        assert composer.text == "draft"


async def test_what_was_sent_in_the_workspace_before_is_there(tmp_path: Path) -> None:
    place = tmp_path / "sessions"
    place.mkdir()
    append_history(place / HISTORY, Prompt("from another session"))
    async with stage(tmp_path) as made:
        await made.press("up")
        assert made.chat.composer.text == "from another session"


async def test_a_draft_is_kept_on_disk_and_offered_on_open(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("half a thought")
        kept = made.session.folder.draft_path
        await made.until(lambda: kept.exists() and "half a thought" in kept.read_text(), "the draft")
    async with stage(tmp_path) as made:
        assert made.chat.composer.text == "half a thought"
        assert made.session.submitted == []
        await made.until(lambda: "unsent words of last time" in made.text)
        await made.press("enter")
        await made.until(lambda: not made.session.folder.draft_path.exists(), "no draft")


async def test_prompts_that_waited_are_offered_and_not_sent(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "01SESSION"
    folder.mkdir(parents=True)
    write_draft(folder / "draft.json", Draft(Prompt(), (Prompt("first"), Prompt("second"))))
    async with stage(tmp_path) as made:
        await made.settle()
        assert made.chat.composer.text == "first\n\nsecond"
        assert made.session.submitted == []


async def test_a_paste_is_text_whatever_it_holds(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for text in TEXTS.values():
            made.app.post_message(events.Paste(text[:2000]))
            await made.pilot.pause(0)
            assert not acts(made.chat.composer.text.replace("\n", " "))
            made.chat.composer.clear()


async def test_a_session_that_refuses_gives_the_words_back(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.refuse = "the session can only be read"
        await made.type("hello")
        await made.press("enter")
        await made.until(lambda: "the session can only be read" in made.text)
        assert made.chat.composer.text == "hello"


async def test_question_mark_in_an_empty_composer_is_help_and_else_a_character(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("question_mark")
        await made.until(lambda: len(made.app.screen_stack) == 2, "the help")
        await made.press("escape")
        await made.until(lambda: len(made.app.screen_stack) == 1)
        await made.type("why?")
        assert made.chat.composer.text == "why?"


async def test_what_is_typed_while_the_session_opens_is_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Keep.load
    async with stage(tmp_path) as made:
        chat = made.chat

        async def load(keep: Keep) -> tuple[list[Prompt], Draft]:
            await made.type("early words")
            await made.settle()
            return await loaded(keep)

        monkeypatch.setattr(Keep, "load", load)
        chat._keep = None
        await chat.offer_draft(made.session)
        await made.until(made.session.folder.draft_path.exists, "the draft")


async def test_the_newest_line_stays_in_sight_while_the_composer_grows(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        made.session.emit(TextDelta("\n\n".join(f"line {number}" for number in range(60)) + " the end"))
        made.session.end()
        await made.until(lambda: "the end" in made.text)
        for count in range(1, 4):
            await made.press("ctrl+j")
            await made.until(lambda count=count: made.chat.composer.size.height == count + 1)
            await made.until(lambda: "the end" in made.text, "the newest line")
