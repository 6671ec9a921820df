"""The last line: at most six entries, never a cut word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor

from tests.ui.stage import stage
from tui_agent.ui.footer import MOST, Entry, fitting, line, rows

ENTRIES = [
    Entry("Tab", "answer", "a", rank=0),
    Entry("^c", "stop", "b", rank=0),
    Entry("^x g", "jump back", "c", rank=0),
    Entry("^x i", "inspect", "d", rank=2),
    Entry("^x u", "undo", "e", rank=3),
    Entry("?", "keys", "f", right=True),
    Entry("^p", "commands", "g", right=True),
]


@pytest.mark.parametrize("width", range(10, 130))
def test_no_word_is_ever_cut_and_no_more_than_six_are_shown(width: int) -> None:
    text = line(ENTRIES, width).plain
    kept = fitting(ENTRIES, width)
    assert len(kept) <= MOST
    assert len(text) <= max(width, 1)
    for entry in ENTRIES:
        shown = f"{entry.key} {entry.words}"
        assert (shown in text) == (entry in kept)


def test_the_way_back_stays_longest() -> None:
    kept = [entry.words for entry in fitting(ENTRIES, 42)]
    assert "jump back" in kept and "stop" in kept and "answer" in kept
    assert "undo" not in kept


def test_entries_of_the_right_edge_stand_there() -> None:
    assert line(ENTRIES[:3] + ENTRIES[5:], 80).plain.endswith("? keys  ^p commands")


def test_letters_break_into_rows_between_entries() -> None:
    made = rows([Entry(letter, "some words", "") for letter in "abcdefghij"], 40)
    assert len(made) == 5
    assert all(sum(entry.cells + 2 for entry in row) <= 40 for row in made)


async def test_after_the_leader_key_every_letter_is_there_to_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.press("ctrl+x")
        await made.settle()
        letters = made.chat.letters()
        assert len(letters) > 12
        assert [entry.words for entry in letters if f"{entry.key} {entry.words}" not in made.text] == []
        assert made.chat.transcript.size.height >= 8


async def test_the_letters_lie_over_the_screen_and_move_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await made.type("a draft")
        regions = {
            widget: widget.region for widget in made.chat.query("*") if widget is not made.chat.key_line
        }
        before = made.lines
        await made.press("ctrl+x")
        await made.until(lambda: made.chat.key_line.size.height > 1)
        assert {widget: widget.region for widget in regions} == regions
        assert made.lines[:-5] == before[:-5]
        await made.press("escape")
        await made.until(lambda: made.lines == before)


async def test_a_change_of_focus_draws_no_whole_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    for name in ("render_full_update", "reflow"):
        original = getattr(Compositor, name)

        def counted(*args: Any, _name: str = name, _original: Any = original, **options: Any) -> Any:
            drawn.append(_name)
            return _original(*args, **options)

        monkeypatch.setattr(Compositor, name, counted)
    async with stage(tmp_path, size=(140, 36)) as made:
        await made.press("ctrl+x", "i")
        composer = made.app.screen.query_one("#composer")
        await made.until(lambda: not composer.has_focus)
        await made.pilot.pause()
        assert drawn
        drawn.clear()
        await made.press("escape")
        await made.until(lambda: composer.has_focus)
        await made.pilot.pause()
        assert not drawn
