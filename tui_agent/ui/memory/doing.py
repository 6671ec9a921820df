"""What can be done about memories: which letters mean something, and the commands of the session that they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui_agent.ui.remembering import next_scope

if TYPE_CHECKING:
    from tui_agent.memory.schema import Memory
    from tui_agent.ui.memory.editor import Draft
    from tui_agent.ui.memory.tree import Stock

Command = tuple[str, ...]
"""A command of the session: its name and arguments."""

LETTERS = tuple("neduaArsmywi")
"""All that mean something in some state of the sidebar."""


def letters(memory: Memory | None, *, free: int, gone: bool) -> Iterator[tuple[str, str]]:
    """The letters for a memory, the most useful first.

    `free` proposals may be accepted together; `gone`: one was just deleted.
    """
    alive = memory is not None and memory.status in ("accepted", "proposed")
    if memory is not None and memory.status != "accepted":
        yield "a", "accept"
    if memory is not None and memory.status == "proposed":
        yield "r", "reject"
    if free > 1:
        yield "A", f"accept {free:,}"
    if alive:
        yield "e", "edit"
    yield "n", "new"
    if gone or memory is not None:
        yield "u", "undo"
    if memory is not None:
        yield "d", "delete"
    if alive:
        yield "s", "scope"


def command(key: str, memory: Memory) -> tuple[Command, str]:
    """What a letter asks of the session, and what is said when it is done."""
    match key:
        case "a":
            return ("accept", memory.id), f"remembered: {memory.key}; u takes it back"
        case "r":
            return ("reject", memory.id), f"refused: {memory.key}; it is not asked again, u takes it back"
        case "d":
            return ("forget", memory.id), f"forgotten: {memory.key}; u brings it back"
        case _:
            scope = next_scope(memory.scope)
            return ("scope", memory.id, scope), f"{memory.key} belongs to: {scope}"


def accept_all(stock: Stock) -> tuple[tuple[Command, ...], str]:
    """What accepts all proposals that may be accepted together, and what is said then."""
    free = stock.free()
    left = stock.count("proposed") - len(free)
    stay = f"; {left:,} {'stays' if left == 1 else 'stay'} to be looked at one by one" if left else ""
    return tuple(("accept", memory.id) for memory in free), f"remembered: {len(free):,}{stay}"


def stored(memory: Memory | None, draft: Draft) -> Iterator[Command]:
    """What stores a draft, in the place of a memory or as a new one."""
    if memory is None:
        yield "remember", draft.scope, f"{draft.key}: {draft.body}"
        return
    if draft.scope != memory.scope:
        yield "scope", memory.id, draft.scope
    if draft.key != memory.key:
        yield "rekey", memory.id, draft.key
    if draft.body != memory.body:
        yield "amend", memory.id, draft.body
