"""What a workspace remembers, shared with a team: written into the section of its MEMORY.md, and read back from there.

What others wrote into that section stays. Both first show what would change. The mark that they give stands for that
change: with it, exactly that is done, or nothing if one of the two sides has changed meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, TypeVar

from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.memory import section
from tui_agent.memory.schema import StoreError
from tui_agent.workspace.root import find_root

if TYPE_CHECKING:
    from pathlib import Path

    from tui_agent.agent.recall import Recall
    from tui_agent.agent.session import Session
    from tui_agent.memory.schema import Memory

_MARK = 8
"""Characters of a mark."""

T = TypeVar("T")


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    commands.add(Command("share", share, "[MARK]"))
    commands.add(Command("adopt", adopt, "[MARK]"))


async def share(session: Session, mark: str = "") -> Outcome:
    """Show what would be written into MEMORY.md of what this workspace remembers; with the mark: write it"""
    return await _done(lambda: _share(session.memories, _path(session), mark))


async def adopt(session: Session, mark: str = "") -> Outcome:
    """Show what would be remembered from the section of MEMORY.md; with the mark: remember it"""
    before = await _done(lambda: _mine(session.memories))
    outcome = await _done(lambda: _adopt(session.memories, _path(session), mark))
    if mark:
        old = {memory.key: memory.rev for memory in before}
        for memory in await _done(lambda: _mine(session.memories)):
            if old.get(memory.key) != memory.rev:
                session.memories.changed("accepted", memory)
    return outcome


def _path(session: Session) -> Path:
    return find_root(session.workspace) / section.NAME


def _mine(recall: Recall) -> Sequence[Memory]:
    """What is remembered for the workspace, by key; not what stands in the file anyhow."""
    found = [memory for memory in recall.list("accepted") if memory.scope == "workspace"]
    return sorted((m for m in found if recall.files.topic(m) is None), key=lambda memory: memory.key)


def _topics(recall: Recall) -> set[str]:
    """What stands in the file, and is remembered as that."""
    found = (recall.files.topic(m) for m in recall.list("accepted") if m.scope == "workspace")
    return {topic.name for topic in found if topic is not None}


def _share(recall: Recall, path: Path, mark: str) -> Outcome:
    memories = _mine(recall)
    keys = {memory.key for memory in memories}
    others = [one for one in section.read_section(path) if one.key not in keys]
    plan = section.plan_section(path, sorted((*memories, *others), key=lambda one: one.key))
    if not plan.diff:
        return Outcome(f"{path.name} says so already" if memories else "nothing is remembered here yet")
    count = f"{len(memories):,} {'memory' if len(memories) == 1 else 'memories'}"
    expected = _mark(plan.old or b"", plan.new)
    if not mark:
        data = {
            "diff": plan.diff,
            "mark": expected,
            "path": str(path),
            "title": f"write {count} into {path.name}?",
        }
        return Outcome(f"{plan.diff}\n/share {expected} writes it", data)
    _agreed(mark, expected, "share")
    plan.write()
    return Outcome(f"{count} written into {path.name}", {"path": str(path)})


def _adopt(recall: Recall, path: Path, mark: str) -> Outcome:
    shared = section.read_section(path)
    if not shared:
        return Outcome(f"{path.name} has no section of memories")
    old = {memory.key: memory.body for memory in _mine(recall)}
    topics = _topics(recall)
    wanted = [one for one in shared if one.key not in topics and old.get(one.key) != one.body]
    if not wanted:
        return Outcome(f"all that {path.name} says is remembered already")
    diff = "\n".join(line for one in wanted for line in _difference(one.key, old.get(one.key, ""), one.body))
    count = f"{len(wanted):,} {'memory' if len(wanted) == 1 else 'memories'}"
    expected = _mark(diff.encode())
    if not mark:
        data = {"diff": diff, "mark": expected, "title": f"remember {count} from {path.name}?"}
        return Outcome(f"{diff}\n/adopt {expected} remembers it", data)
    _agreed(mark, expected, "adopt")
    for one in wanted:
        recall.store.add(
            "workspace",
            one.key,
            one.body,
            workspace=recall.workspace,
            tainted=True,
            outside=(path.name,),
        )
    return Outcome(f"{count} from {path.name} remembered", {"path": str(path)})


def _difference(key: str, old: str, new: str) -> Sequence[str]:
    before = old.split("\n") if old else []
    return list(unified_diff(before, new.split("\n"), key, key, lineterm=""))


def _mark(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:_MARK]


def _agreed(mark: str, expected: str, name: str) -> None:
    if mark != expected:
        raise CommandError(f"something has changed meanwhile: look at it again with /{name}")


async def _done(work: Callable[[], T]) -> T:
    """Work in a thread.

    Raises:
        CommandError: it cannot be done.
    """
    try:
        return await asyncio.to_thread(work)
    except StoreError as error:
        raise CommandError(str(error)) from error
