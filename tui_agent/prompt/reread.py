"""Instruction files that changed since the system prompt was written: told anew, while the prompt stays as it is.

As with memories one text tells all that is different from the prompt, so that the newest such text is all that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui_agent.events import Emit, Notice
from tui_agent.prompt.system import SETTING
from tui_agent.prompt.telling import Moment, Told, fenced, reminder

if TYPE_CHECKING:
    from tui_agent.prompt.system import Layer

SOURCE = "instructions"
"""The name of the source of reminders."""

_CHANGED = "Instructions have changed since the beginning. This is all that is different, and what holds now:"
AS_AT_FIRST = (
    "<system-reminder>\nThe instructions are again as they are at the beginning; earlier reminders of changes to them "
    "do not count any more.\n</system-reminder>"
)
"""Told when what was told of changes is no longer true and nothing is different from the prompt."""

_FILES = ("workspace", "profile")
"""Layers that are files."""
_INSTRUCTIONS = (*_FILES, "session")


class Changed(Struct, frozen=True):
    """What is different, empty if nothing is, and the files by name."""

    text: str
    names: Sequence[str] = ()


def changes(before: Iterable[Mapping[str, Any]], now: Sequence[Layer]) -> Changed:
    """What these layers tell that the layers of the prompt in force (as the log gives them) do not.

    What a session was begun with on the command line goes on to hold if it is resumed without. Of another program's
    prompt it is not known what it tells, so nothing is.
    """
    old = {(str(layer["layer"]), str(layer["source"])): str(layer["text"]).strip() for layer in before}
    if not any(kind == "builtin" for kind, _ in old):
        return Changed("")
    new = {(layer.layer, layer.source): layer.text.strip() for layer in now if layer.layer in _INSTRUCTIONS}
    parts: dict[str, str] = {name[1]: text for name, text in new.items() if old.get(name) != text}
    for kind, name in old:
        if (kind in _FILES or name == SETTING) and (kind, name) not in new:
            parts[name] = f"{name} is gone: what it said does not hold any more."
    if not parts:
        return Changed("")
    text = "\n\n".join([_CHANGED, *map(fenced, parts.values())])
    return Changed(reminder(text), tuple(parts))


class Instructions:
    """Tells what is different from the prompt. `read` gives the layers as they would be now, `untold` what should be
    said of how they were read."""

    name = SOURCE
    priority = 80

    def __init__(
        self, read: Callable[[], Sequence[Layer]], untold: Callable[[], Sequence[str]], emit: Emit
    ) -> None:
        self._read = read
        self._untold = untold
        self._emit = emit

    def generate(self, moment: Moment) -> Told:
        """One text of all that is different."""
        now = self._read()
        for notice in self._untold():
            self._emit(Notice(notice, "warning", "prompt"))
        changed = changes(moment.context.system_layers, now)
        names = ", ".join(changed.names) or "the instructions are as at first"
        return Told(changed.text, AS_AT_FIRST, short=names)

    def on_compacted(self) -> None:
        """The prompt tells them anew."""
