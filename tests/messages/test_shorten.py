"""Long text is cut to what fits, says what is missing, and parts no character."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.messages.shorten import shorten, truncated

NOTE = re.compile(r"\[\.\.\. (\d+) lines?, (\d+) characters? left out \.\.\.\]")
LINES = "".join(f"line {n}\n" for n in range(1000))


def parts(text: str) -> tuple[str, str]:
    """What stands before and behind the note."""
    match = NOTE.search(text)
    assert match is not None
    return text[: match.start()], text[match.end() :]


def test_text_within_the_limit_comes_back_as_it_is() -> None:
    assert shorten("", 10) == ""
    assert shorten("a" * 10, 10) == "a" * 10


def test_head_and_tail_lines_stay_whole_and_the_note_counts_what_is_missing() -> None:
    short = shorten(LINES, 2000, head=3, tail=2)
    assert short == (
        f"line 0\nline 1\nline 2\n[... 995 lines, {len(LINES) - 21 - 18} characters left out ...]\nline 998\nline 999\n"
    )


def test_the_limit_is_kept_between_lines_where_that_costs_little() -> None:
    short = shorten(LINES, 500)
    head, tail = parts(short)
    assert 400 < len(short) <= 500
    assert head.endswith("\n") and LINES.startswith(head)
    assert tail.startswith("\n") and LINES.endswith(tail[1:]) and re.match(r"\nline \d+\n", tail)
    assert len(head) > len(tail) > 0


def test_one_giant_line_is_cut_too() -> None:
    short = shorten("x" * 1_700_000, 1000)
    assert 990 < len(short) <= 1000
    match = NOTE.search(short)
    assert match is not None and match[1] == "1"
    assert short.count("x") + int(match[2]) == 1_700_000


def test_a_giant_line_between_short_ones_leaves_both_ends() -> None:
    short = shorten("first\n" + "x" * 100_000 + "\nlast\n", 300)
    head, tail = parts(short)
    assert head.startswith("first\nxxx") and tail.endswith("xxx\nlast\n")
    assert len(short) > 280


def test_room_that_one_side_does_not_need_goes_to_the_other() -> None:
    short = shorten("a\n" * 5 + "x" * 10_000, 1000, head=2, tail=100)
    assert short.startswith("a\na\n[...") and len(short) > 990
    short = shorten("x" * 10_000 + "\nz\nz", 1000, head=100, tail=1)
    assert short.endswith("...]\nz") and len(short) > 990


def test_only_head_or_only_tail_is_possible() -> None:
    assert parts(shorten(LINES, 300, tail=0))[1] == ""
    assert parts(shorten(LINES, 300, head=0))[0] == ""
    assert NOTE.fullmatch(shorten(LINES, 300, head=0, tail=0))


@pytest.mark.parametrize("limit", [0, 1, 20, 41])
def test_where_not_even_the_note_fits_the_start_is_given(limit: int) -> None:
    assert shorten("x" * 1000, limit) == "x" * limit
    assert shorten("x" * 1000, -5) == ""


@pytest.mark.parametrize(
    "character",
    ["漢", "e\u0301", "ก็", "क्षि"[:2], "👍🏽", "👩‍👩‍👧", "🇩🇪", "\ud83d\ude00", "a" + "\u0301" * 5, "❤\ufe0f"],
)
def test_no_character_is_parted(character: str) -> None:
    text = character * 2000
    for limit in range(200, 230):
        for side in shorten(text, limit, head=limit % 3, tail=1).split("\n"):
            if "left out" not in side:
                assert side == character * (len(side) // len(character)), (limit, side)


def test_endless_marks_are_cut_rather_than_kept() -> None:
    assert len(shorten("a" + "\u0301" * 100_000, 400)) <= 400
    assert len(shorten("\U0001f1e9" * 100_000, 400)) <= 400


def test_what_stands_for_a_result_names_its_tool_and_size() -> None:
    assert truncated("bash", 1204) == "[truncated: bash result, 1204 chars]"


@settings(deadline=None)
@given(
    st.text(alphabet="ab \n漢\u0301\U0001f600\ud800\u200d\U0001f1e9", max_size=400),
    st.integers(-3, 300),
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_the_result_keeps_the_limit_and_its_ends_are_the_texts(
    text: str, limit: int, head: int, tail: int
) -> None:
    short = shorten(text, limit, head=head, tail=tail)
    assert len(short) <= max(limit, 0) or short == text
    if short == text or not NOTE.search(short):
        assert text.startswith(short)
        return
    before, behind = parts(short)
    assert text.startswith(before.removesuffix("\n")) and text.endswith(behind.removeprefix("\n"))
    assert before.count("\n") <= head and behind.removeprefix("\n").rstrip("\n").count("\n") <= max(tail, 1)
    if behind[1:2]:
        assert unicodedata.category(behind[1]) != "Mn" or len(text) > 64
