"""What can be asked of one record of the log: to keep it, to send less of it, other words, or all of it again.

And to send the request again, once the record that its endpoint refused is mended.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.compaction import picked
from tui_agent.messages.blocks import Block, result_text

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.context import Context, Record


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    for command in (
        Command("pin", pin, "RECORD"),
        Command("unpin", unpin, "RECORD"),
        Command("elide", elide, "RECORD"),
        Command("drop", drop, "RECORD"),
        Command("edit", edit, "RECORD [TEXT]"),
        Command("unelide", unelide, "RECORD"),
        Command("record", record, "RECORD"),
        Command("retry", retry),
    ):
        commands.add(command)


async def pin(session: Session, record: str) -> Outcome:
    """Pin a record: it is never elided or compacted away"""
    return await _mark(session, record, pinned=True)


async def unpin(session: Session, record: str) -> Outcome:
    """Take the pin off a record"""
    return await _mark(session, record, pinned=False)


async def _mark(session: Session, record: str, *, pinned: bool) -> Outcome:
    identity = _known(session, record).id
    await session.context.mark(identity, pinned=pinned, by="user")
    return Outcome("pinned" if pinned else "not pinned any more", {"record": identity, "pinned": pinned})


async def elide(session: Session, record: str) -> Outcome:
    """Send a few words in place of a record's content; it stays on disk and can be brought back"""
    return await _change(session, record, picked.shorten, "shortened")


async def drop(session: Session, record: str) -> Outcome:
    """Send nothing of a record, nor anything in its place; it stays on disk and can be brought back"""
    return await _change(session, record, picked.drop, "dropped")


async def edit(session: Session, record: str, *text: str) -> Outcome:
    """Send another text in place of a prompt's or a result's; what it was stays on disk and can be brought back

    Without a text it gives the one that is sent now.
    """
    if not text:
        try:
            now = picked.editable(session.context, _known(session, record).id)
        except ValueError as error:
            raise CommandError(str(error)) from error
        return Outcome(now, {"record": _known(session, record).id, "text": now})
    words = session.redact(" ".join(text))
    return await _change(
        session, record, lambda context, identity: picked.edit(context, identity, words), "edited"
    )


async def _change(
    session: Session,
    record: str,
    how: Callable[[Context, str], Awaitable[tuple[Record, int]]],
    done: str,
) -> Outcome:
    identity = _known(session, record).id
    try:
        made, freed = await how(session.context, identity)
    except ValueError as error:
        raise CommandError(str(error)) from error
    session.announce_break("something was left out")
    session.weigh()
    change = f"about {abs(freed):,} token{'' if abs(freed) == 1 else 's'} {'less' if freed >= 0 else 'more'}"
    return Outcome(
        f"{done}: {change} (/unelide {record} brings it back)",
        {"record": identity, "elide": made.id, "tokens": freed},
    )


async def unelide(session: Session, record: str) -> Outcome:
    """Send a record again as it is; of a batch that was left out (its own record's id) all of it"""
    identity = _known(session, record).id
    try:
        count = await picked.bring_back(session.context, identity)
    except ValueError as error:
        raise CommandError(str(error)) from error
    session.announce_break("something was brought back")
    session.weigh()
    return Outcome("brought back" if count == 1 else f"brought back: {count} items", {"record": identity})


async def record(session: Session, record: str) -> Outcome:
    """Show what a record holds, as it is sent now"""
    found = _known(session, record)
    message = session.context.message(found.id)
    text = "\n".join(map(_said, message.content)) if message else found.raw.decode("utf-8", "replace")
    return Outcome(text, {"record": found.id, "line": found.line, "role": found.role})


async def retry(session: Session) -> Outcome:
    """Send the request that failed again"""
    session.retry()
    return Outcome("asking again")


def _said(block: Block) -> str:
    match block.get("type"):
        case "text" | "thinking" as kind:
            return str(block.get(kind, ""))
        case "tool_result":
            return result_text(block)
        case _:
            return json.dumps(block, ensure_ascii=False)


def _known(session: Session, record: str) -> Record:
    matches = session.context.find(record)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise CommandError(f"there is no record {record!r}: the inspector lists them")
    raise CommandError(f"{record!r} fits {len(matches)} records: give more of its id")
