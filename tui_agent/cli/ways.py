"""The ways out of a failure where there is no screen: its commands in the words of the shell."""

from __future__ import annotations

import re
from collections.abc import Sequence

_COMMAND = re.compile(r"\((/[a-z]+)(?: (\d+))?\)")
_SHELL = {
    "/retry": 'tui-agent --continue -p "go on"',
    "/compact": "tui-agent context compact",
    "/drop": "tui-agent context drop {0}",
    "/edit": "tui-agent context edit {0} TEXT",
    "/elide": "tui-agent context elide {0}",
    "/model": "--profile P",
    "/record": "tui-agent context show",
    "/refresh": "tui-agent context compact",
    "/revert": "tui-agent context revert {0}",
}


def with_ways(message: str, ways: Sequence[str]) -> str:
    """What failed, with the ways out behind it."""
    return f"{message} ({'; or '.join(map(in_shell, ways))})" if ways else message


def in_shell(way: str) -> str:
    """A way out with the command that carries it out in a shell; as it is where it names none of the screen's."""

    def told(match: re.Match[str]) -> str:
        spelled = _SHELL.get(match[1])
        unnamed = "N" if match[1] == "/revert" else "ID"
        return match[0] if spelled is None else f"({spelled.format(match[2] or unnamed)})"

    return _COMMAND.sub(told, way)
