"""Files that instructions import: followed from file to file, never out of the workspace, and said where not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tui_agent.prompt import guides as module
from tui_agent.prompt.guides import MAX_FILE_BYTES, Guides
from tui_agent.prompt.imports import names


def write(root: Path, **files: str) -> None:
    """Files by their paths, in which `__` stands for a slash; `.md` is added."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def told(root: Path, folder: Path | None = None) -> tuple[dict[str, str], list[str]]:
    """The files that are told, each with the file that imports it, and what is said about the reading."""
    guides = Guides(root, folder or root)
    return {guide.shown: guide.by for guide in guides.read()}, guides.notices


def test_a_file_is_imported_from_a_line_or_from_prose_relative_to_the_file_that_names_it(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        CLAUDE="See @docs/style.md, and (@docs/tests.md).\n@./docs/last\\ words.md",
        docs__style="- @more/names.md",
        docs__tests="test it",
    )
    write(tmp_path / "docs", more__names="short ones")
    (tmp_path / "docs" / "last words.md").write_text("bye")
    files, notices = told(tmp_path)
    assert files == {
        "CLAUDE.md": "",
        "docs/style.md": "CLAUDE.md",
        "docs/more/names.md": "docs/style.md",
        "docs/tests.md": "CLAUDE.md",
        "docs/last words.md": "CLAUDE.md",
    }
    assert list(files)[:3] == ["CLAUDE.md", "docs/style.md", "docs/more/names.md"], "each behind its importer"
    assert not notices


@pytest.mark.parametrize(
    "text",
    [
        "mail me@x.md",
        "`@x.md`",
        "``a ` @x.md``",
        "a `code\nspan @x.md` b",
        "```\n@x.md\n```",
        "- ~~~md\n  ```\n  @x.md\n  ~~~\n",
        "````\n```\n@x.md\n````",
        "```\n@x.md",
        "\\@x.md",
    ],
)
def test_code_and_addresses_import_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, AGENTS=text, x="imported")
    assert told(tmp_path) == ({"AGENTS.md": ""}, [])


@pytest.mark.parametrize(
    "text", ["a ` b @x.md", "`a`@y `b` @x.md", "```a``` @x.md", "\\`@y @x.md`", "@x.md:"]
)
def test_what_only_looks_like_code_imports(tmp_path: Path, text: str) -> None:
    write(tmp_path, AGENTS=text, x="imported")
    assert "x.md" in told(tmp_path)[0]


def test_five_imports_may_lead_to_a_file_and_circles_end(tmp_path: Path) -> None:
    write(tmp_path, AGENTS="@a1.md @AGENTS.md", **{f"a{n}": f"{n} @a{n + 1}.md @a1.md" for n in range(1, 8)})
    files, notices = told(tmp_path)
    assert list(files) == ["AGENTS.md", "a1.md", "a2.md", "a3.md", "a4.md", "a5.md"]
    assert notices == ["a5.md imports @a6.md: not read, more than 5 imports lead to it"]


def test_a_file_is_told_once_and_one_with_a_place_of_its_own_there(tmp_path: Path) -> None:
    write(
        tmp_path, AGENTS="@CLAUDE.md @x.md @docs/../x.md", CLAUDE="@AGENTS.md @x.md @copy.md", x="x", copy="x"
    )
    (tmp_path / "link.md").symlink_to("x.md")
    files, notices = told(tmp_path)
    assert files == {"AGENTS.md": "", "x.md": "AGENTS.md", "CLAUDE.md": ""}
    assert not notices


def test_nothing_outside_of_the_workspace_is_imported_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "work"
    write(root, AGENTS=f"@../key.md @{tmp_path}/key.md @~/key.md @in.md", x="x")
    write(tmp_path, key="SECRET")
    (root / "in.md").symlink_to(tmp_path / "key.md")
    monkeypatch.setenv("HOME", str(tmp_path))
    guides = Guides(root, root)
    assert [guide.shown for guide in guides.read()] == ["AGENTS.md"]
    (notice,) = guides.notices
    assert re.search(r"@\.\./key\.md, @/\S+, @~/key\.md, @in\.md: not read", notice)
    assert "consent" in notice
    assert guides.named == set()


