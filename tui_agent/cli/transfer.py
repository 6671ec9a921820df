"""`tui-agent memory export` and `import`: TOML, or the memory section of a Markdown file.

A file whose name ends in `.md` is shared with a team: what changes in it is shown first, and what comes from it is
marked as text from outside.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tui_agent import paths
from tui_agent.cli.failures import Failed
from tui_agent.cli.report import confirm, say, say_json
from tui_agent.literal import one_line, visible
from tui_agent.memory import section
from tui_agent.memory.schema import Memory, StoreError
from tui_agent.memory.transfer import dump, parse
from tui_agent.workspace.root import identity

if TYPE_CHECKING:
    from tui_agent.memory.schema import Scope
    from tui_agent.memory.store import MemoryStore


def write(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    """Export the accepted memories; returns the exit code."""
    here = identity(workspace)
    if options.file.endswith(".md"):
        memories = store.list(scope="workspace", workspace=here, status="accepted")
        return _export_section(options, sorted(memories, key=lambda memory: memory.key))
    found = store.list(scope=options.scope, status="accepted")
    kept = [
        memory for memory in found if options.all or memory.scope == "user" or memory.workspace_id == here
    ]
    if options.json:
        say_json([as_json(memory) for memory in kept])
    elif options.file == "-":
        say(dump(kept), end="")
    else:
        try:
            paths.write_private(Path(options.file).absolute(), dump(kept).encode())
        except OSError as error:
            raise Failed(f"{options.file} cannot be written: {error.strerror}") from error
        say(f"wrote {len(kept)} to {one_line(options.file)}")
    return 0


def _export_section(options: argparse.Namespace, memories: Sequence[Memory]) -> int:
    plan = section.plan_section(Path(options.file).absolute(), memories)
    if not options.json:
        say(visible(plan.diff) if plan.diff else f"{one_line(options.file)} says so already")
    agreed = not plan.diff or _agreed(options, f"write {options.file}?")
    if agreed:
        plan.write()
    if options.json:
        done = {"path": str(plan.path), "memories": len(memories), "diff": plan.diff, "written": agreed}
        say_json(done)
    elif not agreed:
        say(f"nothing was written; tui-agent memory export {one_line(options.file)} --yes writes it")
    return 0


def read(store: MemoryStore, options: argparse.Namespace, workspace: Path) -> int:
    """Import memories as the person's own; returns the exit code."""
    here = identity(workspace)
    shared = options.file.endswith(".md")
    wanted = _read_section(options, here) if shared else _read_toml(options, here)
    changes = [(memory, _same_key(store, memory)) for memory in wanted if memory.status == "accepted"]
    changes = [(memory, old) for memory, old in changes if old is None or old.body != memory.body]
    if not options.json:
        for memory, old in changes:
            say(f"{memory.scope} {one_line(memory.key)}")
            say((f"- {one_line(old.body)}\n" if old is not None else "") + f"+ {one_line(memory.body)}")
    replaced = sum(old is not None for _, old in changes)
    question = f"remember {len(changes)}, {replaced} of them in place of yours?"
    agreed = not (replaced or (shared and changes)) or _agreed(options, question)
    made = [_bring(store, memory) if agreed else memory for memory, _ in changes]
    if options.json:
        say_json({"memories": [as_json(memory) for memory in made], "written": agreed})
    elif agreed:
        same = len(wanted) - len(made)
        say(f"read in: {len(made) - replaced} new, {replaced} replaced, {same} left as they are")
    else:
        say(f"nothing was read in; tui-agent memory import {one_line(options.file)} --yes does it")
    return 0


def _agreed(options: argparse.Namespace, question: str) -> bool:
    return bool(options.yes) or (not options.json and confirm(question))


def _same_key(store: MemoryStore, memory: Memory) -> Memory | None:
    return store.find(memory.key, memory.scope, workspace=memory.workspace_id, session=memory.session_id)


def _bring(store: MemoryStore, memory: Memory) -> Memory:
    return store.add(
        memory.scope,
        memory.key,
        memory.body,
        workspace=memory.workspace_id,
        session=memory.session_id,
        tainted=memory.tainted,
        outside=memory.outside,
    )


def _read_toml(options: argparse.Namespace, here: str) -> Sequence[Memory]:
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text("utf-8")
    except OSError as error:
        raise Failed(f"{options.file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failed(f"{options.file} is no UTF-8") from error
    try:
        found = parse(text)
    except StoreError as error:
        raise Failed(f"{options.file}: {error}") from error
    if options.scope is None:
        return found
    place = here if options.scope == "workspace" else None
    return [replace(m, scope=options.scope, workspace_id=place, session_id=None) for m in found]


def _read_section(options: argparse.Namespace, here: str) -> Sequence[Memory]:
    """What a team wrote is text from outside, and says so."""
    path = Path(options.file)
    if not path.exists():
        raise Failed(f"{options.file} does not exist")
    scope: Scope = options.scope or "workspace"
    return [
        Memory(
            id="",
            scope=scope,
            key=shared.key,
            body=shared.body,
            status="accepted",
            workspace_id=here if scope == "workspace" else None,
            tainted=True,
            outside=(path.name,),
        )
        for shared in section.read_section(path.absolute())
    ]


def as_json(memory: Memory) -> dict[str, Any]:
    """A memory as JSON-ready mapping."""
    data: dict[str, Any] = msgspec.to_builtins(memory)
    return data
