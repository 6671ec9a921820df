"""Where a path leads, and whether that is inside."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.support import hostile
from tui_agent.workspace.guard import PathError, head, inside, kind, relative, resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("k")
    return root


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../src/a.py", "src/a.py"),
        (".", ""),
        ("new/file.txt", "new/file.txt"),
        ("src/new", "src/new"),
        ("~name", "~name"),
        ("$HOME", "$HOME"),
        ("...", "..."),
        (" a ", " a "),
    ],
)
def test_a_path_from_the_workspace_is_inside(root: Path, text: str, place: str) -> None:
    assert resolve(root, text) == root / place
    assert inside(root, resolve(root, text))


@pytest.mark.parametrize(
    "text",
    [
        "..",
        "../secret/key",
        "src/../../secret",
        "/etc/passwd",
        "/",
        "~",
        "~/x",
        "../work2/x",
        "/proc/self/root/etc",
    ],
)
def test_a_path_that_leads_out_is_outside(root: Path, text: str) -> None:
    (root.parent / "work2").mkdir()
    assert not inside(root, resolve(root, text))


def test_the_whole_path_counts_not_its_first_letters(root: Path) -> None:
    assert not inside(root, root.parent / "work-other")
    assert inside(root, root)


def test_links_are_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret")
    (root / "out2").symlink_to("../secret/key")
    (root / "hop").symlink_to("out")
    (root / "in").symlink_to("src")
    (root / "dangling").symlink_to(root.parent / "secret" / "not there")
    for text in (
        "out",
        "out/key",
        "out/new",
        "out2",
        "hop/key",
        "dangling",
        "src/../out/key",
        "in/../out/key",
    ):
        assert not inside(root, resolve(root, text)), text
    assert resolve(root, "in/a.py") == root / "src" / "a.py"


def test_up_from_a_link_is_up_from_where_it_leads(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret")
    assert resolve(root, "out/..") == root.parent
    assert not inside(root, resolve(root, "out/../work2"))


def test_a_workspace_reached_by_a_link_is_the_same(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert inside(root.parent / "alias", resolve(root.parent / "alias", "src/a.py"))
    assert inside(root, root.parent / "alias" / "src")
    assert not inside(root.parent / "alias", root.parent / "secret")


def test_links_in_a_circle_do_not_hang(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    resolve(root, "a/x")
    inside(root, "a/x")


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("a\x00b", "null"), ("a\ud800", "surrogates")])
def test_what_is_no_path_is_said(root: Path, text: str, words: str) -> None:
    with pytest.raises(PathError, match=words):
        resolve(root, text)


@pytest.mark.parametrize("name", hostile.NAMES)
def test_a_hostile_name_is_a_name(root: Path, name: str) -> None:
    if name != "~":
        assert resolve(root, name) == root / name
    assert resolve(root, f"./{name}") == root / name
    assert relative(root, resolve(root, f"./{name}")) == name


def test_paths_are_told_from_the_root_on(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert relative(root, root / "src" / "a.py") == "src/a.py"
    assert relative(root.parent / "alias", root / "src") == "src"
    assert relative(root, root) == "."
    assert relative(root, root.parent / "secret") == str(root.parent / "secret")


def test_what_lies_there_is_told_without_opening_it(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("pipe")
    (root / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket"))
        assert kind(root / "socket") == "a socket"
    assert kind(root / "src" / "a.py") == "file"
    assert kind(root / "src") == "folder"
    assert kind(root / "pipe") == kind(root / "link") == "a named pipe"
    assert kind(Path("/dev/zero")) == "a device"
    assert kind(root / "no") == kind(root / "dangling") == kind(root / "src" / "a.py" / "x") == "nothing"


def test_the_head_of_a_file_is_read_and_nothing_else_is_waited_for(root: Path) -> None:
    assert head(root / "src" / "a.py", 10) == b"a"
    assert head(root / "src" / "a.py", 0) == b""
    os.mkfifo(root / "pipe")
    open_before = len(os.listdir("/dev/fd"))
    for name, kind_of_error in [("pipe", OSError), ("src", IsADirectoryError), ("none", FileNotFoundError)]:
        with pytest.raises(kind_of_error):
            head(root / name, 10)
    assert len(os.listdir("/dev/fd")) == open_before
