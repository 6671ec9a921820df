"""Whatever a person asks of a session in whatever order, also while a summary is made: the log is sound after each.

Random orders of turns, compactions, undo with and without later turns, edits of the summary, travel, pins, elisions and
Esc, in a real session against a scripted server that checks every request.
"""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.running import SUMMARY, Windowed, compacting, files, idle
from tests.compaction.test_foreign import validated
from tests.context.compare import check
from tests.support.engine import Run, engine
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.agent.past import requests
from tui_agent.changes import CompactionCompleted, CompactionFailed
from tui_agent.commands import CommandError
from tui_agent.context import Context
from tui_agent.events import Notice, TurnEnded

WINDOW = 12_000
STEPS = 6
"""The most that a turn takes here: one of three answers ends it, and one more prompt may be said in it."""
_TEXT = re.compile("summary was not used|is larger|would be gained")
"""Why a summary of a short history may be refused."""
_EDITED = "## Goal and current request\nThe parser of alpha.py is to be mended; the person says so.\n\n## Done\nNone."


class Person:
    """Somebody who asks for anything; what they do is a function of the seed."""

    def __init__(self, run: Run, seed: int) -> None:
        self.run, self.chance = run, random.Random(seed)
        self.done: list[str] = []

    async def act(self) -> None:
        """Do something, perhaps while something else runs, and wait for its end."""
        await self._once()
        if self.chance.random() < 0.25:
            await self._once()
        await idle(self.run)
        await self._is_sound()

    async def _once(self) -> None:
        name, *arguments = self._choose()
        self.done.append(" ".join([name, *arguments])[:60])
        try:
            match name:
                case "say":
                    await self.run.session.submit(*arguments)
                case "cancel":
                    await self.run.session.cancel()
                    self.run.session.go_on()
                case _:
                    await self.run.session.perform(name, *arguments)
        except (CommandError, ValueError) as error:
            self.done[-1] += f" ({error})"[:80]

    def _choose(self) -> tuple[str, ...]:
        chance, context = self.chance, self.run.context
        records = [r.id for r in context.records if r.role in ("user", "assistant", "_elide")] or ["none"]
        marks = [str(mark.id) for mark in context.checkpoints()] or ["0"]
        backups = [backup.name for backup in context.backups()] or ["context_1.jsonl"]
        words = "go on with the parser in alpha.py " * chance.choice((1, 1, 30))
        return chance.choice(
            (
                *[("say", words)] * 8,
                *[("compact",), ("compact", "dwell on alpha.py")] * 3,
                *[("undo",), ("undo", "later"), ("redo",), ("keepmore",), ("summary",), ("summary", _EDITED)],
                *[("pin", chance.choice(records)), ("unpin", chance.choice(records))],
                *[("elide", chance.choice(records)), ("drop", chance.choice(records))],
                *[("unelide", chance.choice(records))] * 2,
                *[
                    ("revert", chance.choice(marks)),
                    ("restore", chance.choice(backups)),
                    ("clear",),
                    ("cancel",),
                ],
            )
        )

    async def _is_sound(self) -> None:
        case, context = "; ".join(self.done), self.run.context
        await check(context)
        if len(context.history):
            validated(context, case)
        assert not any(name.endswith(".tmp") for name in files(context.path.parent)), case
        assert not self.run.session.shrinking.busy and not self.run.session.shrinking.waits, case
        wrong = [event for event in self.run.all(Notice) if event.level == "error" or event.source == "cache"]
        assert not wrong, (case, wrong)
        failed = [event for event in self.run.all(CompactionFailed) if not _TEXT.search(event.reason)]
        assert not failed, (case, failed)
        wrong_end = [e for e in self.run.all(TurnEnded) if e.reason == "failed" or e.steps > STEPS]
        assert not wrong_end, (case, wrong_end)


async def lived(workspace: Path, seed: int, actions: int) -> Run:
    """A session in which somebody did so many things."""
    workspace.mkdir()
    keys = {"ahead": ("off", "on")[seed % 2], "strategy": ("summary", "summary", "extractive")[seed % 3]}
    answers = itertools.count(seed)

    def work(body: dict[str, Any]) -> Reply:
        number = next(answers)
        if number % 3 == 2:
            return Reply.text(f"alpha.py, part {number}: the parser reads each line of the file. " * 12)
        return Reply.tools(*[("bash", {"command": f"seq {number} {number + 200}"})] * (1 + number % 2))

    async with (
        ScriptedServer() as server,
        engine(workspace, server, settings=compacting(server, window=WINDOW, **keys), allow=["bash"]) as run,
    ):
        server.always(Windowed(WINDOW, Reply.text(SUMMARY), work))
        person = Person(run, seed)
        for number in range(4):
            await run.say(f"mend the parser in alpha.py, part {number}")
        for _ in range(actions):
            await person.act()
    await every_request_is_built_again(run.session.folder.path)
    return run


async def every_request_is_built_again(folder: Path) -> None:
    """From the log and its backups, hash for hash."""
    for path in sorted(folder.glob("context*.jsonl")):
        context = Context(path, read_only=True)
        await context.restore()
        wrong = [usage for usage, built in requests(context) if usage["request"] != built.sha256]
        assert not wrong, path


def orders(count: int, first: int = 0) -> list[int]:
    return list(range(first, first + count))


@pytest.mark.parametrize("seed", orders(3))
async def test_anything_in_any_order_leaves_a_sound_log(tmp_path: Path, seed: int) -> None:
    run = await lived(tmp_path / "work", seed, 30)
    assert run.all(CompactionCompleted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", orders(60, 100))
async def test_anything_in_many_more_orders_leaves_a_sound_log(tmp_path: Path, seed: int) -> None:
    await lived(tmp_path / "work", seed, 60)
