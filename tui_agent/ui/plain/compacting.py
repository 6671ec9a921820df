"""What becomes of the context, as lines: it is summarised, or old results are shortened; why not, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_agent import changes
from tui_agent.ui import compacting

if TYPE_CHECKING:
    from tui_agent.events import Event

ENDS = (changes.CompactionCompleted, changes.CompactionFailed, changes.CompactionSkipped)
"""After these nothing is summarised any more."""
_LABEL = "compaction"
_GRAVE = {"info": _LABEL, "warning": "warning", "error": "warning"}


def told(event: Event) -> Iterator[tuple[str, str]]:
    """The lines for an event, each with its label; none for what has nothing to do with it."""
    match event:
        case changes.CompactionStarted(tokens=tokens, mark=mark):
            size = f"{tokens:,}" if mark == "exact" else f"about {tokens:,}"
            if words := compacting.begun(event, size):
                yield words, _LABEL
        case changes.CompactionStage(stage=stage):
            yield stage, _LABEL
        case changes.CompactionCompleted():
            yield from _completed(event)
        case changes.CompactionFailed():
            text, ways = compacting.failed(event)
            yield "\n".join([text, *_ways(ways)]), "error"
        case changes.CompactionSkipped():
            text, level, ways = compacting.skipped(event)
            yield "\n".join([text, *_ways(ways)]), _GRAVE[level]
        case changes.CompactionHeld():
            text, level = compacting.held(event)
            yield text, _GRAVE[level]
        case changes.MicroCompacted(elide=elide, before=before, after=after):
            done = compacting.did(event)
            yield f"{compacting.shortened(event)} {done}, {_weights(before, after, 'estimated')}", _LABEL
            yield f"/unelide {elide} brings back what was {done}", _LABEL
        case _:
            return


def _completed(event: changes.CompactionCompleted) -> Iterator[tuple[str, str]]:
    what = "the summary that you wrote is in force" if event.edited else "the summary is in force"
    yield f"{what}, {_weights(event.before, event.after, event.mark)}{compacting.less(event)}", _LABEL
    for fact, level in compacting.facts(event):
        yield fact, _GRAVE[level]
    yield "/summary reads it, /summary and words put these in its place", _LABEL
    yield (
        "/undo takes it back, /undo later keeps what is said since, /keepmore does it again and keeps more",
        _LABEL,
    )


def _weights(before: int, after: int, mark: str) -> str:
    return f"from {'' if mark == 'exact' else 'about '}{before:,} to about {after:,} tokens"


def _ways(ways: Sequence[str]) -> Iterator[str]:
    return (f"you can: {way}" for way in ways)
