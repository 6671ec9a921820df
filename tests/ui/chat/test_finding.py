"""Finding one's way in the chat: the bar, its keys, turns, outputs, the pager."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tests.ui.transcript.test_search import by_hand
from tui_agent import changes
from tui_agent.messages.blocks import text_block


def said_in(view: Stage) -> str:
    bar = view.chat.find_bar
    return bar.said if bar is not None else ""


def number_in(view: Stage) -> int:
    return int(said_in(view).split()[1])


async def find(view: Stage, words: str) -> None:
    await view.press("ctrl+f")
    await view.type(words)
    await view.until(lambda: view.chat.search is not None and view.chat.search.words == words, "the search")
    await view.until(lambda: not view.chat.search or not view.chat.search.busy, "its end")


def many_turns(session: FakeSession) -> None:
    conversation(session.context, 40)


async def test_words_are_found_as_they_are_typed_and_keys_go_from_hit_to_hit(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await find(view, "rows as json")
        total = by_hand(view.session.context.history, "rows as json")
        first = number_in(view)
        for key, by in (("enter", 1), ("down", 1), ("up", -1), ("shift+enter", -1), ("up", -1)):
            before = number_in(view)
            await view.press(key)
            await view.settle()
            assert said_in(view).startswith(f"hit {before + by} of {total}")
        assert number_in(view) == first - 1


async def test_after_the_last_hit_comes_the_first(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await find(view, "question 7")
        assert said_in(view) == "hit 1 of 1"
        assert "> question 7" in view.text
        await view.press("enter")
        await view.settle()
        assert said_in(view) == "hit 1 of 1, from the other end"


async def test_large_letters_count_and_that_is_said(tmp_path: Path) -> None:
    async with stage(tmp_path) as view:
        await find(view, "JSON")
        assert said_in(view).endswith(", case as written")
        await view.press("escape")
        await find(view, "Json")
        assert said_in(view) == "no hit, case as written"


async def test_n_and_N_go_from_hit_to_hit_in_the_chat_and_slash_goes_back_to_the_words(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await find(view, "look at the command")
        first = number_in(view)
        await view.press("tab")
        assert view.app.focused is view.chat.transcript
        await view.press("N", "N", "n")
        await view.until(lambda: number_in(view) == first - 1, "the hit before")
        await view.press("slash")
        await view.until(lambda: view.chat.find_bar is not None and view.chat.find_bar.words.has_focus)
        assert view.chat.composer.text == ""


async def test_esc_closes_and_leaves_the_view_where_it_is(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await find(view, "question 20")
        above = [line for line in view.lines if "question 20" in line and "find" not in line]
        top = view.lines[1]
        await view.press("escape")
        await view.until(lambda: view.chat.find_bar is None, "the bar to close")
        assert view.app.focused is view.chat.composer
        assert view.lines[1] == top
        assert above
        await view.type("n")
        assert view.chat.composer.text == "n"


async def test_the_bar_is_one_row_and_leaves_the_chat_its_rows(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await view.type("a draft\\")
        await view.press("enter", "ctrl+f")
        await view.until(lambda: view.chat.find_bar is not None)
        assert view.chat.find_bar is not None
        assert view.chat.find_bar.size.height == 1
        assert view.chat.transcript.size.height >= 8


async def test_find_as_a_command_takes_the_words(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await view.type("/find question 3")
        await view.press("escape", "enter")
        await view.until(lambda: said_in(view).endswith("of 11"), "the hits")
        assert view.session.performed == []


async def test_hits_follow_while_the_log_grows(tmp_path: Path) -> None:
    async with stage(tmp_path) as view:
        await find(view, "--json")
        total = by_hand(view.session.context.history, "--json")
        view.session.context.say("user", text_block("and --json again"))
        view.session.emit(changes.Appended("user", view.session.context.history[-1].id, 99))
        await view.until(lambda: said_in(view).endswith(f"of {total + 1}"), "the new hit")


async def test_a_history_that_was_rewritten_is_searched_anew(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        await find(view, "rows as json")
        view.session.context.rewrite("revert", 8)
        view.session.emit(changes.Rotated("revert", "context_1.jsonl", 3))
        await view.until(lambda: said_in(view).endswith("of 2"), "the new count")


async def test_what_the_screen_has_not_is_gone_to_all_the_same(tmp_path: Path) -> None:
    async with stage(tmp_path) as view:
        for number in range(3):
            view.session.context.say(
                "user", text_block(f"written by another zebra {number}"), id=f"e{number}"
            )
        await find(view, "another zebra")
        first = number_in(view)
        await view.press("enter")
        await view.settle()
        assert said_in(view) == f"hit {first + 1} of 3"
        assert "written by another zebra 2" in view.text


async def test_find_takes_the_place_of_an_inspector_that_covers_the_chat(tmp_path: Path) -> None:
    async with stage(tmp_path) as view:
        await view.press("f3")
        await view.until(lambda: view.chat.panel is not None and view.chat.panel.has_class("-over"))
        await view.press("ctrl+f")
        await view.until(lambda: view.chat.panel is None and view.chat.find_bar is not None)
        await view.until(lambda: view.chat.find_bar is not None and view.chat.find_bar.words.has_focus)


async def test_turns_by_key_and_what_is_said_at_the_end(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=many_turns) as view:
        for _ in range(3):
            await view.press("ctrl+x", "k")
            await view.settle()
        first = view.lines[1]
        assert first.startswith("> question ")
        await view.press("ctrl+x", "j")
        await view.settle()
        assert view.lines[1] != first
        await view.press("ctrl+home", "ctrl+x", "k")
        await view.until(lambda: "no earlier turn" in view.text, "that there is none")


async def test_ctrl_o_opens_the_newest_output(tmp_path: Path) -> None:
    async with stage(tmp_path) as view:
        assert "def report" not in view.text
        await view.press("ctrl+o")
        await view.settle()
        assert "def report" in view.text
        await view.press("ctrl+o")
        await view.settle()
        assert "def report" not in view.text


async def test_the_pager_gets_the_whole_transcript_as_text_that_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    async def outside(app: object, argv: list[str], *, stdin: IO[str]) -> int:
        assert os.fstat(stdin.fileno()).st_nlink == 0, "a file that is gone with the program"
        shown.append(os.read(stdin.fileno(), 1 << 20).decode())
        assert argv == ["sh", "-c"]
        return 0

    monkeypatch.setenv("PAGER", "sh -c")
    monkeypatch.setattr("tui_agent.ui.outside.run_outside", outside)

    def prepare(session: FakeSession) -> None:
        conversation(session.context, 3)
        session.context.say("user", text_block("\x1b]52;c;aGk=\x07 and \x1b[31mred"))

    async with stage(tmp_path, prepare=prepare) as view:
        await view.press("ctrl+x", "left_square_bracket")
        await view.until(lambda: shown, "the pager")
        text = shown[0]
        assert "\x1b" not in text
        assert "␛]52;c;aGk=␇ and ␛[31mred" in text
        for words in ("question 1", "path: src/report.py", "def report():", "Done: `report --json` prints"):
            assert words in text


async def test_a_pager_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager --flag")
    async with stage(tmp_path) as view:
        await view.press("ctrl+x", "left_square_bracket")
        await view.until(lambda: "no-such-pager" in view.text, "what is missing")
