"""`tui-agent context compact`: a session is opened without a screen, compacted and closed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.cli.failures import Failed
from tui_agent.cli.report import complain, say, say_json
from tui_agent.events import CompactionCompleted, CompactionFailed, CompactionSkipped, Event, Notice
from tui_agent.settings.load import load

if TYPE_CHECKING:
    import argparse

    from tui_agent.agent.session import Session
    from tui_agent.cli.views import Target

Ended = CompactionCompleted | CompactionFailed | CompactionSkipped

_WAYS = ("--strategy extractive needs no model",)
"""What `WAYS` are on the command line."""


async def compact(options: argparse.Namespace, target: Target, workspace: Path) -> int:
    """Compact the session of a log; nobody is asked. Returns the exit code.

    Raises:
        Failed: it could not be done, or there was nothing to gain; nothing was changed.
    """
    from tui_agent.wiring import OpenError, open_session

    if not target.ours:
        way = f"tui-agent --resume {target.path}"
        raise Failed(f"{target.path} lies in no session of tui-agent; {way} goes on with a copy")
    heard: list[Event] = []
    try:
        session = await open_session(
            workspace,
            load(),
            resume=str(target.path.parent),
            profile=options.profile,
            attended=False,
            listen=heard.append,
        )
    except OpenError as error:
        raise Failed(str(error)) from error
    try:
        return _told(options, target, await _compacted(session, options, heard))
    finally:
        await session.close()


async def _compacted(session: Session, options: argparse.Namespace, heard: list[Event]) -> Ended:
    from tui_agent.compaction.making import Wanted

    if session.read_only:
        raise Failed(session.read_only)
    if not len(session.context.history):
        raise Failed("there is nothing to compact: nothing was said yet")
    heard.clear()
    session.shrinking.want(Wanted("manual", options.instruction, strategy=options.strategy))
    await session.until_idle()
    await session.shrinking.compactor.until_told()
    for event in heard:
        if isinstance(event, Notice) and not options.json:
            complain(event.text)
    return next(event for event in reversed(heard) if isinstance(event, Ended))


def _told(options: argparse.Namespace, target: Target, ended: Ended) -> int:
    from tui_agent.compaction.checks import WAYS

    if isinstance(ended, CompactionFailed):
        ways = _WAYS if ended.ways == WAYS else ended.ways
        raise Failed(f"not compacted: {ended.reason}" + (f" ({'; or '.join(ways)})" if ways else ""))
    if isinstance(ended, CompactionSkipped):
        raise Failed(f"not compacted: {ended.detail}")
    if options.json:
        say_json({"session": target.session, "path": str(target.path), **_data(ended)})
        return 0
    went = "1 message" if ended.replaced == 1 else f"{ended.replaced:,} messages"
    say(
        f"compacted from about {ended.before:,} to {ended.after:,} tokens by {ended.strategy}: {went} went into the "
        f"summary; what was before is {ended.backup} (tui-agent context undo brings it back)"
    )
    if ended.kept:
        say(f"word for word: {', '.join(ended.kept)}")
    for doubt in ended.doubts:
        say(f"doubtful: {doubt}")
    return 0


def _data(ended: CompactionCompleted) -> dict[str, Any]:
    data = ended.as_json()
    del data["event"]
    data["summary_record"], data["summary"] = data.pop("summary"), data.pop("text")
    return {"op": "compaction", **data}
