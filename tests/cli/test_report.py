from __future__ import annotations

import json

import pytest

from tests.support.hostile import TEXTS, acts
from tui_agent.cli import report
from tui_agent.cli.report import Column, cells_of, facts, fit, say_json, size, table, tokens, when


def test_columns_are_aligned_by_the_cells_they_take() -> None:
    text = table(["A", Column("N", "right"), "WORDS"], [("東京", 5, "x"), ("ab", 12345, "y")], width=80)
    assert text.splitlines() == ["A         N  WORDS", "東京      5  x", "ab    12345  y"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_table_is_as_wide_as_it_may_be(width: int) -> None:
    rows = [("id" * 6, "a long title " * 10, "/a/long/path" * 10), ("x", "東" * 100, "y")]
    columns: list[Column | str] = ["ID", Column("TITLE", shrink=True), Column("PATH", shrink=True, tail=True)]
    lines = table(columns, rows, width=width).splitlines()
    assert max(map(cells_of, lines)) == width
    assert lines[1].rstrip().endswith("path")
    assert "…" in lines[1]


def test_a_table_that_cannot_shrink_further_is_wider_than_asked() -> None:
    text = table(["A", Column("B", shrink=True)], [("x" * 50, "y" * 50)], width=40)
    assert len(text.splitlines()[1]) == 60


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    assert table(["A", "EMPTY", "B"], [("x", "", "y"), ("z", "", "")], width=80) == "A  B\nx  y\nz"


def test_text_is_cut_at_either_end() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 4, tail=True) == "…def"
    assert fit("東京都庁", 5) == "東京…"
    assert fit("abc", 3) == "abc"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_foreign_text_is_one_literal_line(name: str) -> None:
    text = TEXTS[name]
    for shown in (table(["A", "B"], [(text, "end")], width=10_000), facts([("name", text)])):
        assert not acts(shown)
        assert len(shown.splitlines()) == shown.count("\n") + 1 <= 2


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_json_is_data_that_no_terminal_obeys(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    say_json({"x": TEXTS[name]})
    out = capsys.readouterr().out
    assert not set(out) & {
        chr(c) for c in [*range(10), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x200B]
    }
    assert json.loads(out)["x"] == TEXTS[name].encode("utf-16", "surrogatepass").decode(
        "utf-16", "surrogatepass"
    )


def test_figures_are_short() -> None:
    assert [size(n) for n in (0, 999, 1_000, 9_949, 12_345, 5_300_000, 7e12)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "9.9 KB",
        "12 KB",
        "5.3 MB",
        "7000 GB",
    ]
    assert [tokens(1234), tokens(1234, "estimated"), tokens(1234, "reconciled"), tokens(None)] == [
        "1,234",
        "~1,234",
        "≃1,234",
        "",
    ]


def test_times_are_the_readers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert when("2026-11-01T10:00:00.000Z") == "2026-11-01 19:00"
        assert when("2026-11-01T10:00:00") == "2026-11-01 19:00"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert when(None) == ""
    assert when("yesterday") == "yesterday"


def test_nobody_is_asked_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert not report.confirm("delete everything?")
    assert capsys.readouterr().err == ""
