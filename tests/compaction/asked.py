"""A real client of a scripted model for the strategies, and histories said in a few words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import structs

from tests.llm.asking import TOOLS, profile
from tests.support.server import ScriptedServer
from tui_agent.changes import CompactionStage
from tui_agent.compaction.model import Asking
from tui_agent.compaction.sections import DONE, FILES, GOAL, composed
from tui_agent.compaction.strategy import Source
from tui_agent.events import Event
from tui_agent.llm.anthropic import AnthropicProvider
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.tokens import Tokens

MODEL = "scripted-1"
SYSTEM = "You are a coding agent in /srv/parser."

GOOD = composed(
    {
        GOAL: ['Make parser.py keep the last line. The user\'s rule: "never touch vendor/".'],
        DONE: ["The cause is rstrip() in read_lines: it drops the last line."],
        FILES: ["parser.py: read, not changed."],
    }
)
"""A summary of `talk()` that nobody would refuse."""


class Asked:
    """The scripted server, the model behind the real client, and what was said of the stages."""

    def __init__(self, server: ScriptedServer, provider: AnthropicProvider, **options: Any) -> None:
        self.server = server
        self.events: list[Event] = []
        self.model = Asking(provider, self.events.append, **options)

    @property
    def stages(self) -> list[str]:
        return [event.stage for event in self.events if isinstance(event, CompactionStage)]

    def told(self, number: int = -1) -> str:
        """All text of a request's last message."""
        content = self.server.requests[number]["messages"][-1]["content"]
        return "\n".join(str(block.get("text", "")) for block in content)


@asynccontextmanager
async def asking(options: Mapping[str, Any] | None = None, **fields: Any) -> AsyncIterator[Asked]:
    """A scripted server and its model; `fields` go into the profile, `options` into the retries."""
    async with ScriptedServer() as server:
        provider = AnthropicProvider(
            profile(server.url, **({"context_window": 200_000, "max_output_tokens": 8_192} | fields)), None
        )
        await provider.prepare()
        try:
            yield Asked(server, provider, **(options or {}))
        finally:
            await provider.close()


def at_once() -> dict[str, Any]:
    """Options of retries that wait by a clock which only waiting moves."""
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        await asyncio.sleep(0)

    return {"sleep": sleep, "clock": lambda: now[0], "chance": lambda: 1.0}


class Talk:
    """A history in a few words; every message gets an id."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._calls = 0

    def user(self, text: str, origin: str | None = None) -> Talk:
        return self._add("user", [text_block(text)], origin)

    def assistant(self, text: str, thinking: str = "") -> Talk:
        first = [{"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"}] if thinking else []
        return self._add("assistant", [*first, text_block(text)])

    def call(self, tool: str, arguments: Mapping[str, Any], result: str, *, error: bool = False) -> Talk:
        """A call with its result."""
        self._calls += 1
        name = f"toolu_{self._calls:04}"
        self._add("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": dict(arguments)}])
        return self._add("user", [tool_result(name, result, error=error)], "tool")

    def _add(self, role: Any, content: Sequence[dict[str, Any]], origin: str | None = None) -> Talk:
        model = MODEL if role == "assistant" else None
        number = len(self.messages) + 1
        self.messages.append(Message(role, content, id=f"m{number:04}", origin=origin, model=model))
        return self


def talk() -> Talk:
    """A short session about a parser; its newest two messages stay when it is summarised."""
    return (
        Talk()
        .user(
            "parser.py drops the last line of every file. Find out why. Never touch vendor/, it is generated."
        )
        .call(
            "read_file",
            {"path": "parser.py"},
            "def read_lines(text):\n    return text.rstrip().split('\\n')\n" * 40,
        )
        .assistant("rstrip() in read_lines drops the last line.", thinking="SECRET THOUGHT about rstrip")
        .user("Good. Now mend it.")
        .assistant("I will use splitlines().")
    )


def source(messages: Sequence[Message], asked: Asked, *, keep: int = 2, **fields: Any) -> Source:
    """What is to be summarised: all but the newest `keep` messages."""
    cut = len(messages) - keep
    replaced, kept = list(messages[:cut]), list(messages[cut:])
    known: dict[str, Any] = {
        "tokens": estimated(asked, replaced),
        "budget": 2_000,
        "system": [text_block(SYSTEM)],
        "tools": TOOLS,
    }
    return Source(replaced=replaced, kept=kept, history=list(messages), **(known | fields))


def scattered(messages: Sequence[Message], asked: Asked, **fields: Any) -> Source:
    """The same when every request of the person stays too, and the newest two messages."""
    kept = [message for message in messages[:-2] if message.is_words] + list(messages[-2:])
    names = {message.id for message in kept}
    replaced = [message for message in messages if message.id not in names]
    given = source(messages, asked, **({"tokens": estimated(asked, replaced)} | fields))
    return structs.replace(given, replaced=replaced, kept=kept)


def estimated(asked: Asked, messages: Sequence[Message]) -> Tokens:
    """Their weight."""
    return Tokens(sum(asked.model.count(message) for message in messages), "estimated")
