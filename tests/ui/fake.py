"""A session that is none: it says what a script tells it to say, and remembers what was asked of it.

It has the surface that the screen uses of a Session and a Context, and holds everything in lists, so that a widget can
be put before any state and any stream of events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from tests.ui.requests import FakeRequests
from tui_agent import changes
from tui_agent import events as said
from tui_agent.agent.commands import memory, sharing
from tui_agent.agent.recall import Recall
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.context import Elision
from tui_agent.literal import clean
from tui_agent.memory.filed import Files
from tui_agent.memory.store import MemoryStore
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.tokens import Tokens
from tui_agent.prompt.skills import Found
from tui_agent.settings.schema import Compaction

WINDOW = 200_000
AT = "2024-03-05T12:{:02}:00Z"


@dataclass
class Weight:
    total: int
    exact: int
    pending: int
    mark: str
    reduced: bool = False


@dataclass
class Record:
    line: int
    id: str
    role: str
    origin: str | None
    offset: int
    raw: bytes
    damaged: str | None = None
    at: str | None = None

    @property
    def index(self) -> int:
        return self.line - 1

    @property
    def length(self) -> int:
        return len(self.raw)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass
class Checkpoint:
    id: int
    uid: str
    at: str
    turn: bool
    line: int
    words: str
    tokens: int
    history: int = 0


@dataclass
class Backup:
    name: str
    n: int
    op: str
    at: str
    bytes: int
    records: int
    tokens: int | None
    pinned: bool = False
    exists: bool = True
    figures: Mapping[str, Any] = field(default_factory=dict)


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


class FakeContext:
    """Records, history, checkpoints and backups in lists."""

    def __init__(self) -> None:
        self.path = Path("/no/context.jsonl")
        self.generation = 0
        self.heads: list[SimpleNamespace] = []
        self.history: list[Message] = []
        self.records: list[Record] = []
        self.damage: list[Record] = []
        self.unattributed = 0
        self.can_undo = False
        self.can_redo = False
        self.weight = Weight(0, 0, 0, "exact")
        self.counted: Tokens | None = None
        self._checkpoints: list[Checkpoint] = []
        self._backups: list[Backup] = []
        self._marks: dict[str, dict[str, Any]] = {}
        self._elided: dict[str, list[Elision]] = {}

    @property
    def shown(self) -> list[Message]:
        return self.history

    @property
    def n_checkpoints(self) -> int:
        return len(self._checkpoints)

    @property
    def head(self) -> SimpleNamespace | None:
        return self.heads[-1] if self.heads else None

    @property
    def change(self) -> SimpleNamespace | None:
        return next((head for head in reversed(self.heads) if head.op not in ("undo", "redo")), None)

    def checkpoints(self) -> list[Checkpoint]:
        return list(self._checkpoints)

    def backups(self) -> list[Backup]:
        return list(reversed(self._backups))

    def weigh(self) -> Weight:
        return self.weight

    def counted_after(self, head: SimpleNamespace) -> Tokens | None:
        return self.counted

    def tokens(self, record: str) -> Tokens:
        found = next(r for r in self.records if r.id == record)
        mark = "exact" if found.role == "assistant" else "estimated"
        return Tokens(len(found.raw) // 3, mark)

    def tokens_of(self, record: Record) -> Tokens:
        return Tokens(0, "estimated") if record.role.startswith("_") else self.tokens(record.id)

    @property
    def system_tokens(self) -> Tokens:
        return Tokens(0, "estimated")

    @property
    def tools_tokens(self) -> Tokens:
        return Tokens(0, "estimated")

    @property
    def system_prompt(self) -> str | None:
        return next((r.body["content"] for r in self.records if r.role == "_system_prompt"), None)

    def usages(self) -> list[dict[str, Any]]:
        return [record.body for record in self.records if record.role == "_usage"]

    def record(self, name: str) -> Record:
        return next(record for record in self.records if record.id == name)

    async def backup(self, name: str) -> FakeContext:
        made = FakeContext()
        made.history, made.records = self.history[:2], self.records[:3]
        return made

    def marks(self, record: str) -> Mapping[str, Any]:
        return self._marks.get(record, {})

    def elided(self, record: str) -> list[Elision]:
        return self._elided.get(record, [])

    async def preview(self, point: int | str) -> Sequence[Message]:
        if isinstance(point, str):
            return self.history[:2]
        found = next(p for p in self._checkpoints if p.id == point)
        return self.history[: found.history]

    # --- how a test fills it

    def line(self, body: Mapping[str, Any] | bytes, damaged: str | None = None) -> Record:
        raw = body if isinstance(body, bytes) else clean(json.dumps(body, ensure_ascii=False)).encode()
        number = len(self.records) + 1
        fields = {} if damaged else json.loads(raw)
        role = str(fields.get("role", ""))
        record = Record(
            number,
            str(fields.get("id") or f"r{number}"),
            role,
            fields.get("origin"),
            sum(r.length + 1 for r in self.records),
            raw,
            damaged,
            AT.format(number % 60),
        )
        self.records.append(record)
        if damaged:
            self.damage.append(record)
        return record

    def say(self, role: str, *blocks: Mapping[str, Any], origin: str | None = None, **fields: Any) -> Message:
        body = {"role": role, "content": list(blocks), **({"origin": origin} if origin else {}), **fields}
        record = self.line(body)
        message = Message(role, list(blocks), record.id, origin, at=record.at)
        self.history.append(message)
        return message

    def mark_turn(self, words: str, *, turn: bool = True) -> Checkpoint:
        number = len(self._checkpoints)
        record = self.line({"role": "_checkpoint", "id": number, "turn": turn})
        tokens, held = 900 * (number + 1), len(self.history)
        point = Checkpoint(number, f"u{number}", str(record.at), turn, record.line, words, tokens, held)
        self._checkpoints.append(point)
        return point

    def rewrite(self, op: str, keep: int) -> Backup:
        name = f"context_{len(self._backups) + 1}.jsonl"
        backup = Backup(
            name,
            len(self._backups) + 1,
            op,
            AT.format(30),
            18_220,
            len(self.records),
            18_734,
        )
        self._backups.append(backup)
        self.generation += 1
        self.history = self.history[:keep]
        self.can_undo = True
        return backup


def conversation(
    context: FakeContext, turns: int = 2, words: str = "add a --json flag to the report command"
) -> None:
    """Fill a context with turns in which a file is read and edited."""
    context.line({"role": "_system_prompt", "content": "You are an agent."})
    for number in range(turns):
        asked = words if number == turns - 1 else f"question {number + 1}"
        context.mark_turn(asked)
        context.say("user", text_block(asked))
        context.mark_turn("", turn=False)
        call = f"call{number}"
        context.say(
            "assistant",
            text_block("I will look at the command first."),
            {"type": "tool_use", "id": call, "name": "read_file", "input": {"path": "src/report.py"}},
        )
        context.line({"role": "_usage", "token_count": 18_734, "output": 120, "exact": True})
        context.say("user", tool_result(call, "def report():\n    ...\n"), origin="tool")
        context.say("assistant", text_block("Done: `report --json` prints the rows as JSON."))
    context.weight = Weight(19_938, 18_734, 1_204, "estimated")


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
        self.window = WINDOW
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


def commands() -> Commands:
    """The commands of a fake session; each says what it did."""
    made = Commands()

    async def revert(session: FakeSession, checkpoint: str) -> Outcome:
        """Go back to before a checkpoint; what followed is kept as a backup"""
        point = next(p for p in session.context.checkpoints() if p.id == int(checkpoint))
        backup = session.context.rewrite("revert", point.history)
        session.emit(changes.Rotated("revert", backup.name, len(session.context.records), point.words))
        return Outcome(f"back before checkpoint {checkpoint}; what was before is {backup.name}")

    async def undo(session: FakeSession, later: str = "") -> Outcome:
        """Take back the last change of history"""
        if not session.context.can_undo:
            raise CommandError("there is nothing to undo")
        return Outcome("the last change of history is undone")

    async def redo(session: FakeSession) -> Outcome:
        """Take back the last undo"""
        raise CommandError("there is nothing to redo")

    async def restore(session: FakeSession, backup: str) -> Outcome:
        """Make a backup the history again"""
        return Outcome(f"{backup} is the history again")

    async def pin(session: FakeSession, record: str) -> Outcome:
        """Pin a record: it is never elided or compacted away"""
        session.context._marks[record] = {"pinned": True}
        return Outcome("pinned")

    async def unpin(session: FakeSession, record: str) -> Outcome:
        """Take the pin off a record"""
        session.context._marks.pop(record, None)
        return Outcome("not pinned any more")

    async def elide(session: FakeSession, record: str) -> Outcome:
        """Leave a record out of what is sent"""
        instead = "[truncated: read_file result, 2061 chars]"
        session.context._elided[record] = [Elision("e1", 0, None, instead, "user", "drop")]
        return Outcome("shortened: about 690 tokens")

    async def drop(session: FakeSession, record: str) -> Outcome:
        """Send nothing of a record, nor anything in its place"""
        session.context._elided[record] = [Elision("e1", 0, None, None, "user", "drop")]
        return Outcome("dropped: about 690 tokens")

    async def compact(session: FakeSession, *instruction: str) -> Outcome:
        """Put a summary in the place of what was said"""
        weight = session.context.weigh()
        session.emit(
            changes.CompactionStarted(
                "manual", "summary", weight.total, "estimated", WINDOW, 150_000, " ".join(instruction)
            )
        )
        return Outcome()

    async def keepmore(session: FakeSession) -> Outcome:
        """Undo the newest compaction and make it again, keeping twice as much"""
        return Outcome("made again, keeping more")

    async def summary(session: FakeSession, *text: str) -> Outcome:
        """Show the newest summary; with TEXT: put it in its place"""
        return Outcome("the summary reads otherwise now" if text else "nothing was summarised yet")

    async def unelide(session: FakeSession, record: str) -> Outcome:
        """Bring a record that was left out back"""
        session.context._elided.pop(record, None)
        return Outcome("brought back")

    async def keep(session: FakeSession, backup: str) -> Outcome:
        """Pin a backup: pruning never takes it"""
        return Outcome(f"{backup} is pinned")

    async def run(session: FakeSession, command: str) -> Outcome:
        """Run a command yourself"""
        return Outcome()

    async def context(session: FakeSession) -> Outcome:
        """Say what the context holds and weighs"""
        return Outcome("19,938 of 200,000 tokens")

    async def rename(session: FakeSession, *title: str) -> Outcome:
        """Give the session another title"""
        session.title = " ".join(title)
        session.emit(said.TitleChanged(session.title))
        return Outcome(f"the session is called {session.title!r}")

    async def model(session: FakeSession, *name: str) -> Outcome:
        """Ask another model"""
        session.next_model = " ".join(name) if session.busy else ""
        session.picked = name[0], " ".join(name[1:])
        if not session.busy:
            session.profile, _, session.model = " ".join(name).partition(" ")
            session.emit(said.ModelChanged(session.model, WINDOW, session.profile == "demo"))
        return Outcome(
            f"{' '.join(name)} answers " + ("from the next turn on" if session.busy else "from now on")
        )

    async def thinking(session: FakeSession, level: str) -> Outcome:
        """Change how much the model may think"""
        session.thinking = level
        return Outcome(f"thinking from now on: {level}")

    made.add(Command("model", model, "[PROFILE or MODEL]"))
    made.add(Command("thinking", thinking, "LEVEL"))
    made.add(Command("revert", revert, "CHECKPOINT", names=("rewind",), rewrites=True))
    for name, perform, argument in (
        ("undo", undo, ""),
        ("redo", redo, ""),
        ("restore", restore, "BACKUP"),
        ("pin", pin, "RECORD"),
        ("unpin", unpin, "RECORD"),
        ("elide", elide, "RECORD"),
        ("drop", drop, "RECORD"),
        ("compact", compact, "[INSTRUCTION]"),
        ("keepmore", keepmore, ""),
        ("summary", summary, "[TEXT]"),
        ("unelide", unelide, "RECORD"),
        ("keep", keep, "BACKUP"),
        ("context", context, ""),
        ("run", run, "COMMAND"),
        ("rename", rename, "TITLE"),
    ):
        made.add(Command(name, perform, argument))
    memory.add_to(made)
    sharing.add_to(made)
    return made
