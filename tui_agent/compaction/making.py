"""A summary on its way: what of the log is looked at, what the strategy is given, and what came of it.

Nothing here changes the log. What is made stands for the log up to a byte of it; what comes later follows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.compaction.handover import handover
from tui_agent.compaction.ledger import MAX_BYTES, STATE_KEY, Ledger
from tui_agent.compaction.retention import Retained, retain
from tui_agent.compaction.strategy import Compaction, CompactionFailed, Source
from tui_agent.context.encoding import ulid
from tui_agent.messages.blocks import text_block
from tui_agent.messages.exchange import open_calls

if TYPE_CHECKING:
    from tui_agent.compaction.policy import Policy
    from tui_agent.compaction.strategy import Model
    from tui_agent.context import Context, Record, Weight
    from tui_agent.events import Trigger
    from tui_agent.llm.provider import Usage
    from tui_agent.messages.blocks import Message

ORIGIN = "summary"

_UNASKED: tuple[Trigger, ...] = ("auto", "ahead")
"""What begins a compaction that nobody asked for and that no request has to have."""

_REQUESTS = 10
"""A person's last requests may stay up to this part of the window (1/10)."""
_FACTS = 8
"""Tokens of the window for each byte of the ledger, where that is less than it may have: in a window of 8k, 1 KiB."""
_ROOM = 0.7
"""What stays, the summary, prompt and tools may together weigh this part of the size at which a summary is due."""


class Wanted(Struct, frozen=True):
    """A compaction that is wanted: what began it, what the summary should dwell on, and what settings do not decide.

    `strategy` "" is that of settings. `newest` and `budget` are how much stays, None as settings say. `window` is the
    model's as an endpoint told it, in tokens, None where it did not. `again`: one was taken back for it.
    """

    trigger: Trigger
    instruction: str = ""
    strategy: str = ""
    newest: int | None = None
    budget: int | None = None
    window: int | None = None
    again: bool = False


