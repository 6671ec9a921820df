"""A diff reads as numbers, signs and text, whatever is in it."""

from __future__ import annotations

import difflib

import pytest

from tests.support.hostile import SMALL, TEXTS, acts
from tui_agent.ui.transcript import diff
from tui_agent.ui.transcript.diff import DiffLine

OLD = ["one", "two", "three", "four", "five", "-- six", "seven"]
NEW = ["one", "2", "three", "four", "five", "++ six", "seven", "eight"]


def unified(old: list[str], new: list[str], context: int = 3) -> str:
    return "\n".join(difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm="", n=context))


@pytest.mark.parametrize("context", [0, 1, 3])
def test_lines_carry_the_numbers_they_have_in_their_files(context: int) -> None:
    read = diff.read(unified(OLD, NEW, context))
    for line in read:
        if line.kind == "removed":
            assert line.number is not None
            assert OLD[line.number - 1] == line.text
        elif line.kind in ("added", "same"):
            assert line.number is not None
            assert NEW[line.number - 1] == line.text
    assert [line.text for line in read if line.kind == "added"] == ["2", "++ six", "eight"]
    assert [line.text for line in read if line.kind == "removed"] == ["two", "-- six"]


def test_files_are_named_once_and_a_deleted_one_says_so() -> None:
    text = unified(OLD, NEW) + "\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-all\n"
    assert [line.text for line in diff.read(text) if line.kind == "file"] == ["x.py", "gone.py (deleted)"]


def test_the_sign_is_told_beside_the_colour() -> None:
    rows = diff.lines(diff.read(unified(["a"], ["b"])), digits=3)
    assert [f"{row.first.plain}{row.content.plain}" for row in rows] == ["x.py", "@@", "  1 - a", "  1 + b"]


def test_a_diff_whose_middle_was_left_out_has_no_wrong_numbers() -> None:
    lines = unified([str(n) for n in range(50)], [f"new {n}" for n in range(50)]).split("\n")
    cut = "\n".join([*lines[:10], "[... 40 lines, 200 characters left out ...]", *lines[-5:]])
    read = diff.read(cut)
    after = [line for line in read if line.kind != "note"][-1]
    assert after in diff.read("\n".join(lines[:10]))
    assert DiffLine("note", "[... 40 lines, 200 characters left out ...]") in read


FRAMES = ["{}", "+++ {}\n@@ -1 +1 @@\n-{}\n+{}", "@@ -{} +{} @@ {}", "@@ -1,9 +1,9 @@\n {}"]


@pytest.mark.parametrize("texts", [SMALL, pytest.param(TEXTS, marks=pytest.mark.slow)], ids=["small", "all"])
@pytest.mark.parametrize("frame", FRAMES)
def test_hostile_text_is_a_diff_or_notes_and_never_acts(frame: str, texts: dict[str, str]) -> None:
    for name, hostile in texts.items():
        read = diff.read(frame.replace("{}", hostile))
        for line in diff.lines(read, digits=diff.digits(read)):
            assert not acts(line.first.plain + line.content.plain, allowed=""), name


def marked(old: str, new: str) -> list[list[str]]:
    """The marked words of each changed line."""
    rows = diff.lines(diff.read(unified([old], [new])), digits=1)
    return [
        [
            row.content.plain[span.start : span.end]
            for span in row.content.spans
            if span.style == ".transcript--changed"
        ]
        for row in rows[2:]
    ]


def test_the_words_that_changed_are_marked_on_both_lines() -> None:
    assert marked("def report(rows):", "def report(rows, json=False):") == [[], [", json=False"]]
    assert marked("a = first + 1", "a = second + 2") == [["first", "1"], ["second", "2"]]


def test_lines_that_have_little_in_common_are_not_marked_word_by_word() -> None:
    assert marked("import os", "raise ValueError(name) from None") == [[], []]
    assert marked("same " * 200 + "a", "same " * 200 + "b") == [[], []]


def test_lines_are_compared_with_the_one_that_stands_in_their_place() -> None:
    read = diff.read(unified(["a 1", "b 1", "c 1", "same"], ["a 2", "b 2", "same"]))
    assert [(line.text, line.other) for line in read if line.kind in ("added", "removed")] == [
        ("a 1", "a 2"),
        ("b 1", "b 2"),
        ("c 1", None),
        ("a 2", "a 1"),
        ("b 2", "b 1"),
    ]


def test_no_diff_is_no_lines() -> None:
    assert diff.read("") == []
