"""Which folder is worked in, and what it is called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tui_agent.workspace.root import find_root, identity


def make_repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def test_the_root_is_the_git_root(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    (repository / "src" / "deep").mkdir(parents=True)
    (repository / "src" / "a.py").write_text("")
    for place in (repository, repository / "src", repository / "src" / "deep", repository / "src" / "a.py"):
        assert find_root(place) == repository


def test_a_folder_without_git_is_its_own_root(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_root(tmp_path / "a" / "b") == tmp_path / "a" / "b"


def test_an_inner_repository_is_the_root_of_what_is_in_it(tmp_path: Path) -> None:
    make_repository(tmp_path / "outer")
    inner = make_repository(tmp_path / "outer" / "vendor" / "inner")
    assert find_root(inner / "not" / "there") == inner / "not" or find_root(inner) == inner


def test_a_worktree_counts_and_an_empty_git_folder_does_not(tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer")
    (outer / "tree").mkdir()
    (outer / "tree" / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    (outer / "other" / ".git").mkdir(parents=True)
    (outer / "third").mkdir()
    (outer / "third" / ".git").write_text("nothing")
    assert find_root(outer / "tree") == outer / "tree"
    assert find_root(outer / "other") == outer
    assert find_root(outer / "third") == outer


def test_a_repository_in_the_home_folder_is_not_the_root_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_repository(tmp_path / "home")
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert find_root(home / "notes") == home / "notes"
    assert find_root(home) == home


def test_a_folder_has_one_identity_however_it_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "My shop")
    (repository / "src").mkdir()
    (tmp_path / "link").symlink_to(repository)
    (tmp_path / "inner").symlink_to(repository / "src")
    name = identity(repository)
    assert name.startswith("My-shop-")
    monkeypatch.chdir(repository / "src")
    for place in (
        repository / "src",
        tmp_path / "link",
        tmp_path / "inner",
        f"{repository}/./src/../",
        ".",
        "..",
    ):
        assert identity(place) == name
    assert identity(tmp_path) != name


def test_identities_are_names_that_every_file_system_takes(tmp_path: Path) -> None:
    for name in ("日本", "a/../b", "-x", "x" * 200, "[/a]", "esc\x1b[31m", "..."):
        found = identity(tmp_path / name)
        assert len(found) <= 49
        assert set(found) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
        assert not found.startswith((".", "-"))


def test_real_git_agrees(tmp_path: Path) -> None:
    if subprocess.run(["git", "init", "-q", tmp_path / "r"], check=False).returncode:
        pytest.skip("git is not installed")
    (tmp_path / "r" / "a" / "b").mkdir(parents=True)
    top = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=tmp_path / "r" / "a" / "b",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert find_root(tmp_path / "r" / "a" / "b") == Path(os.path.realpath(top))
