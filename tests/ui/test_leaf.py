"""A long text to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.support.hostile import TEXTS, acts
from tui_agent.ui.leaf import Leaf, broken

WORDS = st.text(st.sampled_from("ab  会話é\u0301🙂"), max_size=80)


@given(WORDS, st.integers(2, 30))
def test_rows_fit_and_hold_the_whole_line(line: str, width: int) -> None:
    rows = list(broken(line, width))
    assert "".join(rows) == line
    assert all(cell_len(row) <= width for row in rows)


def test_a_row_ends_at_a_space_where_one_is_near() -> None:
    assert list(broken("the parser reads each line", 12)) == ["the parser ", "reads each ", "line"]


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield Leaf()


def _shown(leaf: Leaf) -> list[str]:
    return [leaf.render_line(y).text.rstrip() for y in range(leaf.size.height)]


async def _until(pilot: Pilot[None], done: Callable[[], bool]) -> None:
    """Let the app work until it is done (the test's time limit ends a hang)."""
    while not done():
        await pilot.pause(0.01)


async def test_it_is_read_by_keys_and_stays_where_one_was_when_told_anew() -> None:
    async with Host().run_test(size=(20, 5)) as pilot:
        leaf = pilot.app.query_one(Leaf)
        leaf.focus()
        leaf.show([(f"line {n}", "bold" if n == 0 else "") for n in range(100)])
        await _until(pilot, lambda: leaf.show_vertical_scrollbar and leaf.has_focus)
        await pilot.press("end")
        await _until(pilot, lambda: _shown(leaf)[-1] == "line 99")
        leaf.show([(f"row {n}", "") for n in range(100)], top=False)
        await _until(pilot, lambda: _shown(leaf)[-1] == "row 99")
        leaf.show([("other", "")])
        await _until(pilot, lambda: _shown(leaf)[0] == "other")


@pytest.mark.parametrize("name", TEXTS)
async def test_no_text_acts(name: str) -> None:
    async with Host().run_test(size=(40, 10)) as pilot:
        leaf = pilot.app.query_one(Leaf)
        leaf.show([(TEXTS[name], "")])
        await pilot.pause()
        assert not [row for row in _shown(leaf) if acts(row)]
