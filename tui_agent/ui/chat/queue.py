"""The line above the composer: which prompts wait, and when the words being written would be delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from tui_agent import literal

if TYPE_CHECKING:
    from textual.app import RenderResult

    from tui_agent.events import QueuedPrompt

_WHEN = {"step": "at the next step", "turn": "at the end of the turn"}


def line(
    prompts: Sequence[QueuedPrompt],
    *,
    paused: bool,
    writing: bool,
    starting: bool,
    width: int,
    compacting: bool = False,
) -> Content | None:
    """The row for this state, or None when there is nothing to say.

    `writing`: the model works and the composer holds words. `starting`: the session is not open yet. `compacting`: no
    turn runs, but the history is being summarised.
    """
    if prompts:
        first = prompts[0]
        when = "paused; your next words send it" if paused else _WHEN[first.when]
        if starting:
            when = "when the session is open"
        elif compacting and not paused:
            when = "when the summary is there"
        more = f" (+{len(prompts) - 1} more)" if len(prompts) > 1 else ""
        lead = f"waits, {when}{more}: "
        room = max(8, width - len(lead) - 3)
        return Content.assemble(
            " ", (lead, "$text-warning"), (literal.one_line(first.text, room), "$text-muted")
        )
    if writing:
        text = " Enter: at the next step   ^s: at the end of the turn"
        if compacting:
            text = " Enter: when the summary is there"
        return Content.styled(text, "$text-muted")
    return None


class QueueLine(Widget):
    """One row, shown only when it says something."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._prompts: tuple[QueuedPrompt, ...] = ()
        self._paused = False
        self._writing = False
        self._starting = False
        self._compacting = False
        self.display = False

    @property
    def prompts(self) -> tuple[QueuedPrompt, ...]:
        """What waits."""
        return self._prompts

    def show(self, prompts: Sequence[QueuedPrompt], *, paused: bool = False, starting: bool = False) -> None:
        """Other prompts wait."""
        self._prompts, self._paused, self._starting = tuple(prompts), paused, starting
        self._refit()

    def write(self, writing: bool) -> None:
        """Words are being written while the model works, or no longer."""
        if writing != self._writing:
            self._writing = writing
            self._refit()

    def compact(self, compacting: bool) -> None:
        """No turn runs, but the history is being summarised; or not any more."""
        if compacting != self._compacting:
            self._compacting = compacting
            self.refresh()

    def _refit(self) -> None:
        self.display = bool(self._prompts) or self._writing
        self.refresh()

    def render(self) -> RenderResult:
        row = line(
            self._prompts,
            paused=self._paused,
            writing=self._writing,
            starting=self._starting,
            width=self.size.width,
            compacting=self._compacting,
        )
        return row if row is not None else Content("")
