"""What can be asked of compaction: compact, see or replace the summary, keep more of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.agent.commands.travel import arrived
from tui_agent.changes import Rotated
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.compaction.editing import edit
from tui_agent.compaction.handover import summary_of
from tui_agent.compaction.making import Wanted, newest_summary

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.context import Head


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    for command in (
        Command("compact", compact, "[INSTRUCTION]"),
        Command("keepmore", keepmore, rewrites=True, check=_can_keep_more),
        Command("summary", summary, "[TEXT]"),
    ):
        commands.add(command)


async def compact(session: Session, *instruction: str) -> Outcome:
    """Summarise the history to make room; words after it say what the summary should dwell on"""
    if session.read_only:
        raise CommandError(session.read_only)
    if not len(session.context.history):
        raise CommandError("there is nothing to compact: nothing was said yet")
    words = " ".join(instruction).strip()
    when = "compacting as soon as the step is over" if session.busy else "compacting"
    if session.shrinking.busy:
        when = "compacting anew" if words else "compacting already"
    if words or not session.shrinking.busy:
        session.shrinking.want(Wanted("manual", words))
    return Outcome(f"{when}; ctrl+c stops it", {"instruction": words})


def _can_keep_more(session: Session) -> None:
    _newest_compaction(session)


async def keepmore(session: Session) -> Outcome:
    """Take the newest compaction back and do it again, keeping twice as much word for word"""
    figures = _newest_compaction(session).figures
    travelled = await session.timeline.take_back()
    await arrived(session, travelled, "the history is back")
    newest, budget = figures.get("newest"), figures.get("budget")
    session.shrinking.want(
        Wanted(
            "manual",
            str(figures.get("instruction") or ""),
            newest=2 * newest if isinstance(newest, int) else None,
            budget=2 * budget if isinstance(budget, int) else None,
            again=True,
        )
    )
    return Outcome("compacting again, keeping more; ctrl+c stops it", {"backup": travelled.backup})


async def summary(session: Session, *text: str) -> Outcome:
    """Show the summary in force, or put another text in its place"""
    found = newest_summary(session.context)
    if found is None:
        raise CommandError("there is no summary: nothing was compacted")
    words = " ".join(text).strip()
    if not words:
        said = summary_of(found.text)
        return Outcome(said, {"record": found.id, "text": said, "most": session.shrinking.most})
    if session.read_only:
        raise CommandError(session.read_only)
    async with session.between_turns():
        return await _edit(session, words)


async def _edit(session: Session, words: str) -> Outcome:
    try:
        edited = await edit(session.context, words)
    except LookupError as error:
        raise CommandError(str(error)) from error
    await session.shrinking.prune()
    session.emit(Rotated("edit", edited.backup, len(session.context.records)))
    session.emit(edited)
    found = await session.shrinking.outlook()
    text = f"the summary is replaced (/undo brings the old one back). Now {found.words}"
    return Outcome(text, {"backup": edited.backup, "tokens": edited.after, "fits": found.fits})


def _newest_compaction(session: Session) -> Head:
    change = session.context.change
    compactions = [head for head in session.context.heads if head.op == "compaction"]
    if change is None or change.op not in ("compaction", "edit") or not compactions:
        raise CommandError("the last change of history was no compaction")
    backup = compactions[-1].backup
    if not any(kept.exists and kept.name == backup for kept in session.context.backups()):
        raise CommandError(f"the history before the compaction is no longer kept ({backup})")
    return compactions[-1]
