"""Keys and characters: what a terminal's user expects of them while writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from textual import events

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import stage
from tui_agent.commands import Command, Outcome
from tui_agent.prompt.skills import Found, Skill
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.chat.files import Files


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["ctrl+left", "X"], "one two Xthree"),
        (["home", "ctrl+right", "X"], "oneX two three"),
        (["ctrl+a", "X"], "Xone two three"),
        (["home", "ctrl+e", "X"], "one two threeX"),
        (["ctrl+w", "X"], "one two X"),
        (["alt+backspace", "X"], "one two X"),
        (["ctrl+u", "X"], "X"),
        (["ctrl+left", "ctrl+u", "X"], "Xthree"),
        (["ctrl+left", "ctrl+k", "X"], "one two X"),
        (["home", "alt+d", "X"], "X two three"),
        (["home", "ctrl+d", "X"], "Xne two three"),
        (["ctrl+w", "ctrl+underscore", "X"], "one two threeX"),
        (["ctrl+w", "ctrl+underscore", "ctrl+y", "X"], "one two X"),
    ],
)
async def test_an_editing_key_does_what_it_does_in_a_shell(
    keys: list[str], text: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        await made.type("one two three")
        await made.settle()
        for key in keys:
            await made.press(key)
            await made.settle()
        assert made.chat.composer.text == text


def test_the_help_names_every_editing_key_and_no_action_takes_one() -> None:
    fixed = {key for action in ACTIONS if action.fixed for key in action.keys}
    assert {
        "ctrl+left",
        "ctrl+right",
        "ctrl+w",
        "ctrl+u",
        "ctrl+k",
        "ctrl+underscore",
        "home",
        "end",
    } <= fixed
    editing = {"ctrl+a", "ctrl+d", "alt+backspace", "alt+d", *fixed}
    assert not editing & {key for action in ACTIONS if not action.fixed for key in action.keys}


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("e\u0301", "\u00e9"),
        ("x\u0301", "x\u0301"),
        ("\u2764\ufe0f!", "\u2764!"),
        ("\U0001f44d\U0001f3fd!", "\U0001f44d!"),
        ("\u65e5\u672c\u8a9e", "\u65e5\u672c\u8a9e"),
        ("\u05e9\u05dc\u05d5\u05dd abc", "\u05e9\u05dc\u05d5\u05dd abc"),
    ],
)
async def test_typed_characters_are_as_wide_as_every_terminal_shows_them(
    typed: str, shown: str, tmp_path: Path
) -> None:
    async with stage(tmp_path) as made:
        for character in typed:
            made.app.post_message(events.Key(character, character))
        await made.until(lambda: made.chat.composer.text == shown)
        await made.press("backspace")
        await made.until(lambda: made.chat.composer.text == shown[:-1])


async def test_every_place_gives_printable_keys_to_the_composer(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.chat.set_focus(made.chat.transcript)
        await made.type("\u65e5\u672c")
        await made.until(lambda: made.chat.composer.text == "\u65e5\u672c")


async def test_a_name_typed_in_one_burst_with_enter_does_what_it_says(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for character in "/redo":
            made.app.post_message(events.Key("slash" if character == "/" else character, character))
        made.app.post_message(events.Key("enter", "\r"))
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("redo",)]
        await made.settle()
        assert not made.chat.completion.display, "no list is left behind"


async def test_how_a_command_is_used_is_shown_while_its_argument_is_written(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/rename x")
        await made.until(lambda: "/rename TITLE  give the session another title" in made.text, "the usage")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("rename", "x")]


async def test_the_turns_that_can_be_gone_back_to_are_offered_newest_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("/rewind ")
        await made.until(lambda: made.chat.completion.is_open, "the turns")
        assert made.text.index("2  add a --json flag") < made.text.index("0  question 1")
        await made.press("down", "enter")
        assert made.chat.composer.text == "/rewind 0"
        assert made.session.performed == []
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("rewind", "0")]


async def test_skills_are_offered_by_name_with_what_each_is_for(tmp_path: Path) -> None:
    async def skill(session: FakeSession, *words: str) -> Outcome:
        return Outcome()

    def prepare(session: FakeSession) -> None:
        session.commands.add(Command("skill", skill, "[NAME [WORDS]]"))
        review = SimpleNamespace(name="tracker:review", description="Review a change.")
        session.servers = SimpleNamespace(prompts=lambda: [review])
        session.skills = Found(
            (
                Skill("Deploy-web", "Deploy the [bold] web app.", "body", "a/SKILL.md"),
                Skill("notes", "Write the notes of a release.", "body", "b/SKILL.md"),
            )
        )

    async with stage(tmp_path, prepare=prepare) as made:
        await made.type("/skill ")
        await made.until(lambda: made.chat.completion.wanted_rows == 2, "both")
        assert "Deploy the [bold] web app." in made.text
        await made.type("de")
        await made.until(lambda: made.chat.completion.wanted_rows == 1, "the one that begins so")
        await made.press("tab")
        assert made.chat.composer.text == "/skill Deploy-web"
        await made.type(" to staging")
        await made.until(lambda: "/skill [NAME [WORDS]]" in made.text, "the usage")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("skill", "Deploy-web", "to staging")]
        await made.type("/no")
        await made.until(
            lambda: "> /notes [WORDS]    Write the notes" in made.text, "the skill by its name alone"
        )
        await made.press("tab")
        assert made.chat.composer.text == "/notes "
        await made.type("of 1.1")
        await made.press("enter")
        await made.until(lambda: made.session.performed[1:])
        assert made.session.performed[1] == ("notes", "of 1.1")
        await made.type("/tracker:")
        await made.until(
            lambda: "/tracker:review [WORDS]  Review a change." in made.text, "a server's prompt"
        )
        await made.press("tab")
        await made.type("12")
        await made.press("enter")
        await made.until(lambda: made.session.performed[2:])
        assert made.session.performed[2] == ("tracker:review", "12")


async def test_an_argument_typed_whole_is_sent_whatever_else_is_offered(tmp_path: Path) -> None:
    def prepare(session: FakeSession) -> None:
        conversation(session.context, turns=8)

    async with stage(tmp_path, prepare=prepare) as made:
        await made.type("/revert 1")
        await made.until(lambda: made.chat.completion.is_open, "14, 12 and 10")
        await made.press("enter")
        await made.until(lambda: made.session.performed)
        assert made.session.performed == [("revert", "1")]
        await made.type("/revert 1")
        await made.until(lambda: made.chat.completion.is_open, "the turns again")
        await made.press("tab")
        assert made.chat.composer.text == "/revert 14"


async def test_a_workspace_that_takes_long_to_list_holds_no_key_up(tmp_path: Path) -> None:
    go_on = Event()

    def walk(root: Path) -> Iterator[Path]:
        go_on.wait(20)
        yield from (root / "src" / f"module_{number}.py" for number in range(50_000))

    try:
        async with stage(tmp_path) as made:
            made.chat._files = Files(made.app.wanted.workspace, walk)
            await made.type("see @mod")
            await made.type("ule_49999")
            assert made.chat.composer.text == "see @module_49999"
            assert not made.chat.completion.is_open
            go_on.set()
            await made.until(lambda: made.chat.completion.is_open, "the files")
            assert "src/module_49999.py" in made.text
    finally:
        go_on.set()


async def test_a_list_of_files_that_comes_after_the_words_were_sent_is_not_shown(tmp_path: Path) -> None:
    go_on = Event()

    def walk(root: Path) -> Iterator[Path]:
        go_on.wait(20)
        yield root / "x.py"

    try:
        async with stage(tmp_path) as made:
            made.chat._files = Files(made.app.wanted.workspace, walk)
            await made.type("@x")
            await made.press("enter")
            await made.until(lambda: made.session.submitted)
            go_on.set()
            await made.chat._files.match("x")
            await made.settle()
            assert not made.chat.completion.display
    finally:
        go_on.set()
