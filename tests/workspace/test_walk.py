"""The files of a workspace, by git and without it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hostile
from tui_agent.workspace import walk
from tui_agent.workspace.walk import files, names

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

GIT_ENVIRONMENT = os.environ | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, env=GIT_ENVIRONMENT)


def tree(root: Path, **contents: str) -> Path:
    return plant(root, contents)


def plant(root: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture(params=["git", pytest.param("no git", id="without git")])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that is a repository, listed by git or as if git were not installed."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    if request.param == "no git":
        without_git(monkeypatch, tmp_path)
    return root


def without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def listed(root: Path) -> list[str]:
    return sorted(names(root))


def test_what_is_ignored_is_left_out(root: Path) -> None:
    plant(
        root,
        {
            ".gitignore": "*.log\n/build/\n!keep.log\n# comment\n\\#odd\ntrailing/**/x\n",
            "a.py": "",
            "x.log": "",
            "keep.log": "",
            "build/out": "",
            "src/build/kept": "",
            "src/y.log": "",
            "#odd": "",
            "trailing/a/b/x": "",
            "trailing/a/b/y": "",
            ".hidden/file": "",
        },
    )
    assert listed(root) == [
        ".gitignore",
        ".hidden/file",
        "a.py",
        "keep.log",
        "src/build/kept",
        "trailing/a/b/y",
    ]


def test_the_innermost_gitignore_decides(root: Path) -> None:
    plant(
        root,
        {
            ".gitignore": "*.log\nsecret\n",
            "web/.gitignore": "!app.log\n/only-here\n",
            "web/app.log": "",
            "web/other.log": "",
            "web/only-here": "",
            "web/deep/app.log": "",
            "web/deep/only-here": "",
            "web/deep/.gitignore": "app.log\n",
            "api/app.log": "",
            "api/secret/key": "",
        },
    )
    assert listed(root) == [
        ".gitignore",
        "web/.gitignore",
        "web/app.log",
        "web/deep/.gitignore",
        "web/deep/only-here",
    ]


def test_nothing_in_an_ignored_folder_comes_back(root: Path) -> None:
    plant(root, {".gitignore": "out/\n!out/a\n", "out/a": "", "out/.gitignore": "!*\n", "b": ""})
    assert listed(root) == [".gitignore", "b"]


def test_the_private_excludes_count(root: Path) -> None:
    plant(root, {".git/info/exclude": "mine\n", "mine": "", "yours": ""})
    assert listed(root) == ["yours"]


def test_a_subfolder_knows_the_rules_above_it(root: Path) -> None:
    plant(root, {".gitignore": "*.log\n", "a/b/x.log": "", "a/b/y": "", "a/.gitignore": "z\n", "a/b/z": ""})
    assert listed(root / "a" / "b") == ["y"]


def test_an_ignored_folder_can_be_the_workspace(root: Path) -> None:
    plant(root, {".gitignore": "build/\n", "build/a/b": "", "build/c": ""})
    assert listed(root / "build") == ["a/b", "c"]


def test_links_are_not_followed_out(root: Path) -> None:
    plant(root.parent / "secret", {"key": ""})
    plant(root, {"src/a": "", "b": ""})
    (root / "out").symlink_to(root.parent / "secret")
    (root / "key").symlink_to(root.parent / "secret" / "key")
    (root / "inner").symlink_to("src")
    (root / "a").symlink_to("src/a")
    (root / "dangling").symlink_to("nowhere")
    (root / "self").symlink_to(".")
    (root / "loop").symlink_to("loop")
    assert listed(root) == ["a", "b", "src/a"]


def test_a_tracked_folder_replaced_by_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = plant(tmp_path / "work", {"src/key": "", "b": ""})
    plant(tmp_path / "secret", {"key": ""})
    git(root, "init", "-q")
    git(root, "add", ".")
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(tmp_path / "secret")
    assert listed(root) == ["b"]


def test_deleted_files_pipes_and_folders_are_left_out(root: Path) -> None:
    plant(root, {"a": "", "gone": "", "folder/x": ""})
    if shutil.which("git"):
        git(root, "add", ".")
    (root / "gone").unlink()
    os.mkfifo(root / "pipe")
    (root / "empty").mkdir()
    assert listed(root) == ["a", "folder/x"]


def test_inner_repositories_are_listed_by_their_own_rules(root: Path) -> None:
    plant(
        root,
        {
            ".gitignore": "*.log\n",
            "vendor/lib/.git/HEAD": "ref: refs/heads/main\n",
            "vendor/lib/.git/objects/x": "",
            "vendor/lib/.git/refs/x": "",
            "vendor/lib/.gitignore": "tmp\n",
            "vendor/lib/a.log": "",
            "vendor/lib/tmp": "",
            "vendor/lib/b": "",
        },
    )
    assert listed(root) == [".gitignore", "vendor/lib/.gitignore", "vendor/lib/a.log", "vendor/lib/b"]


@pytest.mark.parametrize("name", hostile.NAMES)
def test_hostile_names_are_listed(root: Path, name: str) -> None:
    plant(root, {name: "", f"folder {name}/{name}": ""})
    assert listed(root) == sorted([name, f"folder {name}/{name}"])
    assert sorted(files(root)) == sorted([root / name, root / f"folder {name}" / name])


@pytest.mark.parametrize("raw", hostile.BYTE_NAMES)
def test_names_that_are_not_utf8_are_listed(root: Path, raw: bytes) -> None:
    try:
        (root / os.fsdecode(raw)).write_text("")
    except OSError:
        pytest.skip("the file system takes only UTF-8 names")
    assert [os.fsencode(name) for name in names(root)] == [raw]


def test_a_gitignore_that_is_no_text_does_not_stop_the_walk(root: Path) -> None:
    plant(root, {"a": "", "b/c": ""})
    (root / ".gitignore").write_bytes(b"\xff\xfe\n[z-a]\n!\n/\n[\n[[:x:]]\nb\\\n\\\na\r\n")
    assert listed(root)[-1] == "b/c"
    (root / ".gitignore").unlink()
    (root / ".gitignore").mkdir()
    assert listed(root) == ["a", "b/c"]


def test_a_byte_order_mark_in_a_gitignore_is_no_pattern(root: Path) -> None:
    plant(root, {"a": "", "b": ""})
    (root / ".gitignore").write_bytes(b"\xef\xbb\xbfa\n")
    assert listed(root) == [".gitignore", "b"]


def test_without_a_repository_gitignore_still_counts(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {".gitignore": "*.log\n", "a/x.log": "", "a/y": "", "b/.gitignore": "z", "b/z": "", "b/w": ""},
    )
    assert listed(tmp_path) == [".gitignore", "a/y", "b/.gitignore", "b/w"]


def test_a_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert listed(tmp_path / "gone") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_passed_over(root: Path) -> None:
    plant(root, {"a": "", "closed/b": ""})
    (root / "closed").chmod(0)
    try:
        assert listed(root) == ["a"]
    finally:
        (root / "closed").chmod(0o700)


@needs_git
def test_a_program_named_in_the_repository_is_not_run(tmp_path: Path) -> None:
    root = plant(tmp_path / "work", {"a": ""})
    git(root, "init", "-q")
    watcher = tmp_path / "watcher"
    watcher.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    watcher.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(watcher))
    assert listed(root) == ["a"]
    assert not (tmp_path / "was-run").exists()


@needs_git
def test_the_environment_of_another_repository_does_not_mislead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, root = plant(tmp_path / "other", {"x": ""}), plant(tmp_path / "work", {"a": ""})
    git(other, "init", "-q")
    git(root, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert listed(root) == ["a"]


@needs_git
def test_a_damaged_repository_is_walked(tmp_path: Path) -> None:
    root = plant(tmp_path / "work", {"a": "", "b.log": "", ".gitignore": "*.log", ".git/HEAD": "nonsense"})
    assert listed(root) == [".gitignore", "a"]


PARTS = st.sampled_from(["a", "b", "ab", "x.log", "y.txt", "d"])
PATTERNS = st.sampled_from(
    [
        "a",
        "/a",
        "a/",
        "*.log",
        "!x.log",
        "**/b",
        "d/**",
        "!/d/",
        "a/b",
        "[ab]",
        "?",
        "!*.txt",
        "*",
        "!*/",
        "d/*",
        "!a",
        "\\a",
        "b/**/x.log",
    ]
)


@needs_git
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    paths=st.lists(
        st.lists(PARTS, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12, unique=True
    ),
    ignores=st.dictionaries(
        st.sampled_from(["", "a/", "d/", "a/b/"]), st.lists(PATTERNS, min_size=1, max_size=4), max_size=3
    ),
)
def test_the_walk_without_git_lists_what_git_lists(
    paths: list[str], ignores: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("walk")
    git(root, "init", "-q")
    try:
        for folder, patterns in ignores.items():
            plant(root, {f"{folder}.gitignore": "\n".join(patterns) + "\n"})
        for path in paths:
            try:
                plant(root, {path: ""})
            except (NotADirectoryError, IsADirectoryError, FileExistsError):
                continue
        expected = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
            env=GIT_ENVIRONMENT,
        ).stdout.decode()
        by_git = sorted(filter(None, expected.split("\0")))
        assert sorted(walk._walked(root)) == by_git
        assert listed(root) == by_git
    finally:
        shutil.rmtree(root)
