"""The keys of the chat screen: the table's actions, and the layer of letters after the leader key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import Reactive
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from tui_agent.events import Notice
from tui_agent.ui import bindings, footer
from tui_agent.ui.actions import BY_ID, LEADER
from tui_agent.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from textual import events
    from textual.dom import DOMNode
    from textual.timer import Timer
    from textual.widget import Widget

    from tui_agent.events import Emit, Level

_LEADING = 8.0
"""Seconds the letters stay listed after the leader key."""

_KEY_OF = {letter: key for key, letter in bindings.LETTER_OF.items()}

Act = Callable[[], Awaitable[None] | None]


class Keyed(Screen[None]):
    """A screen whose keys come from the table. `acts` says what each action does here.

    `tell` takes the screen's own notices into the stream of the session's events.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """The two widgets show a change of focus; Textual's own would draw the whole screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings.screen_bindings(),
        Binding("ctrl+c,super+c", "stop", "Stop", show=False, priority=True),
        Binding("escape", "leave", "Leave", show=False),
        Binding("pageup", "scroll_chat('page', -1)", show=False, priority=True),
        Binding("pagedown", "scroll_chat('page', 1)", show=False, priority=True),
        Binding("ctrl+home", "scroll_chat('edge', -1)", show=False, priority=True),
        Binding("ctrl+end", "scroll_chat('edge', 1)", show=False, priority=True),
    ]

    def __init__(self, keys: bindings.Keys, tell: Emit) -> None:
        super().__init__()
        self.keys = keys
        self._tell = tell
        self.leading = False
        self.led = 0.0
        """When the leader key was pressed last."""
        self.transcript = Transcript(id="transcript")
        self.acts: dict[str, Act] = {
            LEADER: self.lead,
            "redraw": lambda: self._redraw(),
            "suspend": lambda: self.app.action_suspend_process(),
        }
        self._lead_timer: Timer | None = None

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        # every widget was styled when it was mounted, and a change of theme reaches all of them
        event.refresh_styles = False

    def show_keys(self) -> None:
        """Show what can be pressed now."""
        raise NotImplementedError

    def say(self, text: str, level: Level = "info") -> None:
        """A line of the screen's own in the chat, in its order among what the session says."""
        self._tell(Notice(text, level, "screen"))

    # --- actions

    def action_act(self, name: str) -> None:
        """Carry out an action of the table."""
        self.act(name)

    def action_next_mode(self) -> None:
        """The sign of the mode was clicked: that it does from everywhere."""
        self.act("mode")

    def act(self, name: str) -> None:
        """Carry out an action of the table; what takes time runs beside the keys."""
        if self.leading and name != LEADER:
            self.lead(False)
        done = self.acts[name]()
        if isinstance(done, Coroutine):
            self.work(done, f"act-{name}")

    def work(self, work: Coroutine[Any, Any, None], group: str) -> None:
        """Run something beside the keys; what it raises is shown."""
        self.run_worker(work, group=group, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.say(f"{type(error).__name__}: {error}", "error")

    # --- the leader key

    def lead(self, leading: bool | None = None) -> None:
        """Begin to wait for a letter, or stop; without an argument whichever is not so now."""
        self.leading = not self.leading if leading is None else leading
        if self._lead_timer is not None:
            self._lead_timer.stop()
            self._lead_timer = None
        if self.leading:
            self.led = monotonic()
            self._lead_timer = self.set_timer(_LEADING, partial(self.lead, False))
        self.refresh_bindings()
        self.show_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The letters are bound only after the leader key; between the lines of a form shift+tab goes back."""
        if action == "act" and parameters == ("mode",):
            return not any(widget.has_class("memory-editor") for widget in self._around)
        return self.leading if action == "after_leader" else True

    @property
    def _around(self) -> Iterable[DOMNode]:
        """What has the focus, and what it stands in."""
        return self.focused.ancestors_with_self if self.focused is not None else ()

    def action_after_leader(self, key: str) -> None:
        """A key after the leader key."""
        self.lead(False)
        letter = bindings.LETTER_OF.get(key, "")
        action = self.keys.letters.get(letter)
        if action is not None:
            self.act(action)
        elif letter:
            said = f"{bindings.short(self.keys.leader)} {letter} does nothing"
            self.notify(said, markup=False, timeout=2)

    def letters(self) -> list[footer.Entry]:
        """The letters after the leader key, for the footer."""
        return [
            footer.Entry(letter, BY_ID[name].words, f"screen.after_leader({_KEY_OF[letter]!r})")
            for letter, name in self.keys.letters.items()
            if name in self.acts
        ]

    def entry(self, action: str, *, right: bool = False, rank: int = 1) -> footer.Entry:
        """An action of the table as the footer shows it."""
        key = self.keys.shown(action)
        if action in ("commands", "help") and self.keys.direct[action]:
            key = "?" if action == "help" else bindings.short(self.keys.direct[action][0])
        return footer.Entry(key, BY_ID[action].words, f"screen.act('{action}')", right, rank)

    def _redraw(self) -> None:
        self.app.refresh(repaint=True, layout=True)


if TYPE_CHECKING:
    Floor = Keyed
else:
    # a class of Textual's gathers keys, looks and reactives of all below it, at the start: once is enough
    Floor = object
