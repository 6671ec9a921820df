"""Rules: what they let run, and that nothing slips through beside it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support import hostile
from tui_agent.tools.commandline import NotPlain, exactly, places, proposal, split
from tui_agent.tools.permission import Rules
from tui_agent.tools.tool import Need, Output, Progress, Tool


class Named:
    """A tool that has nothing but a name."""

    description = ""
    schema: dict[str, Any] = {}
    read_only = False

    def __init__(self, name: str) -> None:
        self.name = name

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        raise AssertionError

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        raise AssertionError


BASH, EDIT, READ, TODO = (Named(name) for name in ("bash", "edit_file", "read_file", "todo"))
ROOT = Path("/home/someone/shop")


def run(command: str, *, outside: bool = False) -> Need:
    return Need("run", command, command=command, outside=outside, place=str(ROOT))


def write(path: str, *, outside: bool = False) -> Need:
    return Need("write", path, paths=(ROOT / path,), outside=outside, place=str(ROOT))


def decide(rules: list[str], command: str) -> str:
    return Rules(rules).decide(BASH, run(command))


def test_a_named_thing_is_a_tool() -> None:
    assert isinstance(BASH, Tool)


def test_reads_inside_are_free_and_the_rest_asks() -> None:
    rules = Rules()
    assert rules.decide(READ, Need("read", "a", paths=(ROOT / "a",))) == "allow"
    assert rules.decide(TODO, Need("none", "")) == "allow"
    assert rules.decide(EDIT, write("a")) == "ask"
    assert rules.decide(BASH, run("ls")) == "ask"


@pytest.mark.parametrize("rule", ["read_file", "edit_file", "edit_file:*", "bash", "bash:*"])
def test_outside_always_asks(rule: str) -> None:
    rules = Rules([rule])
    assert (
        rules.decide(READ, Need("read", "/etc/passwd", paths=(Path("/etc/passwd"),), outside=True)) == "ask"
    )
    assert rules.decide(EDIT, write("../x", outside=True)) == "ask"
    assert rules.decide(BASH, run("cat /etc/passwd", outside=True)) == "ask"


def test_writing_inside_git_always_asks() -> None:
    rules = Rules(["edit_file"])
    assert rules.decide(EDIT, write(".git/hooks/pre-commit")) == "ask"
    assert rules.decide(EDIT, write("vendor/lib/.git/config")) == "ask"
    assert rules.decide(EDIT, write(".GIT/config")) == "ask"
    assert rules.decide(EDIT, write(".g\u200cit/config")) == "ask"
    assert rules.decide(EDIT, write(".github/workflows/ci.yml")) == "allow"
    assert rules.decide(EDIT, write(".gitignore")) == "allow"


def test_a_tool_alone_allows_all_of_it_and_no_other() -> None:
    rules = Rules(["edit_file"])
    assert rules.decide(EDIT, write("src/a.py")) == "allow"
    assert rules.decide(Named("write_file"), write("src/a.py")) == "ask"
    assert rules.decide(BASH, run("ls")) == "ask"


def test_a_path_pattern_is_seen_from_the_workspace() -> None:
    rules = Rules(["edit_file:src/*", "edit_file:README.md"])
    for path in ("src/a.py", "src/deep/b.py", "README.md"):
        assert rules.decide(EDIT, write(path)) == "allow"
    for path in ("srcs/a.py", "src2", "docs/src/a.py", "README.md.bak", "src"):
        assert rules.decide(EDIT, write(path)) == "ask"


def test_every_path_of_a_call_must_be_allowed() -> None:
    rules = Rules(["edit_file:src/*"])
    need = Need("write", "", paths=(ROOT / "src" / "a", ROOT / "b"), place=str(ROOT))
    assert rules.decide(EDIT, need) == "ask"
    assert rules.decide(EDIT, Need("write", "", place=str(ROOT))) == "ask"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash:git status", "git status"),
        ("bash:git status", "  git   status\t"),
        ("bash:pnpm test*", "pnpm test"),
        ("bash:pnpm test*", "pnpm test --filter web"),
        ("bash:pnpm test*", "pnpm test:unit"),
        ("bash:pnpm test*", "pnpm test 'a; b' \"c && d\" e\\;f"),
        ("bash:pnpm test*", "pnpm test \\\n  --filter web"),
        ("bash:pnpm test*", 'pnpm test "$FILTER" $OTHER'),
        ("bash:ls *", "ls"),
        ("bash:ls *", "ls -la src"),
        ("bash:*", "anything at all"),
        ("bash:git * --stat", "git log --stat"),
        ("bash", "rm -rf x; echo $(id) > y"),
        ("bash:echo \\*", "echo *"),
        ("bash:cd web && pnpm test", "cd web && pnpm test"),
    ],
)
def test_a_command_that_a_rule_names_runs(rule: str, command: str) -> None:
    assert decide([rule], command) == "allow"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash:git status", "git status -s"),
        ("bash:git status", "git stash"),
        ("bash:pnpm test*", "npm test"),
        ("bash:pnpm test*", "x pnpm test"),
        ("bash:ls *", "lsof"),
        ("bash:ls *", "LS"),
        ("bash:echo \\*", "echo x"),
        ("bash:cd web && pnpm test", "cd web && pnpm test --x"),
        ("bash:cd web && pnpm test", "pnpm test"),
        ("bash:git status*", ""),
        ("bash:git status*", "   "),
    ],
)
def test_a_command_that_no_rule_names_asks(rule: str, command: str) -> None:
    assert decide([rule], command) == "ask"


ESCAPES = [
    "git status; id",
    "git status ;id",
    "git status && id",
    "git status || id",
    "git status | sh",
    "git status |& sh",
    "git status & id",
    "git status&id",
    "git status\nid",
    "git status\r\nid",
    "id; git status",
    "git status $(id)",
    "git status `id`",
    'git status "$(id)"',
    'git status "`id`"',
    "git status ${x:-$(id)}",
    "git status ${x@P}",
    "git status $((a[$(id)]))",
    "git status $[a[0]]",
    "git status $'\\x3b' id",
    "git status <(id)",
    "git status >(id)",
    "git status > .bashrc",
    "git status >> x",
    "git status 2>x",
    "git status &> x",
    "git status >& x",
    "git status < x",
    "git status << E\nid\nE",
    "git status <<< x",
    "git status 2>&1",
    "(git status; id)",
    "{ git status; id; }",
    "git status () { id; }",
    "git status # it's\nid #'",
    "git status #\\\nid",
    "FOO=bar git status",
    "PATH=. git status",
    "env git status",
    "exec git status",
    "! git status",
    "time git status",
    "if git status; then id; fi",
    "while git status; do id; done",
    "for x in git status; do $x; done",
    "case git in git) id;; esac",
    "git status 'a",
    'git status "a',
    "git status \\",
    "git status;; id",
    "git status ''#x\nid",
    "git status \\\\\nid",
    "git status '\\'; id; '",
    'git status "\\\\"; id; "',
    "$git status",
    "\\git status",
    "'git' status",
    "git\u00a0status",
    "git status" + "x" * 20_000,
]


@pytest.mark.parametrize("command", ESCAPES)
def test_nothing_runs_beside_what_a_rule_names(command: str) -> None:
    assert decide(["bash:git status*"], command) == "ask"


def test_of_several_commands_each_must_be_allowed() -> None:
    rules = ["bash:git status*", "bash:pnpm test*"]
    for command in (
        "git status && pnpm test",
        "git status; pnpm test;",
        "git status | pnpm test",
        "git status\npnpm test\n\n",
        "git status & pnpm test &",
        "git status&&pnpm test -x||git status",
    ):
        assert decide(rules, command) == "allow"
        assert decide(rules[:1], command) == "ask"


def test_a_rule_given_on_the_way_holds_from_then_on() -> None:
    rules = Rules(["edit_file"])
    rules.remember("bash:git log*")
    rules.remember(" bash:make ", "settings")
    assert rules.decide(BASH, run("git log -3")) == "allow"
    assert rules.decide(BASH, run("make")) == "allow"
    assert rules.allowed() == [
        ("edit_file", "settings"),
        ("bash:git log*", "session"),
        ("bash:make", "settings"),
    ]


def test_what_is_denied_is_denied_before_all() -> None:
    rules = Rules(["bash"], deny=["bash:git push*", "bash:rm *", "edit_file:secrets/*"])
    for command in ("git push origin", "ls && git push", "rm -rf x", "rm $(ls)"):
        assert rules.decide(BASH, run(command)) == "deny"
    assert rules.decide(BASH, run("git pull")) == "allow"
    assert rules.decide(EDIT, write("secrets/key")) == "deny"
    assert rules.decide(EDIT, write("src/key")) == "ask"


@pytest.mark.parametrize(
    "text", ["", ":", ":x", "bash:", "bash: ", "two words", "a b:c", "bash:a\nb", "bash:a\x1b", "[/]"]
)
def test_what_is_no_rule_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="is no rule"):
        Rules([text])
    with pytest.raises(ValueError, match="is no rule"):
        Rules().remember(text)


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("pnpm test --filter web --reporter verbose", "pnpm test*"),
        ("git status", "git status*"),
        ("git log --oneline -5", "git log*"),
        ("git -C x log", "git -C x log"),
        ("git", "git *"),
        ("npm run build", "npm run build*"),
        ("docker compose up -d", "docker compose up*"),
        ("uv run pytest -q", "uv run pytest*"),
        ("python -m pytest tests", "python -m pytest*"),
        ("python scripts/x.py a", "python scripts/x.py*"),
        ("python -c 'print(1)'", "python -c 'print(1)'"),
        ("pytest -q tests", "pytest *"),
        ("cat src/a.py", "cat *"),
        ("./run.sh fast", "./run.sh *"),
        ("rm -rf build", "rm -rf build"),
        ("rm *.pyc", "rm \\*.pyc"),
        ("sudo ls", "sudo ls"),
        ("curl https://example.org", "curl https://example.org"),
        ("bash x.sh", "bash x.sh"),
        ("FOO=1 make", "FOO=1 make"),
        ("'odd name' x", "'odd name' x"),
        ("cd web && pnpm test", "cd web && pnpm test"),
        ("ls *.py && wc -l *.py", "ls \\*.py && wc -l \\*.py"),
        ("echo $(id)", ""),
        ("ls > x", ""),
        ("a\nb", ""),
        ("python -c 'a\nb'", ""),
        ("rm 'a\x1bb'", ""),
        ("git commit -m 'a\nb'", "git commit*"),
        ("", ""),
    ],
)
def test_a_rule_is_proposed_that_fits_the_command(command: str, pattern: str) -> None:
    assert proposal(command) == pattern
    if pattern:
        assert decide([f"bash:{pattern}"], command) == "allow"


def test_a_proposed_rule_for_a_dangerous_command_allows_nothing_else() -> None:
    rule = f"bash:{proposal('rm *.pyc')}"
    assert decide([rule], "rm *.pyc") == "allow"
    assert decide([rule], "rm -rf / x.pyc") == "ask"


@given(st.text(st.sampled_from("ab *\\'\";&|\n$(`"), max_size=12))
def test_the_exact_pattern_of_a_command_takes_only_that(text: str) -> None:
    try:
        (part,) = split(text)
    except (NotPlain, ValueError):
        return
    if part.text != part.text.strip():
        return  # a rule cannot end in a blank: such a command is asked about
    try:
        rules = Rules([f"bash:{exactly(part.text)}"])
    except ValueError:
        return
    assert rules.decide(BASH, run(text)) == "allow"
    assert rules.decide(BASH, run(f"{text} x")) == "ask"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat /etc/passwd", ["/etc/passwd"]),
        ("cat ~/.ssh/id", ["~/.ssh/id"]),
        ("cd ..", [".."]),
        ("cat ../x a/../../b", ["../x", "a/../../b"]),
        ("gcc -I/usr/include --prefix=/opt a.c", ["/usr/include", "/opt"]),
        ("cat '/etc/passwd'", ["/etc/passwd"]),
        ('cat "/etc"/passwd', ["/etc/passwd"]),
        ("cat /etc/pass\\wd", ["/etc/passwd"]),
        ("cat a.py src/b.py ...", []),
        ("/usr/bin/true x", []),
        ("echo $(cat /etc/passwd)", ["/etc/passwd"]),
        ("echo x > /etc/passwd", ["/etc/passwd"]),
    ],
)
def test_places_beyond_the_workspace_are_found(command: str, found: list[str]) -> None:
    assert places(command) == found


def test_the_home_folder_is_found_behind_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert places("cat $HOME/.ssh/id") == ["/home/someone/.ssh/id"]
    assert places('cat "$HOME"/x') == ["/home/someone/x"]


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_a_hostile_command_is_judged(name: str) -> None:
    text = hostile.TEXTS[name]
    assert Rules(["bash:git*", "edit_file"]).decide(BASH, run(text)) == "ask"
    places(text)
    if rule := proposal(text):
        Rules().remember(f"bash:{rule}")


WORDS = st.lists(
    st.sampled_from(
        [
            "a",
            "'",
            '"',
            "\\",
            ";",
            "&",
            "|",
            "\n",
            " ",
            "$",
            "$a",
            "`",
            "(",
            ")",
            "{",
            "}",
            "<",
            ">",
            "#",
            "!",
            "*",
            "~",
            "=",
            "\t",
            "é",
        ]
    ),
    max_size=10,
).map("".join)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@settings(max_examples=300, deadline=None)
@example("a{;a}")
@example("a{|a|a}")
@example("a{&a}")
@example("a{`a`}")
@given(WORDS)
def test_no_command_that_bash_would_run_escapes(tail: str) -> None:
    """bash itself says what would run: each command is traced, and the allowed one does nothing."""
    command = f"true {tail}"
    if decide(["bash:true*"], command) != "allow":
        return
    script = (
        f'true() {{ :; }}; command_not_found_handle() {{ echo "RAN $*" >&2; }}; PATH=/nowhere\n{command}\n'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"a": "b"},
        check=False,
    )
    assert "RAN" not in done.stderr
    assert "No such file" not in done.stderr
