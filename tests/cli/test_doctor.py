from __future__ import annotations

import shutil
import stat
from collections import namedtuple
from pathlib import Path

import pytest

from tests.cli.command import Ended, Inside, session
from tui_agent.cli import doctor


def lines(ended: Ended, level: str) -> list[str]:
    return [line for line in ended.out.splitlines() if line.startswith(level)]


def test_a_sound_installation_has_nothing_bad(run: Inside, shop: Path) -> None:
    session(shop, "hello")
    ended = run("doctor")
    assert (ended.code, lines(ended, "bad"), ended.err) == (0, [], "")
    for subject in (
        "python:",
        "git:",
        "rg:",
        "terminal:",
        "settings:",
        "key:",
        "config:",
        "data:",
        "disk:",
        "sessions: 1,",
    ):
        assert subject in ended.out


def test_a_fresh_machine_is_told_how_to_get_a_model(run: Inside) -> None:
    assert "set ANTHROPIC_API_KEY" in run("doctor").out


def test_a_key_is_found_and_never_shown(run: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    out = run("doctor").out
    assert "has one (ANTHROPIC_API_KEY)" in out
    assert "sk-ant" not in out


def test_broken_settings_are_bad_and_everything_else_is_looked_at(run: Inside, home: Path) -> None:
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "settings.toml").write_text("durability = 'x'\n")
    ended = run("doctor")
    assert ended.code == 1
    assert "settings.toml:1" in lines(ended, "bad")[0]
    assert "disk:" in ended.out


def test_unknown_tables_are_a_note(run: Inside, home: Path) -> None:
    (home / "config").mkdir(mode=0o700)
    (home / "config" / "settings.toml").write_text("[other]\nx = 1\n")
    (home / "config" / "settings.toml").chmod(0o600)
    ended = run("doctor")
    assert ended.code == 0
    assert any("[other]" in line for line in lines(ended, "note"))


def test_open_folders_are_closed_by_fix_and_it_says_so(run: Inside, home: Path) -> None:
    for name in ("config", "data"):
        (home / name).mkdir()
        (home / name).chmod(0o755)
    (home / "config" / "settings.toml").write_text("")
    (home / "config" / "settings.toml").chmod(0o644)
    ended = run("doctor")
    assert ended.code == 1
    assert len(lines(ended, "bad")) == 3
    assert "3 of these can be mended: tui-agent doctor --fix" in ended.out
    assert stat.S_IMODE((home / "data").stat().st_mode) == 0o755
    fixed = run("doctor", "--fix")
    assert (fixed.code, len(lines(fixed, "fixed"))) == (0, 3)
    assert stat.S_IMODE((home / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "config" / "settings.toml").stat().st_mode) == 0o600
    assert run("doctor").code == 0


def test_a_file_where_a_folder_belongs_is_bad(run: Inside, home: Path) -> None:
    (home / "data").write_text("")
    ended = run("doctor")
    assert ended.code == 1
    assert any("is not a folder" in line for line in lines(ended, "bad"))


def test_a_full_disk_is_bad(run: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 5, doctor.LOW_DISK - 1))
    ended = run("doctor")
    assert (ended.code, "disk" in lines(ended, "bad")[0]) == (1, True)


def test_damaged_sessions_are_named_with_the_way_to_look_closer(run: Inside, shop: Path) -> None:
    made = session(shop, "hello")
    made.context_path.write_bytes(made.context_path.read_bytes() + b"{\n")
    assert f"tui-agent doctor {made.id}" in run("doctor").out


def test_missing_tools_are_notes(run: Inside, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = run("doctor")
    assert ended.code == 0
    assert {"git", "rg"} <= {line.split()[1].rstrip(":") for line in lines(ended, "note")}


def test_mcp_servers_are_looked_at_without_being_started(
    run: Inside, home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config").mkdir(mode=0o700)
    settings = home / "config" / "settings.toml"
    settings.write_text(
        '[mcp.servers.good]\ncommand = "git"\nargs = ["--version"]\n'
        '[mcp.servers.lost]\ncommand = "no-such-program"\n'
        '[mcp.servers.odd]\nurl = "ftp://x"\n'
        '[mcp.servers.off]\ncommand = "git"\nenabled = false\n'
    )
    settings.chmod(0o600)
    (shop / ".mcp.json").write_text(
        '{"mcpServers": {"theirs": {"command": "git"}, "good": {"command": "git"}}}'
    )
    monkeypatch.chdir(shop)
    ended = run("doctor")
    assert ended.code == 1
    assert "ok    mcp good: git --version; never asked what it offers" in ended.out
    assert "bad   mcp lost: there is no program no-such-program" in ended.out
    assert "bad   mcp odd: its url does not begin with http:// or https://" in ended.out
    assert "note  mcp off: disabled" in ended.out
    assert "note  mcp theirs: git; nobody has agreed yet" in ended.out
    assert "settings have a server 'good' of their own" in ended.out
