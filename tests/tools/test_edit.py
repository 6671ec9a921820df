"""edit_file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import hostile
from tests.tools.test_files import use
from tui_agent.tools.edit import EditFile, replaced
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.textfile import Text, decode
from tui_agent.tools.tool import Tool, ToolError
from tui_agent.workspace.reads import Reads


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def reads() -> Reads:
    return Reads()


@pytest.fixture
def edit(root: Path, reads: Reads) -> EditFile:
    return EditFile(root, reads)


def refused(edit: EditFile, **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        edit.needs(arguments)
    return str(caught.value)


def test_it_is_a_tool(edit: EditFile) -> None:
    assert isinstance(edit, Tool) and not edit.read_only


async def test_one_piece_is_replaced(root: Path, edit: EditFile) -> None:
    (root / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    arguments = {"path": "a.py", "old": "    return 2", "new": "    # two\n    return 3"}
    need = edit.needs(arguments)
    assert (need.kind, need.title, need.rule, need.outside) == ("write", "a.py", "edit_file", False)
    assert (root / "a.py").read_text().endswith("return 2\n")
    output = await edit.call(arguments, lambda text: None)
    assert (root / "a.py").read_text() == "def f():\n    return 1\n\n\ndef g():\n    # two\n    return 3\n"
    assert output.content == "edited a.py: line 6 (+2 -1)"
    assert output.summary == "+2 -1"
    assert output.meta == {"tool": "edit_file", "read": [], "changed": ["a.py"]}
    assert output.diff == need.diff
    assert output.diff == (
        "--- a/a.py\n+++ b/a.py\n@@ -3,4 +3,5 @@\n \n \n def g():\n-    return 2\n+    # two\n+    return 3\n"
    )


async def test_a_piece_can_be_taken_out(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("one\ntwo\nthree\n")
    await use(edit, path="a", old="two\n", new="")
    assert (root / "a").read_text() == "one\nthree\n"
    await use(edit, path="a", old="one\nthree\n", new="")
    assert (root / "a").read_text() == ""


async def test_every_occurrence_can_be_replaced(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("x = 1\ny = x\nz = x\n")
    output = await use(edit, path="a", old="x", new="count", replace_all=True)
    assert (root / "a").read_text() == "count = 1\ny = count\nz = count\n"
    assert output.content == "edited a: 3 places, lines 1, 2, 3 (+3 -3)"


def test_a_piece_that_is_there_more_than_once_is_refused_with_its_lines(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("x\ny\nx\n")
    assert refused(edit, path="a", old="x", new="z") == (
        "'old' is in a 2 times (lines 1, 3): add lines around it until it is there only once, or set replace_all"
    )
    (root / "a").write_text("x\n" * 100)
    assert "100 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 88 more)" in refused(
        edit, path="a", old="x", new="z"
    )


def test_occurrences_that_overlap_are_two(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("aaa")
    assert "2 times" in refused(edit, path="a", old="aa", new="b")
    assert replaced(Text("aaaaa"), "aa", "b", "a", everywhere=True)[0].text == "bba"


def test_a_million_occurrences_are_refused(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("a" * 1_000_000)
    assert "more than 100000 times" in refused(edit, path="a", old="a", new="b", replace_all=True)


# --- what is not found -------------------------------------------------------------------------------------------


def test_the_nearest_lines_are_shown(root: Path, edit: EditFile) -> None:
    (root / "a.py").write_text(
        "import os\n\ndef compute_total(items):\n    return sum(items)\n\ndef other():\n    pass\n"
    )
    words = refused(edit, path="a.py", old="def compute_totals(items):\n    return sum(item)", new="x")
    assert words == (
        "'old' is not in a.py. The most alike, from line 3 on:\n3\tdef compute_total(items):\n4\t    return sum(items)"
    )


def test_other_white_space_is_pointed_out(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("if x:\n\treturn  1\n")
    words = refused(edit, path="a", old="if x:\n    return 1", new="x")
    assert (
        words
        == "'old' is not in a, but for white space it is there from line 1 on:\n1\tif x:\n2\t\treturn  1"
    )


def test_line_numbers_in_the_text_are_pointed_out(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("one\ntwo\n")
    assert "without its line numbers" in refused(edit, path="a", old="1\tone\n2\ttwo", new="x")


def test_replaced_bytes_in_the_text_are_pointed_out(root: Path, edit: EditFile) -> None:
    (root / "a").write_bytes(b"caf\xe9\n")
    assert "U+FFFD stands for bytes" in refused(edit, path="a", old="caf\ufffd", new="x")


def test_nothing_alike_is_said(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("one\ntwo\n")
    assert "nothing there is much like it: read the file again" in refused(
        edit, path="a", old="qqq\nzzz", new="x"
    )
    (root / "b").write_text("")
    assert refused(edit, path="b", old="x", new="y") == "'old' is not in b: the file is empty"


def test_a_search_for_likeness_in_a_huge_file_ends(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("the same words in every line of it\n" * 200_000)
    refused(edit, path="a", old="the same words in every lime of it\n" * 500, new="x")
    (root / "b").write_text("x" * 5_000_000)
    refused(edit, path="b", old="y" * 1_000_000, new="x")


# --- what stays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", b"1\r\n2\r\n3\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "1\r\n2", b"1\r\n2\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\n", "", b"b\r\n"),
        (b"a\nb\n", "a\r\nb", "1\r\n2", b"1\n2\n"),
        (b"a\r\nb\nc\r\n", "b\n", "1\n2\n", b"a\r\n1\n2\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc", "x", b"x\r\n"),
        (b"a\nb\nc\r\nd\n", "c\n", "1\n2\n", b"a\nb\n1\r\n2\r\nd\n"),
        (b"a\rb", "a\rb", "c\rd", b"c\rd"),
        (b"\xef\xbb\xbfa\nb", "a", "x", b"\xef\xbb\xbfx\nb"),
        (b"caf\xe9 one \xff\n", "one", "two", b"caf\xe9 two \xff\n"),
        ("a\r\n日\r\n".encode("utf-16"), "日\n", "本\n語\n", "a\r\n本\r\n語\r\n".encode("utf-16")),
        (b"no newline", "newline", "end", b"no end"),
    ],
)
async def test_line_ends_marks_and_odd_bytes_stay(
    root: Path, edit: EditFile, before: bytes, old: str, new: str, after: bytes
) -> None:
    (root / "a").write_bytes(before)
    await use(edit, path="a", old=old, new=new)
    assert (root / "a").read_bytes() == after


async def test_the_mode_stays(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("one")
    (root / "a").chmod(0o755)
    await use(edit, path="a", old="one", new="two")
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o755


PIECES = st.text(st.sampled_from("ab\n"), max_size=8)


@given(
    st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=20).map("".join), PIECES.filter(bool), PIECES
)
def test_an_edit_is_a_replacement_that_leaves_the_rest_byte_for_byte(text: str, old: str, new: str) -> None:
    if old == new:
        return
    try:
        after, lines = replaced(Text(text), old, new, "a", everywhere=False)
    except ToolError:
        return
    plain = text.replace("\r\n", "\n")
    assert after.text.replace("\r\n", "\n") == plain.replace(old, new, 1)
    at = plain.index(old)
    assert lines == [plain.count("\n", 0, at) + 1]
    head, tail = plain[:at].count("\n"), plain[at + len(old) :].count("\n")
    ends, ends_before = _ends(after.text), _ends(text)
    assert ends[:head] == ends_before[:head]
    assert ends[len(ends) - tail :] == ends_before[len(ends_before) - tail :]


def _ends(text: str) -> list[str]:
    return [
        "\r\n" if line.endswith("\r\n") else "\n"
        for line in text.splitlines(keepends=True)
        if line.endswith("\n")
    ]


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_a_hostile_text_can_be_edited_around(name: str) -> None:
    data = b"begin\n" + hostile.TEXTS[name].encode("utf-8", "replace") + b"\nthe end of it"
    before = decode(data)
    assert before.encode() == data
    after, _ = replaced(before, "the end of it", "over", "a", everywhere=False)
    assert after.encode() == data.replace(b"the end of it", b"over")


@given(st.binary(max_size=200))
def test_any_bytes_survive_being_read(data: bytes) -> None:
    text = decode(data)
    assert text.encode() == data
    text.shown().encode()


# --- when not ----------------------------------------------------------------------------------------------------


async def test_a_file_changed_since_it_was_read_is_not_edited(
    root: Path, reads: Reads, edit: EditFile
) -> None:
    (root / "a").write_text("one\ntwo\n")
    await use(ReadFile(root, reads), path="a")
    (root / "a").write_text("one\ntwo\nthree\n")
    assert "has changed since it was read: read it again" in refused(edit, path="a", old="one", new="1")
    await use(ReadFile(root, reads), path="a")
    await use(edit, path="a", old="one", new="1")
    assert (root / "a").read_text() == "1\ntwo\nthree\n"
    await use(edit, path="a", old="two", new="2")


async def test_an_edit_of_a_file_never_read_does_not_make_it_known(
    root: Path, reads: Reads, edit: EditFile
) -> None:
    (root / "a").write_text("one\ntwo\n")
    await use(edit, path="a", old="one", new="1")
    with pytest.raises(ToolError, match="read it first"):
        WriteFile(root, reads).needs({"path": "a", "content": "x"})


async def test_a_file_changed_while_the_person_decides(root: Path, edit: EditFile) -> None:
    (root / "a").write_text("one\n")
    arguments = {"path": "a", "old": "one", "new": "1"}
    edit.needs(arguments)
    (root / "a").write_text("none at all\none\n")
    with pytest.raises(ToolError, match="2 times"):
        await edit.call(arguments, lambda text: None)
    (root / "a").unlink()
    with pytest.raises(ToolError, match="there is no a"):
        await edit.call(arguments, lambda text: None)


def test_what_cannot_be_edited_is_said(root: Path, edit: EditFile) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    (root / "binary").write_bytes(b"a\0b")
    (root / "a").write_text("a\n")
    for path, words in (
        ("pipe", "is a named pipe"),
        ("folder", "is a folder"),
        ("binary", "is binary"),
        ("gone", "there is no gone: a new file is made with write_file"),
    ):
        assert words in refused(edit, path=path, old="a", new="b")
    assert "'old' is empty" in refused(edit, path="a", old="", new="b")
    assert "are the same" in refused(edit, path="a", old="a", new="a")
    assert "only in line ends" in refused(edit, path="a", old="a\n", new="a\r\n")
    assert "needs the argument 'new'" in refused(edit, path="a", old="a")
    assert "must be true or false" in refused(edit, path="a", old="a", new="b", replace_all="maybe")


def test_leaving_the_workspace_is_said(root: Path, edit: EditFile) -> None:
    (root.parent / "a").write_text("one")
    need = edit.needs({"path": "../a", "old": "one", "new": "two"})
    assert (need.outside, need.rule) == (True, "")
    assert need.warning == f"outside the workspace: {root.parent / 'a'}"
