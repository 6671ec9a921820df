"""What completes the word under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_agent.ui.chat.completion import Files, Word, matching_commands, matching_files, word_before
from tui_agent.ui.commands import Listed

COMMANDS = [
    Listed("revert", "Go back to a checkpoint", "CHECKPOINT", ("rewind",)),
    Listed("rename", "Give another title", "TITLE"),
    Listed("undo", "Take back the last change"),
]
FILES = ["src/report.py", "src/reporting/table.py", "docs/my_report.md", "tests/test_x.py", "README.md"]


@pytest.mark.parametrize(
    ("line", "first", "word"),
    [
        ("/re", True, Word("command", "re", 3)),
        ("/", True, Word("command", "", 1)),
        ("/revert 3", True, None),
        ("/re", False, None),
        ("look at @src/re", True, Word("file", "src/re", 7)),
        ("@", True, Word("file", "", 1)),
        ("me@example.org", True, None),
        ("@a b", True, None),
    ],
)
def test_the_word_before_the_cursor(line: str, first: bool, word: Word | None) -> None:
    assert word_before(line, first=first) == word


def test_commands_are_found_by_every_name_with_their_argument_and_help() -> None:
    found = matching_commands("re", COMMANDS)
    assert [candidate.label for candidate in found] == ["/rename TITLE", "/revert CHECKPOINT"]
    assert found[1].words == "Go back to a checkpoint (also /rewind)"
    assert matching_commands("rew", COMMANDS)[0].text == "/revert "
    assert matching_commands("un", COMMANDS)[0].whole


def test_files_are_ranked_by_where_the_words_are() -> None:
    assert [c.label for c in matching_files("report", FILES)] == [
        "src/report.py",
        "docs/my_report.md",
        "src/reporting/table.py",
    ]
    assert [c.label for c in matching_files("RME", FILES)] == ["README.md"]
    assert len(matching_files("", FILES, limit=2)) == 2


async def test_files_are_listed_once_for_a_while(tmp_path: Path) -> None:
    calls = 0
    now = 0.0

    def walk(root: Path) -> Iterator[Path]:
        nonlocal calls
        calls += 1
        yield from (root / name for name in FILES)

    files = Files(tmp_path, walk, lambda: now)
    assert (await files.match("readme"))[0].text == "@README.md "
    await files.match("src")
    assert calls == 1
    now = 60.0
    await files.match("src")
    assert calls == 2


async def test_files_come_from_the_workspace_as_git_lists_them(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("secret*\n")
    for name in ("shown.py", "secret.py"):
        (tmp_path / name).write_text("")
    labels = [candidate.label for candidate in await Files(tmp_path).match("py")]
    assert labels == ["shown.py"]
