"""A summary without a model: what people said, how answers began, and what the log knows, word for word.

It always fits its budget. What is worth most is taken first: the newest requests, what is not done, the ledger; then
earlier requests and the beginnings of answers, newest first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.compaction.handover import summary_of
from tui_agent.compaction.sections import (
    DONE,
    FILES,
    GOAL,
    IN_PROGRESS,
    SECTIONS,
    composed,
    is_nothing,
    sections,
)
from tui_agent.compaction.source import cut
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.messages.blocks import Message

_REQUESTS_FIRST = 3
"""So many of the newest requests come before anything else."""
_SHARE = 5
"""One entry takes at most this part of the budget (1/5)."""
_ANSWER = 120
"""Tokens of the beginning of an answer."""


class _Entry(Struct, frozen=True):
    """A piece of the summary: its section, its place in the history and its text. Lower `rank` is taken first."""

    section: str
    place: int
    text: str
    rank: int


class Extractive:
    """The strategy `extractive`."""

    name = "extractive"

    async def compact(self, source: Source, model: Model) -> CompactionResult:
        """Put a summary together; the model is used for counting alone.

        Raises:
            CompactionFailed: what would go is so little that nothing would be gained.
        """
        kept = tuple(message.id for message in source.kept)
        if not source.replaced:
            return CompactionResult("", kept, source.tokens, Tokens(0, "exact"))
        model.say("putting together")
        text = await asyncio.to_thread(_summary, source, model)
        after = model.count(text)
        if after >= source.tokens.count:
            raise CompactionFailed(
                f"nothing would be gained: what would go has {source.tokens.count:,} tokens, the least that must be "
                f"said of it {after:,}"
            )
        return CompactionResult(text, kept, source.tokens, Tokens(after, "estimated"))


def _summary(source: Source, model: Model) -> str:
    budget = max(1, min(source.budget, source.tokens.count - 1))
    taken: list[_Entry] = []
    text = _composed(taken)
    for entry in sorted(_entries(source), key=lambda entry: entry.rank):
        room = budget - model.count(text)
        if room <= 0:
            break
        shorter = cut(entry.text, min(room, max(room // 2, budget // _SHARE)), model.count)
        more = [*taken, _Entry(entry.section, entry.place, shorter, entry.rank)]
        longer = _composed(more)
        if model.count(longer) <= budget:
            taken, text = more, longer
    if not taken:
        return _least(source)
    return text


def _composed(entries: Sequence[_Entry]) -> str:
    ordered = sorted(entries, key=lambda entry: entry.place)
    return composed({name: [e.text for e in ordered if e.section == name] for name in SECTIONS})


def _least(source: Source) -> str:
    """What is said where there is room for nothing."""
    return f"{len(source.replaced)} earlier messages are left out."


def _entries(source: Source) -> Iterator[_Entry]:
    """Everything worth saying, with its rank."""
    end = len(source.replaced)
    requests = [at for at, message in enumerate(source.replaced) if message.is_words and message.text.strip()]
    newest = set(requests[-_REQUESTS_FIRST:])
    for at in requests:
        rank = end - at if at in newest else 20_000 + end - at
        yield _Entry(GOAL, at, f"The user: {_quoted(source.replaced[at])}", rank)
    for number, entry in enumerate(source.pending):
        yield _Entry(IN_PROGRESS, end + number, entry, 1_000 + number)
    if source.ledger:
        yield _Entry(FILES, end, f"From the log:\n{source.ledger}", 2_000)
    for at, message in enumerate(source.replaced):
        if message.origin == "summary":
            yield from _earlier(message, at)
        elif message.role == "assistant" and message.text.strip():
            yield _Entry(DONE, at, f"The agent said: {_quoted(message)}", 30_000 + end - at)


def _earlier(message: Message, at: int) -> Iterator[_Entry]:
    """The sections of a summary that came before."""
    summary = summary_of(message.text)
    parts = sections(summary)
    if not parts:
        yield _Entry(GOAL, at, f"From the earlier summary: {summary}", 10_000)
    for number, (name, text) in enumerate(parts.items()):
        if not is_nothing(text):
            yield _Entry(name, at, f"From the earlier summary: {text}", 10_000 + number)


def _quoted(message: Message) -> str:
    return message.text.strip()
