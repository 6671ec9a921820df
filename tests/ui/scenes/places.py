"""Places over the chat: help, queue, sessions, settings, themes, models, connections."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from textual.widgets import Input

from tests.cli import command
from tests.ui.scenes.scene import scene
from tests.ui.stage import Stage
from tui_agent.llm.connect import Offered
from tui_agent.sessions.folder import SessionFolder
from tui_agent.ui.connect_form import FIELDS


@scene("help", "keys and commands", "Esc closes", place="over")
async def _help(made: Stage) -> None:
    await made.press("f1")
    await made.until(lambda: "keys and commands" in made.text)


@scene("palette", "jump back", place="palette")
async def _palette(made: Stage) -> None:
    await made.press("ctrl+p")
    await made.type("ju")
    await made.until(lambda: "jump back" in made.text)


@scene("queue", "first", "next step", "drop", place="over")
async def _queue(made: Stage) -> None:
    made.session.begin("add a --json flag")
    for prompt in (
        "first",
        "second, which is a good deal longer than the first one was: it goes on and on",
        "第三",
    ):
        made.chat.composer.add(prompt)
        await made.press("enter")
        await made.settle()
    await _over(made, "ctrl+x", "w")


@scene("queue_empty", "Nothing waits", place="over")
async def _queue_empty(made: Stage) -> None:
    await _over(made, "ctrl+x", "w")


async def _over(made: Stage, *keys: str) -> None:
    await made.press(*keys)
    await made.until(lambda: made.app.screen is not made.chat, "the place")
    await made.settle()


async def _list(made: Stage) -> None:
    await _over(made, "f4")
    await made.until(lambda: "reading" not in made.lines[1] and "looking" not in made.lines[1], "all read")


def _session(made: Stage, *words: str, age: float) -> SessionFolder:
    """A session on the disk, last used `age` seconds ago."""
    return command.session(made.app.wanted.workspace, *words, age=age)


@scene("sessions_empty", "what you say begins one", place="over")
async def _sessions_empty(made: Stage) -> None:
    await _list(made)


@scene("sessions", "add a --json flag", "damaged", place="over")
async def _sessions(made: Stage) -> None:
    await _many_sessions(made)
    await _list(made)
    await made.until(lambda: "checkpoint" in made.text)


async def _many_sessions(made: Stage) -> None:
    for number in range(30):
        _session(made, f"question {number}", f"the last words of {number}", age=3600.0 * (number + 3))
    _session(
        made,
        "add a --json flag to the report command, and say so in the README",
        "and now the tests",
        age=100,
    )
    broken = _session(made, "broken one", age=200)
    log = broken.context_path
    log.write_bytes(log.read_bytes() + b"{broken\n")
    os.utime(log, (0, time.time() - 200))
    _session(made, "会话选择器的错误在这里" * 4, "🎉", age=300)


@scene("sessions_rename", "question 0", place="over")
async def _sessions_rename(made: Stage) -> None:
    _session(made, "question 0", "the last words", age=3600)
    await _list(made)
    await made.press("r")
    await made.until(lambda: isinstance(made.app.focused, Input))


@scene("sessions_search", "load_user_name", "said", place="over")
async def _sessions_search(made: Stage) -> None:
    _session(made, "plain", "the middle says load_user_name", "end", age=100)
    _session(made, "third user", "x", age=200)
    _session(made, "other", "x", age=300)
    await _list(made)
    await made.press("slash")
    await made.type("load_user")
    await made.until(lambda: "said " in made.text)


@scene("settings", "durability", "default", place="over")
async def _settings(made: Stage) -> None:
    await _over(made, "ctrl+x", "comma")
    await made.until(lambda: "durability" in made.text)


@scene("settings_wrong", "allowed: a number from 0.1 to 0.99", place="over")
async def _settings_wrong(made: Stage) -> None:
    await _over(made, "ctrl+x", "comma")
    await made.until(lambda: "durability" in made.text)
    place: Any = made.app.screen
    place.rows.move(next(i for i, item in enumerate(place._items) if item.key == "compaction.trigger_ratio"))
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.focused, Input))
    await made.press("ctrl+u")
    await made.type("2")
    await made.until(lambda: "allowed: a number" in made.text)


@scene("themes", "as the terminal is", "nord", place="over")
async def _themes(made: Stage) -> None:
    made.app.looks._folder = Path("/no/themes")
    await _over(made, "ctrl+x", "t")
    await made.until(lambda: "nord" in made.text)


@scene("models", "claude", "now", place="over")
async def _models(made: Stage) -> None:
    await _over(made, "f9")
    await made.until(lambda: " now " in made.text)


@scene("connect", "Anthropic", "no AI", place="over")
async def _connect(made: Stage) -> None:
    await _over(made, "ctrl+x", "o")
    await made.until(lambda: "no AI" in made.text)


@scene("connect_form", "test and save", "address", place="over")
async def _connect_form(made: Stage) -> None:
    await _connect(made)
    await made.press("enter")
    await made.until(lambda: "test and save" in made.text)


@scene("connect_key", "the key (shown as dots", "•••", place="over")
async def _connect_key(made: Stage) -> None:
    await _connect_form(made)
    await _at_field(made, "key")
    await made.press("enter")
    await made.until(lambda: isinstance(made.app.focused, Input))
    await made.type("sk-test")


@scene("connect_models", "newest", "type another name", "claude-opus-5", place="over")
async def _connect_models(made: Stage) -> None:
    await _connect_form(made)
    place: Any = made.app.screen
    place._found = [
        Offered("claude-opus-5", 200_000),
        Offered("claude-sonnet-5-5", 1_000_000),
        Offered("tiny"),
    ]
    place._models()


@scene("connect_failed", "not saved", place="over")
async def _connect_failed(made: Stage) -> None:
    await _connect_form(made)
    await made.press("enter")
    await made.until(lambda: "not saved" in made.text)


async def _at_field(made: Stage, name: str) -> None:
    place: Any = made.app.screen
    place.rows.move([field.name for field in FIELDS].index(name))
    await made.settle()
