"""What stays whatever is summarised: how much it weighs, why it stays, and what a person can do about it.

Where that alone fills the window no summary makes room. Then a person is told what weighs, with the setting or the mark
that keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.compaction.retention import NEWEST
from tui_agent.literal import one_line

if TYPE_CHECKING:
    from tui_agent.compaction.retention import Retained
    from tui_agent.context import Context
    from tui_agent.settings.schema import Compaction as Keys

_WORTH_NAMING = 0.1
"""A part of what stays that weighs less than this share of it is not named, but for the heaviest."""
_NAMED = 3
_SHOWN_CHARACTERS = 40
_MODEL = "choose a model with a larger window (/model)"
_OWN_WORDS = "go back and say it in fewer words (/revert)"


class Part(NamedTuple):
    """Some of what stays: its weight in tokens, what it is, and what makes it less."""

    tokens: int
    words: str
    way: str


def too_high(floor: int, limit: int) -> str:
    """Why no summary helps where prompt and tools alone weigh `floor` tokens, and one is due at `limit`."""
    return (
        f"the system prompt and the tools alone weigh about {floor:,} tokens, and compacting is due at {limit:,}: "
        "no summary makes that less. Use a model with a larger window (/model), fewer tools, or shorter instruction "
        "files; or let it be due later (compaction.trigger_ratio, compaction.reserved_tokens)"
    )


def too_much(context: Context, retained: Retained, keys: Keys, newest: int, *, floor: int, limit: int) -> str:
    """Why no summary helps where what stays weighs too much: what that is, the heaviest first, and the ways out.

    `newest` is how many of the newest messages were to stay, `keys` say what is set.
    """
    found = sorted(_parts(context, retained, keys, newest), key=lambda part: -part.tokens)
    least = _WORTH_NAMING * retained.stays
    named = [part for at, part in enumerate(found) if not at or part.tokens >= least][:_NAMED]
    listed = ", ".join(f"{part.words} ({part.tokens:,})" for part in named)
    ways = list(dict.fromkeys([*(part.way for part in named), _MODEL]))
    return (
        f"what stays word for word weighs about {retained.stays:,} tokens, beside {floor:,} of prompt and tools, and "
        f"compacting is due at {limit:,}: {listed or 'nothing'}. You can {' or '.join(ways)}"
    )


def all_stays(retained: Retained, newest: int) -> str:
    """Why nothing could go, in a history that has room."""
    if newest > NEWEST and retained.kept:
        return (
            f"nothing can go: compaction.keep_messages keeps the newest {newest:,} messages and what follows them, "
            "and there are no more"
        )
    return "there is too little to gain: what is there stays word for word anyway"


def _parts(context: Context, retained: Retained, keys: Keys, newest: int) -> Iterator[Part]:
    groups: dict[str, list[int]] = {}
    heaviest, said = 0, ""
    cut: dict[str, dict[int | None, str | None]] = {}
    for item in retained.cut:
        cut.setdefault(item["record"], {})[item["block"]] = item["as"]
    for message in retained.kept:
        shorter = cut.get(message.id)
        weight = context.estimated(message.id, shorter) if shorter else context.tokens(message.id).count
        reason: str = "summary" if message.origin == "summary" else retained.reasons[message.id]
        groups.setdefault(reason, []).append(weight)
        if reason == "newest" and weight > heaviest:
            heaviest = weight
            said = one_line(message.text, _SHOWN_CHARACTERS) if message.is_words else ""
    for group, weights in groups.items():
        total, count = sum(weights), len(weights)
        if group == "newest" and newest <= NEWEST:
            yield _newest(total, count, heaviest, said)
        else:
            yield Part(total, *_words(group, count, keys, newest))


def _newest(total: int, count: int, heaviest: int, said: str) -> Part:
    """The newest messages, of which no setting keeps fewer; `said` are the person's words, if these weigh most."""
    words = "the newest message" if count == 1 else f"the newest {count:,} messages"
    if said:
        return Part(total, f"{words}, of that your words {said!r} {heaviest:,}", _OWN_WORDS)
    return Part(total, words, "go on, so that they are not the newest any more")


def _words(reason: str, count: int, keys: Keys, newest: int) -> tuple[str, str]:
    """What so many messages are that stay for a reason, and what makes them less."""
    messages = "1 message" if count == 1 else f"{count:,} messages"
    match reason:
        case "summary":
            return "the summary", "shorten it (/summary)"
        case "pinned":
            return f"{messages} that you pinned", "unpin some (/unpin)"
        case "request":
            key = f"compaction.keep_requests = {keys.keep_requests:,}"
            return f"{messages} with your last requests, by {key}", "lower compaction.keep_requests"
        case "newest":
            key = f"compaction.keep_messages = {keys.keep_messages:,}"
            why = f"by {key}" if newest == keys.keep_messages else "since you wanted more kept"
            return f"the newest {messages}, {why}", "lower compaction.keep_messages"
        case "exchange":
            return f"{messages} of calls and results that belong to them", _MODEL
    return f"{messages} marked to stay", _MODEL
