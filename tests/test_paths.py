from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tui_agent import paths


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_one_variable_moves_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path))
    assert paths.settings_file() == tmp_path / "config" / "settings.toml"
    assert paths.profile_file() == tmp_path / "config" / "profile.md"
    assert paths.sessions_dir() == tmp_path / "data" / "sessions"
    assert paths.trash_dir() == tmp_path / "data" / "trash"
    assert paths.memory_db() == tmp_path / "data" / "memory.db"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "  "])
def test_without_the_variable_the_platform_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", text)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    for folder in (paths.config_dir(), paths.data_dir()):
        assert folder.is_relative_to(tmp_path)
        assert folder.name == "tui-agent"


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_AGENT_HOME", "here")
    assert paths.data_dir() == tmp_path / "here" / "data"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TUI_AGENT_HOME", "~/there")
    assert paths.data_dir() == tmp_path / "there" / "data"


def test_folders_are_for_their_user_alone_and_existing_ones_are_left(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    paths.private_folder(tmp_path / "there" / "a" / "b")
    assert mode(tmp_path / "there") == 0o755
    assert mode(tmp_path / "there" / "a") == mode(tmp_path / "there" / "a" / "b") == 0o700


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError):
        paths.private_folder(tmp_path / "a" / "b")


def test_a_private_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    paths.write_private(file, b"one")
    paths.write_private(file, b"two")
    assert file.read_bytes() == b"two"
    assert mode(file) == 0o600
    assert [p.name for p in file.parent.iterdir()] == ["file"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "settings.toml"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "settings.toml"
    link.symlink_to(target)
    paths.write_private(link, b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        paths.write_private(file, b"new")
    assert file.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
