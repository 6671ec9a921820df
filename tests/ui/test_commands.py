"""One registry: what a session and the screen can do is completed, found, explained and carried out by its name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent.agent.commands import compaction as of_compaction
from tui_agent.agent.commands import context as of_context
from tui_agent.agent.commands import memory as of_memory
from tui_agent.agent.commands import records as of_records
from tui_agent.agent.commands import session as of_session
from tui_agent.agent.commands import sharing as of_sharing
from tui_agent.commands import Commands, arguments
from tui_agent.ui import commands, help, remap
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.chat import ladders
from tui_agent.ui.chat.completion import matching_commands
from tui_agent.ui.help import HelpScreen

NAMED = (
    *(
        "help",
        "new",
        "resume",
        "sessions",
        "rename",
        "clear",
        "revert",
        "rewind",
        "undo",
        "redo",
        "retry",
        "elide",
        "drop",
        "edit",
        "record",
        "todo",
        "model",
    ),
    *(
        "connect",
        "permissions",
        "context",
        "status",
        "cost",
        "copy",
        "export",
        "settings",
        "theme",
        "keys",
        "mouse",
    ),
    *("quit", "find", "queue", "inspect", "run", "tour", "archive", "delete", "compact"),
    *("memory", "remember", "forget", "accept", "reject", "share", "adopt"),
)
"""What can be asked for by name."""
NOT_YET = ("fork", "goal", "plan", "index", "mcp")
"""Names that are kept for what is not built: there is no such command."""
ONLY_ON_THE_COMMAND_LINE = {
    "show": "in the program the chat shows it, and the records of the inspector",
    "checkpoints": "a tab of the inspector",
    "backups": "a tab of the inspector",
    "tokens": "a tab of the inspector",
    "request": "for a program that wants the JSON",
}
"""`tui-agent context NAME` -> why no session has it as a command. All others are commands of a session."""


def _session_commands() -> Commands:
    made = Commands()
    of_context.add_to(made)
    of_records.add_to(made)
    of_compaction.add_to(made)
    of_session.add_to(made)
    of_memory.add_to(made)
    of_sharing.add_to(made)
    return made


def _real(session: FakeSession) -> None:
    conversation(session.context)
    session.commands = _session_commands()


LISTED = commands.listed(_session_commands())


@pytest.mark.parametrize("name", NAMED)
def test_every_name_is_completed_and_explained(name: str) -> None:
    found = matching_commands(name, LISTED)
    assert name in found[0].names or found[0].text.strip() == f"/{name}", name
    assert found[0].words
    page = help.page(remap.resolve(), LISTED).plain
    assert re.search(rf"/{name}\b", page), "the help tells of it"


async def test_the_palette_holds_every_action_and_every_command_once(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_real) as made:
        offers = made.chat.offers()
        told = [
            word for offer in offers for word in offer.keys.split() if word.startswith("/") and len(word) > 1
        ]
        assert len(told) == len(set(told))
        assert {f"/{command.name}" for command in LISTED} == set(told)
        actions = [
            action for action in ACTIONS if not action.fixed and action.id not in ("leader", "commands")
        ]
        for action in actions:
            keys = [offer.keys for offer in offers if offer.words == action.words]
            assert any(all(key in shown for key in made.chat.keys.all(action.id)) for shown in keys), (
                action.id
            )


async def test_the_name_of_an_action_carries_it_out(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_real) as made:
        done: list[str] = []
        for action in made.chat.acts:
            made.chat.acts[action] = lambda action=action: done.append(action)  # type: ignore[misc]
        made.chat.spoken["sessions"] = lambda words: done.append("sessions")
        names = [name for name in NAMED if name in commands.ACTION_OF or name == "rewind"]
        assert names
        for name in names:
            await made.type(f"/{name}")
            await made.press("enter")
            await made.until(lambda: done, f"what /{name} does")
            assert done == [commands.ACTION_OF.get(name, "jump")]
            assert made.session.submitted == []
            done.clear()


async def test_what_is_not_built_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladders, "_TWICE", 0.0)
    async with stage(tmp_path) as made:
        for name in NOT_YET:
            assert _session_commands().find(name) is None
            await made.type(f"/{name}")
            await made.press("escape", "enter")
            await made.until(lambda: f"there is no command /{name}" in made.text, name)  # noqa: B023
            assert made.session.submitted == []


@pytest.mark.parametrize(
    ("name", "rest", "given"),
    [
        ("revert", " 3  4 ", ("3", "4")),
        ("revert", "", ()),
        ("goal", "mend\n  it", ("mend\n  it",)),
        ("skill", "notes of:\n  - one", ("notes", "of:\n  - one")),
        ("skill", "", ()),
        ("", "first\n  second", ("first\n  second",)),
        ("", " ", ()),
    ],
)
def test_what_is_meant_for_the_model_stays_as_it_was_written(name: str, rest: str, given: tuple[str]) -> None:
    assert arguments(name, rest) == given


async def test_keys_shows_the_keys(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(100, 30)) as made:
        await _ask(made, "/keys")
        assert "Writing" in "\n".join(made.lines[:4])
        assert help.HERE not in made.text
        await made.press("escape")
        await made.until(lambda: made.app.screen is made.chat)
        await _ask(made, "/help")
        assert help.HERE in made.text


async def _ask(made: Stage, words: str) -> None:
    await made.type(words)
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.screen, HelpScreen))
    await made.settle()


def test_the_command_line_changes_a_context_by_the_same_names() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "tui_agent", "context", "--help"], capture_output=True, text=True, check=True
    ).stdout
    names = set(re.findall(r"^    ([a-z]+)\b", shown, re.MULTILINE))
    known = {command.name for command in _session_commands()}
    assert "revert" in names
    assert {name for name in names if name not in known} == set(ONLY_ON_THE_COMMAND_LINE)
