"""What can be asked of memories: decide on proposals, remember, change, forget, find.

A memory is named by its id, the beginning of one, or its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tui_agent.commands import Command, CommandError, Commands, Outcome
from tui_agent.literal import one_line
from tui_agent.memory import filed
from tui_agent.memory.schema import SCOPES, Scope, StoreError

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.memory.schema import Memory, Status

_SHOWN = 100
"""Characters of a memory in a list."""
_ID = 10
"""Characters of an id in words, which is enough to name it."""
_LEAST_PREFIX = 4
"""Characters: a shorter beginning of an id is taken for a key."""
_IN_FORCE: tuple[Status, ...] = ("accepted", "proposed")
_ASKED: tuple[Status, ...] = ("proposed", "rejected", "suspended", "accepted")
"""Which of several with a key is meant, the first there is; and which by who decides about proposals."""
_KEY_WORDS = 5
"""So many words of a text make its key where none is given."""
_ALL = "all"

T = TypeVar("T")


def add_to(commands: Commands) -> None:
    """Add these commands to the list."""
    for command in (
        Command("memory", memory, "[TEXT]", names=("memories",)),
        Command("remember", remember, "[SCOPE] [KEY:] TEXT"),
        Command("forget", forget, "KEY"),
        Command("accept", accept, "MEMORY or all [TEXT]"),
        Command("reject", reject, "MEMORY"),
        Command("scope", scope, "MEMORY SCOPE"),
        Command("amend", amend, "MEMORY TEXT"),
        Command("rekey", rekey, "MEMORY KEY"),
        Command("unmemory", unmemory, "MEMORY"),
    ):
        commands.add(command)


async def memory(session: Session, *text: str) -> Outcome:
    """List what is remembered, and what waits to be; with words only what has them"""
    words = " ".join(text).strip()
    recall = session.memories
    found = await _done(lambda: recall.search(words) if words else recall.list())
    if not found:
        return Outcome(
            f"no memory says {words!r}" if words else "nothing is remembered yet", {"memories": []}
        )
    lines = [f"{one.id[:_ID]}  {_words(one)}" for one in found]
    return Outcome("\n".join(lines), {"memories": [_data(one) for one in found]})


async def remember(session: Session, *text: str) -> Outcome:
    """Remember something: for you (user), this workspace or this session; under a key its text can be replaced"""
    if not (words := " ".join(text).strip()):
        raise CommandError("say what: /remember I use tabs")
    where, key, body = _parted(words)
    recall = session.memories
    made = await _done(
        lambda: recall.store.add(where, key, body, workspace=recall.workspace, session=recall.session)
    )
    recall.changed("accepted", made)
    return Outcome(f"remembered: {_words(made)} (/forget {one_line(made.key)})", _data(made))


def _parted(words: str) -> tuple[Scope, str, str]:
    """Scope, key and text of `[SCOPE] [KEY:] TEXT`."""
    where: Scope = "user"
    first, _, rest = words.partition(" ")
    for name in SCOPES:
        if first == name and rest.strip():
            where, words = name, rest.strip()
    key, colon, body = words.partition(":")
    named = colon and body.strip() and len(key.split()) <= _KEY_WORDS and "\n" not in key
    return (
        (where, key, body.strip()) if named else (where, "-".join(words.lower().split()[:_KEY_WORDS]), words)
    )


async def forget(session: Session, *key: str) -> Outcome:
    """Forget what is remembered under a key, or refuse what is proposed under it; /unmemory brings it back"""
    recall = session.memories
    found = await _found(session, " ".join(key))
    await _taken_in(session, found)
    await _done(lambda: recall.store.delete(found.id))
    await _written(session, found, undo=found.id)
    recall.changed("deleted", found)
    return Outcome(f"forgotten: {_words(found)} (/unmemory {found.id[:_ID]} brings it back)", _data(found))


async def accept(session: Session, memory: str, *text: str) -> Outcome:
    """Agree to a proposal, with another text if one is given; `all`: to what is safe to agree to unseen"""
    if memory == _ALL and not text:
        return await _accept_all(session)
    found = await _found(session, memory, _ASKED)
    body = " ".join(text).strip() or None
    made = await _accepted(session, found, body)
    return Outcome(f"remembered: {_words(made)} (/unmemory {made.id[:_ID]})", _data(made))


async def _accepted(session: Session, found: Memory, body: str | None = None) -> Memory:
    recall = session.memories
    found = await _taken_in(session, found, replaced=True)
    made = await _done(lambda: recall.store.accept(found.id, body=body, rev=found.rev))
    await _written(session, made, undo=made.id)
    if made.id != found.id:  # its text went to the memory that had its key
        recall.changed("accepted", found)
    recall.changed("accepted", made)
    return made


async def _accept_all(session: Session) -> Outcome:
    """Agree to all that no text from outside came before, that are no noise, and that change nothing there is."""
    recall = session.memories
    waiting = await _done(lambda: recall.list("proposed"))
    made = []
    for one in reversed(waiting):
        told = await _done(partial(recall.proposal, one))
        if not (told.outside or one.tainted or told.noise or told.old or told.file):
            made.append(await _accepted(session, one))
    left = len(waiting) - len(made)
    more = f"; {left} wait to be looked at one by one" if left else ""
    lines = [_words(one) for one in made] or ["there is nothing to agree to"]
    return Outcome("\n".join(lines) + more, {"memories": [_data(one) for one in made], "left": left})


async def reject(session: Session, *memory: str) -> Outcome:
    """Refuse a proposal; the same one is not asked again"""
    found = await _found(session, " ".join(memory), _ASKED)
    made = await _done(lambda: session.memories.store.reject(found.id))
    session.memories.changed("rejected", made)
    return Outcome(f"refused: {_words(made)} (/unmemory {made.id[:_ID]})", _data(made))


async def scope(session: Session, memory: str, scope: str) -> Outcome:
    """Let a memory or a proposal belong elsewhere: session, user or workspace"""
    if scope not in SCOPES:
        raise CommandError(f"there is no scope {scope!r}; there are {', '.join(SCOPES)}")
    recall = session.memories
    return await _edited(session, memory, scope=scope, workspace=recall.workspace, session=recall.session)


async def amend(session: Session, memory: str, *text: str) -> Outcome:
    """Give a memory or a proposal another text"""
    return await _edited(session, memory, body=" ".join(text))


async def rekey(session: Session, memory: str, *key: str) -> Outcome:
    """Give a memory or a proposal another key"""
    return await _edited(session, memory, key=" ".join(key))


async def _edited(at: Session, memory: str, **wanted: Any) -> Outcome:
    found, recall = await _taken_in(at, await _found(at, memory)), at.memories
    made = await _done(lambda: recall.store.edit(found.id, rev=found.rev, **wanted))
    await _written(at, found, made, undo=made.id)
    recall.changed("edited", made)
    return Outcome(f"changed: {_words(made)} (/unmemory {made.id[:_ID]})", _data(made))


async def unmemory(session: Session, *memory: str) -> Outcome:
    """Take back the last change of a memory"""
    recall, name = session.memories, " ".join(memory).strip()
    identity = await _done(lambda: _once_named(session, name))
    was = await _done(lambda: recall.store.history(identity)[-1])
    back = await _done(lambda: recall.store.undo(identity))
    await _written(session, was.before, was.after, *back)
    for one in back:
        recall.changed("undone", one)
    if not back:
        return Outcome("taken back: it is not remembered any more", {"id": identity})
    return Outcome(f"as it was: {_words(back[0])}", _data(back[0]))


def _once_named(session: Session, name: str) -> str:
    """The id of a memory, or of the one deleted last that was named so."""
    try:
        return _only(session.memories.list(), name).id
    except CommandError:
        for change in reversed(session.memories.store.changed_since(0)):
            was = change.before
            if was is not None and change.after is None and _is_named(was, name):
                return was.id
        raise


async def _found(session: Session, name: str, order: Sequence[Status] = _IN_FORCE) -> Memory:
    """The memory of that name; of several with a key the one whose state comes first in an order.

    Raises:
        CommandError: there is none, or more than one.
    """
    return _only(await _done(session.memories.list), name.strip(), order)


def _only(everything: Sequence[Memory], name: str, order: Sequence[Status] = _IN_FORCE) -> Memory:
    for status in order:
        if found := [one for one in everything if name and one.key == name and one.status == status]:
            break
    else:
        found = [one for one in everything if _is_named(one, name)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"there is no memory {name!r}: /memory lists them")
    which = ", ".join(f"{one.id[:_ID]} ({one.scope})" for one in found[:5])
    raise CommandError(f"{len(found)} memories are called {name!r}; name one by its id: {which}")


def _is_named(memory: Memory, name: str) -> bool:
    return bool(name) and (memory.key == name or (len(name) >= _LEAST_PREFIX and memory.id.startswith(name)))


async def _taken_in(session: Session, found: Memory, *, replaced: bool = False) -> Memory:
    """The memory as it is once the store knows what its file says, if it stands in one."""
    recall = session.memories
    return await _done(lambda: filed.take_in(recall.store, recall.files, found, replaced=replaced))


async def _written(session: Session, *memories: Memory | None, undo: str = "") -> None:
    """Let the files of these memories, if they stand in any, say what is remembered now.

    Raises:
        CommandError: a file cannot be written; the last change of `undo` is taken back.
    """
    recall = session.memories
    try:
        await _done(lambda: filed.write_out(recall.store, recall.files, memories))
    except CommandError:
        if undo:
            await _done(lambda: recall.store.undo(undo))
        raise


async def _done(work: Callable[[], T]) -> T:
    """Work on the store in a thread.

    Raises:
        CommandError: it cannot be done.
    """
    try:
        return await asyncio.to_thread(work)
    except StoreError as error:
        raise CommandError(str(error)) from error


def _words(memory: Memory) -> str:
    waits = "" if memory.status == "accepted" else f" ({memory.status})"
    key = f"{memory.key}: " if memory.key else ""
    return one_line(f"[{memory.scope}]{waits} {key}{memory.body}", _SHOWN)


def _data(memory: Memory) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(memory)
    return data
