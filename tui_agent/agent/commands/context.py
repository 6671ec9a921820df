"""What can be asked of the context: travel, which backups are kept, and what it weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.agent.commands.travel import STAYS, arrived, emptied, left_behind, said_since, taken_back
from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.llm.provider import window_of

if TYPE_CHECKING:
    from tui_agent.agent.session import Session

_SIGN = {"exact": "", "reconciled": "≃", "estimated": "~"}


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    for command in (
        Command("revert", revert, "CHECKPOINT", names=("rewind",), rewrites=True, check=_can_revert),
        Command("undo", undo, "[later]", rewrites=True, check=_can_undo),
        Command("redo", redo, rewrites=True, check=_can_redo),
        Command("restore", restore, "BACKUP", rewrites=True, check=_can_restore),
        Command("clear", clear, rewrites=True),
        Command("keep", keep, "BACKUP"),
        Command("unkeep", unkeep, "BACKUP"),
        Command("context", context),
    ):
        commands.add(command)


def _number(checkpoint: str) -> int:
    try:
        return int(checkpoint)
    except ValueError:
        raise CommandError(f"{checkpoint!r} is not a checkpoint number") from None


def _can_revert(session: Session, checkpoint: str) -> None:
    try:
        session.context.words_after(_number(checkpoint))
    except ValueError as error:
        raise CommandError(str(error)) from error


def _can_undo(session: Session, *later: str) -> None:
    if later not in ((), ("later",)):
        raise CommandError("usage: /undo, or /undo later to keep what was said since a compaction")
    if not session.timeline.can_undo():
        raise CommandError("there is nothing to undo")


def _can_redo(session: Session) -> None:
    if not session.timeline.can_redo():
        raise CommandError("there is nothing to redo")


def _can_restore(session: Session, backup: str) -> None:
    names = [kept.name for kept in session.context.backups() if kept.exists]
    if backup not in names:
        raise CommandError(f"there is no backup {backup!r}; there are: {', '.join(names) or 'none'}")


async def revert(session: Session, checkpoint: str) -> Outcome:
    """Go back to before a checkpoint; what followed is kept as a backup"""
    number = _number(checkpoint)
    try:
        travelled = await session.timeline.revert(number)
    except ValueError as error:
        raise CommandError(str(error)) from error
    return await arrived(session, travelled, f"back before checkpoint {number}")


async def undo(session: Session, *later: str) -> Outcome:
    """Take back the last change of history; `later`: what was said since the compaction taken back stays behind it"""
    _can_undo(session, *later)
    since = said_since(session.context)
    what = taken_back(session.context, since, later=bool(later))
    if not later:
        done = await arrived(session, await session.timeline.undo(), what)
        return Outcome(done.text, {**done.data, "later": 0})
    done = await arrived(session, await session.timeline.take_back(), what)
    found = await session.shrinking.outlook()
    data = {"later": since, "tokens": session.context.weigh().total, "fits": found.fits}
    return Outcome(f"{done.text}. Now {found.words}", {**done.data, **data})


async def redo(session: Session) -> Outcome:
    """Take back the last undo"""
    return await arrived(session, await session.timeline.redo(), "the undone change of history is made again")


async def restore(session: Session, backup: str) -> Outcome:
    """Make a backup the history again; the present one is kept as a backup"""
    return await arrived(session, await session.timeline.restore(backup), f"{backup} is the history again")


async def clear(session: Session) -> Outcome:
    """Begin anew under the same prompt and in the same mode; the history is kept as a backup"""
    gone = left_behind(session.context)
    travelled = await session.timeline.clear(STAYS)
    mode = session.plans.mode.now
    return await arrived(session, travelled, emptied(gone, "" if mode == "ask" else mode))


async def keep(session: Session, backup: str) -> Outcome:
    """Pin a backup: pruning never takes it"""
    await _pin(session, backup, pinned=True)
    return Outcome(f"{backup} is pinned", {"backup": backup, "pinned": True})


async def unkeep(session: Session, backup: str) -> Outcome:
    """Take the pin off a backup"""
    await _pin(session, backup, pinned=False)
    return Outcome(f"{backup} is not pinned any more", {"backup": backup, "pinned": False})


async def _pin(session: Session, backup: str, *, pinned: bool) -> None:
    names = [kept.name for kept in session.context.backups()]
    if backup not in names:
        raise CommandError(f"there is no backup {backup!r}; there are: {', '.join(names) or 'none'}")
    before = session.folder.meta.pinned
    after = [name for name in before if name != backup] + ([backup] if pinned else [])
    await session.save_meta(pinned=tuple(after))


async def context(session: Session) -> Outcome:
    """Say what the context holds and weighs"""
    log = session.context
    weight = log.weigh()
    share = 100 * weight.total / session.window if session.window else 0
    damaged = len(log.damage)
    lines = [
        f"{_SIGN[weight.mark]}{weight.total:,} of {window_of(session.provider)} tokens ({share:.0f} %): "
        + (
            f"{weight.exact:,} as the model counted, {weight.pending:+,} estimated since"
            if weight.exact
            else "estimated"
        ),
        f"{len(log.records):,} records, {len(log.history):,} messages, {log.n_checkpoints} checkpoints, "
        f"{len(log.backups())} backups" + (f", {damaged} damaged lines" if damaged else ""),
    ]
    return Outcome(
        "\n".join(lines),
        {
            "tokens": weight.total,
            "exact": weight.exact,
            "pending": weight.pending,
            "mark": weight.mark,
            "window": session.window,
            "window_guessed": session.guessed,
            "records": len(log.records),
            "messages": len(log.history),
            "checkpoints": log.n_checkpoints,
            "backups": len(log.backups()),
            "damaged": damaged,
        },
    )
