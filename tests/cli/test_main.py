from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.cli.command import Inside, command, environment, session
from tui_agent import __version__, process


def loaded(*argv: str, cwd: Path) -> set[str]:
    """The modules that a command loads."""
    script = (
        "import sys; from tui_agent.cli.main import main; main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *argv],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split("tui-agent: ")[-1].split())


def test_the_version_is_printed_and_next_to_nothing_is_loaded_for_it(shop: Path) -> None:
    ended = command("--version", cwd=shop)
    assert (ended.code, ended.out.strip(), ended.err) == (0, f"tui-agent {__version__}", "")
    modules = loaded("--version", cwd=shop)
    ours = {name.removeprefix("tui_agent") for name in modules if name.startswith("tui_agent")}
    assert ours == {"", ".cli", ".cli.arguments", ".cli.failures", ".cli.main"}
    assert not modules & {
        "asyncio",
        "textual",
        "rich",
        "anthropic",
        "msgspec",
        "PIL",
        "tomllib",
        "platformdirs",
    }


def test_reports_load_no_screen_and_no_model_library(shop: Path) -> None:
    session(shop, "hello")
    for argv in (("sessions",), ("context", "show"), ("memory",), ("doctor",)):
        assert not loaded(*argv, cwd=shop) & {"textual", "rich", "anthropic", "PIL", "tui_agent.ui"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--what",), "--what"),
        (("--continue", "--resume", "X"), "not allowed with"),
        (("nowhere",), "there is no folder 'nowhere'"),
        (
            ("--demo", "sessions"),
            "commands (sessions, inspect, context, memory, mcp, doctor) come before their options",
        ),
        (("a", "b"), "b"),
        (("--allow", "bash"), "goes with -p"),
        (("--mode", "plan"), "the screen needs a terminal"),
        (("--output-format", "json"), "goes with -p"),
        (("-p", "x", "--output-format", "xml"), "xml"),
        (("-p",), "-p"),
        ((), "the screen needs a terminal"),
        (("sessions", "burn"), "burn"),
        (("sessions", "delete"), "needs the id"),
        (("sessions", "list", "X"), "takes no session"),
        (("sessions", "gc", "--search", "x"), "--search"),
        (("context",), "ACTION"),
        (("context", "revert"), "N"),
        (("context", "show", "--session", "X", "--path", "Y"), "not allowed with"),
        (("context", "sh"), "sh"),
        (("inspect",), "PATH"),
        (("memory", "add", "x"), "--key"),
        (("memory", "add", "x", "--key", "k", "--scope", "session"), "session"),
        (("memory", "edit", "x"), "needs a new TEXT"),
        (("memory", "burn"), "burn"),
        (("doctor", "a", "b"), "b"),
    ],
)
def test_a_wrong_command_line_is_one_line_on_the_error_output_and_code_2(
    run: Inside, argv: tuple[str, ...], words: str
) -> None:
    ended = run(*argv)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert ended.err.startswith("tui-agent: ")
    assert ended.err.count("\n") == 1


def test_options_are_not_guessed_from_their_beginning(run: Inside) -> None:
    assert run("--cont").code == 2
    assert run("sessions", "--al").code == 2


def test_help_names_every_command(run: Inside) -> None:
    ended = run("--help")
    assert ended.code == 0
    for word in (
        "sessions",
        "inspect",
        "context",
        "memory",
        "doctor",
        "--resume",
        "--append-system",
        "--allow",
    ):
        assert word in ended.out
    for name in ("sessions", "inspect", "context", "memory", "doctor"):
        assert run(name, "--help").code == 0


def test_a_folder_before_a_command_is_the_workspace(run: Inside, tmp_path: Path, shop: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    session(other, "in the other one")
    assert "no sessions in" in run("sessions").out
    assert "in the other one" in run(str(other), "sessions").out
    assert "in the other one" in run("../other", "sessions", "list").out
    assert "in the other one" in run(str(other), "context", "show").out


def test_a_folder_called_like_a_command_is_reached_by_its_path(run: Inside, shop: Path) -> None:
    (shop / "sessions").mkdir()
    assert "no sessions in" in run("sessions").out
    assert "needs a terminal" in run("./sessions").err
    assert "no sessions in" in run("./sessions", "sessions").out


def test_a_file_is_no_workspace(run: Inside, shop: Path) -> None:
    (shop / "file").write_text("")
    ended = run("file")
    assert (ended.code, "is not a folder" in ended.err) == (2, True)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m tui_agent sessions"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, env=environment())
    assert done.returncode == 1
    assert "does not exist any more" in done.stderr


def test_broken_settings_stop_the_screen_and_the_prompt_with_their_line(run: Inside, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "settings.toml").write_text("\nx = 1\n")
    ended = run("-p", "hello")
    assert ended.code == 1
    assert f"{home}/config/settings.toml:2: unknown key x" in ended.err
    assert run("sessions").code == 0


def test_a_profile_that_is_not_there_is_said_with_those_that_are(run: Inside) -> None:
    ended = run("-p", "hello", "--profile", "kimi")
    assert ended.code == 1
    assert "claude, demo" in ended.err


def test_nobody_reading_is_no_error(shop: Path) -> None:
    for number in range(40):
        session(shop, f"session {number} " + "x" * 200)
    script = f"{sys.executable} -m tui_agent sessions --json | head -c 10"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=shop, capture_output=True, text=True, env=environment()
    )
    assert len(done.stdout) == 10
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_output_is_one_line(shop: Path) -> None:
    script = f"{sys.executable} -m tui_agent sessions > /dev/full"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=shop, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_closed_streams_do_no_harm(shop: Path) -> None:
    script = f"{sys.executable} -m tui_agent sessions <&- >&- 2>&-"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=shop, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0


def test_output_that_the_locale_cannot_encode_is_escaped(shop: Path) -> None:
    session(shop, "東京 \U0001f600")
    latin = environment(PYTHONIOENCODING="latin-1")
    table = command("sessions", cwd=shop, env=latin)
    assert (table.code, "\\u6771" in table.out) == (0, True)
    data = command("sessions", "--json", cwd=shop, env=latin)
    assert data.data[0]["first"] == "東京 \U0001f600"


def test_windows_is_refused_with_one_line(run: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    from tui_agent.cli import main as module

    monkeypatch.setattr(module, "_WINDOWS", True)
    ended = run("sessions")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "Windows" in ended.err


def test_the_installed_command_is_this_one(shop: Path) -> None:
    script = Path(sys.executable).with_name("tui-agent")
    if not script.exists():
        pytest.skip("the package is not installed beside this Python")
    done = subprocess.run(
        [script, "--version"], cwd=shop, capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == f"tui-agent {__version__}"


def test_whatever_was_started_ends_with_the_program(run: Inside) -> None:
    left = asyncio.run(process.run("sleep 300 > /dev/null 2>&1 &")).left
    assert left is not None and left.alive()
    (child,) = (psutil.Process(pid) for pid in left.pids)
    run("sessions")
    assert not psutil.wait_procs([child], 20)[1]
