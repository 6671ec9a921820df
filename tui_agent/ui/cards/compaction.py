"""The cards of a compaction.

`ReviewCard` is docked: a summary before it takes effect, or one or a record that is written anew. `a` accept, `e` edit,
`r` or `n` discard. `Letters` are the keys of what stands in the transcript (`u` undo, `e` edit, `k` keep more):
they obey the rule of every card, and what is typed on becomes words in the composer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from tui_agent import literal
from tui_agent.events import Answer, Question
from tui_agent.ui.cards import arming
from tui_agent.ui.cards.card import Card
from tui_agent.ui.cards.choices import Choice

if TYPE_CHECKING:
    from textual import events

    from tui_agent.ui.transcript.entries import Result

_DISCARD = "r"
_DOUBTFUL = "Doubtful:"
"""Begins what the log says otherwise, in the words of the question."""
_BODY_ROWS = 4
"""Rows of a summary that facts leave free."""


class ReviewCard(Card):
    """A text that a person reads before it takes effect. What it takes its place of is not gone before that."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self._edited: str | None = None

    @property
    def _text(self) -> str:
        return self.question.editable if self._edited is None else self._edited

    def body(self) -> Content:
        lines = [
            Content.styled(line, "bold") if line.startswith("#") else Content(line)
            for line in literal.visible(self._text).split("\n")
        ]
        return Content("\n").join(lines)

    @property
    def body_rows(self) -> int:
        return _BODY_ROWS

    def facts(self) -> Sequence[Content]:
        parts: list[Content] = []
        if self._edited is not None:
            parts.append(Content.styled(f"as edited by you{self._too_long()}", "$text-warning"))
        if self.unread:
            parts.append(Content.styled(f"{self.unread:,} more lines below: Space or Down", "$text-muted"))
        for line in filter(None, self.question.body.split("\n")):
            style = "bold $text-error" if line.startswith(_DOUBTFUL) else "$text-muted"
            parts.append(Content.styled(literal.one_line(line, 200), style))
        return sorted(parts, key=lambda part: not part.plain.startswith(_DOUBTFUL))

    def _too_long(self) -> str:
        """What is to be said of what was written, if it is longer than it should be."""
        from tui_agent.messages.tokens import Estimator  # not needed before something was written

        count, most = Estimator("").count(self._text), self.question.most
        if not most or count <= most:
            return ""
        return f": about {count:,} tokens, {most:,} are meant at most; it is summarised again when room is needed"

    def choices(self) -> Sequence[Choice]:
        return [Choice("a", "accept"), Choice("e", "edit"), Choice(_DISCARD, "discard")]

    def meant(self, character: str) -> str:
        letter = super().meant(character)
        return _DISCARD if letter == "n" else letter

    def choose(self, choice: Choice) -> None:
        match choice.letter:
            case "a":
                self.answer(Answer("once", edited=self._edited))
            case "e":
                self.edit()
            case _:
                self.answer(Answer("no"))

    def edit(self) -> None:
        """Open the line in which the text is written."""
        self.open_line("edit", self._text, "edit the text")

    def typed(self, text: str) -> None:
        self.open_line("why", "", "discard it, because", typed=text)

    def line_given(self, purpose: str, text: str) -> None:
        if purpose == "why":
            self.answer(Answer("no", note=text.strip()))
        elif text.strip():
            self._edited = text if text != self.question.editable else None
            self.redraw(body=True)


class Letters:
    """The keys of a result in the transcript. `chosen(result, letter)` is told what was decided.

    `write` takes what was typed although it is no answer.
    """

    def __init__(
        self,
        timers: arming.SetsTimers,
        chosen: Callable[[Result, str], None],
        write: Callable[[str], None],
    ) -> None:
        self._gate = arming.Gate(timers, self._alone)
        self._gate.been_read()  # made for the first key on what may have stood there for long
        self._chosen = chosen
        self._write = write
        self._at: Result | None = None

    def come_to_front(self) -> None:
        """A result has just come: its keys count in half a second."""
        self._gate.close()

    @property
    def armed(self) -> bool:
        """True when what is pressed now counts."""
        return self._gate.open

    def leave(self, result: Result | None) -> None:
        """This result has the keys now, if any: a letter that waits for another one does not act."""
        if result is not self._at:
            self._gate.forget()

    def take(self, event: events.Key, result: Result) -> bool:
        """Take a key that was pressed on a result; False if it means nothing there."""
        character = event.character if event.is_printable and event.character else ""
        letter = arming.letter_of(character)
        means = result.shows_facts and any(letter == known for known, _ in result.choices)
        if before := self._gate.forget():
            self._write(before + character)
            return bool(character)
        if not means:
            return False
        if self._gate.standing(event.time) == "counts":
            self._at = result
            self._gate.hold(character)
        return True

    def _alone(self, character: str) -> None:
        result, self._at = self._at, None
        if result is not None:
            self._chosen(result, arming.letter_of(character))
