"""A line to write in whose Enter comes before what is pressed behind it.

Left to Textual, Enter acts when the app sees that the line has no use for it, and letters that came in the same burst
are written into the line before. Here they wait until Enter has been acted on: where the line lost the focus over it
they go to what has it then, else they are written here. So it is with ctrl+c, where it closes what the line is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from tui_agent.ui.hosted import HostedApp

Press = tuple[str, str | None]
"""A key and the character it stands for, if it stands for one."""
STOP = "ctrl+c"
"""Comes to a line only to stand behind what was pressed before it."""


class Line(Input):
    """An Input that keeps what is pressed behind Enter. Whoever refuses what was entered calls `go_on`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(compact=True, **options)
        self.cursor_blink = False
        self.give: Callable[[Sequence[Press]], None] = self._press
        """Takes the keys that were kept, once what was entered is dealt with."""
        self.stop: Callable[[], None] = lambda: None
        """Called when `STOP` has its turn."""
        self._behind: list[Press] | None = None

    @property
    def keeping(self) -> bool:
        """True from Enter on until what was entered is dealt with, and from ctrl+c on until it has acted."""
        return self._behind is not None

    async def _on_key(self, event: events.Key) -> None:
        if self._behind is not None:
            self._behind.append((event.key, event.character))
        elif event.key == "enter":
            self._behind = []
            await self.action_submit()
        elif event.key == STOP:
            self._behind = []
            self.stop()
            self.call_later(self.go_on)
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def _on_blur(self, event: events.Blur) -> None:
        super()._on_blur(event)
        self.go_on()

    def go_on(self) -> None:
        """What was entered is dealt with: let the keys go to what has the focus now."""
        if self._behind is not None:
            behind, self._behind = self._behind, None
            self.give(behind)

    def _press(self, keys: Sequence[Press]) -> None:
        cast("HostedApp", self.app).press_first(events.Key(*press) for press in keys)
