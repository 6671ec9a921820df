"""Commands of git that look run nothing that a repository brings along: where it names a program, git is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tui_agent.tools import readonly


def git(place: Path, *words: str) -> None:
    """Run git there, with nothing of the person's own configuration."""
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *identity, *words], cwd=place, env={**os.environ, **own}, check=True, capture_output=True
    )


def made(place: Path) -> Path:
    """A repository with one commit and a change beyond it."""
    place.mkdir(parents=True, exist_ok=True)
    git(place, "init", "-q")
    (place / "a.x").write_text("one\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "first")
    (place / "a.x").write_text("two\n")
    return place


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("work") / "shop")


def configure(repository: Path, text: str) -> None:
    (repository / ".git" / "config").write_text(f"[core]\n\tbare = false\n{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfsmonitor = ./run",
        "[core] fsmonitor=./run",
        "[diff]\n\texternal = ./run",
        '[diff "x"]\n\ttextconv = ./run',
        '[DIFF "x"]\n\tCommand = ./run',
        '[filter "x"]\n\tclean = ./run',
        '[filter "lfs"]\n\tclean = git-lfs clean; ./run',
        "[gpg]\n\tprogram = ./run",
        "[include]\n\tpath = more",
        '[includeIf "gitdir:/"]\n\tpath = more',
    ],
)
def test_git_is_refused_where_the_repository_names_a_program(repository: Path, text: str) -> None:
    configure(repository, text)
    assert "git:" in readonly.refusal("git diff", str(repository))
    assert readonly.refusal("git diff", str(repository / "sub"))
    assert not readonly.refusal("cat a.x", str(repository))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[core]\n\tfsmonitor = true",
        "[core]\n\tpager = less",
        "# clean = ./run",
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n\trequired = true',
        '[remote "origin"]\n\turl = https://example.org/external=x',
    ],
)
def test_git_looks_where_it_names_none(repository: Path, text: str) -> None:
    configure(repository, text)
    assert readonly.refusal("git status; git diff | head", str(repository)) == ""


def test_a_hook_that_looking_sets_off_is_one(repository: Path) -> None:
    configure(repository, "")
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert "post-index-change" in readonly.refusal("git status", str(repository))
    hook.unlink()
    configure(repository, "[core]\n\thooksPath = own")
    assert readonly.refusal("git status", str(repository)) == ""
    (repository / "own").mkdir()
    (repository / "own" / "post-index-change").write_text("#!/bin/sh\n")
    assert readonly.refusal("git status", str(repository))


def test_the_repository_is_that_of_the_folder_gone_to(tmp_path: Path) -> None:
    outer = made(tmp_path / "outer")
    (outer / "plain").mkdir()
    inner = made(outer / "inner")
    configure(inner, "[core]\nfsmonitor = ./run")
    (outer / "link").symlink_to("inner")
    assert readonly.refusal("git log; cd plain && git log", str(outer)) == ""
    for command in (
        "cd inner && git log",
        "cd plain; cd ../inner; git log",
        "cd link && git log",
        "cd i* && git log",
        "cd nowhere; cd inner; git log",
        "cd plain | cd inner; git log",
    ):
        assert readonly.refusal(command, str(outer)), command


def test_a_bare_repository_among_the_files_is_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert readonly.refusal("cd bare && git log", str(tmp_path)) == ""
    (tmp_path / "bare" / "config").write_text("[core]\nfsmonitor = ./run\n")
    assert readonly.refusal("cd bare && git log", str(tmp_path))


def test_a_module_of_the_repository_is_looked_at_too(tmp_path: Path) -> None:
    made(tmp_path / "library")
    outer = made(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(tmp_path / "library"), "lib")
    assert readonly.refusal("git status", str(outer)) == ""
    with (outer / ".git" / "modules" / "lib" / "config").open("a") as file:
        file.write("[core]\nfsmonitor = ./run\n")
    assert readonly.refusal("git status", str(outer))


def test_a_second_working_tree_has_the_configuration_of_the_first(tmp_path: Path) -> None:
    first = made(tmp_path / "first")
    git(first, "worktree", "add", "-q", str(tmp_path / "second"))
    assert readonly.refusal("git status", str(tmp_path / "second")) == ""
    configure(first, "[core]\nfsmonitor = ./run")
    assert readonly.refusal("git status", str(tmp_path / "second"))
