"""The requests of a fake session: real requests and manifests, of the messages that a test put into its context."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.agent.requests import Built, NotBuilt
from tui_agent.context.sent import Sent
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator, Tokens
from tui_agent.prompt.assembler import DoesNotFit
from tui_agent.prompt.difference import Difference, difference
from tui_agent.prompt.manifest import About, Item, Manifest, Total

if TYPE_CHECKING:
    from tests.ui.context import FakeContext
    from tests.ui.fake import FakeSession

TOOLS = [
    {"name": name, "description": words, "input_schema": {"type": "object", "properties": {}}}
    for name, words in (
        ("read_file", "Read a file, or some lines of it."),
        ("edit_file", "Put one text in the place of another."),
        ("bash", "Run a command."),
        ("mcp__tracker__find_issue", "Find an issue by its words."),
        ("mcp__tracker__add_note", "Add a note to an issue."),
    )
]
SYSTEM = [{"type": "text", "text": "You are an agent."}, {"type": "text", "text": "Use pnpm.\nNever push."}]
_LAYERS = [About("layer", "builtin", "", "r1"), About("layer", "workspace", "AGENTS.md", "r1")]


class FakeBooks:
    """What a fake context knows of the items."""

    def __init__(self, context: FakeContext, left: Sequence[Item]) -> None:
        self._context = context
        self._left = left

    def tokens(self, record: str) -> Tokens:
        return self._context.tokens(record)

    def message(self, record: str) -> About:
        message = next(m for m in self._context.history if m.id == record)
        if message.role == "assistant":
            return About("answer", "answer", "claude-sonnet-5-5", record)
        if message.origin == "tool":
            return About("result", "read_file", record=record)
        if message.origin == "injection":
            return About("injection", "goal", "goal", record)
        return About("words", "your words", record=record)

    def layers(self) -> Sequence[About]:
        return _LAYERS

    def tools(self) -> About:
        return About("tool", "", record="")

    def memories(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def left_out(self) -> Iterable[Item]:
        return self._left


class FakeRequests:
    """`sent` are those that were sent, each with the messages it held; `fails` is raised by what is asked next.

    With `ways` the next one does not fit, and they lead out; `stays` are the records that are never left out.
    """

    def __init__(self, session: FakeSession) -> None:
        self._session = session
        self.sent: list[tuple[Sent, int]] = []
        self.left: list[Item] = []
        self.lost: set[int] = set()
        """Places of requests whose file is no longer kept."""
        self.built: list[int | None] = []
        self.has_next = True
        self.fails: Exception | None = None
        self.ways: tuple[str, ...] = ()
        self.stays: dict[str, str] = {}
        self.counts: int | Exception = 18_800
        self.held: asyncio.Event | None = None
        """What is built waits for it."""

    def send(
        self, held: int, *, turn: int | None = None, read: int = 17_000, predicted: int | None = None
    ) -> Sent:
        """A request of the first `held` messages was sent."""
        made = Sent(
            n=len(self.sent) + 1,
            turn=turn,
            at=f"2024-03-05T12:{len(self.sent):02}:00Z",
            model="claude-sonnet-5-5",
            input=34,
            output=120,
            cache_read=read,
            cache_write=800,
            predicted=predicted,
            file="",
            offset=0,
        )
        self.sent.append((made, held))
        return made

    def __len__(self) -> int:
        return len(self.sent)

    def __getitem__(self, place: int) -> Sent:
        if place in self.lost:
            raise NotBuilt("context_1.jsonl: it is no longer kept.")
        return self.sent[place][0]

    @property
    def can_count(self) -> bool:
        return True

    async def follow(self) -> int:
        return len(self.sent)

    async def look(self, place: int | None) -> Built:
        if self.fails is not None:
            raise self.fails
        if place is not None:
            self[place]
        if self.held is not None:
            await self.held.wait()
        self.built.append(place)
        context = self._session.context
        sent, held = (None, len(context.history)) if place is None else self.sent[place]
        request = Request.make(
            model="claude-sonnet-5-5",
            system=SYSTEM,
            history=context.history[:held],
            max_tokens=4_096,
            tools=TOOLS,
        )
        weight = context.weigh()
        total = Total(weight.total, weight.exact, weight.pending, weight.mark)  # type: ignore[arg-type]
        if sent is not None:
            total = Total(sent.total_input, sent.total_input, 0, "exact")
        manifest = Manifest(
            request,
            total,
            self._session.window,
            4_096,
            FakeBooks(context, self.left),
            Estimator("claude-sonnet-5-5"),
            ("message", 0, 0),
        )
        refusal = DoesNotFit(manifest, self.ways) if self.ways and sent is None else None
        items, left = manifest.items, manifest.left_out
        return Built(sent, request, manifest, items, left, context, refusal, self.stays)  # type: ignore[arg-type]

    def between(self, before: Built, after: Built) -> Difference:
        return difference(before, after, lambda item: "revert")

    async def count(self, request: Request) -> int:
        if isinstance(self.counts, Exception):
            raise self.counts
        return self.counts
