"""May this call run? `y` once, `w` write a rule, `n` no, `t` no and tell why, `e` edit first.

A command longer than the card has to be scrolled to its end before `y` acts. `w` shows the rule before anything is
saved; there `s` switches between this session and settings, `e` edits the rule and `y` saves it and lets the call run.
Words typed instead of an answer refuse the call and tell the model what to do instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from textual.content import Content

from tui_agent import literal
from tui_agent.events import Answer, Question
from tui_agent.ui import words
from tui_agent.ui.cards.card import Card, Choice

_ONCE, _RULE = Choice("y", "once"), Choice("w", "write a rule")
_NO, _TELL, _EDIT = Choice("n", "no"), Choice("t", "no, tell why"), Choice("e", "edit first")
_MOST_LINES = 2_000
"""Lines of a diff that are laid out; a longer one says how many follow."""


def diff_content(diff: str) -> Content:
    """A unified diff, its file on one line, each line after it with its sign and its colour."""
    lines = diff.rstrip("\n").split("\n")
    parts = []
    if len(lines) > 2 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        parts.append(Content.styled(literal.one_line(_file_of(lines[0], lines[1])), "$text-muted"))
        del lines[:2]
    parts += [Content.styled(literal.visible(text), _style(text)) for text in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        parts.append(Content.styled(f"... {len(lines) - _MOST_LINES:,} more lines", "$text-warning"))
    return Content("\n").join(parts)


def _file_of(old: str, new: str) -> str:
    """The file that a diff's two first lines name, and whether it is made or removed."""
    before, after = old[4:].removeprefix("a/"), new[4:].removeprefix("b/")
    if before == "/dev/null":
        return f"{after} (new file)"
    return f"{before} (removed)" if after == "/dev/null" else after


def _style(line: str) -> str:
    if line.startswith("@@"):
        return "$text-accent"
    if line.startswith("+"):
        return "$text-success"
    return "$text-error" if line.startswith("-") else ""


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
        if question.diff and self._edited is None:
            head = Content.styled(literal.visible(question.body), "bold") if question.body else None
            diff = diff_content(question.diff)
            return (
                diff if head is None or question.body in question.diff else Content("\n").join([head, diff])
            )
        command = self._edited if self._edited is not None else question.body
        sign = "$ " if question.tool == "bash" else ""
        return Content.assemble((sign, "$text-muted"), literal.visible(command))

    def facts(self) -> Content:
        question = self.question
        if self._writing_rule:
            return self._rule_line()
        parts: list[Content] = []
        if question.warning:
            parts.append(Content.styled(literal.one_line(question.warning, 200), "bold $text-error"))
        if self._unread:
            parts.append(Content.styled(f"{self.unread:,} more lines below: Space or Down", "$text-warning"))
        if self._edited is not None:
            parts.append(Content.styled("as edited by you", "$text-warning"))
        if question.place:
            parts.append(
                Content.styled(f"in {literal.one_line(words.short_path(question.place), 60)}", "$text-muted")
            )
        if question.rule and not question.warning and self._edited is None:
            parts.append(
                Content.styled(f"a rule would read: {literal.one_line(question.rule, 60)}", "$text-muted")
            )
        return Content("   ").join(parts)

    def _rule_line(self) -> Content:
        scope = "in settings, for every session" if self._lasting else "for this session"
        return Content.assemble(
            ("from now on without asking: ", "$text-warning"),
            (literal.one_line(self._rule, 120), "bold"),
            (f"   {scope}", "$text-warning"),
        )

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
        if question.rule and self._edited is None:
            offered.append(_RULE)
        offered += [_NO, _TELL]
        if question.editable:
            offered.append(_EDIT)
        return offered

    @property
    def _unread(self) -> bool:
        """A command whose end was not seen; a diff may be approved from its head."""
        return not self.question.diff and self.unread > 0

    def choose(self, choice: Choice) -> None:
        if self._writing_rule:
            self._choose_rule(choice.letter)
            return
        match choice.letter:
            case "y" | "w" if self._unread:
                self.hint(f"{self.unread:,} more lines below: scroll to the end first (Space or Down)")
            case "y":
                self.answer(Answer("once", edited=self._edited))
            case "w":
                self._writing_rule = True
                self._at = None
                self.arm()
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
            case "y":
                self.answer(Answer("always" if self._lasting else "session", rule=self._rule))
            case "s":
                self._lasting = not self._lasting
            case "e":
                self.open_line("rule", self._rule, "the rule")
            case _:
                self._writing_rule = False
                self._at = None
        self.redraw()

    def typed(self, text: str) -> None:
        self.open_line("tell", text, "no; tell the model what to do instead")

    def line_given(self, purpose: str, text: str) -> None:
        match purpose:
            case "tell":
                self.answer(Answer("no", note=text.strip()))
            case "rule":
                self._rule = text.strip() or self._rule
            case "edit" if text.strip():
                self._edited = text if text != self.question.body else None
                self.redraw(body=True)
                self.call_after_refresh(self.redraw)
        self.redraw()

    def replaced(self, question: Question) -> None:
        """The same question in other words."""
        self.question = replace(question, id=self.question.id)
        self.redraw(body=True)
