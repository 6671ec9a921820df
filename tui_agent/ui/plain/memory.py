"""Proposals of memories, answered by number. Nothing stands still for them: any other line is words for the model.

One proposal at a time, and not while a question waits. What only tells how the work stands, what was refused before and
what comes after the handful of a turn is told in a line each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent import literal
from tui_agent.ui.remembering import HANDFUL, PLACES, after, changes, next_scope, written

if TYPE_CHECKING:
    from tui_agent.changes import MemoryChanged, MemoryProposed
    from tui_agent.ui.plain.voice import Voice

_TOO_SOON_S = 0.5
"""Seconds after a proposal in which nobody can have read it."""
_KEY, _TEXT, _ID = 80, 200, 10
"""Characters of a key and a text in a line, and of an id, which is enough to name it."""


class Proposals:
    """The proposals that wait. `perform(name, *arguments)` carries out what is decided; `clock` gives seconds."""

    def __init__(
        self,
        voice: Voice,
        perform: Callable[..., None],
        clock: Callable[[], float],
        *,
        busy: Callable[[], bool],
    ) -> None:
        self._voice = voice
        self._perform = perform
        self._clock = clock
        self._busy = busy
        """Does something else wait for an answer?"""
        self._waiting: list[MemoryProposed] = []
        self._asked: MemoryProposed | None = None
        self._shown_at = 0.0
        self._scope = ""
        self._writes = False
        self._turn = 0

    def __bool__(self) -> bool:
        return self._asked is not None

    @property
    def prompt(self) -> str:
        """What stands before the answer."""
        return "the text instead: " if self._writes else "remember it? 1 to 5, or write on: "

    def begin_turn(self) -> None:
        """A turn begins: it may ask a handful of times."""
        self._turn = 0

    def hear(self, event: MemoryProposed) -> None:
        """Something is proposed."""
        known = [*self._waiting, self._asked]
        if any(one is not None and one.id == event.id for one in known):
            return
        if event.refused or event.noise or self._turn >= HANDFUL:
            self._mention(event)
            return
        self._turn += 1
        self._waiting.append(event)
        self.go_on()

    def changed(self, event: MemoryChanged) -> None:
        """It was decided, here or elsewhere."""
        if event.what in ("accepted", "rejected", "deleted", "suspended"):
            self._waiting = [one for one in self._waiting if one.id != event.id]
            if self._asked is not None and self._asked.id == event.id:
                self._asked = None
                self.go_on()

    def go_on(self) -> None:
        """Ask the next one, if nothing else is asked."""
        if self._asked is None and self._waiting and not self._busy():
            self._asked = self._waiting.pop(0)
            self._scope, self._writes = self._asked.scope, False
            self._show(self._asked)

    def take(self, line: str) -> bool:
        """A line was typed; False if it is words for the model."""
        event, text = self._asked, line.strip()
        if event is None:
            return False
        if self._writes:
            self._writes = False
            self._write(event, text)
            return True
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 5):
            self._leave()
            return False
        if self._clock() - self._shown_at < _TOO_SOON_S:
            self._voice.say("that was typed before the proposal was there; please answer it now", "note")
        else:
            self._choose(event, int(text))
        return True

    def _choose(self, event: MemoryProposed, number: int) -> None:
        match number:
            case 1:
                self._decide("accept", event.id)
            case 2:
                self._decide("reject", event.id)
            case 3:
                self._writes = True
            case 4:
                self._scope = next_scope(self._scope)
                self._perform("scope", event.id, self._scope)
                self._voice.say(f"it would count {PLACES[self._scope]}", "memory")
                self._offer()
            case _:
                self._leave()
                self.go_on()

    def _write(self, event: MemoryProposed, text: str) -> None:
        if text:
            self._decide("accept", event.id, text)
        else:
            self._voice.say("nothing was written: it is as it was", "note")
            self._offer()

    def _decide(self, *command: str) -> None:
        self._asked = None
        self._perform(*command)
        self.go_on()

    def _leave(self) -> None:
        """It is left for later: it stays in the list."""
        self._asked = None
        self._voice.say("left for later; /memory lists what waits", "note")

    # --- what is said

    def _show(self, event: MemoryProposed) -> None:
        self._shown_at = self._clock()
        self._voice.say(f"remember {PLACES[event.scope]}? {literal.one_line(event.key, _KEY)}", "memory")
        if event.outside:
            self._voice.say(after(event.outside), "warning")
        shown = written(event.file, event.diff) if event.diff else changes(event.old, event.body)
        for text, _ in shown:
            for line in text.split("\n"):
                self._voice.say(f"| {line}")
        self._offer()

    def _offer(self) -> None:
        ways = ("remember it", "do not, and do not ask again", "put other words in its place")
        for number, said in enumerate((*ways, "let it count elsewhere", "later"), 1):
            self._voice.say(f"{number} {said}")

    def _mention(self, event: MemoryProposed) -> None:
        said = f"{literal.one_line(event.key, _KEY)}: {literal.one_line(' '.join(event.body.split()), _TEXT)}"
        if event.refused:
            self._voice.say(f"refused before: {said}", "memory")
            return
        what = "it only tells how the work stands" if event.noise else "one more"
        name = event.id[:_ID]
        self._voice.say(f"{what}: {said} (/accept {name} or /reject {name})", "memory")
