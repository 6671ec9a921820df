"""The mode of a conversation: what it lets run, and where it comes from after a restart or a rewrite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tui_agent.context import Context
from tui_agent.events import Event, Notice, StateChanged
from tui_agent.planning.mode import LAPSED, MODES, PASSING, Modes, ModeSource, recorded
from tui_agent.prompt.guides import FILES
from tui_agent.prompt.injections import Injections, Moment
from tui_agent.prompt.skills import FOLDERS
from tui_agent.settings.serving import FILE
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.permission import GUIDE_FOLDERS, GUIDES, Decision, Mode, Rules, barred
from tui_agent.tools.search import Glob
from tui_agent.tools.shell import Bash
from tui_agent.tools.tool import Need, Output, Progress, Tool
from tui_agent.workspace.reads import Reads


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    made = Context(tmp_path / "context.jsonl")
    await made.restore()
    yield made
    await made.close()


async def test_a_key_goes_through_the_modes_and_each_is_in_the_log(context: Context) -> None:
    modes = Modes(context)
    seen = [modes.now]
    for _ in MODES:
        changed = await modes.set(modes.next)
        assert changed == StateChanged("mode", modes.now)
        assert context.state["mode"] == modes.now == recorded(context)
        seen.append(modes.now)
    assert seen == ["ask", "auto-edit", "plan", "ask"]


async def test_leave_that_a_key_passes_through_has_not_begun(context: Context) -> None:
    now = 0.0
    modes = Modes(context, lambda: now)
    chosen: tuple[tuple[Mode, bool], ...] = (
        ("auto-edit", True),
        ("plan", True),
        ("auto-edit", False),
        ("ask", True),
    )
    judged = []
    for mode, passing in chosen:
        await modes.set(mode, passing=passing)
        judged.append(modes.allows)
    assert judged == ["ask", "plan", "auto-edit", "ask"]
    await modes.set("auto-edit", passing=True)
    assert (modes.now, modes.allows) == ("auto-edit", "ask"), "it is shown, and begins when it stays"
    now += PASSING
    assert (modes.now, modes.allows) == ("auto-edit", "auto-edit")


@pytest.mark.parametrize(("mode", "then"), [("ask", "ask"), ("auto-edit", "ask"), ("plan", "plan")])
async def test_leave_to_edit_does_not_come_back_with_a_session(
    context: Context, mode: Mode, then: Mode
) -> None:
    await Modes(context).set(mode)
    again = Modes(context)
    assert again.now == then
    assert again.lapsed == (mode == "auto-edit")
    await again.set("auto-edit")
    assert again.now == "auto-edit" and not again.lapsed


async def test_a_revert_never_gives_leave_that_was_taken_back(context: Context) -> None:
    modes, heard = Modes(context), list[Event]()
    await modes.set("auto-edit")
    await context.checkpoint(turn=True)
    await modes.set("ask")
    with modes.followed(heard.append):
        await context.revert_to(0)
    assert recorded(context) == "auto-edit" and modes.now == "ask"
    assert heard == [Notice(LAPSED, "info", "mode")]
    with modes.followed(heard.append):
        await context.undo()
    assert (modes.now, modes.lapsed, len(heard)) == ("ask", False, 1)


async def test_plan_mode_goes_back_and_forth_with_the_history(context: Context) -> None:
    modes, heard = Modes(context), list[Event]()
    await context.checkpoint(turn=True)
    await modes.set("plan")
    with modes.followed(heard.append):
        await context.revert_to(0)
    with modes.followed(heard.append):
        await context.undo()
    assert modes.now == "plan"
    assert heard == [StateChanged("mode", "ask"), StateChanged("mode", "plan")]


async def test_leave_that_holds_stays_through_a_rewrite_that_keeps_it(context: Context) -> None:
    modes, heard = Modes(context), list[Event]()
    await modes.set("auto-edit")
    await context.checkpoint(turn=True)
    with modes.followed(heard.append):
        await context.revert_to(0)
    assert modes.now == "auto-edit" and heard == []


async def test_work_on_a_plan_asks_unless_a_person_says_otherwise(context: Context) -> None:
    modes = Modes(context)
    after = [modes.after_plan]
    for mode in ("auto-edit", "plan", "plan"):
        await modes.set(mode)
        after.append(modes.after_plan)
    assert after == ["ask", "auto-edit", "ask", "ask"]


@pytest.mark.parametrize("value", [None, 7, "yolo", ["plan"], {"mode": "plan"}])
async def test_what_another_program_wrote_is_no_leave(context: Context, value: Any) -> None:
    await context.set_state("mode", value)
    assert Modes(context).now == "ask"


async def test_the_model_is_told_of_plan_mode_once_and_of_its_end(context: Context) -> None:
    modes = Modes(context)
    sources = Injections(context, [ModeSource()], emit=lambda event: None)

    async def told() -> list[str]:
        return [put.text for put in (await sources.collect(Moment(context))).told]

    assert await told() == []
    await context.checkpoint(turn=True)
    await modes.set("plan")
    (on,) = await told()
    assert "Plan mode is on" in on and await told() == []
    await modes.set("auto-edit")
    (over,) = await told()
    assert "Plan mode is over" in over and await told() == []
    await modes.set("plan")
    assert await told() == [on]
    await context.revert_to(0)
    assert await told() == []
    await context.undo()
    assert await told() == []


# --- what each mode lets run


class Foreign:
    """A tool that nobody here knows, such as one of an MCP server."""

    name = "mcp__files__save"
    description = "saves"
    schema: Mapping[str, Any] = {"type": "object"}
    read_only = True

    def __init__(self, need: Need) -> None:
        self._need = need

    def needs(self, arguments: Mapping[str, Any]) -> Need:
        return self._need

    async def call(self, arguments: Mapping[str, Any], progress: Progress) -> Output:
        raise AssertionError("it was called")


def _calls(root: Path) -> dict[str, tuple[Any, Need]]:
    reads = Reads()
    (root / "a.txt").write_text("alpha\n")
    (root / ".git").mkdir(exist_ok=True)
    (root / "out").symlink_to(root.parent)
    (root / "hooks").symlink_to(root / ".git")
    write, edit, bash = WriteFile(root, reads), EditFile(root, reads), Bash(root)
    tools: dict[str, tuple[Tool, dict[str, Any]]] = {
        "read": (ReadFile(root, reads, []), {"path": "a.txt"}),
        "read outside": (ReadFile(root, reads, []), {"path": "/etc/hostname"}),
        "glob": (Glob(root), {"pattern": "*"}),
        "write": (write, {"path": "b.txt", "content": "x"}),
        "edit": (edit, {"path": "a.txt", "old": "alpha", "new": "beta"}),
        "write in git": (write, {"path": ".git/config", "content": "x"}),
        "write in .GIT": (write, {"path": ".GIT/config", "content": "x"}),
        "write by a link in git": (write, {"path": "hooks/post-commit", "content": "x"}),
        "write outside": (write, {"path": "../b.txt", "content": "x"}),
        "write by a link outside": (write, {"path": "out/b.txt", "content": "x"}),
        "write what guides": (write, {"path": "sub/Agents.md", "content": "x"}),
        "write a skill": (write, {"path": ".claude/skills/a/SKILL.md", "content": "x"}),
        "look": (bash, {"command": "git status"}),
        "look outside": (bash, {"command": "cat /etc/hostname"}),
        "run": (bash, {"command": "make"}),
        "redirect": (bash, {"command": "ls > b.txt"}),
    }
    made: dict[str, tuple[Any, Need]] = {
        name: (tool, tool.needs(given)) for name, (tool, given) in tools.items()
    }
    for kind in ("none", "read", "write", "run"):
        need = Need(kind, "save", command="ls" if kind == "run" else "")
        made[f"foreign {kind}"] = Foreign(need), need
    return made


_WRITES = (
    "write in git",
    "write in .GIT",
    "write by a link in git",
    "write outside",
    "write by a link outside",
)
_GUIDING = ("write what guides", "write a skill")
_FREE = ("read", "glob", "foreign none", "foreign read")
_BARRED = ("write", "edit", *_WRITES, *_GUIDING, "run", "redirect", "foreign write", "foreign run")
_TABLE: dict[Mode, dict[Decision, tuple[str, ...]]] = {
    "ask": {"allow": _FREE, "deny": ()},
    "auto-edit": {"allow": (*_FREE, "write", "edit"), "deny": ()},
    "plan": {"allow": _FREE, "deny": _BARRED},
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_lets_run_what_it_says(tmp_path: Path, mode: Mode) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    for name, (tool, need) in _calls(root).items():
        expected = next((decision for decision, names in _TABLE[mode].items() if name in names), "ask")
        assert Rules().decide(tool, need, mode) == expected, name


_EVERYTHING = ("bash", "write_file", "edit_file", "mcp__files__save", "read_file", "glob")


@pytest.mark.parametrize("mode", MODES)
def test_plan_mode_gives_nothing_and_no_rule_opens_it(tmp_path: Path, mode: Mode) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    order = ("deny", "ask", "allow")
    calls = _calls(root)
    for rules in (Rules(), Rules(_EVERYTHING), Rules(["bash:ls > b.txt", "bash:make*", "write_file:*"])):
        for name, (tool, need) in calls.items():
            planning, now = rules.decide(tool, need, "plan"), rules.decide(tool, need, mode)
            assert order.index(planning) <= order.index(now), name
            assert (planning == "deny") == bool(barred(tool, need)) == (name in _BARRED), name


def test_what_guides_a_model_is_known_here_too() -> None:
    assert {name.casefold() for name in (*FILES, FILE)} <= GUIDES
    assert {folder.split("/")[0] for folder in FOLDERS} <= GUIDE_FOLDERS


def test_a_file_that_instructions_import_is_not_written_unasked(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    tool, need = _calls(root)["edit"]
    rules = Rules()
    assert rules.decide(tool, need, "auto-edit") == "allow"
    rules.guides = lambda: set(need.paths)
    assert rules.decide(tool, need, "auto-edit") == "ask"


def test_a_rule_that_forbids_holds_in_every_mode(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    tool, need = _calls(root)["edit"]
    for mode in MODES:
        assert Rules(deny=["edit_file:a.txt"]).decide(tool, need, mode) == "deny"
