"""What becomes of the context, in words for a screen and for those without one: that it is being made smaller, what
that came to, why it was not done and what can be done instead.

Everything is said from the events. What the log keeps of a compaction, in the head record of its rewrite
(`_compaction`), is read back as the event that was sent then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tui_agent import changes
from tui_agent.literal import one_line
from tui_agent.ui.words import number, window

if TYPE_CHECKING:
    from tui_agent.messages.tokens import Tokens

Level = Literal["info", "warning", "error"]
Fact = tuple[str, Level]
"""What is said, and how grave it is."""

_SAID = 600
"""Characters of a reason, a doubt or an instruction that are told."""
_BEGAN: Mapping[changes.Trigger, str] = {
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
    "kept": (
        "what stays word for word takes up the window",
        "warning",
        (_LARGEST, "change how much stays (/settings)", _MODEL, _CLEAR),
    ),
    "cut": ("the summary failed, and cutting long results was enough", "warning", ()),
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


def begun(event: changes.CompactionStarted, size: str) -> str:
    """That a compaction begins at that size; "" of one that nobody waits for."""
    if event.trigger == "ahead":
        return ""
    focus = f". It is to dwell on: {one_line(event.instruction, _SAID)}" if event.instruction else ""
    of = window(event.window, guessed=event.guessed)
    return f"Compacting {size} of {of} tokens{_called(event)}{focus}"


def _called(event: changes.CompactionStarted) -> str:
    """What called for it, where a person did not."""
    if event.trigger == "auto" and event.tokens < event.limit:
        return ", as shortening old results frees too little"
    return {"auto": f", due at {event.limit:,}", "overflow": ", which did not fit"}.get(event.trigger, "")


def figures(event: changes.CompactionCompleted, counted: Tokens | None = None) -> str:
    """What it came to, shortly; "" where the log does not say. `counted`: the weight after it, once it was counted."""
    if not event.before or not event.after:
        return ""
    edited = "  edited by you" if event.edited else ""
    after = number(event.after, "estimated") if counted is None else number(counted.count, counted.mark)
    return f"{number(event.before, event.mark)} -> {after} tokens{less(event, counted)}{edited}"


def less(event: changes.CompactionCompleted, counted: Tokens | None = None) -> str:
    """The share that went: `, 73% less`."""
    after = event.after if counted is None else counted.count
    share = 1 - after / event.before if event.before else 0
    return f", {share:.0%} less" if share >= 0.01 else ""


def facts(event: changes.CompactionCompleted) -> list[Fact]:
    """What a person should know of a compaction, the gravest first."""
    found: list[Fact] = [
        (f"the log says otherwise: {one_line(doubt, _SAID)}", "error") for doubt in event.doubts
    ]
    kept = "; ".join(one_line(kept, _SAID) for kept in event.kept)
    found.append((f"word for word: {kept or 'nothing'}", "info"))
    went = f"{event.replaced:,} {'message' if event.replaced == 1 else 'messages'}"
    if event.edited:
        found.append(
            (f"stands for {went}, as before; the one that was in force is in {event.backup}", "info")
        )
    else:
        found.append((f"went into the summary: {went}, whole in {event.backup}", "info"))
    if event.lost:
        gone = "1 mark is" if event.lost == 1 else f"{event.lost:,} marks are"
        found.append((f"{gone} gone with what they stood on", "warning"))
    if not event.edited:
        found.append((_took(event), "info"))
    return found


def _took(event: changes.CompactionCompleted) -> str:
    """How it was made, and what that took."""
    said = [event.strategy, _BEGAN[event.trigger]]
    if event.seconds:
        said.append(seconds(event.seconds))
    if event.cost is not None:
        said.append(f"${event.cost:,.2f}" if event.cost >= 0.005 or not event.cost else "under a cent")
    if event.input:
        cached = f" ({event.cache_read:,} from the cache)" if event.cache_read else ""
        said.append(f"{event.input:,} tokens read{cached}, {event.output:,} written")
    return ", ".join(filter(None, said))


def seconds(value: float) -> str:
    """A duration: `0.4 s`, `12 s`, `3 min 12 s`."""
    if value < 9.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def failed(event: changes.CompactionFailed) -> tuple[str, Sequence[str]]:
    """That it could not be made and why, and the ways out."""
    reason = one_line(event.reason, _SAID).rstrip(".")
    text = f"Compaction failed after {seconds(event.seconds)}: {reason}. The history is as it was."
    return text, event.ways or (_COMPACT,)


def skipped(event: changes.CompactionSkipped) -> tuple[str, Level, Sequence[str]]:
    """That it was not made and why, how grave that is, and the ways out."""
    words, level, ways = _SKIPPED.get(event.reason, (event.reason, "warning", ()))
    detail = one_line(event.detail, _SAID).rstrip(".")
    return f"Not compacted: {detail or words}", level, ways


def held(event: changes.CompactionHeld) -> Fact:
    """That compaction by itself is held, or is not any more."""
    if event.held:
        return "Nothing is compacted by itself now, since you undid it: /compact ends that", "warning"
    return "What has to be is compacted by itself again", "info"


def shortened(event: changes.MicroCompacted) -> str:
    """How many old items were shortened, or exchanges left out."""
    what = "exchange" if event.whole else "item"
    return f"1 old {what}" if len(event.items) == 1 else f"{len(event.items):,} old {what}s"


def did(event: changes.MicroCompacted) -> str:
    """What was done to them."""
    return "left out" if event.whole else "shortened"


def as_event(head: Mapping[str, Any]) -> changes.CompactionCompleted:
    """The figures of a head record as the event that was sent with them; what it does not say is nothing."""

    def whole(key: str) -> int:
        value = head.get(key)
        return value if type(value) is int else 0

    def texts(key: str) -> tuple[str, ...]:
        value = head.get(key)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    took, cost, mark = head.get("seconds"), head.get("cost"), head.get("mark")
    return changes.CompactionCompleted(
        trigger=next((known for known in _BEGAN if known == head.get("trigger")), "manual"),
        strategy=str(head.get("strategy") or ""),
        before=whole("before") or whole("tokens"),
        after=whole("after"),
        seconds=float(took) if isinstance(took, int | float) else 0.0,
        backup=str(head.get("backup") or ""),
        summary=str(head.get("summary") or ""),
        text="",
        replaced=whole("replaced"),
        kept=texts("kept"),
        doubts=texts("doubts"),
        lost=whole("dropped"),
        input=whole("input"),
        output=whole("output"),
        cache_read=whole("cache_read"),
        cost=float(cost) if isinstance(cost, int | float) else None,
        edited=head.get("op") == "edit",
        mark=mark if mark == "exact" or mark == "reconciled" else "estimated",
    )
