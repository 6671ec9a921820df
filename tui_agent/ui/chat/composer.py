"""The composer: a text area that sends, completes and remembers.

Keys it takes itself: Enter (send; behind a backslash a new line), ctrl+j, alt+enter and shift+enter (new line),
ctrl+s (send at the end of the turn), ctrl+v (a picture or text off the clipboard), Up and Down at the edges (what was
sent before), Tab (complete, or the card that waits), `?` and End when it is empty. Everything else is the
text area's. Long pastes and pictures become signs, dropped files `@path` (see `attachments` and `pasting`). While it
searches, what is typed filters what was sent before. It posts `Submitted`, `Wanted`, `Trouble` and `Edited`.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent import literal
from tui_agent.ui.chat.attachments import Prompt
from tui_agent.ui.chat.completion import Candidate, Completion, Word, word_before
from tui_agent.ui.chat.signs import Signed
from tui_agent.ui.terminal import NEW_LINE_KEYS

if TYPE_CHECKING:
    from textual import events
    from textual.widgets import TextArea

    from tui_agent.messages.blocks import Block
    from tui_agent.ui.chat.history import History

STOP = "ctrl+c"
"""Comes here only to stand behind what was pressed before it."""
SETTLING = 0.5
"""Seconds in which Enter does not send words that were put here unasked: it was pressed for what came before."""
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidi controls. A terminal that marks no pastes types them; they become signs like those that are pasted."""
WORDS = "Ask, or / for commands, @ for files, ? for keys"
_SEARCH_WORDS = "words of what you sent before"

Picture = Callable[[bytes, str], Awaitable["Block"]]
"""Makes a block of a picture's bytes; raises CommandError if it cannot be sent."""


