"""The commands of the screen beside the session's: `/help`, `/inspect`, `/quit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.ui.actions import ACTIONS

if TYPE_CHECKING:
    from tui_agent.commands import Command


class Listed(Struct, frozen=True):
    """A command as completion, help and palette show it. `names` are its other spellings."""

    name: str
    words: str
    argument: str = ""
    names: tuple[str, ...] = ()


_SPELLED: dict[str, tuple[str, tuple[str, ...]]] = {
    "resume": ("[ID or WORDS]", ("sessions",)),
    "request": ("[NUMBER or next]", ()),
}
"""What may stand behind a screen's command, and its other spellings."""

SCREEN_COMMANDS: tuple[Listed, ...] = (
    *(
        Listed(action.slash, action.help, *_SPELLED.get(action.slash, ()))
        for action in ACTIONS
        if action.slash
    ),
    Listed("keys", "every key and what it does; [keys] in settings.toml gives other ones"),
    Listed("delete", "move this session into the trash and begin a new one; undo in the list of sessions"),
)
"""What the screen itself carries out by name."""

ACTION_OF: dict[str, str] = {action.slash: action.id for action in ACTIONS if action.slash}
"""`/name` -> action id."""
ACTION_OF |= {other: ACTION_OF[name] for name, (_, others) in _SPELLED.items() for other in others}


def listed(commands: Iterable[Command]) -> list[Listed]:
    """The session's commands and the screen's, by name; where both have one, the session's words stand."""
    found = {command.name: command for command in SCREEN_COMMANDS}
    for command in commands:
        words = command.words[:1].lower() + command.words[1:]  # as the screen's own begin
        found[command.name] = Listed(command.name, words, command.argument, command.names)
    return sorted(found.values(), key=lambda command: command.name)


class Offer(Struct, frozen=True):
    """One row of the palette: its words, its keys and spelling, its help, and what choosing it does."""

    words: str
    keys: str
    help: str
    run: Callable[[], object]


class Here(Struct, frozen=True):
    """What can be pressed at the place the help was called from: its name, and keys with what they do."""

    place: str
    rows: tuple[tuple[str, str], ...]
