"""Copying in the chat: what ctrl+c takes, where it goes, what is said of it, and whose the mouse is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events

from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.ui.chat import copying

ANSWER = "Done: `report --json` prints the rows as JSON."


async def _select(made: Stage, first: str, last: str) -> None:
    """Drag from the beginning of one text of the chat to the end of another."""
    lines = made.lines
    start_y = max(y for y, line in enumerate(lines) if first in line)
    end_y = max(y for y, line in enumerate(lines) if last in line)
    start = lines[start_y].index(first), start_y
    x, y = lines[end_y].index(last) + len(last) - 1, end_y
    await made.pilot.mouse_down(offset=start)
    made.app.screen._forward_event(events.MouseMove(None, x, y, 0, 0, 1, False, False, False, x, y))
    await made.pilot.mouse_up(offset=(x, y))
    await made.settle()


async def test_ctrl_c_copies_what_is_selected_in_the_chat_and_the_composer_keeps_the_focus(
    tmp_path: Path, clipboard: list[str]
) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        await made.type("a draft")
        await _select(made, "Done:", "JSON.")
        assert made.app.focused is made.chat.composer
        assert "^c copy" in made.lines[-1]
        await made.press("ctrl+c")
        await made.until(lambda: clipboard == [ANSWER], "the clipboard")
        await made.until(lambda: "copied: 46 characters" in made.text)
        assert made.session.cancels == 0
        assert made.chat.selected is None
        assert made.chat.composer.text == "a draft"
        await made.press("ctrl+c")
        await made.until(lambda: made.session.cancels == 1, "the next one stops")


async def test_what_no_program_took_was_sent_to_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Callable[[], list[str] | None]] = [lambda: None, lambda: ["false"]]
    for command in answers:
        monkeypatch.setattr(copying, "clipboard_command", command)
        async with stage(tmp_path) as made:
            await _select(made, "Done:", "JSON.")
            await made.press("ctrl+c")
            await made.until(lambda: made.app.clipboard == ANSWER, "the terminal's clipboard")
            await made.until(lambda: "sent to the terminal: " in made.text)
            assert "copied" not in made.text


async def test_only_one_thing_is_selected(tmp_path: Path, clipboard: list[str]) -> None:
    async with stage(tmp_path) as made:
        await made.type("a draft")
        await made.press("shift+home")
        await _select(made, "Done:", "JSON.")
        assert made.chat.composer.selected_text == ""
        await made.press("end", "shift+home")
        await made.press("ctrl+c")
        await made.until(lambda: clipboard == ["a draft"], "the newer one")


async def test_escape_and_a_click_select_nothing_and_escape_stops_what_runs_first(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await _select(made, "Done:", "JSON.")
        await made.press("escape")
        assert made.chat.selected is None
        await _select(made, "Done:", "JSON.")
        made.session.begin()
        await made.settle()
        await made.press("escape")
        await made.until(lambda: made.session.cancels == 1)
        assert made.chat.selected is not None


async def test_selecting_with_keys_in_the_chat(tmp_path: Path, clipboard: list[str]) -> None:
    async with stage(tmp_path) as made:
        made.chat.set_focus(made.chat.transcript)
        await made.press("left_square_bracket", "right_square_bracket", "shift+end")
        await made.settle()
        await made.press("ctrl+c")
        await made.until(lambda: len(clipboard) == 1, "the clipboard")
        assert clipboard == [ANSWER]


async def test_selecting_in_the_preview_of_a_checkpoint(tmp_path: Path, clipboard: list[str]) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await made.press("f6")
        await made.until(lambda: made.chat.jump is not None and made.chat.jump.preview.entries)
        await made.settle()
        await _select(made, "question 1", "question 1")
        await made.press("ctrl+c")
        await made.until(lambda: clipboard == ["question 1"], "the clipboard")


async def test_a_selection_in_the_chat_is_held_while_a_turn_goes_on(
    tmp_path: Path, clipboard: list[str]
) -> None:
    async with stage(tmp_path) as made:
        await _select(made, "Done:", "JSON.")
        made.session.begin("more")
        for number in range(60):
            made.session.emit(said.TextDelta(f"line {number}\n\n"))
        await made.until(lambda: "new lines below" in made.text)
        assert "Done: report" in made.text
        await made.press("ctrl+c")
        await made.until(lambda: clipboard == [ANSWER], "the clipboard")
        await made.until(lambda: "line 59" in made.text, "the end is followed again")


async def test_the_mouse_is_given_away_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(copying, "set_mouse", lambda app, *, on: told.append(on))
    async with stage(tmp_path) as made:
        await made.press("ctrl+x", "s")
        await made.until(lambda: "the terminal has the mouse now; ^x s takes it back" in made.text)
        await made.type("/mouse")
        await made.press("enter")
        await made.until(lambda: "the mouse is back" in made.text)
        assert told == [False, True]


@pytest.mark.parametrize("far", [False, True])
async def test_a_link_opens_here_and_is_copied_over_ssh(
    far: bool, tmp_path: Path, clipboard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_TTY", raising=False)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if far:
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    opened: list[str] = []
    async with stage(tmp_path) as made:
        made.app.open_url = lambda url, *, new_tab=True: opened.append(url)  # type: ignore[method-assign]
        made.session.begin("where?")
        made.session.emit(said.TextDelta("see [the page](https://example.org/a) there"))
        await made.until(lambda: "the page" in made.text)
        y = next(y for y, line in enumerate(made.lines) if "the page" in line)
        x = made.lines[y].index("the page")
        told = {part.style.link for part in made.app.screen._compositor.render_strips()[y] if part.style}
        assert told == {None, "https://example.org/a"}, "the terminal is told the address (OSC 8)"
        await made.pilot.click(offset=(x + 1, y))
        await made.until(lambda: opened or clipboard)
        assert (opened, clipboard) == (
            ([], ["https://example.org/a"]) if far else (["https://example.org/a"], [])
        )


async def test_what_a_shell_would_obey_is_copied_as_signs_and_that_is_said(
    tmp_path: Path, clipboard: list[str]
) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        made.session.emit(said.TextDelta("First\x1b[201~\x9b31m\x07last."))
        await made.until(lambda: "last." in made.text)
        await _select(made, "First", "last.")
        await made.press("ctrl+c")
        await made.until(lambda: clipboard == ["First␛[201~<U+009B>31m␇last."], "the clipboard")
        await made.until(lambda: "control characters as signs" in " ".join(made.text.split()))


async def test_ctrl_c_stops_nothing_just_after_what_was_selected_went_away(
    tmp_path: Path, clipboard: list[str]
) -> None:
    async with stage(tmp_path) as made:
        made.session.begin()
        made.session.emit(
            said.ToolStarted("c", "bash", "make", {}), said.ToolProgress("c", "one two three\n")
        )
        await made.until(lambda: "make" in made.text)
        await made.press("ctrl+o")
        await made.until(lambda: "one two three" in made.text)
        await _select(made, "two", "three")
        assert made.chat.selected is not None
        made.session.emit(said.ToolEnded("c", "bash", "make", "ok", "", "something else\n", 15, 1.0))
        await made.until(lambda: made.chat.selected is None)
        await made.press("ctrl+c")
        await made.until(lambda: "what was selected is not there any more" in made.text)
        assert made.session.cancels == 0
        await made.press("ctrl+c")
        await made.until(lambda: made.session.cancels == 1)
        assert not clipboard