class Composer(Signed):
    """Where a person writes. `picture` is there once the session is open; `workspace` is what `@` names lie in."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore,super+z", "undo", "Undo typing", show=False),
        Binding("alt+d", "delete_word_right", "Delete the word before", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """Something to send: at the next step, or at the end of the turn."""

        prompt: Prompt
        when: Literal["step", "turn"]

    @dataclass
    class Wanted(Message):
        """A key asked for something the screen does: an action's id."""

        action: str

    @dataclass
    class Trouble(Message):
        """What was pasted could not be taken in, and why."""

        text: str

    @dataclass
    class Edited(Message):
        """The words or the cursor changed; `pressed`: when the newest key came that did it."""

        pressed: float

    def __init__(
        self, completion: Completion, *, id: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pastes, self._images = {}, {}
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
            placeholder=WORDS,
        )
        self.cursor_blink = False
        self.cards_wait = False
        self.walking = False
        self.stop: Callable[[], None] = lambda: None
        """Called when `STOP` has its turn."""
        self.workspace = Path()
        self.picture: Picture | None = None
        self._aside: Prompt | None = None
        """The draft, while this searches."""
        self._taking: Word | None = None
        """The word for which a completion was wanted before there was any."""
        self._completion = completion
        self._clock = clock
        self._last_key = float("-inf")
        self._pressed = float("-inf")
        """When the newest key came, whenever this had its turn to take it."""
        self._offered = float("-inf")

    @cached_property
    def past(self) -> History:
        """What was sent before."""
        from tui_agent.ui.chat.history import History  # not needed before the first frame

        return History()

    def idle(self, seconds: float) -> bool:
        """True when no key came for so long."""
        return self._clock() - self._last_key >= seconds

    @property
    def is_blank(self) -> bool:
        """True when there is no draft."""
        return not self.text and not self.searching

    @property
    def searching(self) -> bool:
        """True while what is typed filters what was sent before."""
        return self._aside is not None

    @property
    def draft(self) -> Prompt:
        """What is being written and not sent."""
        return self.prompt if self._aside is None else self._aside

    def watch_has_focus(self, _has_focus: bool) -> None:
        # no style sheet gives it other looks with the focus: its lines are drawn anew, with the cursor or without
        self.notify_style_update()
        self.refresh()

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """After the leader key a letter is no text."""
        if getattr(self.screen, "leading", False):
            return False
        return super().check_consume_key(key, character)

    def show(self, prompt: Prompt) -> None:
        self._leave_search()
        super().show(prompt)

    def put(self, text: str) -> None:
        """Make `text` the draft, the cursor at its end."""
        self.show(Prompt(text))

    def offer(self, prompt: Prompt) -> None:
        """Make `prompt` the draft, unasked: an Enter that was on its way does not send it."""
        self.show(prompt)
        self._offered = self._clock()

    def add(self, text: str) -> None:
        """Put `text` where the cursor is."""
        self.insert(literal.visible(text))

    def append(self, words: str) -> None:
        """Put words behind the draft, on a line of their own."""
        if self.text:
            self.move_cursor(self.document.end)
            words = f"\n{words}"
        self.add(words)

    def take(self, *, remember: bool = True) -> Prompt:
        """Empty the composer and return what it held; Up brings it back."""
        prompt = self.draft
        if remember:
            self.past.add(prompt)
        self._leave_search()
        self.clear()
        self._completion.close()
        return prompt

    def word(self) -> Word | None:
        """The word to complete at the cursor; none while walking through what was sent."""
        if self.searching:
            return Word("sent", self.text, len(self.text))
        if self.walking:
            return None
        row, column = self.cursor_location
        return word_before(self.document.get_line(row)[:column], first=row == 0)

    def complete(self, candidate: Candidate) -> None:
        """Replace the word at the cursor by a candidate; what was sent before replaces the draft."""
        if candidate.prompt is not None:
            self.show(candidate.prompt)
            self._completion.close()
            return
        word = self.word()
        self._completion.close()
        if word is not None:
            row, column = self.cursor_location
            self.replace(candidate.text, (row, max(0, column - word.length)), (row, column))

    def found(self) -> None:
        """What completes the word at the cursor is offered now; what was wanted before it came is taken."""
        if self._taking is None or not (self._taking == self._completion.word == self.word()):
            return
        self._taking = None
        if (candidate := self._completion.candidate) is not None:
            self.complete(candidate)

    @property
    def _completed(self) -> str:
        """The word at the cursor as it is written here."""
        word, (row, column) = self.word(), self.cursor_location
        return self.document.get_line(row)[column - word.length : column] if word is not None else ""

    # --- searching what was sent

    def search(self) -> None:
        """Begin to search what was sent before; while searching, go to the next that was found."""
        if self.searching:
            self._completion.move(1)
            return
        self._aside = self.prompt
        self.clear()
        self.placeholder = _SEARCH_WORDS
        self.post_message(self.Edited(self._pressed))

    def leave_search(self) -> None:
        """Leave the search; the draft stands here as it was."""
        if self._aside is not None:
            self.show(self._aside)
            self._completion.close()

    def _leave_search(self) -> None:
        if self._aside is not None:
            self._aside = None
            self.placeholder = WORDS

    # --- keys

    async def _on_key(self, event: events.Key) -> None:
        self._last_key, self._pressed = self._clock(), event.time
        if event.key == STOP:
            event.stop()
            event.prevent_default()
            self.stop()
            return
        self._taking = None
        if event.is_printable:
            self.walking = False
        if event.key != "enter":
            self._offered = float("-inf")  # who presses something else has seen the words
        if event.key in ("ctrl+v", "super+v"):
            from tui_agent.ui.chat.pasting import paste_clipboard  # not needed before the first paste

            event.stop()
            event.prevent_default()
            await paste_clipboard(self)
        elif self._own_key(event) or await self._bound(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    async def _bound(self, key: str) -> bool:
        """Do what the text area itself binds to a key; True if it binds something.

        Left to Textual it is done when the app sees the key, and what was typed behind it is written before.
        """
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                return True
        return False

    def _own_key(self, event: events.Key) -> bool:
        key = event.key
        if self.searching:
            return self._search_key(key)
        if self._completion.is_open and self._completion_key(key):
            return True
        if key == "enter":
            self._enter()
        elif key in NEW_LINE_KEYS:
            self.insert("\n")
        elif key == "ctrl+s":
            self._send("turn")
        elif key == "tab":
            if self.cards_wait or self.is_blank:
                self.post_message(self.Wanted("card" if self.cards_wait else "next_place"))
            else:
                self._taking = self.word()
        elif key == "up" and self.cursor_at_first_line:
            self._walk(self.past.earlier(self.prompt))
        elif key == "down" and self.cursor_at_last_line:
            self._walk(self.past.later())
        elif self.is_blank and (event.character == "?" or key == "end"):
            self.post_message(self.Wanted("help" if key != "end" else "bottom"))
        elif event.character in _TURNING:
            self.write(event.character or "")
        elif event.is_printable and event.character:
            return self._joins(event.character)
        else:
            return False
        return True

    def _joins(self, character: str) -> bool:
        """True if a typed character was taken in with the one before: a terminal disagrees about its width alone.

        An accent joins its letter where both are one character; an emoji's style or skin tone is left out.
        """
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column][-1:]
        if not before or character.isascii() or self.selected_text:
            return False
        whole = unicodedata.normalize("NFC", before + character)
        if len(whole) == 1 and unicodedata.combining(character):
            self.replace(whole, (row, column - 1), (row, column))
            return True
        return literal.visible(before + character) == before

    def _search_key(self, key: str) -> bool:
        if key in ("enter", "tab"):
            candidate = self._completion.candidate
            if self._completion.word != self.word():
                self._taking = self.word()  # it is still looked for
            elif candidate is not None:
                self.complete(candidate)
        elif key in ("up", "down"):
            self._completion.move(1 if key == "down" else -1)
        else:
            return key in NEW_LINE_KEYS or key == "ctrl+s"
        return True

    def _completion_key(self, key: str) -> bool:
        candidate, word = self._completion.candidate, self._completion.word
        if key in ("tab", "enter") and word != self.word():
            self._completion.close()  # it was offered for a word that has grown since
            self._taking = self.word() if key == "tab" else None
            return key == "tab"
        if key in ("up", "down"):
            self._completion.move(1 if key == "down" else -1)
        elif key == "tab" and candidate is not None:
            if word is not None and word.kind == "file" and candidate.text == self._completed:
                self._completion.move(1)  # the folder stands here: the next one is in it
            self.complete(self._completion.candidate or candidate)
        elif key == "enter" and candidate is not None and word is not None:
            written = word.kind == "argument" and bool(word.typed) and not self._completion.moved
            complete = written or (word.kind != "argument" and word.typed in candidate.names)
            if not complete:
                self.complete(candidate)
            if word.kind == "command" and candidate.whole:
                self._send("step")
            elif complete:
                return False  # nothing is lacking: it sends
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

    def _walk(self, entry: Prompt | None) -> None:
        if entry is not None:
            self.walking = True
            self.show(entry)

    async def _on_paste(self, event: events.Paste) -> None:
        from tui_agent.ui.chat.pasting import paste

        # a terminal sends what the clipboard holds: escape sequences in it are text like any other
        self._last_key, self._pressed = self._clock(), event.time
        self._offered = float("-inf")
        event.stop()
        event.prevent_default()
        self.focus()
        await paste(self, event.text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Edited(self._pressed))

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self.post_message(self.Edited(self._pressed))
