from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.save import add_rule, save


def test_changes_are_written_and_everything_else_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('profile = "claude"\n[strange.deep]\nx = [1, { y = 2 }]\n[compaction]\nreview = true\n')
    settings = save(
        file,
        {
            "compaction.auto": False,
            'profiles."my model".base_url': "http://127.0.0.1:1",
            "profile": "my model",
            "compaction.review": None,
        },
    )
    assert settings == load(file)
    assert settings.find_profile().base_url == "http://127.0.0.1:1"
    assert tomllib.loads(file.read_text()) == {
        "profile": "my model",
        "strange": {"deep": {"x": [1, {"y": 2}]}},
        "compaction": {"auto": False},
        "profiles": {"my model": {"base_url": "http://127.0.0.1:1"}},
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_the_file_said_before_is_kept_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    save(file, {"compaction.auto": False})
    assert [p.name for p in tmp_path.iterdir()] == ["settings.toml"]
    file.write_text("# mine\n" + file.read_text())
    save(file, {"compaction.auto": True})
    assert (tmp_path / "settings.toml.bak").read_text().startswith("# mine\n")


def test_what_somebody_wrote_stays_beside_it_however_often_it_is_changed_from_here(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('# mine\ntheme = "dark"\n')
    for motion in ("reduced", "full", "reduced"):
        save(file, {"motion": motion})
    assert (tmp_path / "settings.toml.bak").read_text() == '# mine\ntheme = "dark"\n'
    file.write_text('# mine again\ntheme = "light"\n')
    save(file, {"motion": "full"})
    assert (tmp_path / "settings.toml.bak").read_text().startswith("# mine again\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"compaction.auto": "yes"},
        {"compaction.atuo": True},
        {"profile": "none"},
        {"profiles.claude.api_key_env": "sk-ant-0123456789"},
        {"profiles.claude.api_key": "sk-ant-0123456789"},
        {"": 1},
        {"a b": 1},
        {"a = 1\nb": 1},
    ],
)
def test_nothing_is_written_that_would_not_be_read_again(tmp_path: Path, changes: dict[str, object]) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[compaction]\nauto = true\n")
    with pytest.raises(SettingsError) as caught:
        save(file, changes)
    assert "sk-ant" not in str(caught.value)
    assert file.read_text() == "[compaction]\nauto = true\n"
    assert [p.name for p in tmp_path.iterdir()] == ["settings.toml"]


def test_a_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("broken")
    with pytest.raises(SettingsError):
        save(file, {"compaction.auto": True})
    assert file.read_text() == "broken"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be"):
        save(tmp_path / "file" / "settings.toml", {"compaction.auto": True})


def test_taking_out_what_is_not_there_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    save(file, {"profiles.x.model": None, "keys": None})
    assert file.read_text() == ""


def test_a_rule_is_added_once_to_the_users_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path))
    add_rule(None, "bash:git status")
    add_rule(None, "read_file")
    assert add_rule(None, "bash:git status").approvals.allow == ("bash:git status", "read_file")
    assert stat.S_IMODE((tmp_path / "config").stat().st_mode) == 0o700


def test_a_profile_that_is_added_does_not_become_the_default_unasked(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    assert save(file, {"profiles.demo.thinking": "low"}).profile == "claude"
    assert tomllib.loads(file.read_text())["profile"] == "claude"
    assert save(file, {"profiles.mine.model": "m", "profile": "mine"}).profile == "mine"
