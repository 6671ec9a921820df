"""A text of any length, word for word: how it is broken into rows, and where in it words stand."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_agent import literal
from tui_agent.ui import exact
from tui_agent.ui.exact import Broken

_TEXT = st.text(st.sampled_from("ab \n漢é"), max_size=200)


@settings(max_examples=150, deadline=None)
@given(_TEXT, st.integers(2, 30))
def test_the_rows_are_the_text_in_order_and_none_is_wider_than_there_is_room(text: str, width: int) -> None:
    broken = Broken.of(text, width)
    rows = [broken.row(number) for number in range(len(broken))]
    assert all(cell_len(row) <= width for _, row in rows)
    assert all(text.startswith(row, start) for start, row in rows)
    gaps = zip(rows, [*rows[1:], (len(text) + 1, "")], strict=True)
    assert all(
        after - (start + len(row)) == (text[start + len(row) : after] == "\n" or after > len(text))
        for (start, row), (after, _) in gaps
    )
    assert "".join(row for _, row in rows) == text.replace("\n", "")


@settings(max_examples=60, deadline=None)
@given(_TEXT.filter(bool), st.integers(2, 30), st.data())
def test_a_character_is_found_in_the_row_it_stands_in(text: str, width: int, data: st.DataObject) -> None:
    broken = Broken.of(text, width)
    at = data.draw(st.integers(0, len(text) - 1))
    start, row = broken.row(broken.row_of(at))
    assert start <= at <= start + len(row)


def test_a_line_longer_than_what_is_broken_at_a_time_goes_on_where_it_was() -> None:
    text = "0123456789" * 1_000
    broken = Broken.of(text, 7)
    assert "".join(broken.row(number)[1] for number in range(len(broken))) == text
    assert len(broken) < len(text) / 7 + 10
    assert broken.row(broken.row_of(4_321))[0] <= 4_321


def test_nothing_is_one_empty_row() -> None:
    assert [Broken.of("", 10).row(0)] == [(0, "")]


def test_words_are_found_wherever_slices_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "needle, Needle and NEEDLE; neneedle " * 20
    wanted = [match.start() for match in re.finditer("needle", text, re.IGNORECASE)]
    for size in (7, 8, 13, 1_000):
        monkeypatch.setattr(exact, "_SLICE", size)
        assert list(exact._hits(text, "needle")) == wanted, size


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from("ab \n\t漢\x1b"), max_size=200))
def test_a_text_made_fit_in_slices_says_what_it_does_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(exact, "_SLICE", 9)
    whole, shown = exact._made(lambda: text)
    assert whole == text == "".join(exact._slices(text))
    assert shown.replace(" ", "") == literal.visible(text).replace("\t", "").replace(" ", "")
