"""A diff on a card: the file, the changes in view at once, numbers, signs and marked words."""

from __future__ import annotations

import difflib

from tui_agent.ui.cards.change import diff_content

OLD = [f"line {number}" for number in range(1, 41)]


def _diff(new: list[str], *, old: list[str] = OLD, context: int = 3) -> str:
    lines = difflib.unified_diff(old, new, "a/src/x.py", "b/src/x.py", lineterm="", n=context)
    return "\n".join(lines) + "\n"


def test_the_changed_lines_stand_right_below_the_file() -> None:
    new = OLD.copy()
    new[19] = "line twenty"
    assert diff_content(_diff(new)).plain.split("\n") == [
        "src/x.py  +1 -1",
        "20 - line 20",
        "20 + line twenty",
        "21   line 21",
    ]


def test_blank_lines_around_a_change_are_left_out() -> None:
    old = ["a", "", "b", "", "c"]
    assert diff_content(_diff(["a", "", "B", "", "c"], old=old)).plain.split("\n") == [
        "src/x.py  +1 -1",
        "3 - b",
        "3 + B",
    ]


def test_what_lies_between_two_changes_is_a_sign_with_its_neighbours() -> None:
    new = OLD.copy()
    new[9], new[14] = "ten", "fifteen"
    assert diff_content(_diff(new)).plain.split("\n")[3:] == [
        "11   line 11",
        "...",
        "14   line 14",
        "15 - line 15",
        "15 + fifteen",
        "16   line 16",
    ]
    new = OLD.copy()
    new[2], new[35] = "three", "thirty-six"
    shown = diff_content(_diff(new)).plain.split("\n")
    assert "..." in shown and " 3 - line 3" in shown and "36 + thirty-six" in shown


def test_lines_that_are_near_on_both_sides_stay_whole() -> None:
    new = OLD.copy()
    new[9], new[12] = "ten", "thirteen"
    assert [line[:2] for line in diff_content(_diff(new)).plain.split("\n")[1:]] == [
        "10",
        "10",
        "11",
        "12",
        "13",
        "13",
        "14",
    ]


def test_changed_words_are_marked() -> None:
    content = diff_content(_diff(["price is 10.2f now"], old=["price is 8.2f now"]))
    marked = [
        content.plain[span.start : span.end] for span in content.spans if "underline" in str(span.style)
    ]
    assert marked == ["8", "10"]


def test_a_diff_of_two_files_names_both() -> None:
    other = _diff(["b"], old=["a"]).replace("src/x.py", "src/y.py")
    shown = diff_content(_diff(["d"], old=["c"]) + other).plain.split("\n")
    assert [line for line in shown if line.startswith("src/")] == ["src/x.py", "src/y.py"]


def test_what_is_no_diff_is_shown_as_it_is() -> None:
    assert diff_content("just words\nof a tool").plain == "just words\nof a tool"
    assert diff_content("").plain == ""


def test_of_a_huge_diff_the_head_is_laid_out_and_the_rest_is_counted() -> None:
    old = [f"value number {number} of the table" for number in range(20_000)]
    diff = _diff([f"{line} changed" for line in old], old=old, context=0)
    shown = diff_content(diff).plain.split("\n")
    assert shown[0] == "src/x.py  +20,000 -20,000"
    assert len(shown) < 510
    assert shown[-1] == f"... {diff.count(chr(10)) - 500:,} more lines"
