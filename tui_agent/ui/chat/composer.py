"""The composer: a text area that sends, completes and remembers.

Keys it takes itself: Enter (send; behind a backslash a new line), ctrl+j, alt+enter and shift+enter (new line),
ctrl+s (send at the end of the turn), Up and Down at the edges (what was sent before), Tab (complete, or the next card
when it is empty), `?` and End when it is empty. Everything else is the text area's. It posts `Submitted`, `Wanted` and
`Edited`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tui_agent import literal
from tui_agent.ui.chat.completion import Candidate, Completion, Word, word_before
from tui_agent.ui.chat.history import History
from tui_agent.ui.terminal import NEW_LINE_KEYS

if TYPE_CHECKING:
    from textual import events

SETTLING = 0.5
"""Seconds in which Enter does not send words that were put here unasked: it was pressed for what came before."""


class Composer(TextArea):
    """Where a person writes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore,super+z", "undo", "Undo typing", show=False),
        Binding("ctrl+v", "paste", "Paste", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """Words to send: at the next step, or at the end of the turn."""

        text: str
        when: Literal["step", "turn"]

    @dataclass
    class Wanted(Message):
        """A key asked for something the screen does: an action's id."""

        action: str

    class Edited(Message):
        """The words or the cursor changed."""

    def __init__(
        self, completion: Completion, *, id: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
            placeholder="Ask, or / for commands, @ for files, ? for keys",
        )
        self.cursor_blink = False
        self.past = History()
        self.cards_wait = False
        self.walking = False
        self._completion = completion
        self._clock = clock
        self._last_key = float("-inf")
        self._offered = float("-inf")

    def idle(self, seconds: float) -> bool:
        """True when no key came for so long."""
        return self._clock() - self._last_key >= seconds

    @property
    def is_blank(self) -> bool:
        """True when there is no draft."""
        return not self.text

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        if getattr(self.screen, "leading", False):
            return False
        return super().check_consume_key(key, character)

    def put(self, text: str) -> None:
        """Make `text` the draft, the cursor at its end."""
        self.text = literal.visible(text)
        self.move_cursor(self.document.end)

    def offer(self, text: str) -> None:
        """Make `text` the draft, unasked: an Enter that was on its way does not send it."""
        self.put(text)
        self._offered = self._clock()

    def add(self, text: str) -> None:
        """Put `text` where the cursor is."""
        self.insert(literal.visible(text))

    def take(self, *, remember: bool = True) -> str:
        """Empty the composer and return what it held; Up brings it back."""
        text = self.text
        if remember:
            self.past.add(text)
        self.clear()
        self._completion.close()
        return text

    def word(self) -> Word | None:
        """The word to complete at the cursor; none while walking through what was sent."""
        if self.walking:
            return None
        row, column = self.cursor_location
        return word_before(self.document.get_line(row)[:column], first=row == 0)

    def complete(self, candidate: Candidate) -> None:
        """Replace the word at the cursor by a candidate."""
        word = self.word()
        if word is not None:
            row, column = self.cursor_location
            self.replace(candidate.text, (row, max(0, column - word.length)), (row, column))
        self._completion.close()

    async def _on_key(self, event: events.Key) -> None:
        self._last_key = self._clock()
        if event.is_printable:
            self.walking = False
        if self._own_key(event):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _own_key(self, event: events.Key) -> bool:
        key = event.key
        if self._completion.is_open and self._completion_key(key):
            return True
        if key == "enter":
            self._enter()
        elif key in NEW_LINE_KEYS:
            self.insert("\n")
        elif key == "ctrl+s":
            self._send("turn")
        elif key == "tab":
            if self.is_blank:
                self.post_message(self.Wanted("card" if self.cards_wait else "next_place"))
        elif key == "up" and self.cursor_at_first_line:
            self._walk(self.past.earlier(self.text))
        elif key == "down" and self.cursor_at_last_line:
            self._walk(self.past.later())
        elif self.is_blank and (event.character == "?" or key == "end"):
            self.post_message(self.Wanted("help" if key != "end" else "bottom"))
        else:
            return False
        return True

    def _completion_key(self, key: str) -> bool:
        candidate, word = self._completion.candidate, self._completion.word
        if key in ("tab", "enter") and word != self.word():
            self._completion.close()  # it was offered for a word that has grown since
            return key == "tab"
        if key in ("up", "down"):
            self._completion.move(1 if key == "down" else -1)
        elif key == "tab" and candidate is not None:
            self.complete(candidate)
        elif key == "enter" and candidate is not None and word is not None:
            complete = word.kind == "command" and word.typed in candidate.names
            if not complete:
                self.complete(candidate)
            if word.kind == "command" and candidate.whole:
                self._send("step")
            elif complete:
                return False
        else:
            return False
        return True

    def _enter(self) -> None:
        if self._clock() - self._offered < SETTLING:
            return
        row, column = self.cursor_location
        if column and self.document.get_line(row)[column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column))
        else:
            self._send("step")

    def _send(self, when: Literal["step", "turn"]) -> None:
        if self.text.strip():
            self.post_message(self.Submitted(self.take(), when))

    def _walk(self, entry: str | None) -> None:
        if entry is not None:
            self.walking = True
            self.put(entry)

    async def _on_paste(self, event: events.Paste) -> None:
        # a terminal sends what the clipboard holds: escape sequences in it are text like any other
        self._last_key = self._clock()
        event.stop()
        event.prevent_default()
        self.insert(literal.visible(event.text.replace("\r\n", "\n").replace("\r", "\n")))
        self.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Edited())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self.post_message(self.Edited())
