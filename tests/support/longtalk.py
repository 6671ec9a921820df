"""A long session with everything on, turn by turn: what a test of the whole is held against.

    talk = LongTalk(run, server, workspace)
    async for number in talk.turns(60):
        ...                          # after each turn

Its steps are the same each time; what a person does between the turns (memories, plan, goal) is among them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.engine import Run
from tests.support.script import Reply
from tests.support.server import ScriptedServer
from tui_agent.prompt.injections import Moment

_BLANK = {"type": "text", "text": "\n\n"}
_PROSE = "The parser reads a line, splits it at the first colon and keeps what follows as it is. "


class Weather:
    """A source of injections of a third party: what it tells changes, stays for a while, and comes back."""

    name = "weather"
    priority = 50

    def __init__(self) -> None:
        self.now = ""
        self.compacted = 0

    def generate(self, moment: Moment) -> str | None:
        """What the weather is like."""
        return f"The weather is {self.now} over the whole of the country today." if self.now else None

    def on_compacted(self) -> None:
        """The history was compacted."""
        self.compacted += 1


def prepare(workspace: Path, *, files: int = 30) -> None:
    """The files that the session reads."""
    (workspace / "AGENTS.md").write_text("# Rules\n\n" + "- mind the parser and its tests\n" * 60)
    for number in range(files):
        (workspace / f"part{number}.py").write_text(
            f"# part {number}\n" + f"value_{number} = {number}\n" * 12
        )


class LongTalk:
    """One session's person and model.

    `weather` is the source that was given to the session, `served` the name of its MCP server (`mcp_small`), if there
    are any.
    """

    def __init__(
        self, run: Run, server: ScriptedServer, weather: Weather | None = None, served: str = ""
    ) -> None:
        self._run = run
        self._server = server
        self._weather = weather
        self._served = served
        self._kinds: list[Callable[[int], Awaitable[None]]] = [
            self._talk,
            self._reads,
            self._memory,
            self._thinks,
            self._many,
            self._weathers,
            self._todo,
            self._fails,
            self._goal,
            self._mends,
            self._plans,
            self._runs,
            *([self._serves] if served else []),
        ]

    async def turns(self, count: int, first: int = 0) -> AsyncIterator[int]:
        """Say so many things, one kind after another; gives the number of each turn once it is over."""
        for number in range(first, first + count):
            await self._kinds[number % len(self._kinds)](number)
            yield number

    async def _say(self, number: int, *steps: Any, words: str = "go on with the parser") -> None:
        self._server.script(*steps)
        await self._run.say(f"{words}, part {number}: é 漢字 \U0001f600")

    async def _talk(self, number: int) -> None:
        await self._say(number, Reply.text(_PROSE * 4))

    async def _reads(self, number: int) -> None:
        calls = [("read_file", {"path": f"part{(number + n) % 30}.py"}) for n in range(3)]
        await self._say(
            number,
            Reply.tools(*calls, ("glob", {"pattern": "part1*.py"}), text="Let me look."),
            Reply.tools(("grep", {"pattern": f"value_{number % 30}", "path": "."})),
            Reply.text(f"seen {number}"),
        )

    async def _memory(self, number: int) -> None:
        await self._run.session.perform("remember", f"habit{number}: Part {number} is written with tabs.")
        if (before := number - len(self._kinds)) > 0:
            await self._run.session.perform("amend", f"habit{before}", f"With spaces since {number}.")
        await self._say(number, Reply.text(f"kept in mind {number}"))

    async def _thinks(self, number: int) -> None:
        call = ("read_file", {"path": f"part{number % 30}.py"})
        await self._say(
            number, Reply.tools(call, thinking="Hm, which part? " * 8), Reply.thinking("So.", "thought")
        )

    async def _many(self, number: int) -> None:
        """More calls at once than the server looks back."""
        calls = [("read_file", {"path": f"part{n % 30}.py", "limit": 2}) for n in range(24)]
        await self._say(number, Reply.tools(*calls), Reply.text(f"all of them {number}"))

    async def _weathers(self, number: int) -> None:
        if self._weather is not None:
            self._weather.now = "wet" if (number // 12) % 2 else "dry"
        await self._say(number, Reply.blocks(_BLANK, {"type": "text", "text": "noted"}))

    async def _todo(self, number: int) -> None:
        items = [{"text": f"part {number + n}", "status": "pending"} for n in range(3)]
        await self._say(number, Reply.tools(("todo", {"items": items})), Reply.text("listed"))

    async def _fails(self, number: int) -> None:
        await self._say(
            number,
            Reply.error(529, retry_after=0.01),
            Reply.tools(("read_file", {"path": "missing.py"})),
            Reply.text("it is not there"),
        )

    async def _goal(self, number: int) -> None:
        """A goal that takes two turns nobody speaks in; words that follow are told of it."""
        self._server.script(
            Reply.tools(("goal", {"add": [f"read part {number}"]})),
            Reply.text("planned"),
            Reply.tools(("read_file", {"path": f"part{number % 30}.py"})),
            Reply.tools(("goal", {"done": [1], "status": "complete", "reason": "it was read"})),
            Reply.text("reached"),
        )
        if self._run.session.goal.now is not None:
            await self._run.session.perform("goal", "clear")
        await self._run.session.perform("goal", f"turns=5 read part {number} and say what it holds")
        await self._run.session.until_idle()

    async def _mends(self, number: int) -> None:
        """Arguments that are no JSON, and an answer that its limit cut inside a call."""
        await self._say(
            number,
            Reply.tools(("bash", '{"command": ')),
            Reply.truncated("write_file", '{"path": "x'),
            Reply.text("shorter"),
        )

    async def _plans(self, number: int) -> None:
        steps = [f"change part {number}", "run the tests"]
        plan = {"title": f"Part {number}", "text": _PROSE, "steps": steps}
        await self._run.session.perform("mode", "plan")
        await self._say(number, Reply.tools(("present_plan", plan)), Reply.text("I will do that"))
        await self._run.session.perform("mode", "ask")

    async def _serves(self, number: int) -> None:
        """Tools of a server whose descriptions are held back, and a crash of it between two calls."""
        echo = {"name": f"mcp__{self._served}__echo", "arguments": {"text": f"part {number}"}}
        crash = {"name": f"mcp__{self._served}__exit", "arguments": {"code": 3}}
        await self._say(
            number,
            Reply.tools(("select_tools", {"names": [echo["name"]]})),
            Reply.tools(("use_tool", echo)),
            Reply.tools(("use_tool", crash), ("read_file", {"path": f"part{number % 30}.py"})),
            Reply.tools(("use_tool", echo)),
            Reply.text("echoed"),
        )

    async def _runs(self, number: int) -> None:
        await self._say(
            number,
            Reply.tools(("bash", {"command": f"echo {number}; seq 20"}), ("glob", {"pattern": "*.md"})),
            Reply.refusal("no") if number % 24 == 11 else Reply.text("ran"),
        )
