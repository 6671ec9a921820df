"""What can be asked of a session: one list of commands.

A key, `/name`, the palette and the command line are four spellings of `session.perform(name, *arguments)`. A
command is an async function whose docstring's first line is its help; it takes the session and its arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

Perform = Callable[..., Awaitable["Outcome"]]


class CommandError(Exception):
    """A command could not be carried out; the message says why and what to do instead. Nothing was changed."""


class Outcome(Struct, frozen=True):
    """What a command did: `text` for a person, `data` for a program (JSON-ready)."""

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Command(Struct, frozen=True):
    """One thing that can be asked. `argument` names what it takes (`""`: nothing), as shown in help.

    `names` are further slash names. `rewrites` marks the commands that change history: they run between turns.
    `check`, with the same arguments, raises CommandError for what cannot work, so that no running turn is stopped
    for it.
    """

    name: str
    perform: Perform
    argument: str = ""
    names: tuple[str, ...] = ()
    rewrites: bool = False
    check: Callable[..., None] | None = None

    @property
    def words(self) -> str:
        """The help: the first line of the function's docstring."""
        return (self.perform.__doc__ or self.name).strip().splitlines()[0]


class Commands:
    """The commands of a session, found by any of their names."""

    def __init__(self) -> None:
        self._commands: dict[str, Command] = {}

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def add(self, command: Command) -> None:
        """Add a command.

        Raises:
            ValueError: one of its names is taken.
        """
        for name in (command.name, *command.names):
            if self.find(name) is not None:
                raise ValueError(f"two commands are called /{name}")
        self._commands[command.name] = command

    def find(self, name: str) -> Command | None:
        """The command of that name (with or without the slash), or None."""
        name = name.removeprefix("/")
        for command in self._commands.values():
            if name == command.name or name in command.names:
                return command
        return None

    def complete(self, prefix: str) -> list[Command]:
        """The commands one of whose names starts with `prefix`, by name."""
        prefix = prefix.removeprefix("/")
        found = [c for c in self if any(n.startswith(prefix) for n in (c.name, *c.names))]
        return sorted(found, key=lambda c: c.name)


def arguments(name: str, rest: str) -> tuple[str, ...]:
    """What was typed behind a command, as its arguments; what is meant for the model stays as it was written.

    `name` is the command's own; "" for one that is not known: it may be a skill's.
    """
    match name:
        case "goal":
            return (rest,)
        case "skill":
            return tuple(rest.split(maxsplit=1))
        case "":
            return (rest,) if rest.strip() else ()
    return tuple(rest.split())