def test_a_file_above_the_folder_imports_from_its_own_folder_down_but_one_in_it_does_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "packages" / "web"
    write(tmp_path, AGENTS="@docs/style.md @packages/web/notes.md", docs__style="@../key.md", key="SECRET")
    write(folder, AGENTS="@../../key.md @local.md", notes="@../../key.md", local="mine")
    files, notices = told(tmp_path, folder)
    assert list(files) == [
        "AGENTS.md",
        "docs/style.md",
        "packages/web/notes.md",
        "packages/web/AGENTS.md",
        "packages/web/local.md",
    ]
    assert [notice.split(" imports ")[0] for notice in notices] == [
        "docs/style.md",
        "packages/web/notes.md",
        "packages/web/AGENTS.md",
    ]


def test_a_missing_file_is_missed_where_a_file_was_meant(tmp_path: Path) -> None:
    write(
        tmp_path, AGENTS="@gone.md\n- @docs/gone\nAsk @alice, use @types/node and @app.route.\n@bob\n@docs/\n"
    )
    (tmp_path / "docs").mkdir()
    assert told(tmp_path) == (
        {"AGENTS.md": ""},
        [
            "AGENTS.md imports @gone.md, @docs/gone: there is no such file",
            "AGENTS.md imports @docs/: it is a folder",
        ],
    )


def test_only_regular_files_of_text_are_read_and_a_long_one_is_cut(tmp_path: Path) -> None:
    write(tmp_path, AGENTS="@pipe.md @folder.md @binary.md @long.md", long="a line of rules\n" * 10_000)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "binary.md").write_bytes(b"PK\0\0")
    guides = Guides(tmp_path, tmp_path)
    found = {guide.shown: guide.text for guide in guides.read()}
    assert list(found) == ["AGENTS.md", "long.md"]
    assert len(found["long.md"]) <= MAX_FILE_BYTES
    assert sorted(guides.notices) == [
        "AGENTS.md imports @binary.md: not read, it is no text",
        "AGENTS.md imports @folder.md: it is a folder",
        "long.md is longer than 32 KB: its head was taken",
        "pipe.md was not read: it is a named pipe, not a file",
    ]


def test_imports_are_limited_in_number_and_size_and_notices_in_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, AGENTS=" ".join(f"@i{n}.md" for n in range(300)), **{f"i{n}": f"{n}" for n in range(60)})
    files, notices = told(tmp_path)
    assert len(files) == 1 + module.MAX_IMPORTS
    assert [len(notice) < 300 and " more: " in notice for notice in notices] == [True, True]
    monkeypatch.setattr(module, "MAX_IMPORTED_BYTES", 4)
    files, notices = told(tmp_path)
    assert len(files) == 1 + 4
    assert "KB are imported already" in notices[0]


def test_what_would_be_imported_is_known_before_it_is_there(tmp_path: Path) -> None:
    write(tmp_path, AGENTS="@soon.md and @../elsewhere.md", CLAUDE="@there.md", there="x")
    guides = Guides(tmp_path, tmp_path)
    list(guides.read())
    assert guides.named == {tmp_path / "soon.md", tmp_path / "there.md"}


def test_a_word_without_end_or_sense_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, AGENTS=f"@{'x' * 9000} @\0.md @{'../' * 3000}a @.. @. @/ @~ @[x](y.md) @...")
    files, notices = told(tmp_path)
    assert list(files) == ["AGENTS.md"]
    assert all(len(notice) < 300 for notice in notices)


def test_backticks_without_end_are_read_in_one_go() -> None:
    text = " ".join("`" * (n % 200 + 1) for n in range(3000)) + " @x.md"
    assert len(list(names(text))) <= 1
