"""The commands of the screen beside the session's: `/help`, `/inspect`, `/quit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_agent.ui.bindings import ACTIONS

if TYPE_CHECKING:
    from tui_agent.commands import Command


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as completion, help and palette show it. `names` are its other spellings."""

    name: str
    words: str
    argument: str = ""
    names: tuple[str, ...] = ()


SCREEN_COMMANDS: tuple[Listed, ...] = tuple(
    Listed(action.slash, action.help) for action in ACTIONS if action.slash
)
"""The actions of the screen that have a `/name`."""

ACTION_OF: dict[str, str] = {action.slash: action.id for action in ACTIONS if action.slash}
"""`/name` -> action id."""


def listed(commands: Iterable[Command]) -> list[Listed]:
    """The session's commands and the screen's, by name; where both have one, the session's words stand."""
    found = {command.name: command for command in SCREEN_COMMANDS}
    for command in commands:
        found[command.name] = Listed(command.name, command.words, command.argument, command.names)
    return sorted(found.values(), key=lambda command: command.name)


@dataclass(frozen=True, slots=True)
class Offer:
    """One row of the palette: its words, its keys or spelling, and what choosing it does."""

    words: str
    help: str
    run: Callable[[], object]
