"""A summary that a person writes anew: it takes the place of the one in force, in one rewrite that can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_agent.changes import CompactionCompleted
from tui_agent.compaction.making import edited_body, newest_summary

if TYPE_CHECKING:
    from tui_agent.context import Context

_CARRIED = ("trigger", "strategy", "replaces", "replaced", "kept", "newest", "budget", "instruction")
"""Figures of a compaction that an edit of its summary keeps."""


async def edit(context: Context, text: str) -> CompactionCompleted:
    """Put a text in the place of the summary in force; what was there stays in the backup that is named.

    Raises:
        LookupError: there is no summary.
        ContextError: it could not be written; nothing was changed.
    """
    found = newest_summary(context)
    if found is None:
        raise LookupError("there is no summary: nothing was compacted")
    before = context.weigh()
    heads = [head for head in context.heads if head.op == "compaction"]
    figures: dict[str, Any] = {"replaces": [found.id, found.id]}
    if heads:
        figures = {key: heads[-1].figures[key] for key in _CARRIED if key in heads[-1].figures}
    figures["mark"] = before.mark
    body = edited_body(context, text)
    backup = await context.edit_message(found.id, body, figures={**figures, "summary": body["id"]})
    return CompactionCompleted(
        trigger="manual",
        strategy=str(figures.get("strategy", "")),
        before=before.total,
        after=context.weigh().total,
        seconds=0.0,
        backup=backup.name,
        summary=body["id"],
        text=text,
        replaced=int(figures.get("replaced", 0)),
        kept=tuple(figures.get("kept", ())),
        lost=int(backup.figures.get("dropped", 0)),
        edited=True,
        mark=before.mark,
    )
