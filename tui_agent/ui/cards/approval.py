"""May this call run? `y` once, `w` write a rule, `n` no, `t` no and tell why, `e` edit first.

A command or a diff longer than the card has to be scrolled to its end before `y` acts. `w` shows the rule before
anything is saved; there `s` switches between this session and settings, `e` edits the rule and `y` saves it and lets
the call run. Words typed instead of an answer refuse the call and tell the model what to do instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui_agent import literal
from tui_agent.events import Answer, Question
from tui_agent.ui import words
from tui_agent.ui.cards.card import Card
from tui_agent.ui.cards.change import diff_content
from tui_agent.ui.cards.choices import Choice
from tui_agent.ui.cards.rule import meaning

_ONCE, _RULE = Choice("y", "once"), Choice("w", "write a rule")
_NO, _TELL, _EDIT = Choice("n", "no"), Choice("t", "no, tell why"), Choice("e", "edit first")


class ApprovalCard(Card):
    """A tool call that waits for a person."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self._rule = question.rule
        self._lasting = False
        self._writing_rule = False
        self._edited: str | None = None

    def body(self) -> Content:
        question = self.question
        if self._is_diff:
            head = Content.styled(literal.visible(question.body), "bold") if question.body else None
            diff = diff_content(question.diff)
            return (
                diff if head is None or question.body in question.diff else Content("\n").join([head, diff])
            )
        command = self._edited if self._edited is not None else question.body
        sign = "$ " if question.tool == "bash" else ""
        return Content.assemble((sign, "$text-muted"), literal.visible(command))

    @property
    def body_rows(self) -> int:
        """Of a diff the file and a change are worth more than where it is; what a rule allows is worth most."""
        return 3 if self._is_diff and not self._writing_rule else 1

    @property
    def _is_diff(self) -> bool:
        return bool(self.question.diff) and self._edited is None

    def facts(self) -> Sequence[Content]:
        question = self.question
        if self._writing_rule:
            return self._rule_words()
        parts: list[Content] = []
        if self.unseen:
            parts.append(Content.styled(f"{self.unseen:,} more lines below: Space or Down", "$text-warning"))
        if self._edited is not None:
            parts.append(Content.styled("as edited by you", "$text-warning"))
        if question.place:
            place = literal.one_line(words.short_path(question.place), 60)
            parts.append(Content.styled(f"in {place}", "$text-muted"))
        if self._may_write_rule:
            rule = literal.one_line(question.rule, 60)
            parts.append(Content.styled(f"a rule would read: {rule}", "$text-muted"))
        return parts

    @property
    def _may_write_rule(self) -> bool:
        return bool(self.question.rule) and self._edited is None

    def _rule_words(self) -> Sequence[Content]:
        allows = meaning(self._rule, self.question.tool)
        rule = Content.assemble("the rule ", (literal.one_line(self._rule, 120), "bold"))
        if allows is None:
            said = f"is no rule for {literal.one_line(self.question.tool, 40)}: edit it"
            return [rule, Content.styled(said, "$text-error")]
        scope = "saved in settings, for every session" if self._lasting else "for this session only"
        return [
            rule,
            Content.styled(f"allows {literal.one_line(allows, 160)}", "$text-warning"),
            Content.styled(scope, "$text-warning"),
        ]

    def choices(self) -> Sequence[Choice]:
        if self._writing_rule:
            other = "this session only" if self._lasting else "settings instead"
            return [
                Choice("y", "save and run"),
                Choice("s", other),
                Choice("e", "edit rule"),
                Choice("n", "back"),
            ]
        question = self.question
        offered = [_ONCE]
        if self._may_write_rule:
            offered.append(_RULE)
        offered += [_NO, _TELL]
        if question.editable:
            offered.append(_EDIT)
        return offered

    def choose(self, choice: Choice) -> None:
        if self._writing_rule:
            self._choose_rule(choice.letter)
            return
        match choice.letter:
            case "y" | "w" if self.unseen:
                self.hint(f"{self.unseen:,} more lines below: scroll to the end first (Space or Down)")
            case "y":
                self.answer(Answer("once", edited=self._edited))
            case "w":
                self._writing_rule = True
                self.unmark()
                self.come_to_front()
                self.redraw()
            case "n":
                self.answer(Answer("no"))
            case "t":
                self.open_line("tell", "", "no, because")
            case "e":
                text = self._edited if self._edited is not None else self.question.body
                self.open_line("edit", text, f"edit the {literal.one_line(self.question.editable, 20)}")

    def _choose_rule(self, letter: str) -> None:
        match letter:
            case "y" if meaning(self._rule, self.question.tool) is None:
                self.hint("that is no rule: e edits it, n goes back")
            case "y":
                self.answer(Answer("always" if self._lasting else "session", rule=self._rule))
            case "s":
                self._lasting = not self._lasting
                self.redraw()
            case "e":
                self.open_line("rule", self._rule, "the rule")
            case _:
                self._writing_rule = False
                self.unmark()
                self.redraw()

    def typed(self, text: str) -> None:
        self.open_line("tell", "", "no; tell the model what to do instead", typed=text)

    def line_given(self, purpose: str, text: str) -> None:
        match purpose:
            case "tell":
                self.answer(Answer("no", note=text.strip()))
            case "rule":
                self._rule = text.strip() or self._rule
            case "edit" if text.strip():
                self._edited = text if text != self.question.body else None
                self.redraw(body=True)
        self.redraw()