class Skipped(Exception):
    """A compaction is not made; `reason` is one of the words of `CompactionSkipped`, the message says it in full."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Look(Struct, frozen=True):
    """The log as it was looked at: up to byte `upto`, in generation `generation`.

    `newest`, `budget` and `room` are how much was to stay, `weight` what the next request weighed.
    """

    upto: int
    generation: int
    weight: Weight
    retained: Retained
    ledger: Ledger
    source: Source
    newest: int
    budget: int
    room: int


class Made(Struct, frozen=True):
    """A summary that was checked and is not in force yet. `after` is the estimated weight of the next request."""

    look: Look
    strategy: str
    text: str
    tokens: int
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    usage: Usage | None = None

    @property
    def after(self) -> int:
        return max(0, self.look.weight.total - self.look.retained.tokens.count + self.tokens)


def look(
    context: Context, wanted: Wanted, policy: Policy, *, window: int, thinking: Mapping[str, Any] | None
) -> Look:
    """Look at the log and choose what stays. Reads and weighs much of it: call it in a thread.

    Raises:
        Skipped: there is nothing to gain.
    """
    settings, generation, upto, weight = policy.settings, context.generation, context.size, context.weigh()
    newest = settings.keep_messages if wanted.newest is None else wanted.newest
    budget = min(settings.keep_requests, window // _REQUESTS) if wanted.budget is None else wanted.budget
    floor = context.system_tokens.count + context.tools_tokens.count
    most = max(1, int(settings.summary_ratio * window))
    limit = policy.limit(window)
    if floor >= limit and wanted.trigger in _UNASKED:
        raise Skipped("floor", too_high(floor, limit))
    # who asks for one gets it, however early settings want it
    room = max(0, int(_ROOM * (limit if floor < limit else window)) - floor - most)
    retained = retain(context, newest=newest, budget=budget, room=room, upto=upto)
    if floor >= limit and not (retained.replaced or retained.cut):
        raise Skipped("floor", too_high(floor, limit))
    history = [message for message in context.history if _lies_before(context, message, upto)]
    facts = min(MAX_BYTES, window // _FACTS)
    ledger = Ledger.of(_since_ledger(context.records), context.state, most=facts)
    source = Source(
        replaced=retained.replaced,
        kept=retained.kept,
        history=history,
        tokens=retained.tokens,
        budget=most,
        system=context.system_blocks,
        tools=context.tools or [],
        thinking=thinking,
        ledger=ledger.words(),
        pending=[*ledger.pending, *(f"a call of {call.get('name')} is open" for call in open_calls(history))],
        instruction=wanted.instruction,
    )
    return Look(upto, generation, weight, retained, ledger, source, newest, budget, room)


def too_high(floor: int, limit: int) -> str:
    """Why no summary helps where prompt and tools alone weigh `floor` tokens, and one is due at `limit`."""
    return (
        f"the system prompt and the tools alone weigh about {floor:,} tokens, and compacting is due at {limit:,}: "
        "no summary makes that less. Use a model with a larger window (/model), fewer tools, or shorter instruction "
        "files; or let it be due later (compaction.trigger_ratio, compaction.reserved_tokens)"
    )


def renewed(context: Context, found: Look) -> Look:
    """The same with what was pinned or brought back since it was looked at: that stays too, and so does the record of
    what was to stay and was dropped. Call it in a thread.

    Raises:
        Skipped: now everything stays.
    """
    if context.size == found.upto:
        return found
    seen = {message.id for message in found.source.history}
    back = {m.id for m in context.history if m.id not in seen and _lies_before(context, m, found.upto)}
    retained = retain(
        context,
        newest=found.newest,
        budget=found.budget,
        room=found.room,
        upto=found.upto,
        also=back.union(found.retained.preserved),
    )
    if not retained.replaced:
        raise Skipped("short", "what would have gone was pinned meanwhile")
    dropped = [message for message in found.retained.kept if message.id not in retained.reasons]
    kept = sorted([*retained.kept, *dropped], key=lambda message: context.record(message.id).index)
    return replace(found, retained=replace(retained, kept=tuple(kept)))


async def made(found: Look, strategy: Compaction, model: Model) -> Made:
    """Let a strategy summarise, and hold what it gives against what is known.

    Raises:
        CompactionFailed: there is no summary that may be used.
        ProviderError: the model could not answer.
        Skipped: the strategy changes nothing.
    """
    from tui_agent.compaction.registry import fault_of  # it imports every strategy

    result = await strategy.compact(found.source, model)
    if fault := fault_of(result, found.source, model):
        raise CompactionFailed(f"the strategy {strategy.name!r} failed: {fault}")
    text = result.summary.strip()
    if not text:
        raise Skipped("short", f"the strategy {strategy.name} changes nothing")
    if set(result.preserved) != set(found.retained.preserved):
        found = replace(found, retained=_with(found, result.preserved))
    doubts = await asyncio.to_thread(found.ledger.contradictions, text)
    tokens = await asyncio.to_thread(model.count, summary_body(text, found.ledger)["content"])
    return Made(found, strategy.name, text, tokens, tuple(result.notes), tuple(doubts), result.usage)


def _with(found: Look, preserved: Sequence[str]) -> Retained:
    """The choice of what stays with what a strategy kept besides."""
    retained, names = found.retained, set(preserved)
    kept = tuple(message for message in found.source.history if message.id in names)
    replaced = tuple(message for message in found.source.history if message.id not in names)
    reasons = {message.id: retained.reasons.get(message.id, "before") for message in kept}
    return replace(retained, replaced=replaced, kept=kept, reasons=reasons)


def summary_body(text: str, ledger: Ledger) -> dict[str, Any]:
    """The record that stands for what was replaced."""
    content = [text_block(handover(text, ledger=ledger.words()))]
    return {"role": "user", "origin": ORIGIN, "id": ulid(), "content": content}


def edited_body(context: Context, text: str) -> dict[str, Any]:
    """The record of a summary that a person wrote, with the ledger in force."""
    return summary_body(text, Ledger.of((), context.state))


def newest_summary(context: Context) -> Message | None:
    """The summary in force; None if there is none."""
    return next((message for message in context.history if message.origin == ORIGIN), None)


def pinned_since(context: Context, found: Look) -> bool:
    """True if a message that is to go was pinned after the log was looked at. Looks at many: call it in a thread."""
    return any(context.marks(message.id).get("pinned") is True for message in found.retained.replaced)


def _lies_before(context: Context, message: Message, upto: int) -> bool:
    return context.record(message.id).offset < upto


def _since_ledger(records: Sequence[Record]) -> Sequence[Record]:
    """The records behind the ledger in force: what stands before it was taken into it."""
    for at in range(len(records) - 1, -1, -1):
        record = records[at]
        if record.role == "_state" and record.body.get("key") == STATE_KEY:
            return records[at + 1 :]
    return records
