"""ctrl+r: what was sent before in the workspace, found by its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.ui.stage import Stage, stage
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.history import append_history, read_draft
from tui_agent.ui.chat.keep import HISTORY

SENT = ("fix the report command", "write tests", "fix the parser\nand its tests")


async def search(made: Stage, typed: str = "") -> None:
    """Open the search and type, until the list is that of what was typed."""
    await made.press("ctrl+r")
    await made.until(lambda: made.chat.composer.searching, "the search")
    await made.type(typed)
    completion = made.chat.completion
    await made.until(lambda: completion.word is not None and completion.word.typed == typed, "what was found")


def sent_before(tmp_path: Path) -> None:
    place = tmp_path / "sessions"
    place.mkdir(exist_ok=True)
    for text in SENT:
        append_history(place / HISTORY, Prompt(text))


async def test_the_newest_stands_first_and_enter_takes_it_without_sending(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await search(made)
        assert "> fix the parser␤and its tests" in made.text
        assert (
            made.text.index("fix the parser")
            < made.text.index("write tests")
            < made.text.index("fix the report")
        )
        await made.press("enter")
        await made.settle()
        assert made.chat.composer.text == SENT[2]
        assert made.session.submitted == []
        await made.press("enter")
        await made.until(lambda: made.session.submitted)
        assert made.session.submitted == [(SENT[2], "step")]


async def test_words_typed_filter_and_the_key_again_goes_to_the_next(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await search(made, "FIX the")
        assert "write tests" not in made.text
        await made.press("ctrl+r")
        await made.until(lambda: "> fix the report command" in made.text, "the next one")
        await made.press("enter")
        assert made.chat.composer.text == "fix the report command"


async def test_escape_gives_the_draft_back_as_it_was(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("half a thought")
        await search(made, "parser")
        await made.press("escape")
        await made.until(lambda: made.chat.composer.text == "half a thought")
        assert not made.chat.completion.display
        assert made.session.cancels == 0
        await search(made, "nowhere")
        await made.until(lambda: "nothing that you sent here has these words" in made.text)
        await made.press("enter")
        assert made.chat.composer.searching, "there is nothing to take"
        await made.press("ctrl+c")
        await made.until(lambda: made.session.cancels == 1, "what runs is stopped first")
        await made.press("ctrl+c")
        await made.until(lambda: made.chat.composer.text == "half a thought")


async def test_the_draft_on_disk_is_what_was_written_and_not_what_is_searched(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await made.type("half a thought")
        await search(made, "parser")
        await made.chat.keep()
        assert read_draft(made.session.folder.draft_path).prompt == Prompt("half a thought")


async def test_the_search_opens_from_the_chat_and_is_clicked(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        made.chat.set_focus(made.chat.transcript)
        await search(made)
        row = next(index for index, line in enumerate(made.lines) if "write tests" in line)
        await made.pilot.click(offset=(5, row))
        await made.until(lambda: made.chat.composer.text == "write tests")
        assert not made.chat.composer.searching


async def test_a_card_takes_no_focus_from_a_search(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await search(made)
        made.chat.composer._last_key = float("-inf")
        made.session.ask()
        await made.until(lambda: made.chat.dock.card is not None, "the card")
        assert made.chat.focused is made.chat.composer


async def test_what_covers_the_composer_makes_room_for_the_search(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await made.press("f3")
        await made.until(
            lambda: made.chat.panel is not None and made.chat.panel.has_class("-over"), "the inspector"
        )
        await search(made)
        assert made.chat.panel is None
        await made.press("escape")
        await made.press("f6")
        await made.until(lambda: made.chat.jump is not None, "the jump card")
        await search(made)
        assert made.chat.jump is None


async def test_a_paste_into_the_search_is_searched_for(tmp_path: Path) -> None:
    sent_before(tmp_path)
    async with stage(tmp_path) as made:
        await search(made)
        made.app.post_message(events.Paste("and\nits" + " " * 300 + "no more"))
        await made.until(lambda: made.chat.composer.text == "and its")
        await made.until(lambda: "> fix the parser" in made.text)
        assert made.chat.composer.draft == Prompt()


@pytest.mark.parametrize(
    ("keys", "draft"),
    [
        (("half", "ctrl+r", "be", "ctrl+c"), "half"),
        (("half", "ctrl+r", "be", "escape"), "half"),
        (("ctrl+r", "ctrl+c", "words"), "words"),
        (("ctrl+r", "be", "ctrl+c", "ctrl+c"), ""),
        (("half", "ctrl+c", "up", "!"), "half!"),
        (("half", "ctrl+c", "new"), "new"),
    ],
)
async def test_keys_in_one_burst_act_in_their_order(
    keys: tuple[str, ...], draft: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        made.chat.composer.past.add(Prompt("sent before"))
        for key in keys:
            for character in [key] if "+" in key or key in ("up", "escape") else key:
                made.app.post_message(events.Key(character, character if len(character) == 1 else None))
        await made.settle()
        await made.until(lambda: not made.chat.composer.searching, "the end of the search")
        await made.until(lambda: made.chat.composer.text == draft, draft)
        assert not made.chat.completion.is_open
