"""What completes the word under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_agent.ui.chat.completion import Word, matching_commands, word_before
from tui_agent.ui.chat.files import Files, best, fitting, with_folders
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
        ("/revert 3", True, Word("argument", "3", 1, "revert")),
        ("/revert 3", False, None),
        ("/usr/bin x", True, None),
        ("/re", False, None),
        ("look at @src/re", True, Word("file", "src/re", 7)),
        ("@", True, Word("file", "", 1)),
        ("me@example.org", True, None),
        ("@a b", True, None),
        ('see @"my fi', True, Word("file", "my fi", 7)),
        ('@"my file.txt" and', True, None),
        ("(@src", True, Word("file", "src", 4)),
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


def test_commands_are_found_inside_their_names_and_by_their_letters_best_first() -> None:
    assert [c.label for c in matching_commands("do", COMMANDS)] == ["/undo"]
    assert [c.label for c in matching_commands("rt", COMMANDS)] == ["/revert CHECKPOINT"]
    both = [Listed("renew", "x"), Listed("new", "y")]
    assert [c.label for c in matching_commands("new", both)] == ["/new", "/renew"]
    assert matching_commands("xyz", COMMANDS) == []


def labels(typed: str, files: list[str]) -> list[str]:
    return best(typed, fitting(typed, files))


def test_files_are_ranked_by_where_the_words_are() -> None:
    assert labels("report", FILES) == ["src/report.py", "docs/my_report.md", "src/reporting/table.py"]
    assert labels("RME", FILES) == ["README.md"]
    assert labels("srctab", FILES) == ["src/reporting/table.py"]
    assert labels("./src/rep", FILES)[0] == "src/report.py"
    assert len(best("", FILES, limit=2)) == 2


def test_hidden_files_come_last_unless_a_dot_is_typed() -> None:
    files = [".env", ".github/ci.yml", "environment.toml"]
    assert labels("env", files) == ["environment.toml", ".env"]
    assert labels(".en", files) == [".env"]
    assert labels("", files)[0] == "environment.toml"


def test_folders_are_offered_with_how_much_is_in_them() -> None:
    found = with_folders(FILES)
    assert found["src/"] == 2
    assert found["src/reporting/"] == 1
    assert found["README.md"] == 0


async def test_taking_a_folder_leads_into_it_and_names_with_blanks_are_quoted(tmp_path: Path) -> None:
    for name in ("my docs/first note.md", "src/report.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x" * 2100)
    files = Files(tmp_path)
    folder = (await files.match("src"))[0]
    assert (folder.text, folder.words) == ("@src/", "folder, 1 file")
    assert (await files.match("src/"))[1].text == "@src/report.py "
    assert (await files.match("my"))[0].text == '@"my docs/'
    note = (await files.match("my docs/f"))[0]
    assert note.text == '@"my docs/first note.md" '
    assert note.words.startswith("2.1 KB, changed ")
    assert word_before(note.text.rstrip(), first=True) is None


async def test_a_longer_word_and_a_shorter_one_again_find_the_same_as_anew(tmp_path: Path) -> None:
    files = Files(tmp_path, lambda root: iter(root / name for name in FILES))
    once = [c.label for c in await files.match("re")]
    await files.match("report")
    assert [c.label for c in await files.match("re")] == once


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
    found = [candidate.label for candidate in await Files(tmp_path).match("py")]
    assert found == ["shown.py"]
