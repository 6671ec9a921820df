"""bash."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support import hostile
from tests.tools.test_files import use
from tui_agent.tools.permission import Rules
from tui_agent.tools.shell import Bash
from tui_agent.tools.tool import Tool, ToolError
from tui_agent.tools.toolbox import Closing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def bash(root: Path) -> Bash:
    return Bash(root)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_it_is_a_tool(bash: Bash) -> None:
    assert isinstance(bash, Tool) and not bash.read_only
    assert isinstance(bash, Closing)


async def test_a_command_runs_in_the_workspace(root: Path, bash: Bash) -> None:
    output = await use(bash, command="pwd -P; echo oops >&2; exit 3")
    assert output.content == f"{root}\noops\n[exit code 3]"
    assert output.summary == "exit 3"
    assert output.error
    meta = dict(output.meta)
    assert meta.pop("ms") >= 0
    assert meta == {"tool": "bash", "exit": 3, "timed_out": False, "read": [], "changed": []}


async def test_git_status_writes_nothing(root: Path, bash: Bash) -> None:
    await use(bash, command="git init -q . && echo one > a.txt && git add a.txt && touch -d 2001-01-01 a.txt")
    index = root / ".git" / "index"
    before = index.read_bytes()
    assert "a.txt" in str((await use(bash, command="git status --short")).content)
    assert index.read_bytes() == before


async def test_success_is_no_error(bash: Bash) -> None:
    output = await use(bash, command="printf done")
    assert (output.content, output.error, output.summary) == ("done\n[exit code 0]", False, "exit 0")
    assert (await use(bash, command="true")).content == "(no output)\n[exit code 0]"


async def test_output_is_handed_on(bash: Bash) -> None:
    heard: list[str] = []
    await bash.call({"command": "echo one; echo two"}, heard.append)
    assert "".join(heard) == "one\ntwo\n"


async def test_a_command_that_takes_too_long_is_ended_and_said(root: Path, bash: Bash) -> None:
    output = await use(bash, command="echo $$ > pid; echo begun; sleep 600", timeout=1)
    assert output.content == (
        "begun\n[timed out after 1 s and was ended; give it a longer timeout if it needs one]\n[ended by SIGTERM]"
    )
    assert (output.summary, output.error) == ("timed out", True)
    assert output.meta["timed_out"]
    assert not is_running(int((root / "pid").read_text()))


async def test_cancelling_ends_it_with_its_children(root: Path, bash: Bash) -> None:
    task = asyncio.create_task(use(bash, command="sleep 600 & echo $! > child; echo $$ > shell; wait"))
    while not (root / "shell").exists() or not (root / "shell").read_text():
        await asyncio.sleep(0.01)
    pids = [int((root / name).read_text()) for name in ("child", "shell")]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_running, pids))


async def test_what_is_left_in_the_background_is_said_and_ended_at_the_close(root: Path, bash: Bash) -> None:
    output = await use(bash, command="sleep 600 > log 2>&1 & echo $! > child")
    pid = int((root / "child").read_text())
    assert output.content == (
        f"(no output)\n[exit code 0]\n[still running in the background, its output no longer heard: pid {pid}]"
    )
    assert is_running(pid)
    await bash.close()
    assert not is_running(pid)
    await bash.close()


async def test_the_signal_that_ended_it_is_said(bash: Bash) -> None:
    output = await use(bash, command="kill -KILL $$")
    assert output.content == "(no output)\n[ended by SIGKILL]"
    assert output.meta["exit"] == -9


async def test_commands_side_by_side_do_not_mix(bash: Bash) -> None:
    outputs = await asyncio.gather(*(use(bash, command=f"echo {n}; sleep 0.02; echo {n}") for n in range(8)))
    assert [output.content for output in outputs] == [f"{n}\n{n}\n[exit code 0]" for n in range(8)]


async def test_a_workspace_that_is_gone_is_said(root: Path, bash: Bash) -> None:
    root.rmdir()
    with pytest.raises(ToolError, match="its folder is not there"):
        await use(bash, command="true")


async def test_a_command_may_be_as_long_as_the_system_takes(bash: Bash) -> None:
    output = await use(bash, command=f"printf '%s' '{'é' * 49_000}' | wc -c")
    assert str(output.content).split()[0] == "98000"
    with pytest.raises(ToolError, match="write a script with write_file"):
        bash.needs({"command": "x" * 100_001})


@pytest.mark.parametrize("name", hostile.TEXTS)
async def test_hostile_output_comes_as_it_is(root: Path, bash: Bash, name: str) -> None:
    data = hostile.TEXTS[name].encode("utf-8", "replace")
    (root / "file").write_bytes(data)
    output = await use(bash, command="cat file")
    text = data.decode()
    expected = text.removesuffix("\n") if text else "(no output)"
    assert output.content == f"{expected}\n[exit code 0]"


# --- what a call needs -------------------------------------------------------------------------------------------


def test_a_command_says_what_it_needs(root: Path, bash: Bash) -> None:
    need = bash.needs({"command": "pnpm test --filter web\n"})
    assert (need.kind, need.title, need.command) == (
        "run",
        "pnpm test --filter web",
        "pnpm test --filter web\n",
    )
    assert (need.rule, need.body, need.place) == ("bash:pnpm test*", "pnpm test --filter web\n", str(root))
    assert (need.editable, need.outside, need.warning) == ("command", False, "")


def test_a_title_is_one_safe_line(bash: Bash) -> None:
    need = bash.needs({"command": "echo a\necho \x1b[31m" + "x" * 1000})
    assert need.title.startswith("echo a␤echo ␛[31mxxx")
    assert len(need.title) == 200
    for text in hostile.SMALL.values():
        if text.strip() and "\0" not in text:
            try:
                title = bash.needs({"command": text}).title
            except ToolError as error:
                assert "half a character" in str(error)
            else:
                assert hostile.acts(title, allowed="") == []


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ../secret",
        "ls ~",
        "cat '~/.ssh/id' ~/.ssh/id",
        "cat out/key",
        "cp a /tmp/new-file",
        "gcc -I/usr/include a.c",
        "echo x > /etc/hosts",
        "cat $(echo /etc/passwd)",
        "ls /",
    ],
)
def test_a_place_outside_is_pointed_out(root: Path, bash: Bash, command: str) -> None:
    (root.parent / "beyond").mkdir()
    (root / "out").symlink_to(root.parent / "beyond")
    need = bash.needs({"command": command})
    assert need.outside
    assert need.rule == ""
    assert need.warning.startswith("names a place outside the workspace: ")
    assert Rules(["bash"]).decide(bash, need) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py src/b.py",
        "awk '/foo/ {print}' a",
        "sed s/a/b/ x",
        "/bin/ls",
        "curl https://example.org/x",
        "ls .",
        "cd src/..",
    ],
)
def test_what_is_no_place_outside_is_not(bash: Bash, command: str) -> None:
    need = bash.needs({"command": command})
    assert not need.outside
    assert need.warning == ""


def test_a_place_inside_named_in_full_is_inside(root: Path, bash: Bash) -> None:
    assert not bash.needs({"command": f"cat {root}/a {root}"}).outside


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs the argument 'command'"),
        ({"command": "  \n"}, "'command' is empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "a\ud800"}, "half a character"),
        ({"command": "a", "timeout": 0}, "'timeout' is 0; it must be from 1 to 3600"),
        ({"command": "a", "timeout": 9999}, "must be from 1 to 3600"),
        ({"command": "a", "timeout": "soon"}, "must be a whole number"),
        ({"command": ["ls"]}, "must be a text, not a list"),
        ({"command": "a", "cwd": "/"}, "takes no argument 'cwd'"),
    ],
)
async def test_bad_arguments_are_explained(bash: Bash, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        bash.needs(arguments)
    with pytest.raises(ToolError, match=words):
        await bash.call(arguments, lambda text: None)


def test_nothing_is_run_to_find_out_what_is_needed(root: Path, bash: Bash) -> None:
    bash.needs({"command": "touch was-run; $(touch was-run)"})
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    "command",
    [
        "cat $UNSET/etc/passwd",
        "cat $IFS/etc/passwd",
        "cat $PWD/../x",
        "cat $BASH",
        'cat $"/etc/passwd"',
        "cat {/etc/passwd,a}",
        "cat {a,..}/..",
        "cat /e*c/passwd",
        "cat /et?/passwd",
        "cat /[^q]tc/passwd",
        "cat /[[:alpha:]]tc/passwd",
        "cat lin?/passwd",
        "cat .?/x",
        "cat ~root/x",
        "cat ~+/../x",
        "cat ~-/x",
        "cat @/etc/passwd",
        "cat a:/etc/passwd",
    ],
)
def test_no_spelling_of_a_place_outside_runs_by_a_rule(root: Path, bash: Bash, command: str) -> None:
    (root / "link").symlink_to("/etc")
    assert Rules(["bash:cat *"]).decide(bash, bash.needs({"command": command})) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat *.py",
        "cat src/*",
        "cat a?.py",
        "cat [ab].py",
        "cat 'x.*' \"[[:space:]]\" '/nowhere.*/'",
        "cat HEAD@{1} {}",
    ],
)
def test_wildcards_that_stay_in_the_workspace_run_by_a_rule(root: Path, bash: Bash, command: str) -> None:
    (root / "a.py").touch()
    assert Rules(["bash:cat *"]).decide(bash, bash.needs({"command": command})) == "allow"
