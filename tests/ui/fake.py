"""A session that is none: it says what a script tells it to say, and remembers what was asked of it.

It has the surface that the screen uses of a Session (its context and its commands have modules of their own), so that a
widget can be put before any state and any stream of events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from tests.ui.commands import commands
from tests.ui.context import WINDOW, FakeContext
from tests.ui.requests import FakeRequests
from tui_agent import events as said
from tui_agent.agent.recall import Recall
from tui_agent.commands import CommandError, Outcome
from tui_agent.memory.filed import Files
from tui_agent.memory.store import MemoryStore
from tui_agent.prompt.skills import Found
from tui_agent.settings.schema import Compaction


@dataclass
class Todo:
    text: str
    status: str = "pending"
    step: int = 0


@dataclass
class Folder:
    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def draft_path(self) -> Path:
        return self.path / "draft.json"


Emit = Callable[[said.Event], None]


@dataclass
class Questions:
    """What waits, and what was answered."""

    waiting: list[said.Question] = field(default_factory=list)

    def open(self) -> list[said.Question]:
        return list(self.waiting)


class FakeSession:
    """A session under a test's control. `submitted`, `performed`, `answers` and `cancels` say what was asked of it."""

    def __init__(self, folder: Path, listen: Emit, *, demo: bool = False) -> None:
        self.folder = Folder(folder)
        self.workspace = folder.parent / "shop"
        self.context = FakeContext()
        self.questions = Questions()
        self.title = "shop"
        self.demo = demo
        self.model = "demo model - no AI" if demo else "claude-sonnet-5-5"
        self.window, self.guessed = WINDOW, False
        self.profile = "demo" if demo else "claude"
        self.thinking = "off"
        self.next_model = ""
        self.picked: tuple[str, str] | None = None
        self.busy = False
        self.paused = False
        self.read_only = ""
        self.queue: tuple[said.QueuedPrompt, ...] = ()
        self.commands = commands()
        self.todos: list[Todo] = []
        self.todo = SimpleNamespace(items=lambda: list(self.todos))
        self.plans = SimpleNamespace(now=None, mode=SimpleNamespace(now="ask"))
        self.goal = SimpleNamespace(now=None)
        self.skills: Found = Found()
        self.premises = SimpleNamespace(skills=lambda: self.skills)
        self.servers: Any = None
        self.submitted: list[tuple[str, str]] = []
        self.pictures: list[tuple[dict[str, Any], ...]] = []
        self.performed: list[tuple[str, ...]] = []
        self.answers: list[tuple[str, said.Answer]] = []
        self.cancels = 0
        self.shrinking = SimpleNamespace(due=(100_000, 150_000), held=False, keys=Compaction(), most=30_000)
        self.closed = False
        self.requests = FakeRequests(self)
        self.cost = ""
        self.spending = SimpleNamespace(line=self._line)
        self.refuse = ""
        self._listen = listen
        self.memories = Recall(
            store=MemoryStore(folder / "memory.db"),
            files=Files(folder / "profile.md", self.workspace),
            context=self.context,  # type: ignore[arg-type]
            session=self.id,
            workspace="shop-1f2e3d4c",
            window=lambda: self.window,
            emit=self.emit,
        )

    @property
    def id(self) -> str:
        return self.folder.id

    async def _line(self) -> str:
        return self.cost

    @property
    def active(self) -> bool:
        return self.busy

    def emit(self, *events: said.Event) -> None:
        """Say these events, in order."""
        for event in events:
            if isinstance(event, said.Asked):
                self.questions.waiting.append(event.question)
            self._listen(event)

    def begin(self, prompt: str = "go on", number: int = 4) -> None:
        """A turn runs from now on."""
        self.busy = True
        self.emit(said.TurnStarted(f"u{number}", number, prompt), said.StepStarted(1))

    def end(self, reason: str = "end_turn") -> None:
        """The turn is over."""
        self.busy = False
        self.emit(said.TurnEnded(reason, 1, 2.0))

    def ask(self, **changes: Any) -> said.Question:
        """A tool call waits for an answer."""
        number = len(self.questions.waiting) + len(self.answers) + 1
        question = replace(APPROVAL, id=f"q{number}", **changes)
        self.emit(said.Asked(question))
        return question

    async def picture(self, data: bytes, name: str) -> dict[str, Any]:
        """Takes whatever begins as a PNG does."""
        if not data.startswith(b"\x89PNG"):
            raise CommandError(f"{name} is a damaged picture")
        source = {
            "type": "blob",
            "sha256": sha256(data).hexdigest(),
            "media_type": "image/png",
            "bytes": len(data),
        }
        return {"type": "image", "source": source}

    async def submit(self, text: str, *, when: str = "step", images: Sequence[dict[str, Any]] = ()) -> None:
        if self.refuse:
            raise CommandError(self.refuse)
        self.submitted.append((text, when))
        self.pictures.append(tuple(images))
        if self.busy:
            self.queue = (
                *self.queue,
                said.QueuedPrompt(f"p{len(self.submitted)}", text, when, tuple(images)),
            )
            self.emit(said.QueueChanged(self.queue))

    def withdraw(self, prompt: str) -> said.QueuedPrompt | None:
        found = next((waiting for waiting in self.queue if waiting.id == prompt), None)
        self._wait([waiting for waiting in self.queue if waiting is not found])
        return found

    def requeue(self, prompt: said.QueuedPrompt, place: int) -> None:
        self._wait([*self.queue[:place], prompt, *self.queue[place:]])

    def go_on(self) -> None:
        self.paused = False
        self._wait(self.queue)

    def _wait(self, prompts: Sequence[said.QueuedPrompt]) -> None:
        self.queue = tuple(prompts)
        self.emit(said.QueueChanged(self.queue, self.paused))

    async def perform(self, name: str, *arguments: str) -> Outcome:
        self.performed.append((name, *arguments))
        command = self.commands.find(name)
        if command is None:
            raise CommandError(f"there is no command /{name}")
        return await command.perform(self, *arguments)

    def take_settings(self, settings: Any) -> None:
        self.settings = settings

    async def cancel(self) -> bool:
        self.cancels += 1
        was, self.busy = self.busy, False
        for question in self.questions.open():
            await self.settle(question.id, said.Answer("dismissed"))
        self.emit(said.TurnEnded("cancelled", 1, 1.0))
        return was

    async def until_idle(self) -> None:
        """Wait for the end of the turn that runs."""
        while self.busy:
            await asyncio.sleep(0)

    async def answer(self, question: str, answer: said.Answer) -> None:
        self.answers.append((question, answer))
        await self.settle(question, answer)

    async def settle(self, question: str, answer: said.Answer) -> None:
        """A question is settled, by whomever."""
        self.questions.waiting = [waiting for waiting in self.questions.waiting if waiting.id != question]
        self.emit(said.Answered(question, answer))

    @asynccontextmanager
    async def between_turns(self) -> Any:
        yield

    async def close(self) -> None:
        self.closed = True


APPROVAL = said.Question(
    id="q1",
    kind="approval",
    title="run this command?",
    body="pnpm test --filter web --reporter verbose",
    tool="bash",
    call="call1",
    rule="bash:pnpm test*",
    place="~/work/shop",
    editable="command",
)
