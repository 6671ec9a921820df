"""What a compaction came to, in words: its card, its line after the program was opened again, and why there is none.

Everything is made from the events, or from what the log keeps of them: the head record of the rewrite (`_compaction`)
has the figures, the record of the summary its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent import events
from tui_agent.literal import one_line
from tui_agent.ui.transcript.entries import Entry, Failure, Level, Note, Result, human_time, plain
from tui_agent.ui.transcript.said import plain_text
from tui_agent.ui.transcript.stream import Splitter
from tui_agent.ui.words import number

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.messages.blocks import Message

Fact = tuple[str, Level]
Choice = tuple[str, str]

CHOICES: tuple[Choice, ...] = (("u", "undo"), ("e", "edit the summary"), ("k", "keep more"))
"""What can be done about a compaction in force."""
BRING_BACK: tuple[Choice, ...] = (("b", "bring back"),)
_SAID = 400
"""Characters of a reason, a doubt or an instruction that are told."""
_BEGAN: Mapping[events.Trigger, str] = {
    "auto": "because the window filled up",
    "manual": "because you asked for it",
    "overflow": "because a request did not fit",
    "ahead": "made ahead of time",
}
_COMPACT, _MODEL, _CLEAR = (
    "compact now (/compact)",
    "choose a model with a larger window (/model)",
    "begin anew under the same prompt (/clear)",
)
_LARGEST = "leave out the largest items (/inspect)"
_SKIPPED: Mapping[str, tuple[str, Level, Sequence[str]]] = {
    "off": ("settings say that nothing is compacted by itself", "warning", (_COMPACT, _LARGEST)),
    "held": ("it is held since you undid one", "warning", (_COMPACT,)),
    "short": ("there is too little that could go", "info", ()),
    "floor": (
        "the system prompt and the tools alone take up the window",
        "warning",
        (_MODEL, "change when it is due (/settings)"),
    ),
    "no_progress": ("the last ones freed next to nothing", "warning", (_LARGEST, _MODEL, _CLEAR)),
    "hook": ("the hook said no", "warning", ("change or remove the hook (/settings)",)),
    "cancelled": ("stopped; the history is as it was", "info", ("begin again (/compact)",)),
    "superseded": ("the history was changed meanwhile", "info", ()),
    "declined": (
        "you discarded the summary; the history is as it was",
        "info",
        ("say behind the command what it is to dwell on (/compact)",),
    ),
}
"""Why there is no compaction -> in words, how grave it is, and what can be done."""


def told(event: events.Event) -> Entry | None:
    """What the chat says of what happens to a compaction before it is in force, or of what is done without one."""
    match event:
        case events.CompactionStarted():
            return started(event)
        case events.CompactionFailed():
            return failed(event)
        case events.CompactionSkipped():
            return skipped(event)
        case events.CompactionHeld():
            return held(event)
        case events.MicroCompacted():
            return shortened(event)
        case _:
            return None


def started(event: events.CompactionStarted) -> Note | None:
    """That a compaction begins; nothing of one that nobody waits for."""
    if event.trigger == "ahead":
        return None
    size = f"{number(event.tokens, event.mark)} of {event.window:,} tokens"
    due = {"auto": f", due at {event.limit:,}", "overflow": ", which the model refused"}.get(
        event.trigger, ""
    )
    focus = f". It is to dwell on: {one_line(event.instruction, _SAID)}" if event.instruction else ""
    return Note(f"Compacting {size}{due}{focus}")


def completed(event: events.CompactionCompleted, mark: str) -> Result:
    """The card of a compaction that is in force; `mark` is how sure its weight before was."""
    return Result(
        "compacted",
        plain_text(event.text),
        figures=_figures(event, mark),
        facts=_facts(event),
        choices=CHOICES,
        of=event.backup,
        waits=True,
        summary=Splitter.whole(plain_text(event.text)),
    )


def _figures(event: events.CompactionCompleted, mark: str) -> str:
    if not event.before or not event.after:
        return ""  # the log does not say
    less = 1 - event.after / event.before
    share = f", {less:.0%} less" if less > 0 else ""
    edited = "  edited by you" if event.edited else ""
    return f"{number(event.before, mark)} -> {number(event.after, 'estimated')} tokens{share}{edited}"


def _facts(event: events.CompactionCompleted) -> list[Fact]:
    facts: list[Fact] = [
        (f"the log says otherwise: {one_line(doubt, _SAID)}", "error") for doubt in event.doubts
    ]
    kept = "; ".join(one_line(kept, _SAID) for kept in event.kept)
    facts.append((f"word for word: {kept or 'nothing'}", "info"))
    went = f"{event.replaced:,} {'message' if event.replaced == 1 else 'messages'}"
    facts.append((f"went into the summary: {went}, whole in {event.backup}", "info"))
    if event.lost:
        gone = "1 mark is" if event.lost == 1 else f"{event.lost:,} marks are"
        facts.append((f"{gone} gone with what they stood on", "warning"))
    facts.append((_took(event), "info"))
    return facts


def _took(event: events.CompactionCompleted) -> str:
    """How it was made, and what that took."""
    said = [event.strategy, _BEGAN[event.trigger], human_time(event.seconds)]
    if event.cost is not None:
        said.append(f"${event.cost:,.2f}" if event.cost >= 0.005 or not event.cost else "under a cent")
    if event.input:
        cached = f" ({event.cache_read:,} from the cache)" if event.cache_read else ""
        said.append(f"{event.input:,} tokens read{cached}, {event.output:,} written")
    return ", ".join(said)


def failed(event: events.CompactionFailed) -> Failure:
    """That it could not be made, why, and the ways out."""
    reason = one_line(event.reason, _SAID).rstrip(".")
    return Failure(
        f"Compaction failed after {human_time(event.seconds)}: {reason}. The history is as it was.",
        event.ways or (_COMPACT,),
    )


def skipped(event: events.CompactionSkipped) -> Entry:
    """That it was not made, why, and the ways out."""
    words, level, ways = _SKIPPED.get(event.reason, (event.reason, "warning", ()))
    detail = one_line(event.detail, _SAID).rstrip(".")
    return Failure(f"Not compacted: {detail or words}", ways, level)


def held(event: events.CompactionHeld) -> Note:
    """That compaction by itself is held, or is not any more."""
    if event.held:
        return Note("Nothing is compacted by itself now, since you undid it: /compact ends that", "warning")
    return Note("What has to be is compacted by itself again")


def shortened(event: events.MicroCompacted) -> Result:
    """Old results that were elided in one batch."""
    count = len(event.items)
    what = "1 old item" if count == 1 else f"{count:,} old items"
    weight = f"{number(event.before, 'estimated')} -> {number(event.after, 'estimated')} tokens"
    facts: list[Fact] = [(one_line(event.arithmetic, _SAID), "info")] if event.arithmetic else []
    return Result(
        "shortened",
        "\n".join(one_line(item, _SAID) for item in event.items),
        figures=f"{what}  {weight}",
        facts=facts,
        choices=BRING_BACK,
        of=event.elide,
    )


# --- what the log keeps of it


def of_summary(message: Message, context: Context) -> Result:
    """The summary that stands in the history, with the figures of the compaction that made it."""
    text = plain_text(plain(message.content))
    made = Result("summary of what came before", text, summary=Splitter.whole(text))
    figures = _head_of(message.id, context)
    if figures is None:
        return made
    event = as_event(figures)
    made.figures, made.facts = (
        _figures(event, "exact" if figures.get("mark") == "exact" else "estimated"),
        _facts(event),
    )
    head = context.head
    if head is not None and head.figures.get("summary") == message.id:
        made.choices, made.of = CHOICES, event.backup
    return made


def _head_of(summary: str, context: Context) -> Mapping[str, Any] | None:
    """What the head record says of the rewrite that brought this summary."""
    for head in reversed(context.heads):
        if head.figures.get("summary") == summary:
            return {**head.figures, "op": head.op, "backup": head.backup}
    return None


def as_event(figures: Mapping[str, Any]) -> events.CompactionCompleted:
    """The figures of a head record as the event that was sent with them; what it does not say is nothing."""

    def whole(key: str) -> int:
        value = figures.get(key)
        return value if type(value) is int else 0

    def texts(key: str) -> tuple[str, ...]:
        value = figures.get(key)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    seconds, cost = figures.get("seconds"), figures.get("cost")
    return events.CompactionCompleted(
        trigger=next((known for known in _BEGAN if known == figures.get("trigger")), "manual"),
        strategy=str(figures.get("strategy") or "summary"),
        before=whole("before") or whole("tokens"),
        after=whole("after"),
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        backup=str(figures.get("backup") or ""),
        summary=str(figures.get("summary") or ""),
        text="",
        replaced=whole("replaced"),
        kept=texts("kept"),
        doubts=texts("doubts"),
        lost=whole("dropped"),
        input=whole("input"),
        output=whole("output"),
        cache_read=whole("cache_read"),
        cost=float(cost) if isinstance(cost, int | float) else None,
        edited=figures.get("op") == "edit",
    )
