"""The help: what can be pressed here first, then everything; and the palette, which finds the same by its letters."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.color import Color

from tests.support.examples import some
from tests.ui.spots import EVERY, at
from tests.ui.stage import Stage, stage
from tui_agent.settings.schema import Settings
from tui_agent.ui.help import HERE, HelpScreen
from tui_agent.ui.palette import Finder

_SAID = {
    "composer": ("the composer", "what you save is the draft"),
    "history search": ("search what you sent", "the next that was found"),
    "completion": ("completion", "take the marked one"),
    "chat": ("the chat", "open or fold the block"),
    "hits": ("the chat", "the next hit, the hit before"),
    "find bar": ("find", "close the search"),
    "card": ("the card", "once"),
    "reply line": ("your words on the card", "give these words"),
    "jump card": ("go back", "scroll the preview"),
    "records": ("the inspector, records", "page the opened row"),
    "backups": ("the inspector, backups", "restore"),
    "filter of records": ("the filter of records", "no filter"),
    "settings": ("settings", "change"),
    "filter of sessions": ("sessions", "no filter"),
    "value of a setting": ("settings", "take what was typed"),
    "no session yet": ("the composer", "send the words to the model"),
}
"""Place -> its name in the help, and a part of what can be pressed there."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", some(_SAID, 4))
async def test_the_help_begins_with_what_can_be_pressed_here(place: str, tmp_path: Path) -> None:
    name, words = _SAID[place]
    async with at(tmp_path, EVERY[place], (100, 40)) as made:
        screen, focused = made.app.screen, made.app.focused
        await made.press("f1")
        await _open(made)
        assert f"{HERE}{name}" in made.text.split("Writing")[0]
        assert words in made.text
        await made.press("escape")
        await made.until(lambda: made.app.screen is screen)
        assert made.app.focused is focused


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", ["composer", "chat", "records", "jump card", "queue"])
async def test_a_question_mark_asks_where_it_would_begin_a_draft(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, EVERY[place]) as made:
        await made.type("?")
        await _open(made)
        assert made.chat.composer.text == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", ["draft", "find bar", "filter of sessions"])
async def test_a_question_mark_is_a_word_where_words_are_written(place: str, tmp_path: Path) -> None:
    async with at(tmp_path, EVERY[place]) as made:
        screen = made.app.screen
        await made.type("?")
        await made.settle()
        assert made.app.screen is screen


async def test_footer_help_and_palette_show_the_keys_in_force(tmp_path: Path) -> None:
    settings = Settings(keys={"leader": "ctrl+]", "jump": "ctrl+] z, f8", "nothing": "f5"})
    async with stage(tmp_path, size=(120, 36), settings=settings) as made:
        await made.until(lambda: "there is no such action" in made.text)
        assert "^] z jump back" in made.lines[-1]
        await made.press("f8")
        await made.until(lambda: made.chat.jump is not None)
        assert "^] more" in made.lines[-1]
        await made.press("escape")
        await made.until(lambda: made.chat.jump is None)
        await made.press("ctrl+right_square_bracket", "z")
        await made.until(lambda: made.chat.jump is not None)
        await made.press("escape")
        await made.until(lambda: made.chat.jump is None)
        await made.press("f1")
        await _open(made)
        assert "there is no such action" in made.text
        page = made.app.screen.query_one("#help Static").visual.plain  # type: ignore[attr-defined]
        assert "^] z  F8" in page and "^x" not in page.split("Your own keys")[0].split("Commands")[0]
        await made.press("ctrl+p")
        await made.until(lambda: isinstance(made.app.screen, Finder) and "^] z  F8" in made.text)


async def test_the_palette_finds_by_words_keys_and_commands_and_fits_a_small_screen(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for typed, row in (
            ("jmp", "jump back  ^x g"),
            ("F9", "model  ^x m"),
            ("/restore", "restore  /restore"),
        ):
            await made.press("ctrl+p")
            await made.until(lambda: isinstance(made.app.screen, Finder))
            await made.type(typed)
            await made.until(partial(_shows, made, row))
            assert all(len(line.rstrip()) <= 80 for line in made.lines)
            await made.press("escape")
            await made.until(lambda: made.app.screen is made.chat)


async def test_a_row_of_the_palette_is_chosen_by_key_and_by_mouse(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        done: list[str] = []
        made.chat.acts["undo"] = lambda: done.append("undo")
        for click in (False, True):
            await made.press("ctrl+p")
            await made.until(lambda: isinstance(made.app.screen, Finder))
            await made.type("undo")
            await made.until(lambda: "undo  ^x u" in made.text)
            if click:
                row = next(index for index, line in enumerate(made.lines) if "undo  ^x u" in line)
                await made.pilot.click(offset=(made.lines[row].index("undo"), row))
            else:
                await made.press("enter")
            await made.until(lambda: done)
            assert done.pop() == "undo"
            await made.until(lambda: made.app.screen is made.chat)


def _shows(made: Stage, words: str) -> bool:
    return words in made.text


async def _open(made: Stage) -> None:
    await made.until(lambda: isinstance(made.app.screen, HelpScreen))
    await made.settle()


@pytest.mark.usefixtures("quick")
async def test_the_help_that_is_opened_again_begins_at_its_top_and_tells_of_the_other_place(
    tmp_path: Path,
) -> None:
    async with at(tmp_path, EVERY["composer"], (100, 30)) as made:
        await made.press("f1")
        await _open(made)
        first = made.app.screen
        await made.press("pagedown", "escape")
        await made.until(lambda: made.app.screen is made.chat)
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is not None and made.app.focused is made.chat.panel.tab.rows)
        await made.press("f1")
        await _open(made)
        assert made.app.screen is first
        assert f"{HERE}the inspector, records" in made.lines[1]


async def test_the_help_that_is_opened_again_has_the_theme_and_the_size_of_now(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f1")
        await _open(made)
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)
        made.app.theme = "textual-light"
        await made.settle()
        await made.pilot.resize_terminal(80, 24)
        await made.press("f1")
        await _open(made)
        ground = Color.parse(made.app.get_css_variables()["surface"])
        assert made.app.screen.query_one("#help").styles.background == ground
        assert max(map(len, map(str.rstrip, made.lines))) <= 80 and made.lines[-1].startswith("╰")


async def test_what_is_selected_in_the_help_is_copied(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f1")
        await _open(made)
        row = next(index for index, line in enumerate(made.lines) if "Writing" in line)
        column = made.lines[row].index("Writing")
        await made.pilot.mouse_down(offset=(column, row))
        await made.pilot.hover(offset=(column + 7, row))
        await made.pilot.mouse_up(offset=(column + 7, row))
        assert made.app.screen.get_selected_text() == "Writing"
        style = made.app.screen._compositor.render_strips()[row].crop(column, column + 7)
        assert {segment.style.bgcolor for segment in style if segment.style} != {None}
