"""The prompts that wait, as a list: when each is delivered, in which order, what it says.

Enter takes a prompt back into the composer, `s` changes between the next step and the end of the turn, `k` and `j` move
it, `d` drops it and `u` brings the last one dropped back. An interrupt holds the queue; `g` lets it go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual.content import Content

from tui_agent import literal
from tui_agent.events import QueueChanged
from tui_agent.ui.cells import Cell, Column
from tui_agent.ui.inspector.tab import Key
from tui_agent.ui.listing import Listing

if TYPE_CHECKING:
    from tui_agent.agent.session import Session
    from tui_agent.events import Event, QueuedPrompt
    from tui_agent.ui.bindings import Keys

_WHEN = {"step": "next step", "turn": "end of turn"}
_OTHER = {"step": "turn", "turn": "step"}


class Waiting(Listing):
    """The queue of a session. `edit` is given the prompt that is taken back into the composer."""

    ACTION = "queue"

    def __init__(self, keys: Keys, session: Session, edit: Callable[[QueuedPrompt], None]) -> None:
        empty = "Nothing waits. While the model works, what you send does: Enter for its next step, ^s for the end."
        super().__init__(keys, "prompts that wait", empty=empty)
        self._session = session
        self._edit = edit
        self._prompts: tuple[QueuedPrompt, ...] = ()
        self._dropped: list[tuple[int, QueuedPrompt]] = []

    # --- what is shown

    def load(self) -> None:
        """Read the queue."""
        self._prompts = tuple(self._session.queue)
        self.rows.show(
            self._cells,
            len(self._prompts),
            columns=(Column("", 3), Column("when", 12), Column("words")),
            key=lambda index: self._prompts[index].id,
        )
        count = len(self._prompts)
        held = "held since the interrupt: g goes on" if self._session.paused and count else ""
        self.headline(held)
        self.refresh_keys()

    def _cells(self, index: int) -> Sequence[Cell]:
        prompt = self._prompts[index]
        return str(index + 1), _WHEN[prompt.when], literal.one_line(prompt.text)

    def about(self, index: int) -> Content:
        if not 0 <= index < len(self._prompts):
            return Content("")
        return Content(literal.visible(self._prompts[index].text))

    def offered(self) -> Sequence[Key]:
        keys = []
        if self._prompts:
            index = max(0, self.rows.cursor)
            other = _WHEN[_OTHER[self._prompts[index].when]]
            keys = [Key("Enter", "edit", "edit"), Key("s", other, "switch"), Key("d", "drop", "drop")]
            # one of them has room in the footer: the last prompt goes up, every other one down too
            if index < len(self._prompts) - 1:
                keys.append(Key("j", "down", "place(1)"))
            if index > 0:
                keys.append(Key("k", "up", "place(-1)"))
        if self._session.paused and self._prompts:
            keys.insert(0, Key("g", "go on", "go_on"))
        if self._dropped:
            keys.append(Key("u", "undo", "undo"))
        return keys

    def heard(self, event: Event) -> None:
        if isinstance(event, QueueChanged) and event.prompts != self._prompts:
            self.load()

    # --- what is done

    def choose(self, index: int) -> None:
        prompt = self._session.withdraw(self._prompts[index].id)
        if prompt is None:
            self._gone()
            return
        self.leave()
        self._edit(prompt)

    def action_edit(self) -> None:
        """Take the prompt back into the composer."""
        self.rows.action_choose()

    def action_drop(self) -> None:
        """Take the prompt out."""
        index = self.rows.cursor
        if 0 <= index < len(self._prompts):
            prompt = self._session.withdraw(self._prompts[index].id)
            if prompt is None:
                self._gone()
            else:
                self._dropped.append((index, prompt))
            self.load()

    def action_undo(self) -> None:
        """Bring the prompt that was dropped last back."""
        if self._dropped:
            place, prompt = self._dropped.pop()
            self._session.requeue(prompt, place)
            self.load()

    def action_switch(self) -> None:
        """Deliver it at the other time."""
        self._again(0, other=True)

    def action_place(self, by: int) -> None:
        """Move it up or down."""
        self._again(by)

    def action_go_on(self) -> None:
        """Let a held queue go on."""
        self._session.go_on()
        self.leave()

    def _again(self, by: int, *, other: bool = False) -> None:
        index = self.rows.cursor
        if not (0 <= index < len(self._prompts) and 0 <= index + by < len(self._prompts)):
            return
        prompt = self._session.withdraw(self._prompts[index].id)
        if prompt is None:
            self._gone()
        else:
            when = "turn" if other and prompt.when == "step" else "step" if other else prompt.when
            self._session.requeue(replace(prompt, when=when), index + by)
        self.load()

    def _gone(self) -> None:
        self.notify("it was just sent", markup=False, timeout=2)
        self.load()
