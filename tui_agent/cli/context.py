"""`tui-agent context` and `tui-agent inspect`: see what a log holds, and change what it means.

Everything works on a `Context` directly: readers take no lock and look at a file that is being written, writers hold
the session's lease for the moment they need, and are told who holds it otherwise.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent import paths
from tui_agent.cli.failures import Failed
from tui_agent.cli.report import complain, say, say_json, tokens
from tui_agent.cli.views import VIEWS, Target, View, everything
from tui_agent.compaction import picked
from tui_agent.context import Context, ContextError
from tui_agent.literal import visible
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import CONTEXT, META, SessionError, SessionFolder
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import Backups

if TYPE_CHECKING:
    import argparse

    from tui_agent.context import Record


def run(options: argparse.Namespace, workspace: Path) -> int:
    """Carry out `context ACTION`; returns the exit code.

    Raises:
        Failed: it could not be done; nothing was changed.
    """
    return asyncio.run(_guarded(_context(options, workspace)))


def inspect(options: argparse.Namespace) -> int:
    """Report on any log, changing nothing; returns the exit code.

    Raises:
        Failed: it cannot be read.
    """
    return asyncio.run(_guarded(_inspect(options)))


def find_target(options_path: str | None, session: str | None, workspace: Path) -> Target:
    """The log named by `--path` or `--session`, else that of the last session in the workspace.

    Raises:
        Failed: there is none.
    """
    if options_path is not None:
        path = Path(options_path).expanduser()
        path = path / CONTEXT if path.is_dir() else path
        if not path.exists():
            raise Failed(f"{path} does not exist")
        return Target(path, path.parent.name if (path.parent / META).exists() else "")
    if session is not None:
        entry = Catalog().find(session)
    else:
        latest = Catalog().latest(workspace)
        if latest is None:
            raise Failed(
                f"there is no session in {workspace}; name one: --session ID (tui-agent sessions list --all)"
            )
        entry = latest
    return Target(SessionFolder(entry.path).context_path, entry.id)


async def open_to_read(target: Target) -> Context:
    """The log, read. A missing or empty one is an error.

    Raises:
        Failed: there is nothing in it.
        ContextError: it cannot be read.
    """
    context = Context(target.path, read_only=True)
    if not await context.restore():
        raise Failed(f"{target.label} is empty: {target.path}")
    return context


async def _guarded(work: Awaitable[int]) -> int:
    try:
        return await work
    except (ContextError, SessionError, SettingsError) as error:
        raise Failed(str(error)) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Failed(f"{error.filename or 'file'}: {error.strerror}") from error


async def _context(options: argparse.Namespace, workspace: Path) -> int:
    target = find_target(options.path, options.session, workspace)
    if options.action in _CHANGES:
        return await _change(options, target)
    if options.action == "compact":
        return await _compact(options, target, workspace)
    context = await open_to_read(target)
    try:
        if options.action == "request":
            from tui_agent.cli.requests import request

            return await request(options, context, workspace)
        data, text = VIEWS[options.action](context, target)
        if options.json:
            say_json(data)
        else:
            say(text)
        return 0
    finally:
        await context.close()


async def _inspect(options: argparse.Namespace) -> int:
    target = find_target(options.path, None, Path.cwd())
    context = await open_to_read(target)
    try:
        data, text = everything(context, target)
        if options.json:
            say_json(data)
        else:
            say(text)
        return 0
    finally:
        await context.close()


# --- changing --------------------------------------------------------------------------------------------------


async def _change(options: argparse.Namespace, target: Target) -> int:
    context = Context(target.path)
    try:
        if not await context.restore():
            raise Failed(f"{target.label} is empty: {target.path}")
        _refuse_foreign(context, target)
        try:
            given = [options.text] if options.action == "edit" else []
            data, text = await _CHANGES[options.action](
                context, getattr(options, "argument", None) or "", *given
            )
        except ValueError as error:
            raise Failed(str(error)) from error
        await context.sync()
        if options.action in _TRAVELS and target.ours and paths.memory_db().exists():
            await _follow(context)
    finally:
        await context.close()
    if options.json:
        say_json({"session": target.session, "path": str(target.path), **data})
    else:
        say(text)
    return 0


async def _follow(context: Context) -> None:
    """Set aside what answers had proposed that are undone now, and bring back what those did that are there again."""
    from tui_agent.events import Event, Notice
    from tui_agent.wiring import follow_history  # the engine is not needed where nothing is remembered

    def told(event: Event) -> None:
        if isinstance(event, Notice):
            complain(event.text)

    await follow_history(context, told)


def _refuse_foreign(context: Context, target: Target) -> None:
    """Another program's file is only ever read."""
    from tui_agent.context.kimi import is_kimi

    if target.ours:
        return
    for record in context.records:
        if record.damaged is None and not record.role.startswith("_"):
            if is_kimi(json.loads(record.raw, strict=False)):
                way = f"tui-agent --resume {target.path}"
                raise Failed(f"{target.path} is Kimi CLI's and is only read; {way} goes on with a copy")
            return


async def _compact(options: argparse.Namespace, target: Target, workspace: Path) -> int:
    from tui_agent.cli.compacting import compact

    context = await open_to_read(target)
    _refuse_foreign(context, target)
    await context.close()
    place = SessionFolder(target.path.parent).meta.workspace
    return await compact(options, target, Path(place) if place else workspace)


async def _revert(context: Context, argument: str) -> View:
    try:
        number = int(argument)
    except ValueError:
        raise Failed(f"{argument!r} is not a checkpoint number; see: tui-agent context checkpoints") from None
    words = context.words_after(number)
    backup = await context.revert_to(number)
    return await _rewritten("revert", context, backup.name, f"back before checkpoint {number}", words)


