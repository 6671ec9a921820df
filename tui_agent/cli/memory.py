"""`tui-agent memory`: what is remembered for you and for a workspace; see, find, change, undo, take elsewhere.

A memory is named by its key, or by its id or the beginning of one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent import paths
from tui_agent.cli import transfer
from tui_agent.cli.failures import Failed, Usage
from tui_agent.cli.report import Column, complain, facts, say, say_json, table, when
from tui_agent.cli.transfer import as_json
from tui_agent.literal import one_line, visible
from tui_agent.memory import filed
from tui_agent.memory.filed import Files
from tui_agent.memory.schema import SCOPES, STATUSES, StoreError
from tui_agent.memory.store import MemoryStore
from tui_agent.workspace.root import find_root, identity

if TYPE_CHECKING:
    from tui_agent.memory.schema import Change, Memory, Status

_SHOWN = 10
"""Characters of an id in a table, which is enough to name it."""
_LEAST_PREFIX = 4
"""Characters: a shorter beginning of an id is taken for a key."""
_ASKED: tuple[Status, ...] = ("proposed", "rejected", "suspended", "accepted")
"""Which of several with a key is meant by who decides about proposals: the first there is."""
_KEPT: tuple[str, ...] = ("user", "workspace")
"""Scopes that outlive a session."""

_WHAT = {
    "list": "List what is remembered for you and for this workspace.",
    "show": "Show a memory, where it came from and what it was before.",
    "search": "Find memories by their words, in any script.",
    "add": "Remember something; with a key that exists: its new text.",
    "edit": "Change a memory's text, key or scope.",
    "accept": "Accept a proposal.",
    "reject": "Refuse a proposal; the same one is not asked again.",
    "rm": "Delete memories.",
    "undo": "Take back the last change of a memory.",
    "export": "Write memories as TOML, or into the memory section of a Markdown file.",
    "import": "Read memories from TOML, or from the memory section of a Markdown file.",
}


def arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser with the arguments of `tui-agent memory`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="list", scope=None, key=None, status=None, all=False, json=False)
    made = {
        name: actions.add_parser(name, help=what, description=what, allow_abbrev=False)
        for name, what in _WHAT.items()
    }
    for name in ("show", "edit", "accept", "reject", "undo"):
        made[name].add_argument("name", metavar="MEMORY", help="its key, or its id or the beginning of one")
    made["rm"].add_argument("names", metavar="MEMORY", nargs="+", help="keys, or ids or beginnings of them")
    made["search"].add_argument("words", metavar="TEXT", nargs="+", help="words, all of which are there")
    made["add"].add_argument("words", metavar="TEXT", nargs="+", help="what to remember; - reads it")
    made["add"].add_argument("--key", metavar="K", required=True, help="what to call it")
    for name in ("edit", "accept"):
        made[name].add_argument("words", metavar="TEXT", nargs="*", help="its new text; - reads it")
        made[name].add_argument("--key", metavar="K", help="its new key")
        made[name].add_argument("--scope", metavar="S", choices=_KEPT, help="where it belongs from now on")
    made["add"].add_argument("--scope", metavar="S", choices=_KEPT, default="user", help="user or workspace")
    for name in ("list", "show", "search", "rm", "export"):
        made[name].add_argument("--scope", metavar="S", choices=SCOPES, help="only of this scope")
    for name in ("list", "search"):
        made[name].add_argument("--status", metavar="S", choices=STATUSES, help=", ".join(STATUSES))
        made[name].add_argument("--key", metavar="K", help="only those with this key")
    for name in ("list", "search", "export"):
        made[name].add_argument("--all", action="store_true", help="of every workspace and session")
    made["export"].add_argument("file", metavar="FILE", nargs="?", default="-", help="default: print it")
    made["import"].add_argument("file", metavar="FILE", help="a file; - reads it")
    made["import"].add_argument("--scope", metavar="S", choices=_KEPT, help="all of it into this scope")
    for name in ("export", "import"):
        made[name].add_argument("--yes", action="store_true", help="do not ask")
    for made_parser in made.values():
        made_parser.add_argument("--json", action="store_true", help="print data for programs")
    return parser


def run(options: argparse.Namespace, workspace: Path) -> int:
    """Carry out `memory ...` for the workspace; returns the exit code.

    Raises:
        Failed: it could not be done.
        Usage: something is missing.
    """
    store = MemoryStore(paths.memory_db())
    try:
        return _ACTIONS[options.action](store, options, workspace)
    except StoreError as error:
        raise Failed(str(error)) from error
    finally:
        if store.notice:
            complain(store.notice)


# --- see


def _list(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    found = _mine(store.list(scope=options.scope, status=options.status), options, workspace)
    return _show_all(found, options, _nothing(store, options))


def _search(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    text = " ".join(options.words)
    found = _mine(store.search(text, scope=options.scope, status=options.status), options, workspace)
    return _show_all(found, options, f"no memory says {text!r}")


def _mine(found: Sequence[Memory], options: argparse.Namespace, workspace: Path) -> Sequence[Memory]:
    """Those that are shown without --all: of the user and of this workspace, refused ones only if asked for."""
    here = identity(workspace)
    kept = [memory for memory in found if options.key in (None, memory.key)]
    if options.all:
        return kept
    wide = options.scope == "session"
    kept = [m for m in kept if wide or m.scope == "user" or m.workspace_id == here]
    return [m for m in kept if options.status is not None or m.status != "rejected"]


def _nothing(store: MemoryStore, options: argparse.Namespace) -> str:
    total = len(store.list())
    if not total or options.all:
        return "nothing is remembered yet" if not total else "no such memory"
    return f"nothing here; {total} elsewhere or refused: tui-agent memory list --all"


def _show_all(found: Sequence[Memory], options: argparse.Namespace, nothing: str) -> int:
    if options.json:
        say_json([as_json(memory) for memory in found])
        return 0
    if not found:
        say(nothing)
        return 0
    columns: list[Column | str] = [
        *("ID", "SCOPE", Column("KEY", shrink=True), Column("TEXT", shrink=True), "CHANGED"),
        Column("WORKSPACE", shrink=True),
        Column("", shrink=True),
    ]
    say(table(columns, [_row(memory, everywhere=options.all) for memory in found]))
    return 0


def _row(memory: Memory, *, everywhere: bool) -> list[object]:
    text = " ".join(memory.body.split())
    where = (memory.workspace_id or "") if everywhere else ""
    return [
        *(memory.id[:_SHOWN], memory.scope, memory.key, text, when(memory.updated_at), where),
        ", ".join(_remarks(memory)),
    ]


def _remarks(memory: Memory) -> list[str]:
    remarks: list[str] = [memory.status] if memory.status != "accepted" else []
    if memory.tainted:
        remarks.append("from outside" + (f": {', '.join(memory.outside)}" if memory.outside else ""))
    return remarks


def _show(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    memory = _named(store, options.name, workspace, options.scope)
    history = store.history(memory.id)
    if options.json:
        say_json({**as_json(memory), "history": [msgspec.to_builtins(change) for change in history]})
        return 0
    source = f"message {memory.source_record} of session {memory.source_session}"
    pairs: list[tuple[str, object]] = [
        ("id", memory.id),
        ("scope", memory.scope),
        ("workspace", memory.workspace_id or ""),
        ("session", memory.session_id or ""),
        ("status", ", ".join([memory.status, *_remarks(memory)[memory.status != "accepted" :]])),
        ("from", source if memory.source_session else "you"),
        ("changed", when(memory.updated_at)),
    ]
    say(one_line(memory.key) + "\n")
    say(_indented(memory.body) + "\n")
    say(facts([pair for pair in pairs if pair[1]]))
    say("\n" + table(["", "CHANGE", Column("TEXT", shrink=True)], [_past(change) for change in history]))
    return 0


def _past(change: Change) -> tuple[str, str, str]:
    text = change.after.body if change.after is not None else ""
    return when(change.at), change.action, " ".join(text.split())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in visible(text).split("\n"))


# --- change


def _add(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    here = identity(workspace) if options.scope == "workspace" else None
    old = store.find(options.key, options.scope, workspace=here)
    memory = store.add(options.scope, options.key, _text(options.words), workspace=here)
    return _told(options, memory, "remembered" if old is None else "replaced", old)


def _edit(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    wanted = _wanted(options, workspace)
    if not wanted:
        raise Usage("memory edit needs a new TEXT, --key or --scope")
    old = _named(store, options.name, workspace)
    files = _files(workspace)
    old = filed.take_in(store, files, old)
    memory = store.edit(old.id, rev=old.rev, **wanted)
    filed.write_out(store, files, (old, memory))
    return _told(options, memory, "changed" if memory.rev != old.rev else "unchanged:", old)


def _accept(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    found = _named(store, options.name, workspace, order=_ASKED)
    wanted = _wanted(options, workspace)
    if found.status == "accepted" and not wanted:
        raise Failed(f"{found.key!r} is remembered already, and no proposal is called so")
    files = _files(workspace)
    found = filed.take_in(store, files, found, replaced=True)
    before = {memory.id: memory for memory in store.list(status="accepted")}
    memory = store.accept(found.id, rev=found.rev, **wanted)
    filed.write_out(store, files, (memory,))
    return _told(options, memory, "accepted", before.get(memory.id))


def _reject(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    found = _named(store, options.name, workspace, order=_ASKED)
    return _told(options, store.reject(found.id), "refused")


def _rm(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    named = [_named(store, name, workspace, options.scope) for name in options.names]
    files = _files(workspace)
    taken = [
        filed.take_in(store, files, memory) for memory in {memory.id: memory for memory in named}.values()
    ]
    gone = [store.delete(memory.id) for memory in taken]
    filed.write_out(store, files, gone)
    if options.json:
        say_json([as_json(memory) for memory in gone])
        return 0
    for memory in gone:
        say(f"deleted {one_line(memory.key)}  (back with: tui-agent memory undo {memory.id[:_SHOWN]})")
    return 0


def _undo(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    name = _once_named(store, options.name, workspace)
    last = store.history(name)[-1]
    back = store.undo(name)
    filed.write_out(store, _files(workspace), (last.before, last.after, *back))
    if options.json:
        say_json([as_json(memory) for memory in back])
    elif not back:
        say("undone: it is not remembered any more")
    for memory in () if options.json else back:
        say(f"undone: {one_line(memory.key)} is {memory.status}: {one_line(memory.body, 200)}")
    return 0


def _files(workspace: Path) -> Files:
    return Files(paths.profile_file(), find_root(workspace))


def _wanted(options: argparse.Namespace, workspace: Path) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if options.words:
        wanted["body"] = _text(options.words)
    if options.key is not None:
        wanted["key"] = options.key
    if options.scope is not None:
        wanted["scope"] = options.scope
        wanted["workspace"] = identity(workspace)
    return wanted


def _text(words: Sequence[str]) -> str:
    if list(words) == ["-"]:
        return sys.stdin.read()
    return " ".join(words)


def _told(options: argparse.Namespace, memory: Memory, done: str, old: Memory | None = None) -> int:
    if options.json:
        say_json(as_json(memory))
        return 0
    say(f"{done} {one_line(memory.key)} ({memory.scope}, {memory.id[:_SHOWN]})")
    if old is not None and old.body != memory.body:
        say(f"- {one_line(old.body)}\n+ {one_line(memory.body)}")
    return 0


# --- which one


def _named(
    store: MemoryStore,
    name: str,
    workspace: Path,
    scope: str | None = None,
    *,
    order: Sequence[Status] = ("accepted", "proposed"),
) -> Memory:
    """The memory with this key, of the user or of this workspace, or with an id that begins so."""
    here = identity(workspace)
    everything = [memory for memory in store.list() if scope in (None, memory.scope)]
    keyed = [m for m in everything if m.key == name.strip() and (m.scope == "user" or m.workspace_id == here)]
    # what is in force goes before what was only proposed or refused, but for those who decide about proposals
    for status in order:
        if found := [memory for memory in keyed if memory.status == status]:
            return _only(found, name)
    prefix = name.strip().lower()
    if len(prefix) >= _LEAST_PREFIX and (found := [m for m in everything if m.id.startswith(prefix)]):
        return _only(found, name)
    if keyed:
        return _only(keyed, name)
    raise Failed(f"there is no memory {name!r} here; see: tui-agent memory list --all")


def _only(found: Sequence[Memory], name: str) -> Memory:
    if len(found) > 1:
        which = ", ".join(f"{memory.id[:_SHOWN]} ({memory.scope})" for memory in found[:5])
        raise Failed(f"{len(found)} memories are called {name!r}; name one by its id: {which}")
    return found[0]


def _once_named(store: MemoryStore, name: str, workspace: Path) -> str:
    """The id of a memory as `_named` finds it, or else of the one deleted last that was named so."""
    try:
        return _named(store, name, workspace).id
    except Failed:
        here, prefix = identity(workspace), name.strip().lower()
        there = {memory.id for memory in store.list()}
        for change in reversed(store.changed_since(0)):
            was = change.before
            if was is None or change.action != "deleted" or change.id in there:
                continue
            keyed = was.key == name.strip() and (was.scope == "user" or was.workspace_id == here)
            if keyed or (len(prefix) >= _LEAST_PREFIX and was.id.startswith(prefix)):
                return was.id
        raise


_ACTIONS: dict[str, Callable[[MemoryStore, argparse.Namespace, Path], int]] = {
    "list": _list,
    "show": _show,
    "search": _search,
    "add": _add,
    "edit": _edit,
    "accept": _accept,
    "reject": _reject,
    "rm": _rm,
    "undo": _undo,
    "export": transfer.write,
    "import": transfer.read,
}
