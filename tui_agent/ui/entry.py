"""One value, typed in one line below a list: what it is, the line, and what is wrong with it, said at once.

EntryLine
  .label
  Input
  .trouble    while what stands in the line is not allowed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from tui_agent import literal
from tui_agent.ui.line import Line

if TYPE_CHECKING:
    from textual.app import ComposeResult

Check = Callable[[str], str]
"""Says what is wrong with a text; empty if nothing is."""


class EntryLine(Vertical):
    """A line to type one value into. Enter gives it (`Entered`) if it is allowed, Esc leaves it (`Left`)."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    @dataclass
    class Entered(Message):
        """An allowed value was entered. A key is never part of the message's words."""

        text: str

        def __repr__(self) -> str:
            return "Entered()"

    class Left(Message):
        """Nothing is to be entered after all."""

    def __init__(self) -> None:
        super().__init__(classes="entry")
        self.line = Line(select_on_focus=False)
        self._label = Static(classes="label", markup=False)
        self._trouble = Static(classes="trouble", markup=False)
        self._check: Check = lambda text: ""

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.line
        yield self._trouble

    def ask(self, label: str, value: str = "", *, check: Check | None = None, secret: bool = False) -> None:
        """Ask for a value, beginning with `value`. A secret one is shown as dots."""
        self._check = check or (lambda text: "")
        self.line.password = secret
        self.line.value = value
        self.line.cursor_position = len(value)
        self._label.update(literal.one_line(label))
        self._say("")
        self.display = True
        self.screen.set_focus(self.line)

    def close(self) -> None:
        """Ask no more; what was typed is forgotten."""
        self.display = False
        self.line.value = ""
        self.line.password = False

    def _say(self, trouble: str) -> None:
        self._trouble.update(literal.one_line(trouble))
        self._trouble.display = bool(trouble)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self._say(self._check(event.value) if event.value else "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        trouble = self._check(event.value)
        self._say(trouble)
        if trouble:
            self.line.go_on()
        else:
            self.post_message(self.Entered(event.value))

    def action_leave(self) -> None:
        """Leave the line."""
        self.post_message(self.Left())
