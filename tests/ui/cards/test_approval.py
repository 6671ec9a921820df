"""The approval card: once, a rule, no, no because, edited first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.stage import Stage, stage
from tui_agent.events import Answer
from tui_agent.ui.cards.change import diff_content

pytestmark = pytest.mark.usefixtures("quick")

LONG = "\n".join(f"echo line {number}" for number in range(40))
DIFF = "--- a/src/report.py\n+++ b/src/report.py\n@@ -1,2 +1,3 @@\n def report():\n-    old\n+    new\n+    more\n"


async def _ask(made: Stage, **changes: object) -> None:
    made.session.ask(**changes)
    await made.until(lambda: made.chat.dock.card is not None, "the card")


async def _answer(made: Stage) -> Answer:
    await made.until(lambda: made.session.answers, "the answer")
    return made.session.answers[-1][1]


async def test_the_card_shows_the_command_its_place_and_the_rule(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        assert "run this command?" in made.text
        assert "$ pnpm test --filter web --reporter verbose" in made.text
        assert "in ~/work/shop" in made.text
        assert "a rule would read: bash:pnpm test*" in made.text
        assert "[y] once  [w] write a rule  [n] no  [t] no, tell why  [e] edit first" in made.text


async def test_a_rule_is_shown_before_it_is_saved_and_holds_for_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("w")
        await made.until(lambda: "the rule bash:pnpm test*" in made.text, "the rule")
        assert "allows all commands that begin with pnpm test" in made.text
        assert "for this session only" in made.text
        assert made.session.answers == []
        await made.press("y")
        assert await _answer(made) == Answer("session", rule="bash:pnpm test*")


async def test_s_switches_a_rule_between_session_and_settings(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("w")
        await made.until(lambda: "for this session" in made.text)
        await made.press("s")
        await made.until(lambda: "in settings, for every session" in made.text, "settings")
        await made.press("y")
        assert await _answer(made) == Answer("always", rule="bash:pnpm test*")


async def test_a_rule_can_be_edited_before_it_is_saved(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("w")
        await made.until(lambda: "for this session" in made.text)
        await made.press("e")
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.words != "")
        await made.press(*["backspace"] * 5)
        await made.type("run*")
        await made.press("enter")
        await made.until(lambda: "bash:pnpm run*" in made.text, "the edited rule")
        await made.press("y")
        assert await _answer(made) == Answer("session", rule="bash:pnpm run*")


async def test_n_in_a_rule_goes_back_and_refuses_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("w")
        await made.until(lambda: "for this session" in made.text)
        await made.press("n")
        await made.until(lambda: "[t] no, tell why" in made.text, "the first choices")
        assert made.session.answers == []


async def test_t_tells_the_model_why_not(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("t")
        await made.until(lambda: "no, because" in made.text)
        await made.type("use pnpm")
        await made.press("enter")
        assert await _answer(made) == Answer("no", note="use pnpm")


async def test_an_edited_command_is_shown_again_and_run_as_edited(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, body="rm -r build")
        await made.press("e")
        await made.until(
            lambda: made.chat.dock.card is not None and made.chat.dock.card.words == "rm -r build"
        )
        await made.type("/tmp")
        await made.press("enter")
        await made.until(lambda: "$ rm -r build/tmp" in made.text and "as edited by you" in made.text)
        assert made.session.answers == []
        assert "write a rule" not in made.text and "a rule would read" not in made.text
        await made.press("y")
        assert await _answer(made) == Answer("once", edited="rm -r build/tmp")


async def test_a_long_command_must_be_scrolled_to_its_end_before_y_acts(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, body=LONG)
        assert "more lines below: Space or Down" in made.text
        await made.press("y")
        await made.until(lambda: "scroll to the end first" in made.text, "the hint")
        assert made.session.answers == []
        while made.chat.dock.card is not None and made.chat.dock.card.unread:
            await made.press("space")
        assert "echo line 39" in made.text
        await made.press("y")
        assert (await _answer(made)).verdict == "once"


async def test_down_scrolls_before_it_chooses(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, body=LONG)
        await made.press("down", "down", "enter")
        await made.settle()
        assert made.session.answers == []
        assert "echo line 2" in made.text
        assert "echo line 1\n" not in made.text


async def test_a_diff_is_shown_with_its_signs(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, tool="edit_file", title="make this change?", body="", diff=DIFF, editable="")
        for line in ("src/report.py  +2 -1", "2 -     old", "2 +     new", "3 +     more"):
            assert line in made.text
        assert "[e] edit first" not in made.text
        await made.press("y")
        assert await _answer(made) == Answer("once")


async def test_a_path_outside_the_workspace_is_warned_of_and_offers_no_rule(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, warning="outside the workspace: /etc/passwd", rule="")
        assert "outside the workspace: /etc/passwd" in made.text
        assert "[w]" not in made.text


async def test_without_an_editable_argument_there_is_nothing_to_edit(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, editable="")
        assert "edit first" not in made.text


def test_a_diff_names_its_file_once_and_shows_lines_that_look_like_headers() -> None:
    shown = diff_content("--- a/x.sql\n+++ b/x.sql\n@@ -1 +1 @@\n--- old\n+++ new\n").plain
    assert shown == "x.sql  +1 -1\n1 - -- old\n1 + ++ new"
    assert diff_content("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n").plain.startswith("x  new file  +1 -0")


async def test_a_rule_that_is_none_is_not_saved(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made)
        await made.press("w")
        await made.until(lambda: "for this session" in made.text)
        await made.press("e")
        await made.until(lambda: made.chat.dock.card is not None and made.chat.dock.card.words != "")
        await made.press("home")
        await made.settle()
        await made.press("x")
        await made.press("enter")
        await made.until(lambda: "is no rule for bash" in made.text, "what is wrong with it")
        await made.press("y")
        await made.until(lambda: "that is no rule" in made.text, "the refusal")
        assert made.session.answers == []


async def test_a_warning_stays_while_a_rule_a_hint_or_a_line_is_shown(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, warning="outside the workspace: /etc/passwd")
        for key, shown in (
            ("enter", "choose with Down"),
            ("t", "no, because"),
            ("escape", ""),
            ("w", "the rule"),
        ):
            await made.press(key)
            await made.until(lambda shown=shown: shown in made.text, shown)  # type: ignore[misc]
            assert "outside the workspace: /etc/passwd" in made.text


async def test_a_long_command_is_edited_in_a_line_of_six_rows_in_the_same_ten(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _ask(made, body=LONG, warning="outside the workspace: /etc/passwd")
        await made.press("e")
        card = made.chat.dock.card
        assert card is not None
        await made.until(lambda: card.words == LONG, "the command to edit")
        assert "echo line 39" in made.text and "echo line 34" in made.text
        assert "outside the workspace: /etc/passwd" in made.text
        assert card.outer_size.height <= 10 and made.chat.transcript.size.height >= 8
        await made.press("ctrl+j")
        await made.type("echo done")
        await made.press("enter")
        await made.until(lambda: "as edited by you" in made.text, "the edited command")
        await made.press("y")
        await made.until(lambda: "scroll to the end first" in made.text, "the end is not seen yet")
        for _ in range(20):
            if card.unseen:
                await made.press("space")
        await made.press("y")
        assert await _answer(made) == Answer("once", edited=LONG + "\necho done")
