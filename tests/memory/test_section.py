"""The memory section of MEMORY.md is ours; every other byte of the file is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.hostile import TEXTS
from tui_agent.memory.schema import LARGEST_BODY, StoreError, clean_body, clean_key
from tui_agent.memory.section import Shared, plan_section, read_section, write_section

START, END = "<!-- tui-agent memory -->", "<!-- /tui-agent memory -->"
BUILD = Shared(
    "build", "Run `make -j2` before the tests.\n\n# not a heading of ours\n### nor this\n\\### nor that"
)
STYLE = Shared("style", f"{END}\n{START}\n<!-- x -->")

# lines that mean something to the section, and anything
LINES = st.one_of(
    st.sampled_from(["", "# a", "### b", "\\### c", "\\\\<!-- d", START, END, " ### e", "####", "```", "  "]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
BODIES = st.lists(LINES, min_size=1, max_size=6).map("\n".join).filter(str.strip).map(clean_body)
KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(clean_key).filter(bool)
ROUND = st.lists(st.builds(Shared, KEYS, BODIES), max_size=4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "MEMORY.md"


@given(shared=ROUND, before=st.binary(max_size=40), after=st.binary(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_memories_come_back_and_the_rest_of_the_file_stays(
    tmp_path: Path, shared: list[Shared], before: bytes, after: bytes
) -> None:
    file = tmp_path / "MEMORY.md"
    before = before and before + b"\n"
    file.write_bytes(before + f"{START}\nold\n{END}\n".encode() + after)
    write_section(file, shared)
    assert read_section(file) == shared
    content = file.read_bytes()
    assert content.startswith(before)
    assert content.endswith(after)
    write_section(file, [])
    assert file.read_bytes() == before + after


def test_a_file_is_made_for_the_first_section(file: Path) -> None:
    diff = write_section(file, [BUILD, STYLE])
    assert read_section(file) == [BUILD, STYLE]
    assert file.read_text().startswith(f"{START}\n## Memory\n\n### build\nRun `make -j2`")
    assert diff.startswith("--- a/MEMORY.md\n+++ b/MEMORY.md\n@@")
    assert all(line.startswith(("+", "---", "@@")) for line in diff.split("\n"))


@pytest.mark.parametrize("text", ["# Notes\n", "# Notes", "\ufeff# Notes\r\nof ours\r\n", "\n\n", "caf\xe9 "])
def test_a_section_is_added_below_what_is_there(file: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1" if text.startswith("caf") else "utf-8"))
    old = file.read_bytes()
    write_section(file, [BUILD])
    assert file.read_bytes().startswith(old)
    assert read_section(file) == [BUILD]
    assert (b"\r\n## Memory\r\n" in file.read_bytes()) == ("\r\n" in text)
    again = file.read_bytes()
    assert write_section(file, [BUILD]) == ""
    assert file.read_bytes() == again


@pytest.mark.parametrize("name", sorted(name for name, text in TEXTS.items() if text[:LARGEST_BODY].strip()))
def test_hostile_text_comes_back_as_it_was(file: Path, name: str) -> None:
    text = TEXTS[name].encode(errors="replace")[:LARGEST_BODY].decode(errors="ignore")
    shared = [Shared("k", clean_body(text)), BUILD]
    write_section(file, shared)
    assert read_section(file) == shared


def test_what_people_changed_in_the_section_is_read(file: Path) -> None:
    write_section(file, [BUILD])
    text = file.read_text().replace("-j2", "-j4").replace(END, f"### new\n  mine  \n\n{END}")
    file.write_text(text)
    changed, new = read_section(file)
    assert "-j4" in changed.body
    assert new == Shared("new", "mine")


@pytest.mark.parametrize(
    "text",
    [
        f"{START}\n### k\nx\n",
        f"{END}\n",
        f"{END}\n{START}\n",
        f"{START}\n{START}\n{END}\n",
        f"{START}\n{END}\n{START}\n{END}\n",
    ],
    ids=["open", "only end", "wrong order", "twice begun", "two"],
)
def test_a_damaged_section_is_said_and_the_file_left_alone(file: Path, text: str) -> None:
    file.write_text(text)
    for act in (lambda: read_section(file), lambda: write_section(file, [BUILD])):
        with pytest.raises(StoreError, match="damaged memory section"):
            act()
    assert file.read_text() == text


def test_a_memory_that_cannot_be_stored_is_named(file: Path) -> None:
    for inner, words in (
        ("### k\n\n### b\nx\n", "k: .*empty"),
        (f"### {'k' * 129}\nx\n", "128"),
        ("### \nx\n", "key"),
    ):
        file.write_text(f"{START}\n{inner}{END}\n")
        with pytest.raises(StoreError, match=words):
            read_section(file)


def test_no_file_and_no_section_are_no_memories(file: Path) -> None:
    assert read_section(file) == []
    file.write_text(f"# Notes\n\n    {START}\n\n### k\nx\n")
    assert read_section(file) == []
    assert write_section(file, []) == ""


def test_a_plan_is_only_carried_out_on_the_file_that_it_was_made_for(file: Path) -> None:
    file.write_text("# Notes\n")
    plan = plan_section(file, [BUILD])
    assert file.read_text() == "# Notes\n"
    file.write_text("# Other notes\n")
    with pytest.raises(StoreError, match="changed meanwhile"):
        plan.write()
    assert file.read_text() == "# Other notes\n"
    plan_section(file, [BUILD]).write()
    assert read_section(file) == [BUILD]


def test_mode_and_links_stay_and_nothing_else_is_left(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "docs" / "NOTES.md"
    real.parent.mkdir()
    real.write_text("# Notes\n")
    real.chmod(0o640)
    file.symlink_to(real)
    write_section(file, [BUILD])
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["MEMORY.md", "NOTES.md", "docs"]


def test_a_link_that_leads_elsewhere_is_not_followed(
    file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "notes"
    outside.write_text("theirs")
    file.symlink_to(outside)
    for act in (lambda: read_section(file), lambda: write_section(file, [BUILD])):
        with pytest.raises(StoreError, match="leads out of its folder"):
            act()
    assert outside.read_text() == "theirs"


def test_what_is_no_file_or_too_large_is_said(file: Path) -> None:
    file.mkdir()
    with pytest.raises(StoreError, match="folder, not a file"):
        read_section(file)
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(StoreError, match="a named pipe, not a file"):
        read_section(file)
    file.unlink()
    file.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(StoreError, match="larger than"):
        write_section(file, [BUILD])
