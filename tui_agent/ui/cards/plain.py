"""The plain questions: one of several answers, the ways out of a failure, and a free one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.content import Content

from tui_agent.events import Answer
from tui_agent.ui.cards.card import Card
from tui_agent.ui.cards.choices import Choice
from tui_agent.ui.transcript.said import way_command


class ChoiceCard(Card):
    """One of several answers, in words; Up / Down and Enter, or the mouse.

    Words that are typed are given on as they are: whoever asks puts them into the composer.
    """

    def facts(self) -> Sequence[Content]:
        return [Content.styled("Down and Enter choose", "$text-muted")]

    def choices(self) -> Sequence[Choice]:
        return [Choice("", words) for words in self.question.choices]

    def choose(self, choice: Choice) -> None:
        self.answer(Answer("answer", note=choice.words))

    def line_given(self, purpose: str, text: str) -> None:
        if text.strip():
            self.answer(Answer("answer", note=text))


class WaysCard(ChoiceCard):
    """The ways out of a failure: those that mend a record, and the one that sends the request again, by a letter.

    Where a letter stands the command is not written out: the failure above the card names it.
    """

    LETTERS: ClassVar[Mapping[str, str]] = {
        "/record": "l",
        "/elide": "s",
        "/drop": "d",
        "/edit": "e",
        "/retry": "a",
    }

    def facts(self) -> Sequence[Content]:
        return []

    def choices(self) -> Sequence[Choice]:
        return list(self._ways())

    def choose(self, choice: Choice) -> None:
        self.answer(Answer("answer", note=self._ways()[choice]))

    def _ways(self) -> dict[Choice, str]:
        """The choices, each with the way that it stands for."""
        free, made = dict(self.LETTERS), {}
        for way in self.question.choices:
            place = way_command(way)
            command = way[slice(*place)] if place is not None else ""
            letter = free.pop(command.partition(" ")[0], "")
            made[Choice(letter, way.removesuffix(f" ({command})") if letter else way)] = way
        return made


class TextCard(Card):
    """A free answer."""

    def choices(self) -> Sequence[Choice]:
        return [Choice("e", "edit your answer"), Choice("n", "no answer")]

    def choose(self, choice: Choice) -> None:
        if choice.letter == "e":
            self.open_line("answer", self.question.editable, "your answer")
        else:
            self.answer(Answer("dismissed"))

    def line_given(self, purpose: str, text: str) -> None:
        self.answer(Answer("answer", note=text))
