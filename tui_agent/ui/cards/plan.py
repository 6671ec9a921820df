"""A plan of the model that waits for a person: `a` accept, `e` edit, `r` reject and say why, `s` what follows.

`s` switches between the modes in which the work goes on: asked before each change, or edits without asking. What is
edited is the whole plan as Markdown, its steps a numbered list. Words typed instead of an answer reject the plan and
tell the model what is wrong with it; with none the turn ends, and the person speaks next.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui_agent.events import Answer, Question
from tui_agent.ui.cards.choices import Choice
from tui_agent.ui.cards.compaction import ReviewCard

_ASK, _AUTO = "ask", "auto-edit"
_MEANS = {
    _ASK: "then you are asked before each change",
    _AUTO: "then files of the workspace are edited without asking",
}
_REJECT = "r"


class PlanCard(ReviewCard):
    """A plan before the work on it begins."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self._mode = question.rule if question.rule in _MEANS else _ASK

    def facts(self) -> Sequence[Content]:
        style = "$text-warning" if self._mode == _AUTO else "$text-muted"
        follows = Content.styled(f"accepted: {_MEANS[self._mode]}", style)
        return [*super().facts(), follows] if self._mode == _ASK else [follows, *super().facts()]

    @property
    def body_rows(self) -> int:
        """Of a plan that goes on without asking, that it does is worth most."""
        return 1 if self._mode == _AUTO else super().body_rows

    def choices(self) -> Sequence[Choice]:
        other = "then ask" if self._mode == _AUTO else "then auto-edit"
        return [
            Choice("a", "accept"),
            Choice("e", "edit"),
            Choice(_REJECT, "reject, tell why"),
            Choice("s", other),
        ]

    def choose(self, choice: Choice) -> None:
        match choice.letter:
            case "a":
                self.answer(Answer("once", rule=self._mode, edited=self._edited))
            case "s":
                self._mode = _ASK if self._mode == _AUTO else _AUTO
                self.redraw()
            case "e":
                self.edit()
            case _:
                self.open_line("why", "", "reject it, because (empty: no reason, and you speak next)")

    def edit(self) -> None:
        self.open_line("edit", self._text, "the plan")

    def typed(self, text: str) -> None:
        self.open_line("why", "", "reject it, because", typed=text)
