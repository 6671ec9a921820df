"""A summary without a model: what people said, how answers began, and what the log knows, word for word.

It always fits its budget. What is worth most is taken first: the newest requests, what is not done, the ledger; then
earlier requests and the beginnings of answers, newest first.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui_agent.compaction.handover import summary_of
from tui_agent.compaction.sections import (
    DONE,
    FILES,
    GOAL,
    IN_PROGRESS,
    SECTIONS,
    composed,
    entries,
    is_nothing,
    line,
    sections,
)
from tui_agent.compaction.source import arguments_text, cut
from tui_agent.compaction.strategy import CompactionFailed, CompactionResult
from tui_agent.compaction.tally import only_looks
from tui_agent.literal import one_line
from tui_agent.messages.tokens import Tokens

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Model, Source
    from tui_agent.messages.blocks import Message

_REQUESTS_FIRST = 3
"""So many of the newest requests come before anything else."""
_SHARE = 5
"""One entry takes at most this part of the budget (1/5)."""
_CALLS = 8
"""Calls together take at most this part of the budget (1/8)."""
_CALL_CHARACTERS = 160
_ANSWER = 120
"""Tokens of an answer: its head and tail."""
_LEAST_ENTRY = 8
"""Tokens: with less room left nothing more is taken."""


_LOOKING = frozenset({"read_file", "glob", "grep", "todo", "present_plan"})
_STEP = 10_000_000
_PENDING, _LEDGER, _EARLIER, _REQUEST, _LATER, _CALL = (number * _STEP for number in range(1, 7))
"""Ranks behind the newest requests: what is not done, the ledger, earlier summaries, older requests, answers and files,
and calls."""
_WORD = re.compile(r"[\w./-]{4,}")
"""Words of an instruction that are looked for; shorter ones stand everywhere."""
_FROM_LOG, _CALLED = "From the log:", "Called "


class _Entry(Struct, frozen=True):
    """A piece of the summary: its section, its place in the history and its text. Lower `rank` is taken first.

    `most` is how long it may be, in tokens, where the budget would allow more.
    """

    section: str
    place: int
    text: str
    rank: int
    most: int = 2**30


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
    calls, said = budget // _CALLS, set[tuple[str, str]]()
    left = budget - model.count(_composed(taken))
    for entry in sorted(_focused(source), key=lambda entry: entry.rank):
        if left < _LEAST_ENTRY:
            break
        if (entry.section, entry.text) in said:
            continue
        said.add((entry.section, entry.text))
        shorter = cut(entry.text, min(entry.most, left, max(left // 2, budget // _SHARE)), model.count)
        cost = model.count(line(shorter)) + 1
        if cost <= (left if entry.rank < _CALL else min(left, calls)):
            taken.append(replace(entry, text=shorter))
            left -= cost
            calls -= cost if entry.rank >= _CALL else 0
    while taken and model.count(_composed(taken)) > budget:
        taken.pop()
    return _composed(taken) if taken else _least(source)


def _composed(taken: Sequence[_Entry]) -> str:
    ordered = sorted(taken, key=lambda entry: entry.place)
    return composed({name: [e.text for e in ordered if e.section == name] for name in SECTIONS})


def _least(source: Source) -> str:
    """What is said where there is room for nothing."""
    return f"{len(source.replaced)} earlier messages are left out."


def _focused(source: Source) -> Iterator[_Entry]:
    """Everything worth saying; what the person wants the summary to dwell on comes right behind the ledger."""
    wanted = {word.casefold() for word in _WORD.findall(source.instruction)}
    for entry in _entries(source):
        about = entry.rank > _LEDGER and any(word in entry.text.casefold() for word in wanted)
        yield replace(entry, rank=_LEDGER + entry.rank % _STEP) if about else entry


def _entries(source: Source) -> Iterator[_Entry]:
    """Everything worth saying, with its rank."""
    end = len(source.replaced)
    requests = [at for at, message in enumerate(source.replaced) if message.is_words and message.text.strip()]
    newest = set(requests[-_REQUESTS_FIRST:])
    for at in requests:
        rank = end - at if at in newest else _REQUEST + end - at
        yield _Entry(GOAL, at, f"The user: {source.replaced[at].text.strip()}", rank)
    if asked := sum(message.is_words for message in source.kept):
        words = "message of the user stands" if asked == 1 else "messages of the user stand"
        yield _Entry(GOAL, end, f"{asked} {words} behind this summary, word for word.", _PENDING)
    for number, entry in enumerate(source.pending, 1):
        yield _Entry(IN_PROGRESS, end + number, entry, _PENDING + number)
    if source.ledger:
        yield _Entry(FILES, end, f"{_FROM_LOG}\n{source.ledger}", _LEDGER)
    for at, message in enumerate(source.replaced):
        if message.origin == "summary":
            yield from _earlier(message, at, source)
        elif message.role == "assistant":
            if said := source.whole.get(message.id, message).text.strip():
                yield _Entry(DONE, at, f"The agent said: {said}", _LATER + end - at, _ANSWER)
            for call in _calls(message):
                yield _Entry(DONE, at, call, _CALL + end - at)


def _calls(message: Message) -> Iterator[str]:
    """What a message calls, a line each; reading and searching can be done again and is left out."""
    for block in message.blocks("tool_use"):
        name, arguments = str(block.get("name", "a tool")), block.get("input")
        command = str(arguments.get("command", "")) if isinstance(arguments, dict) else ""
        if name not in _LOOKING and not only_looks(command):
            about = " ".join(arguments_text(arguments).split())
            yield one_line(f"{_CALLED}{name}: {about}", _CALL_CHARACTERS)


def _earlier(message: Message, at: int, source: Source) -> Iterator[_Entry]:
    """What a summary that came before says, entry by entry, so that it goes on unchanged from round to round."""
    summary = summary_of(message.text)
    parts = sections(summary)
    if not parts:
        yield _Entry(GOAL, at, f"From the earlier summary: {summary}", _EARLIER)
    for name, text in parts.items():
        found = [] if is_nothing(text) else entries(text)
        for place, entry in enumerate(found):
            settled = name == IN_PROGRESS and f"{entry} (done)" in source.ledger
            if not settled and not entry.startswith(_FROM_LOG):
                late = _CALL if entry.startswith(_CALLED) else _LATER
                rank = late if name in (DONE, FILES) else _EARLIER
                yield _Entry(name, at, entry, rank + len(source.replaced) + len(found) - place)
