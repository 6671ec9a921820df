"""A summary on its way: what of the log is looked at, what the strategy is given, and what came of it.

Nothing here changes the log. What is made stands for the log up to a byte of it; what comes later follows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.compaction.burden import all_stays, too_high, too_much
from tui_agent.compaction.handover import handover
from tui_agent.compaction.ledger import MAX_BYTES, STATE_KEY, Ledger
from tui_agent.compaction.originals import originals
from tui_agent.compaction.retention import Retained, retain
from tui_agent.compaction.strategy import Compaction, CompactionFailed, Source
from tui_agent.context.encoding import ulid
from tui_agent.messages.blocks import text_block
from tui_agent.messages.exchange import open_calls

if TYPE_CHECKING:
    from tui_agent.changes import Trigger
    from tui_agent.compaction.policy import Policy
    from tui_agent.compaction.strategy import Model
    from tui_agent.context import Context, Record, Weight
    from tui_agent.llm.provider import Usage
    from tui_agent.messages.blocks import Message

ORIGIN = "summary"

_UNASKED: tuple[Trigger, ...] = ("auto", "ahead")
"""What begins a compaction that nobody asked for and that no request has to have."""

_REQUESTS = 10
"""A person's last requests may stay up to this part of the window (1/10)."""
_FACTS = 8
"""Tokens of the window for each byte of the ledger, where that is less than it may have: in a window of 8k, 1 KiB."""
_OVERWEIGHT = 2
"""A summary with more than so many times the tokens it may have is summarised again, also if nothing else would go."""
LEAST_SUMMARY = 400
"""Tokens that a summary may have, however little room is left beside what stays."""
ANSWER_TOKENS = 1024
"""Room that a request needs for its answer: with less of the window left it cannot be sent."""
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


class Terms(Struct, frozen=True):
    """How much is to stay, as `retain` takes it, and the sizes that this comes of, all in tokens but `newest`.

    `floor` is the weight of prompt and tools, `limit` the weight at which a summary is due, `window` the model's.
    `again`: a person asks, so that also what they brought back may be cut.
    """

    newest: int
    budget: int
    room: int
    utmost: int
    heavy: int
    floor: int
    limit: int
    window: int
    again: bool = False

    def chosen(
        self, context: Context, upto: int, also: Collection[str] = (), *, newest: int | None = None
    ) -> Retained:
        """What stays of the first `upto` bytes of a log. Reads much of it: call it in a thread.

        `newest` takes the place of how many of the newest messages are to stay; 0: all of them.
        """
        return retain(
            context,
            newest=self.newest if newest is None else newest,
            budget=self.budget,
            room=self.room,
            utmost=self.utmost,
            heavy=self.heavy,
            upto=upto,
            also=also,
            again=self.again,
        )


class Look(Struct, frozen=True):
    """The log as it was looked at: up to byte `upto`, in generation `generation`.

    `terms` are how much was to stay, `weight` what the next request weighed. `burden` says what weighs where that
    which stays alone is too much; else it is empty.
    """

    upto: int
    generation: int
    weight: Weight
    retained: Retained
    ledger: Ledger
    source: Source
    terms: Terms
    burden: str = ""


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
    keys, generation, upto, weight = policy.settings, context.generation, context.size, context.weigh()
    most = policy.summary_most(window)
    terms = _terms(context, wanted, policy, most=most, window=window, total=weight.total)
    floor, limit = terms.floor, terms.limit
    if floor >= limit and wanted.trigger in _UNASKED:
        raise Skipped("floor", too_high(floor, limit))
    retained = _worth_it(context, terms, terms.chosen(context, upto), upto)
    if floor >= limit and not (retained.replaced or retained.cut):
        raise Skipped("floor", too_high(floor, limit))
    burden = ""
    if weight.total >= limit and (floor + retained.stays >= limit or not retained.replaced):
        burden = too_much(context, retained, keys, terms.newest, floor=floor, limit=limit)
    if not (retained.replaced or retained.cut):
        raise Skipped("kept", burden) if burden else Skipped("short", all_stays(retained, terms.newest))
    history = [message for message in context.history if _lies_before(context, message, upto)]
    facts = min(MAX_BYTES, window // _FACTS)
    ledger = Ledger.of(_since_ledger(context.records), context.state, most=facts)
    source = Source(
        replaced=retained.replaced,
        kept=retained.kept,
        history=history,
        tokens=retained.tokens,
        budget=min(most, max(LEAST_SUMMARY, terms.utmost + LEAST_SUMMARY - retained.stays)),
        system=context.system_blocks,
        tools=context.tools or [],
        thinking=thinking,
        ledger=ledger.words(),
        pending=[*ledger.pending, *(f"a call of {call.get('name')} is open" for call in open_calls(history))],
        instruction=wanted.instruction,
        whole=originals(context, retained.replaced),
    )
    return Look(upto, generation, weight, retained, ledger, source, terms, burden)


def _worth_it(context: Context, terms: Terms, found: Retained, upto: int) -> Retained:
    """The choice; or that all messages stay, where a summary could be no smaller than what it is of, and cutting the
    results that are too large makes enough room.
    """
    if not (found.cut and found.replaced and found.tokens.count < LEAST_SUMMARY):
        return found
    whole = terms.chosen(context, upto, newest=0)
    return whole if whole.cut and terms.floor + whole.stays < terms.limit else found


def _terms(context: Context, wanted: Wanted, policy: Policy, *, most: int, window: int, total: int) -> Terms:
    """How much is to stay beside a summary of `most` tokens, where the next request weighs `total`."""
    keys, limit = policy.settings, policy.limit(window)
    floor = context.system_tokens.count + context.tools_tokens.count
    # who asks for one gets it, however early settings want it
    room = max(0, int(_ROOM * (limit if floor < limit else window)) - floor - most)
    is_stuck = total + ANSWER_TOKENS > window
    return Terms(
        newest=keys.keep_messages if wanted.newest is None else wanted.newest,
        budget=min(keys.keep_requests, window // _REQUESTS) if wanted.budget is None else wanted.budget,
        room=room,
        utmost=max(0, window - ANSWER_TOKENS - floor - LEAST_SUMMARY),
        heavy=_OVERWEIGHT * (LEAST_SUMMARY if is_stuck else most),
        floor=floor,
        limit=limit,
        window=window,
        again=wanted.trigger == "manual",
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
    retained = found.terms.chosen(context, found.upto, back.union(found.retained.preserved))
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
