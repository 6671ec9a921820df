"""`tui-agent context compact`: a session is opened without a screen, compacted and closed again; and how a changed log
stands to the window."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.changes import CompactionCompleted, CompactionFailed, CompactionSkipped
from tui_agent.cli.failures import Failed
from tui_agent.cli.report import complain, say, say_json
from tui_agent.events import Event, Notice
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError

if TYPE_CHECKING:
    import argparse

    from tui_agent.agent.session import Session
    from tui_agent.cli.views import Target, View
    from tui_agent.context import Context

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


async def stands(context: Context, data: dict[str, Any], said: str) -> View:
    """What is said of a changed log, and besides how it stands to the window of the model that would go on with it."""
    from tui_agent.compaction.outlook import outlook
    from tui_agent.compaction.policy import Policy
    from tui_agent.llm.models import known

    try:
        settings = load()
        profile, policy = settings.find_profile(), Policy(settings.compaction_of())
    except SettingsError as error:
        complain(str(error))
        return data, said
    window = profile.context_window or known(profile.model or _asked(context)).window
    if window is None:
        return {**data, "fits": None}, f"{said}. How large the model's window is, settings do not say"
    found = await asyncio.to_thread(outlook, context, policy, window)
    words = found.words.replace("/compact", "tui-agent context compact")
    return {**data, "fits": found.fits, "window": window}, f"{said}. The next request has {words}"


def _asked(context: Context) -> str:
    """The model that was asked last."""
    for usage in reversed(context.usages()):
        params = usage.get("params")
        if isinstance(params, Mapping) and isinstance(model := params.get("model"), str):
            return model
    return ""


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
        if isinstance(event, Notice) and (event.level != "info" or not options.json):
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
