"""A question on the screen: who may answer it, when, and with which key.

    Card (takes the focus)
      Body          what is decided, scrolled with Space and Down
      Facts         one line about it
      Choices       the answers, each a letter; Up / Down and Enter, or the mouse, work too
      ReplyLine     words, when the answer has some

The rule that keeps a stray key from answering: a key answers only while the card has the focus. For half a second
after the card came to the front its keys are swallowed. A letter acts when it stands alone for 0.3 s; followed by
another it opens the reply line with what was typed. Letters compare after NFKC, so that a full-width `ｙ` of an input
method is a `y`. A card posts `Answered`, `Later` and `Changed`.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.cards.reply import ReplyLine

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from tui_agent.events import Answer, Question

ARMING = 0.5
"""Seconds for which a card that came to the front swallows its keys."""
ALONE = 0.3
"""Seconds for which a letter has to stand alone before it acts."""
_MOST_LINE_ROWS = 3
"""Rows of the reply line."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its letter (`""`: only by Up / Down and Enter, or the mouse) and its words."""

    letter: str
    words: str


class Card(Vertical, can_focus=True):
    """One question. A kind of card says what it shows (`body`, `facts`, `choices`) and what a choice does."""

    @dataclass
    class Answered(Message):
        """The person decided."""

        question: Question
        answer: Answer

    class Later(Message):
        """The person wants to write first: the focus goes back to the composer."""

    class Changed(Message):
        """What the card offers is different now."""

    def __init__(self, question: Question) -> None:
        super().__init__(classes="card")
        self.question = question
        self.position = (1, 1)
        self._front = time.monotonic()
        self._pending: tuple[str, float] | None = None
        self._timer: Timer | None = None
        self._at: int | None = None
        self._purpose = ""
        self._hint = ""
        self._decided = False
        # kept here, because a card is still told things while it is being removed
        self._shown = Static(markup=False)
        self._scroll = VerticalScroll(self._shown, classes="card-body", can_focus=False)
        self._facts = Static(classes="card-facts", markup=False)
        self._options = Static(classes="card-choices", markup=False)
        self._line = ReplyLine()
        self._drawn = False
        self._rows = 10

    # --- what a kind of card says

    def body(self) -> Content:
        """What is decided."""
        return Content(literal.visible(self.question.body))

    def facts(self) -> Content:
        """One line about it."""
        return Content("")

    def choices(self) -> Sequence[Choice]:
        """The answers."""
        return ()

    def choose(self, choice: Choice) -> None:
        """Carry out a choice."""
        raise NotImplementedError

    def line_given(self, purpose: str, text: str) -> None:
        """Words were given in the reply line that was opened for `purpose`."""
        raise NotImplementedError

    def typed(self, text: str) -> None:
        """Words were typed instead of an answer."""
        self.open_line("answer", text, "your answer")

    # --- the screen of it

    def compose(self) -> ComposeResult:
        yield self._scroll
        yield self._facts
        yield self._options
        yield self._line

    def on_mount(self) -> None:
        self._drawn = True
        self._line.display = False
        self.arm()
        self.redraw(body=True)

    def on_resize(self) -> None:
        # only now is it known how much of the body is seen
        self.call_after_refresh(self.redraw)

    def redraw(self, *, body: bool = False) -> None:
        """Draw the card again after something of it changed; `body` too if that did."""
        if not self._drawn:
            return
        if body:
            self._shown.update(self.body())
        facts = self._facts_now()
        self._facts.update(facts)
        self._facts.display = bool(facts.plain)
        self._options.update(self._choices_line())
        self._options.display = not self._line.display
        self._title()
        self.fit(self._rows)
        self.post_message(self.Changed())

    def _facts_now(self) -> Content:
        return Content.styled(self._hint, "$text-warning") if self._hint else self.facts()

    def _title(self) -> None:
        # Content, because a title given as a string is read as markup
        at, count = self.position
        place = f"answer {at} of {count}" if count > 1 else "answer"
        self.border_title = Content(literal.one_line(self.question.title, 50))
        self.border_subtitle = Content(place if self.has_focus_within else f"{place} - Tab to answer")

    def _choices_line(self) -> Content:
        parts = []
        for index, choice in enumerate(self.choices()):
            key = f"[{choice.letter}] " if choice.letter else ""
            marked = index == self._at
            text = Content.assemble((key, "bold $text-accent"), (literal.one_line(choice.words, 40), ""))
            text = text.stylize("reverse" if marked else "")
            parts.append(text.stylize(Style.from_meta({"choice": index})))
        return Content("  ").join(parts)

    def fit(self, rows: int) -> None:
        """Take at most `rows` rows, border included; the body gives way."""
        self._rows = rows
        if self._drawn:
            self.styles.max_height = rows
            width = max(1, (self.size.width or self.app.size.width) - 4)
            taken = 2 + _rows_of(self._facts_now(), width)
            if self._line.display:
                taken += min(_MOST_LINE_ROWS, max(1, self._line.wrapped_document.height))
            else:
                taken += _rows_of(self._choices_line(), width)
            self._scroll.styles.max_height = max(1, rows - taken)

    def place(self, at: int, count: int) -> None:
        """Say that this is card `at` of `count`."""
        if (at, count) != self.position:
            self.position = (at, count)
            if self._drawn:
                self._title()

    def on_focus(self) -> None:
        self._title()

    def on_blur(self) -> None:
        self._forget_pending()
        self._title()

    def hint(self, text: str) -> None:
        """Say something in the place of the facts until the next key."""
        self._hint = text
        self.redraw()

    # --- arming

    def arm(self) -> None:
        """The card comes to the front now."""
        self._front = time.monotonic()
        self._forget_pending()

    @property
    def armed(self) -> bool:
        """True when keys count."""
        return time.monotonic() - self._front >= ARMING

    # --- keys

    def on_key(self, event: events.Key) -> None:
        """Keys while the card itself has the focus (not its reply line)."""
        if self.screen.focused is not self:
            # typed so fast that it was on its way here when the key before it opened the reply line
            if self._line.display and event.is_printable and event.character:
                event.stop()
                self._line.insert(event.character)
            return
        key = event.key
        if key in ("escape", "tab", "shift+tab"):
            self._forget_pending()
            self.post_message(self.Later())
        elif key in ("up", "down", "space", "enter") or event.is_printable:
            self._own_key(key, event.character or "")
        else:
            return
        event.stop()
        event.prevent_default()

    def _own_key(self, key: str, character: str) -> None:
        if not self.armed:
            return
        if self._hint:
            self.hint("")
        if self._pending is not None:
            letter, _ = self._pending
            self._forget_pending()
            self.typed(letter + character)
        elif key == "space":
            self._turn(self._scroll.size.height)
        elif key in ("up", "down"):
            self._move(1 if key == "down" else -1)
        elif key == "enter":
            self._enter()
        elif character:
            self._letter(character)

    def _letter(self, character: str) -> None:
        letter = unicodedata.normalize("NFKC", character).lower()
        if any(choice.letter == letter for choice in self.choices()):
            self._pending = (character, time.monotonic())
            self._timer = self.set_timer(ALONE, self._alone)
        else:
            self.typed(character)

    def _alone(self) -> None:
        if self._pending is None:
            return
        letter = unicodedata.normalize("NFKC", self._pending[0]).lower()
        self._forget_pending()
        for choice in self.choices():
            if choice.letter == letter:
                self.choose(choice)
                return

    def _forget_pending(self) -> None:
        self._pending = None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @property
    def unread(self) -> int:
        """Rows of the body below what is shown."""
        scroll = self._scroll
        if not scroll.size.height:
            return len(self.body().plain.split("\n"))
        return max(0, scroll.virtual_size.height - scroll.size.height - round(scroll.scroll_y))

    def _turn(self, rows: int) -> None:
        """Scroll the body by rows, now: the next key may already ask where it stands."""
        self._scroll.scroll_to(y=self._scroll.scroll_y + rows, animate=False, immediate=True)
        self.redraw()

    def _move(self, step: int) -> None:
        """Down scrolls the body to its end, then goes through the choices; Up the same way back."""
        count = len(self.choices())
        if step > 0 and self._at is None and self.unread:
            self._turn(1)
        elif step < 0 and self._at in (None, 0):
            if self._at == 0:
                self._at = None
            else:
                self._turn(-1)
        elif count:
            self._at = 0 if self._at is None else min(count - 1, self._at + step)
        self.redraw()

    def _enter(self) -> None:
        choices = self.choices()
        if self._at is not None and self._at < len(choices):
            self.choose(choices[self._at])
        else:
            self.hint("choose with Down and Enter, or press a letter")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = event.style.meta.get("choice")
        if not self.has_focus_within:
            self.screen.set_focus(self)
        if isinstance(index, int) and self.armed and index < len(self.choices()):
            self.choose(self.choices()[index])

    def on_mouse_scroll_down(self) -> None:
        self.call_after_refresh(self.redraw)

    def on_mouse_scroll_up(self) -> None:
        self.call_after_refresh(self.redraw)

    # --- the reply line

    def open_line(self, purpose: str, text: str, label: str) -> None:
        """Ask for words: `label` says what they are for, `text` is there already."""
        self._purpose = purpose
        line = self._line
        line.text = literal.visible(text)
        line.display = True
        line.move_cursor(line.document.end)
        # not `focus()`, which waits for its turn: the next key must already be the line's
        self.screen.set_focus(line)
        self.set_class(True, "-writing")
        self.hint(f"{label}: Enter gives it, Esc goes back")

    @property
    def words(self) -> str:
        """What stands in the open reply line; `""` when it is closed."""
        return self._line.text if self._drawn and self._line.display else ""

    def _close_line(self) -> None:
        self._line.display = False
        self._line.clear()
        self.set_class(False, "-writing")
        self._hint = ""
        self.screen.set_focus(self)
        self.arm()
        self.redraw()

    def on_reply_line_given(self, event: ReplyLine.Given) -> None:
        event.stop()
        purpose = self._purpose
        self._close_line()
        self.line_given(purpose, event.text)

    def on_reply_line_dropped(self, event: ReplyLine.Dropped) -> None:
        event.stop()
        self._close_line()

    def answer(self, answer: Answer) -> None:
        """The decision is made; a second one of the same card is no answer to anything."""
        if not self._decided:
            self._decided = True
            self.post_message(self.Answered(self.question, answer))


def _rows_of(text: Content, width: int) -> int:
    """Rows that a text takes at a width; none when it is empty."""
    return len(text.wrap(width)) if text.plain else 0
