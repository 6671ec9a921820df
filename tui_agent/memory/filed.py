"""Memories that stand in a file: topics of the person's profile.md, or of the MEMORY.md that a workspace shares.

The key names the file and the topic, `profile.md: tone` (user) or `MEMORY.md: build` (workspace); the topic is a
heading in the section of the file that is kept by this program (see `section`). The rest of it is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent import paths
from tui_agent.memory.schema import Memory, StoreError
from tui_agent.memory.section import NAME, Plan, Shared, plan_section, read_section

if TYPE_CHECKING:
    from tui_agent.memory.store import MemoryStore

PROFILE = "profile.md"


class Topic(Struct, frozen=True):
    """A heading in a file."""

    path: Path
    name: str


class Files(Struct, frozen=True):
    """The files of a person and of a workspace, by its root."""

    profile: Path
    root: Path

    def topic(self, memory: Memory) -> Topic | None:
        """Where a memory stands; None if it stands in no file."""
        file, colon, name = memory.key.partition(":")
        places = {("user", PROFILE): self.profile, ("workspace", NAME): self.root / NAME}
        path = places.get((memory.scope, file.strip()))
        return Topic(path, name.strip()) if path is not None and colon and name.strip() else None

    def left(self, memories: Iterable[Memory]) -> Sequence[Memory]:
        """Those that no file says, as a topic of it or because they were shared with a team.

        A file that cannot be read says nothing.
        """
        sections: dict[Path, dict[str, str]] = {}
        found = []
        for memory in memories:
            topic = self.topic(memory)
            if topic is None and memory.scope == "workspace":
                topic = Topic(self.root / NAME, memory.key)
            if topic is not None and topic.path not in sections:
                sections[topic.path] = _section(topic.path)
            said = sections[topic.path].get(topic.name) if topic is not None else None
            if said is None or (said != memory.body and self.topic(memory) is None):
                found.append(memory)
        return found


def _section(path: Path) -> dict[str, str]:
    try:
        return {entry.key: entry.body for entry in read_section(path)}
    except StoreError:
        return {}


def take_in(store: MemoryStore, files: Files, memory: Memory, *, replaced: bool = False) -> Memory:
    """Remember what a person wrote into a file by hand under the heading of a memory, before that is changed.

    So the change can be undone. Returns the memory as it is then. A proposal changes nothing there, unless it is
    `replaced` by it.

    Raises:
        StoreError: the file cannot be read, or the store cannot be used.
    """
    topic = files.topic(memory) if replaced or memory.status == "accepted" else None
    if topic is None or (body := read(topic)) in (None, _accepted(store, memory)):
        return memory
    store.add(memory.scope, memory.key, str(body), workspace=memory.workspace_id)
    return store.get(memory.id)


def write_out(store: MemoryStore, files: Files, memories: Iterable[Memory | None]) -> None:
    """Let the files of those memories that are or were accepted say what is remembered under their keys now.

    Raises:
        StoreError: a file cannot be read or written, or the store cannot be used.
    """
    for memory in memories:
        if memory is None or memory.status != "accepted" or (topic := files.topic(memory)) is None:
            continue
        if read(topic) != (body := _accepted(store, memory)):
            write(topic, body)


def _accepted(store: MemoryStore, like: Memory) -> str | None:
    found = store.find(like.key, like.scope, workspace=like.workspace_id)
    return found.body if found is not None else None


def read(topic: Topic) -> str | None:
    """What the file says under the heading; None if nothing.

    Raises:
        StoreError: the file cannot be read, or its section is damaged.
    """
    return next((entry.body for entry in read_section(topic.path) if entry.key == topic.name), None)


def plan(topic: Topic, body: str | None) -> Plan:
    """How the file looks with this text under the heading, or without it.

    Raises:
        StoreError: as `read`.
    """
    entries = list(read_section(topic.path))
    place = next((at for at, entry in enumerate(entries) if entry.key == topic.name), len(entries))
    entries[place : place + 1] = [] if body is None else [Shared(topic.name, body)]
    return plan_section(topic.path, entries)


def write(topic: Topic, body: str | None) -> None:
    """Put a text under the heading, or take it out, in one step.

    Raises:
        StoreError: as `read`, or the file was changed meanwhile, or cannot be written; then it is untouched.
    """
    planned = plan(topic, body)
    try:
        if topic.path.name == PROFILE and planned.old is None and planned.new:
            paths.write_private(topic.path, planned.new)
        else:
            planned.write()
    except OSError as error:
        raise StoreError(f"{topic.path} cannot be written: {error.strerror}") from error
