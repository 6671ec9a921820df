"""`tui-agent sessions`: list, search, rename, archive, delete with undo, clear away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.cli.failures import Failed, Usage
from tui_agent.cli.report import (
    Column,
    complain,
    confirm,
    fit,
    home_short,
    say,
    say_json,
    size,
    table,
    terminal_width,
    tokens,
    when,
)
from tui_agent.literal import one_line
from tui_agent.memory.lives import follow
from tui_agent.memory.markers import clean
from tui_agent.sessions import garbage
from tui_agent.sessions.catalog import Catalog, Hit
from tui_agent.sessions.folder import SessionError

if TYPE_CHECKING:
    import argparse

    from tui_agent.sessions.entry import Entry

ACTIONS = ("list", "rename", "archive", "unarchive", "delete", "undelete", "gc")

_SHOWN = 12
"""Characters of an id in a table: its time and a little more, which is enough to name it."""


def run(options: argparse.Namespace, workspace: Path) -> int:
    """Carry out `sessions ...` for the workspace; returns the exit code.

    Raises:
        Failed: it could not be done.
        Usage: a session is missing or too many are named.
    """
    try:
        return _run(options, workspace, Catalog(follow=follow, clean=clean))
    except SessionError as error:
        raise Failed(str(error)) from error


def _run(options: argparse.Namespace, workspace: Path, catalog: Catalog) -> int:
    action, ids = options.action, options.ids
    if options.search is not None and action != "list":
        raise Usage("--search goes with sessions list")
    if action in ("list", "gc"):
        if ids:
            raise Usage(f"sessions {action} takes no session")
        if action == "gc":
            return _gc(catalog, everything=options.all, yes=options.yes, as_json=options.json)
        where = None if options.all else workspace
        archived = None if options.all else False
        if options.search is not None:
            return _search(catalog, options.search, where, archived=archived, as_json=options.json)
        return _list(catalog.list(where, archived), options, workspace, catalog)
    if not ids and action == "undelete":
        return _show(catalog.deleted(), as_json=options.json, nothing="no session was deleted")
    if not ids:
        raise Usage(f"sessions {action} needs the id of a session; see: tui-agent sessions list")
    if action == "rename":
        return _rename(catalog, ids[0], " ".join(ids[1:]), as_json=options.json)
    perform = {
        "archive": catalog.archive,
        "unarchive": catalog.unarchive,
        "delete": catalog.delete,
        "undelete": catalog.undelete,
    }[action]
    done = []
    for prefix in ids:
        entry = perform(prefix)
        done.append(entry)
        if catalog.trouble:
            complain(catalog.trouble)
        if not options.json:
            say(f"{action}d {entry.id}  {entry.title}{_undo(action, entry)}")
    if options.json:
        say_json([entry.as_json() for entry in done])
    return 0


def _rename(catalog: Catalog, prefix: str, title: str, *, as_json: bool) -> int:
    if not title.strip():
        raise Usage("usage: tui-agent sessions rename ID TITLE")
    entry = catalog.rename(prefix, title)
    if as_json:
        say_json([entry.as_json()])
    else:
        say(f"renamed {entry.id}  {entry.title}")
    return 0


def _list(entries: Sequence[Entry], options: argparse.Namespace, workspace: Path, catalog: Catalog) -> int:
    nothing = "no sessions yet"
    if not entries and not options.all and not options.json:
        others = len(catalog.list(archived=None))
        nothing = f"no sessions in {workspace}"
        if others:
            nothing += f"; {others} elsewhere or archived: tui-agent sessions list --all"
    return _show(entries, as_json=options.json, nothing=nothing, places=options.all)


def _show(entries: Sequence[Entry], *, as_json: bool, nothing: str, places: bool = True) -> int:
    if as_json:
        say_json([entry.as_json() for entry in entries])
        return 0
    if not entries:
        say(nothing)
        return 0
    columns: list[Column | str] = [
        "ID",
        "USED",
        Column("TOKENS", "right"),
        Column("SIZE", "right"),
        Column("TITLE", shrink=True),
    ]
    if places:
        columns.append(Column("WORKSPACE", shrink=True, tail=True))
    columns.append(Column("", shrink=True))
    rows = []
    for entry in entries:
        row: list[object] = [
            entry.id[:_SHOWN],
            when(entry.at),
            tokens(entry.tokens, "exact" if entry.exact else "estimated"),
            size(entry.bytes),
            entry.title,
        ]
        if places:
            row.append(home_short(entry.workspace))
        rows.append([*row, _remarks(entry)])
    say(table(columns, rows))
    return 0


def _remarks(entry: Entry) -> str:
    remarks = ["archived"] if entry.archived else []
    remarks += ["in use"] if entry.in_use else []
    return ", ".join([*remarks, f"! {entry.damaged}"] if entry.damaged else remarks)


def _search(catalog: Catalog, text: str, where: Path | None, *, archived: bool | None, as_json: bool) -> int:
    hits = catalog.search(text, where, archived)
    if catalog.notice:
        complain(catalog.notice)
    if as_json:
        found: list[dict[str, Any]] = [
            {**hit.entry.as_json(), "line": hit.line, "excerpt": hit.excerpt} for hit in hits
        ]
        say_json(found)
    elif not hits:
        say(f"no session says {text!r}" + ("" if where is None else "; --all searches every workspace"))
    else:
        for hit in hits:
            _say_hit(hit)
    return 0


def _say_hit(hit: Hit) -> None:
    """A session on a line, and below it what was found: there the words looked for have room."""
    room, name = terminal_width(), hit.entry.id[:_SHOWN]
    say(fit(f"{name}  {when(hit.entry.at)}  {one_line(hit.entry.title)}", room))
    if hit.line:
        say(fit(f"{'':{len(name)}}  line {hit.line}: {one_line(hit.excerpt)}", room))


def _undo(action: str, entry: Entry) -> str:
    back = {"delete": "undelete", "archive": "unarchive"}.get(action)
    return f"  (back with: tui-agent sessions {back} {entry.id})" if back else ""


def _gc(catalog: Catalog, *, everything: bool, yes: bool, as_json: bool) -> int:
    found = catalog.gc_candidates(trash_days=0) if everything else catalog.gc_candidates()
    total = sum(candidate.bytes for candidate in found)
    if as_json and not yes:
        say_json([_candidate(candidate) for candidate in found])
        return 0
    if not found:
        if as_json:
            say_json({"deleted": [], "bytes": 0})
        else:
            say("nothing to clear away")
        return 0
    if not as_json:
        rows = [(c.kind, size(c.bytes), c.why, home_short(str(c.path))) for c in found]
        columns: list[Column | str] = [
            "KIND",
            Column("SIZE", "right"),
            Column("WHY", shrink=True),
            Column("PATH", shrink=True, tail=True),
        ]
        say(table(columns, rows))
        if not yes and not confirm(f"delete these {len(found)} ({size(total)}) for good?"):
            say(
                f"nothing was deleted; tui-agent sessions gc --yes deletes these {len(found)} ({size(total)})"
            )
            return 0
    for candidate in found:
        garbage.remove(candidate)
    if as_json:
        say_json({"deleted": [_candidate(candidate) for candidate in found], "bytes": total})
    else:
        say(f"deleted {len(found)}, {size(total)}")
    return 0


def _candidate(candidate: garbage.Candidate) -> dict[str, Any]:
    return {
        "kind": candidate.kind,
        "path": str(candidate.path),
        "bytes": candidate.bytes,
        "why": candidate.why,
        "session": candidate.session.name,
    }
