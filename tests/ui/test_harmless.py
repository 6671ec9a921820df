"""The last border: no line of any widget acts, and each keeps its width."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.widgets import Input

from tests.support.hostile import TEXTS, acts
from tests.ui.stage import stage
from tui_agent.ui.harmless import Harmless

BLACK = Color(0, 0, 0)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_line_of_any_text_is_harmless_and_as_wide_as_before(name: str) -> None:
    text = " ".join(TEXTS[name][:3_000].split("\n"))
    (made,) = Harmless().apply([Segment(text)], BLACK)
    assert not acts(made.text)
    assert cell_len(made.text) == cell_len(text)


def test_what_is_harmless_is_left_alone() -> None:
    segments = [Segment("plain"), Segment("日本 é"), Segment("─┐ ▎")]
    assert Harmless().apply(segments, BLACK) is segments


async def test_every_widget_passes_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.chat.composer.insert("access \u202euser\u202c \x1b[31m ❤️ 👍🏽")
        made.app.notify("\x1b]52;c;eA==\x07 \u202etxt", title="a\x9b31mb", markup=False)
        field = Input("\u202e\x1b[2J")
        field.border_title = "\x1b[31m"
        field.tooltip = "\x9d"
        await made.chat.mount(field)
        await made.settle()
        assert "access user" in made.text
        assert not acts(made.text)


async def test_an_input_that_copies_nothing_leaves_the_clipboard_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        made.app.copy_to_clipboard("words")
        made.app.copy_to_clipboard("")
        assert made.app.clipboard == "words"
