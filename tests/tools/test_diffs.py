"""Diffs that another program can apply."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hostile
from tui_agent.tools.diffs import unified

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "x\r\n", "long line\n"]), max_size=40).map(
    "".join
)


def test_nothing_changed_is_no_diff() -> None:
    assert unified("a\n", "a\n", "f").text == ""


def test_lines_are_counted() -> None:
    diff = unified("a\nb\n", "a\nc\nd\n", "f")
    assert (diff.added, diff.removed, diff.summary) == (2, 1, "+2 -1")
    assert diff.text == "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"


def test_a_new_and_a_removed_file() -> None:
    assert unified("", "a\n", "f").text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert (
        unified("a", "", "f").text
        == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
    )


def test_line_ends_that_stay_are_not_shown() -> None:
    assert "\r" not in unified("a\r\nb\r\n", "a\r\nc\r\n", "f").text
    assert unified("a\r\n", "a\n", "f").text.endswith("-a\r\n+a\n")


def test_a_name_cannot_add_lines() -> None:
    assert unified("a\n", "b\n", "x\n+++ y\x1b[31m").text.startswith(
        "--- a/x?+++ y?[31m\n+++ b/x?+++ y?[31m\n@@"
    )


def test_a_small_change_in_a_long_file_is_small() -> None:
    old = "".join(f"{n}\n" for n in range(300_000))
    diff = unified(old, old.replace("150000\n", "x\n", 1), "f")
    assert (diff.added, diff.removed) == (1, 1)
    assert len(diff.text.splitlines()) == 2 + 1 + 3 + 2 + 3


def test_two_long_files_without_a_common_line_are_not_compared_for_ever() -> None:
    diff = unified(
        "".join(f"a{n}\n" for n in range(100_000)), "".join(f"b{n}\n" for n in range(100_000)), "f"
    )
    assert (diff.added, diff.removed) == (100_000, 100_000)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, st.sampled_from(["", "end"]), st.sampled_from(["", "end"]))
def test_git_applies_it(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, tail: str, end: str
) -> None:
    old, new = old + tail, new + end
    diff = unified(old, new, "f")
    if not diff.text or ("\r" in old + new and "\r" not in diff.text):
        return
    folder = tmp_path_factory.mktemp("diff")
    try:
        apply(folder, old, diff.text)
        assert (folder / "f").read_bytes() == new.encode() if new else not (folder / "f").exists()
    finally:
        shutil.rmtree(folder)


def apply(folder: Path, old: str, diff: str) -> None:
    if old:
        (folder / "f").write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "-p1", "-"],
        input=diff.encode(),
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_texts_are_compared(name: str) -> None:
    text = hostile.TEXTS[name]
    assert unified("x\n", text, "f").added == len([line for line in text.split("\n") if line]) or "\n" in text
    unified(text, f"{text}\nmore", "f")