async def _restore(context: Context, name: str) -> View:
    return await _rewritten(
        "restore", context, (await context.restore_backup(name)).name, f"{name} is the history again"
    )


async def _summary(context: Context, text: str) -> View:
    from tui_agent.cli.compacting import stands
    from tui_agent.compaction.editing import edit
    from tui_agent.compaction.handover import summary_of
    from tui_agent.compaction.making import newest_summary

    if text.strip():
        try:
            edited = await edit(context, text.strip())
        except LookupError as error:
            raise Failed(str(error)) from error
        data, said = await _rewritten("edit", context, edited.backup, "the summary is replaced")
        return await stands(context, data, said)
    found = newest_summary(context)
    if found is None:
        raise Failed("there is no summary: nothing was compacted")
    words = summary_of(found.text)
    return {"record": found.id, "text": words}, visible(words)


async def _undo(context: Context, later: str) -> View:
    from tui_agent.agent.commands.travel import said_since, taken_back
    from tui_agent.cli.compacting import stands

    since = said_since(context)
    done = taken_back(context, since, later=bool(later), command="tui-agent context ")
    backup = await (context.take_back() if later else context.undo())
    data, said = await _rewritten("undo", context, backup.name, done)
    data["later"] = since if later else 0
    return await stands(context, data, said) if later else (data, said)


async def _redo(context: Context, _: str) -> View:
    return await _rewritten(
        "redo", context, (await context.redo()).name, "the undone change of history is made again"
    )


async def _clear(context: Context, _: str) -> View:
    from tui_agent.agent.commands.travel import STAYS, emptied, left_behind
    from tui_agent.planning.mode import recorded

    gone = left_behind(context)
    backup = await context.clear(states=STAYS)
    plan = "plan" if recorded(context) == "plan" else ""
    return await _rewritten("clear", context, backup.name, emptied(gone, plan))


async def _rewritten(op: str, context: Context, backup: str, done: str, words: str = "") -> View:
    weight = context.weigh()
    limits = _limits()
    pruned = []
    if limits.keep is not None or limits.max_bytes is not None:
        pruned = await context.prune_backups(keep=limits.keep, max_bytes=limits.max_bytes)
    data = {
        "op": op,
        "backup": backup,
        "records": len(context.records),
        "messages": len(context.history),
        "tokens": weight.total,
        "mark": weight.mark,
        "words": words,
        "pruned": [gone.name for gone in pruned],
    }
    now = f"{len(context.history):,} messages, {tokens(weight.total, weight.mark)} tokens"
    text = f"{done}; {now}; what was before is {backup}"
    if op not in ("undo", "redo"):
        text += " (tui-agent context undo brings it back)"
    if pruned:
        text += f"; no longer kept, as settings say: {', '.join(gone.name for gone in pruned)}"
    return data, text


def _limits() -> Backups:
    """How many backups the user's settings keep; all, if settings cannot be read."""
    try:
        return load().backups
    except SettingsError as error:
        complain(str(error))
        return Backups()


async def _pin(context: Context, record: str) -> View:
    return await _mark(context, record, pinned=True)


async def _unpin(context: Context, record: str) -> View:
    return await _mark(context, record, pinned=False)


async def _mark(context: Context, record: str, *, pinned: bool) -> View:
    identity = _known(context, record)
    await context.mark(identity, pinned=pinned, by="user")
    return {"record": identity, "pinned": pinned}, "pinned" if pinned else "not pinned any more"


async def _elide(context: Context, record: str) -> View:
    return await _leave_out(context, record, picked.shorten, "shortened")


async def _drop(context: Context, record: str) -> View:
    return await _leave_out(context, record, picked.drop, "dropped")


async def _edit(context: Context, record: str, words: str) -> View:
    return await _leave_out(
        context, record, lambda log, identity: picked.edit(log, identity, words), "edited"
    )


async def _leave_out(
    context: Context,
    record: str,
    how: Callable[[Context, str], Awaitable[tuple[Record, int]]],
    done: str,
) -> View:
    identity = _known(context, record)
    try:
        made, freed = await how(context, identity)
    except ValueError as error:
        raise Failed(str(error)) from error
    change = f"about {abs(freed):,} token{'' if abs(freed) == 1 else 's'} {'less' if freed >= 0 else 'more'}"
    text = f"{done}: {change} (tui-agent context unelide {identity} brings it back)"
    return {"record": identity, "elide": made.id, "tokens": freed}, text


async def _unelide(context: Context, record: str) -> View:
    identity = _known(context, record)
    try:
        count = await picked.bring_back(context, identity)
    except ValueError as error:
        raise Failed(str(error)) from error
    return {"record": identity}, "brought back" if count == 1 else f"brought back: {count} items"


def _known(context: Context, record: str) -> str:
    """The id of the record with that id, beginning of an id, or line number."""
    matches = context.find(record)
    if len(matches) == 1:
        return matches[0].id
    if matches:
        raise Failed(f"{record!r} fits {len(matches)} records: give more of its id, or its line number")
    raise Failed(f"there is no record {record!r}; see: tui-agent context show")


_CHANGES: dict[str, Callable[..., Awaitable[View]]] = {
    "summary": _summary,
    "revert": _revert,
    "restore": _restore,
    "undo": _undo,
    "redo": _redo,
    "clear": _clear,
    "pin": _pin,
    "unpin": _unpin,
    "elide": _elide,
    "drop": _drop,
    "edit": _edit,
    "unelide": _unelide,
}
_TRAVELS = ("revert", "restore", "undo", "redo")
"""Those that undo turns, or bring them back."""
