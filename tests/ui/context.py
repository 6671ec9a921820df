"""The context of a fake session: records, history, checkpoints and backups in lists that a test fills."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tui_agent.context import Elision
from tui_agent.literal import clean
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.tokens import Tokens

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
