"""What becomes of the context, as entries: the card of a compaction, old items that were shortened, and the summary in
a history that was read from the log, with the figures of the rewrite that brought it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent import changes, events
from tui_agent.literal import one_line
from tui_agent.ui import compacting
from tui_agent.ui.transcript.entries import Entry, Failure, Note, Result, plain
from tui_agent.ui.transcript.said import plain_text
from tui_agent.ui.transcript.stream import Splitter
from tui_agent.ui.words import number

if TYPE_CHECKING:
    from tui_agent.context import Context, Head
    from tui_agent.messages.blocks import Message

CHOICES = (("u", "undo"), ("e", "edit the summary"), ("k", "keep more"))
"""What can be done about a compaction in force."""
BRING_BACK = (("b", "bring back"),)
_SAID = 400
"""Characters of an item that are told."""


def told(event: events.Event) -> Entry | None:
    """What the chat says of what happens to a compaction before it is in force, or of what is done without one."""
    match event:
        case changes.CompactionStarted():
            words = compacting.begun(event, number(event.tokens, event.mark))
            return Note(words) if words else None
        case changes.CompactionFailed():
            return Failure(*compacting.failed(event))
        case changes.CompactionSkipped():
            words, level, ways = compacting.skipped(event)
            return Failure(words, ways, level)
        case changes.CompactionHeld():
            return Note(*compacting.held(event))
        case changes.MicroCompacted():
            return _shortened(event)
        case _:
            return None


def completed(event: changes.CompactionCompleted) -> Result:
    """The card of a compaction that is in force."""
    text = plain_text(event.text)
    return Result(
        "summary replaced" if event.edited else "compacted",
        text,
        figures=compacting.figures(event),
        facts=compacting.facts(event),
        choices=CHOICES,
        of=event.backup,
        waits=True,
        summary=Splitter.whole(text),
    )


def _shortened(event: changes.MicroCompacted) -> Result:
    """Old results that were elided in one batch."""
    weight = f"{number(event.before, 'estimated')} -> {number(event.after, 'estimated')} tokens"
    return Result(
        compacting.did(event),
        "\n".join(one_line(item, _SAID) for item in event.items),
        figures=f"{compacting.shortened(event)}  {weight}",
        facts=[(one_line(event.arithmetic, _SAID), "info")] if event.arithmetic else [],
        choices=BRING_BACK,
        of=event.elide,
    )


def of_summary(message: Message, context: Context) -> Result:
    """The summary that stands in the history, with the figures of the compaction that made it."""
    text = plain_text(plain(message.content))
    made = Result("summary of what came before", text, summary=Splitter.whole(text))
    head = _head_of(message.id, context)
    if head is None:
        return made
    event = compacting.as_event({**head.figures, "op": head.op, "backup": head.backup})
    made.figures = compacting.figures(event, context.counted_after(head))
    made.facts = compacting.facts(event)
    if context.change is not None and context.change.figures.get("summary") == message.id:
        made.choices, made.of = CHOICES, event.backup
    return made


def counted(event: changes.CompactionCompleted, context: Context) -> str | None:
    """The figures of a compaction once the endpoint has counted what it left; None until then."""
    head = _head_of(event.summary, context)
    found = context.counted_after(head) if head is not None else None
    return compacting.figures(event, found) if found is not None else None


def _head_of(summary: str, context: Context) -> Head | None:
    """The head record of the rewrite that brought this summary."""
    return next((head for head in reversed(context.heads) if head.figures.get("summary") == summary), None)
