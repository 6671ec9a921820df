"""A question on the screen: who may answer it, when, and with which key.

    Card (takes the focus)
      Body          what is decided, scrolled with Space, Up and Down, or the wheel
      Facts         what is to be known about it, the most important first
      Choices       the answers, each a letter; Up / Down and Enter, or the mouse, work too
      AnswerLine    words, when the answer has some

The rule that keeps a stray key from answering (see `arming`): a key answers only while the card has the focus. For half
a second after the card came to the front its keys are swallowed, and the card says so; one that was pressed before the
card took the focus is left to the composer. A letter acts when it stands alone for 0.3 s; followed by another it opens
the reply line with what was typed, and Backspace takes it back. What is pressed after the answer was given is for what
comes next. A card posts `Answered`, `Later`, `Stray` and `Changed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui_agent import literal
from tui_agent.ui.cards import arming
from tui_agent.ui.cards.body import Body
from tui_agent.ui.cards.choices import Choice, Choices
from tui_agent.ui.cards.line import AnswerLine
from tui_agent.ui.cards.packing import packed, window

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui_agent.events import Answer, Question
    from tui_agent.ui.reply import ReplyLine

_MOST_LINE_ROWS = 6
"""Rows of the reply line."""
_TITLE = 64
"""Cells of a title."""
_FRAME = 2
"""Rows of the border."""


class Card(Vertical, can_focus=True):
    """One question. A kind of card says what it shows (`body`, `facts`, `choices`) and what a choice does."""

    @dataclass
    class Answered(Message):
        """The person decided."""

        question: Question
        answer: Answer

    class Later(Message):
        """The person wants to write first: the focus goes back to the composer."""

    @dataclass
    class Stray(Message):
        """A key that was pressed before the card took the focus: it is the composer's."""

        key: events.Key

    class Changed(Message):
        """What the card offers is different now."""

    def __init__(self, question: Question) -> None:
        super().__init__(classes="card")
        self.question = question
        self.position = (1, 1)
        self._gate = arming.Gate(self, self._alone)
        self._hint = ""
        self._early = ""
        """What was pressed too early, since the card came to the front."""
        self._decided = False
        self.late: list[events.Key] = []
        """What was pressed after the answer was given."""
        # kept here, because a card is still told things while it is being removed
        self._body = Body()
        self._facts = Static(classes="card-facts", markup=False)
        self._choices = Choices()
        self._line = AnswerLine()
        self._drawn = False
        self._rows = 10

    # --- what a kind of card says

    def body(self) -> Content:
        """What is decided."""
        return Content(literal.visible(self.question.body))

    def facts(self) -> Sequence[Content]:
        """What is to be known about it, the most important first."""
        return ()

    @property
    def body_rows(self) -> int:
        """Rows of the body that facts leave free, if it has so many."""
        return 1

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
        self.open_line("answer", "", "your answer", typed=text)

    # --- the screen of it

    def compose(self) -> ComposeResult:
        yield self._body
        yield self._facts
        yield self._choices
        yield self._line

    def on_mount(self) -> None:
        self._drawn = True
        self.watch(self._body, "scroll_y", self._scrolled, init=False)
        self.come_to_front()
        self.redraw(body=True)

    def on_resize(self) -> None:
        # only after the next refresh is it known how much of the body is seen
        self._body.laid_out = False
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        self._body.laid_out = True
        self.redraw()

    def _scrolled(self) -> None:
        self.call_after_refresh(self.redraw)

    def redraw(self, *, body: bool = False) -> None:
        """Draw the card again after something of it changed; `body` too if that did."""
        if not self._drawn:
            return
        if body:
            self._body.show(self.body())
            self.call_after_refresh(self._lay_out)
        self._title()
        self.fit(self._rows)
        self.post_message(self.Changed())

    def _facts_now(self) -> Sequence[Content]:
        warning = self._warning()
        said = [Content.styled(self._hint, "$text-warning")] if self._hint else list(self.facts())
        return [warning, *said] if warning is not None else said

    def _warning(self) -> Content | None:
        """What stands before every other fact, whatever else is said."""
        if not self.question.warning:
            return None
        return Content.styled(literal.one_line(self.question.warning, 200), "bold $text-error")

    def _title(self) -> None:
        # Content, because a title given as a string is read as markup
        at, count = self.position
        place = f"answer {at} of {count}" if count > 1 else "answer"
        self.border_title = Content(literal.one_line(self.question.title, _TITLE))
        self.border_subtitle = Content(place if self.has_focus_within else f"{place} - Tab to answer")

    def fit(self, rows: int) -> None:
        """Take at most `rows` rows, border included.

        The answers come first, then a warning or a hint, then the beginning of the body, then other facts.
        """
        self._rows = rows
        if not self._drawn:
            return
        self.styles.max_height = rows
        width = self.content_size.width or max(1, self.app.size.width - 4)
        inner = max(1, rows - _FRAME)
        facts = packed(self._facts_now(), width, "   ")
        least = int(bool(self._hint or self.question.warning))
        writing = self.writes
        choices = [] if writing else self._choices.rows(self.choices(), width)
        wanted = min(_MOST_LINE_ROWS, max(1, self._line.wrapped_document.height)) if writing else len(choices)
        answers = max(1, min(wanted, inner - 1 - least))
        body = min(self.body_rows, self._body.lines)
        told = max(least, min(len(facts), inner - answers - body))
        self._show(self._facts, window(facts, told, width))
        self._show(self._choices, window(choices, answers, width, at=self._choices.marked or 0))
        self._line.styles.max_height = answers if writing else _MOST_LINE_ROWS
        self._body.styles.max_height = max(1, inner - answers - told)

    def _show(self, part: Static, content: Content) -> None:
        part.update(content)
        part.display = bool(content.plain)

    def place(self, at: int, count: int) -> None:
        """Say that this is card `at` of `count`."""
        if (at, count) != self.position:
            self.position = (at, count)
            if self._drawn:
                self._title()

    def on_focus(self) -> None:
        if self.writes:
            self.screen.set_focus(self._line)  # a click on the card: words that were begun go on
        self._title()

    def on_blur(self) -> None:
        self._gate.forget()
        self._title()

    def hint(self, text: str) -> None:
        """Say something in the place of the facts until the next key."""
        self._hint = text
        self.redraw()

    # --- when keys count

    def come_to_front(self) -> None:
        """The card comes to the front now: its keys count in half a second."""
        self._gate.close()
        self._early = ""

    def take_focus(self, *, unasked: bool) -> None:
        """Take the focus; `unasked`: from the composer, where somebody may just begin to write."""
        if unasked:
            self._gate.take()
        # words that were begun go on
        self.screen.set_focus(self._line if self.writes else self)

    @property
    def armed(self) -> bool:
        """True when keys count."""
        return self._gate.open

    # --- keys

    def on_key(self, event: events.Key) -> None:
        """Keys while the card itself has the focus (not its reply line)."""
        character = event.character if event.is_printable and event.character else ""
        if self.screen.focused is not self:
            return  # the reply line had no use for it
        key, standing = event.key, self._gate.standing(event.time)
        if standing == "stray":
            self.post_message(self.Stray(event))
        elif key in ("escape", "tab", "shift+tab"):
            self._gate.forget()
            self.post_message(self.Later())
        elif key == "backspace":
            self._gate.forget()
        elif key in ("up", "down", "space", "enter") or character:
            if self._decided:
                self.late.append(event)
            elif standing == "counts":
                self._own_key(key, character)
            else:
                self._too_early(character)
        else:
            return
        event.stop()
        event.prevent_default()

    def _too_early(self, text: str, how: str = "pressed") -> None:
        """Swallow a key or a paste, and say so: nobody should believe that it answered."""
        self._early += text
        said = literal.one_line(self._early.strip(), 30)
        self.hint(f"{how} before the card could be read, so not taken{f': {said}' if said else ''}")

    def _own_key(self, key: str, character: str) -> None:
        if self._hint:
            self.hint("")
        if letter := self._gate.forget():
            self.typed(letter + character)
        elif key == "space":
            self._turn(self._body.size.height)
        elif key in ("up", "down"):
            self._move(1 if key == "down" else -1)
        elif key == "enter":
            self._enter()
        elif character:
            self._letter(character)

    def meant(self, character: str) -> str:
        """The letter of the answer that a typed character stands for."""
        return arming.letter_of(character)

    def _letter(self, character: str) -> None:
        if any(choice.letter == self.meant(character) for choice in self.choices()):
            self._gate.hold(character)
        else:
            self.typed(character)

    def _alone(self, character: str) -> None:
        letter = self.meant(character)
        for choice in self.choices():
            if choice.letter == letter:
                self.choose(choice)
                return

    async def on_paste(self, event: events.Paste) -> None:
        """What is pasted is never an answer: it is words, and counts when a key would."""
        standing = self._gate.standing(event.time)
        if self.screen.focused is not self or standing == "stray" or not event.text.strip():
            return  # it goes up to the screen, which gives it to the composer
        event.stop()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        if standing == "early":
            self._too_early(text, "pasted")
        else:
            self.typed(self._gate.forget() + text)

    # --- reading the body

    @property
    def unread(self) -> int:
        """Rows of the body below what is shown."""
        return self._body.unread

    @property
    def unseen(self) -> int:
        """Rows of the body below what is shown; 0 once its end was seen."""
        return self._body.unseen

    def _turn(self, rows: int) -> None:
        self._body.turn(rows)
        self.redraw()

    def _move(self, step: int) -> None:
        """Down scrolls the body to its end, then goes through the choices; Up the same way back."""
        choices = self._choices
        if step > 0 and choices.marked is None and self._body.unread:
            self._turn(1)
        elif step < 0 and choices.marked is None:
            self._turn(-1)
        else:
            choices.step(step, len(self.choices()))
        self.redraw()

    def _enter(self) -> None:
        choices, marked = self.choices(), self._choices.marked
        if marked is not None and marked < len(choices):
            self.choose(choices[marked])
        else:
            letters = any(choice.letter for choice in choices)
            self.hint("choose with Down and Enter" + (", or press a letter" if letters else ""))

    def unmark(self) -> None:
        """No answer is marked any more; what is offered changed."""
        self._choices.marked = None

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = event.style.meta.get("choice")
        if not self.has_focus_within:
            self.take_focus(unasked=False)
        if isinstance(index, int) and self.armed and index < len(self.choices()):
            self._gate.forget()
            self.choose(self.choices()[index])

    # --- the reply line

    def open_line(self, purpose: str, text: str, label: str, *, typed: str = "") -> None:
        """Ask for words, `label` says what for. What was begun is there, else `text`, and behind it `typed`."""
        self._line.open(purpose, text, typed)
        self.set_class(True, "-writing")
        self.hint(f"{label}: Enter gives it, Esc goes back")

    @property
    def words(self) -> str:
        """What stands in the open reply line, or the letter that has not acted; `""` when there is neither."""
        return self._line.text if self.writes else self._gate.letter

    @property
    def lost(self) -> str:
        """What goes with the card although nobody decided so: words that are begun, and those that were left."""
        if self._decided:
            return self.words
        return "\n".join(filter(None, (*self._line.own_left, self.words)))

    @property
    def unsaid(self) -> dict[str, str]:
        """Words that were begun and not given, by what they are for: they are offered there again."""
        return self._line.unsaid

    @unsaid.setter
    def unsaid(self, words: dict[str, str]) -> None:
        self._line.left = words

    @property
    def writes(self) -> bool:
        """True while the reply line is open."""
        return self._line.is_open

    def rewrite(self, text: str) -> None:
        """Put other words into the open reply line."""
        self._line.put(text)

    def _close_line(self) -> None:
        self._line.shut()
        self.set_class(False, "-writing")
        self._hint = ""
        self.screen.set_focus(self)
        self.come_to_front()
        self.redraw()

    def on_text_area_changed(self) -> None:
        """The line may take more rows now."""
        if self.writes:
            self.fit(self._rows)

    def on_reply_line_given(self, event: ReplyLine.Given) -> None:
        event.stop()
        purpose = self._line.purpose
        self._close_line()
        self.line_given(purpose, event.text)

    def on_reply_line_dropped(self, event: ReplyLine.Dropped) -> None:
        event.stop()
        self._line.leave()
        self._close_line()

    def on_reply_line_left(self, event: ReplyLine.Left) -> None:
        event.stop()
        self.post_message(self.Later())

    def answer(self, answer: Answer) -> None:
        """The decision is made; a second one of the same card is no answer to anything."""
        if not self._decided:
            self._decided = True
            self.post_message(self.Answered(self.question, answer))
