"""Questions of the session, answered by number.

One question at a time; what is typed for it before it was there does not count. A command that is longer than a page is
not approved before its end was read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent import literal
from tui_agent.events import Answer, Question
from tui_agent.ui import words
from tui_agent.ui.plain.reading import PAGE, change, count

if TYPE_CHECKING:
    from tui_agent.ui.plain.voice import Voice

_NAME = 80
"""Characters of a tool's name."""
_TOO_SOON_S = 0.5
"""Seconds after a question in which nobody can have read it."""

Choice = tuple[str, str]
"""What it does, and its words."""


class Asking:
    """The questions that wait. `answer(question, answer)` settles one; `clock` gives seconds."""

    def __init__(
        self, voice: Voice, answer: Callable[[str, Answer], None], clock: Callable[[], float]
    ) -> None:
        self._voice = voice
        self._answer = answer
        self._clock = clock
        self._waiting: list[Question] = []
        self._shown_at = 0.0
        self._unread: list[str] = []
        self._choices: list[Choice] = []
        self._line = ""
        """What the line that is typed next is for: `tell`, `edit`, or a free answer; empty for a number."""
        self._edited: str | None = None
        self._rule = ""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def prompt(self) -> str:
        """What stands before the answer."""
        match self._line:
            case "tell":
                return "why: " if self._reviews and not self._plans else "tell the model why: "
            case "edit" if self._plans:
                return "the steps instead, with ; between them: "
            case "edit":
                return "the summary instead: " if self._reviews else "the command to run instead: "
            case "free":
                return "answer: "
            case _:
                return f"answer, 1 to {len(self._choices)}: "

    @property
    def _reviews(self) -> bool:
        """Is it a summary or a plan that waits?"""
        return bool(self._waiting) and self._waiting[0].kind in ("review", "plan")

    @property
    def _plans(self) -> bool:
        """Is it a plan that waits?"""
        return bool(self._waiting) and self._waiting[0].kind == "plan"

    def ask(self, question: Question) -> None:
        """A question waits."""
        self._waiting.append(question)
        if len(self._waiting) == 1:
            self._show()

    def settle(self, question: str) -> None:
        """A question does not wait any more."""
        first = self._waiting[0] if self._waiting else None
        self._waiting = [waiting for waiting in self._waiting if waiting.id != question]
        if self._waiting and self._waiting[0] is not first:
            self._show()

    def repeat(self) -> None:
        """Write the question again."""
        if self._waiting:
            self._show()

    def take(self, line: str) -> None:
        """A line was typed."""
        if self._clock() - self._shown_at < _TOO_SOON_S:
            self._voice.say("that was typed before the question was there; please answer it now", "note")
            return
        text = line.strip()
        if self._line:
            self._take_words(text)
        elif text.isascii() and text.isdigit() and 1 <= int(text) <= len(self._choices):
            self._choose(*self._choices[int(text) - 1])
        else:
            self._voice.say(
                f"nothing was answered: a number from 1 to {len(self._choices)} answers, /again repeats the question",
                "note",
            )

    # --- what is asked

    def _show(self) -> None:
        question = self._waiting[0]
        self._shown_at = self._clock()
        self._line, self._edited, self._rule = "", None, question.rule
        place = f" (1 of {len(self._waiting)})" if len(self._waiting) > 1 else ""
        self._voice.say(f"{_what(question)}{place}", "question")
        body = question.body.rstrip()
        if self._reviews:
            body = f"{body}\n\n{question.editable.rstrip()}".strip()
        self._unread = change(question.diff) if question.diff else body.split("\n") if body else []
        self._read_on()
        if question.warning:
            self._voice.say(question.warning, "warning")
        if question.kind in ("approval", "agree"):
            if question.place:
                self._voice.say(f"in {words.short_path(question.place)}")
            self._offer(self._ways())
        elif question.kind == "choice":
            self._offer([("say", choice) for choice in question.choices])
        elif self._reviews:
            self._offer(self._ways())
        else:
            self._line = "free"

    def _read_on(self) -> None:
        page, self._unread = self._unread[:PAGE], self._unread[PAGE:]
        for line in page:
            self._voice.say(f"| {line}")
        if self._unread:
            self._voice.say(count(len(self._unread), "more line follows", "more lines follow"), "note")

    def _ways(self) -> list[Choice]:
        question = self._waiting[0]
        ways: list[Choice] = (
            [("read", f"read on, {count(len(self._unread), 'line', 'lines')}")] if self._unread else []
        )
        if self._plans:
            auto = "edit files of the workspace without asking"
            follows = [("ask", "ask before each change"), ("auto-edit", auto)]
            if question.rule == "auto-edit":
                follows.reverse()
            ways += [(mode, f"accept it, then {said}") for mode, said in follows]
            ways.append(("edit", "put other steps in place of these"))
            return [*ways, ("no", "reject it"), ("tell", "reject it, and say why")]
        if self._reviews:
            ways += [("once", "accept it"), ("edit", "put other words in its place")]
            return [*ways, ("no", "discard it"), ("tell", "discard it, and say why")]
        if question.kind == "agree":
            return [*ways, ("once", "yes, and do not ask again"), ("no", "no")]
        ways.append(("once", "yes, once"))
        if self._rule and not question.warning and self._edited is None:
            ways.append(("rule", f"yes, and write a rule that allows its like: {self._rule}"))
        ways += [("no", "no"), ("tell", "no, and tell the model why")]
        if question.editable:
            ways.append(("edit", "edit it first"))
        return ways

    def _offer(self, choices: list[Choice]) -> None:
        self._line = ""
        self._choices = choices
        for number, (_, said) in enumerate(choices, 1):
            self._voice.say(f"{number} {said}")

    # --- what is answered

    def _choose(self, way: str, said: str) -> None:
        match way:
            case "once" | "rule" if self._unread and not self._waiting[0].diff and not self._reviews:
                self._voice.say("there is more of it: read it to its end first", "note")
            case "once":
                self._settle(Answer("once", edited=self._edited))
            case "rule":
                self._voice.say(f"from now on without asking: {self._rule}", "rule")
                scopes = [("session", "yes, in this session"), ("always", "yes, in every session (settings)")]
                self._offer([*scopes, ("back", "back")])
            case "ask" | "auto-edit":
                self._settle(Answer("once", rule=way, edited=self._edited))
            case "session":
                self._settle(Answer("session", rule=self._rule))
            case "always":
                self._settle(Answer("always", rule=self._rule))
            case "no":
                self._settle(Answer("no"))
            case "tell" | "edit":
                self._line = way
            case "say":
                self._settle(Answer("answer", note=said))
            case "read":
                self._read_on()
                self._offer(self._ways())
            case _:
                self._offer(self._ways())

    def _take_words(self, text: str) -> None:
        if not text:
            self._voice.say("nothing was answered: the line is empty", "note")
        elif self._line == "tell":
            self._settle(Answer("no", note=text))
        elif self._line == "edit":
            self._edited = _with_steps(self._waiting[0].editable, text) if self._plans else text
            self._voice.say(self._edited, "it would read" if self._reviews else "it would run")
            self._offer(self._ways())
        else:
            self._settle(Answer("answer", note=text))

    def _settle(self, answer: Answer) -> None:
        question = self._waiting.pop(0)
        self._line = ""
        self._voice.say({"no": "no", "answer": answer.note}.get(answer.verdict, "yes"), "answered")
        self._answer(question.id, answer)
        if self._waiting:
            self._show()


def _with_steps(plan: str, steps: str) -> str:
    """The plan with other steps."""
    from tui_agent.planning.plan import Plan  # not needed before a plan is edited

    wanted = tuple(step.strip() for step in steps.split(";") if step.strip())
    return replace(Plan.read(plan), steps=wanted).document()


def _what(question: Question) -> str:
    if question.kind != "approval":
        return question.title
    return f"may {literal.one_line(question.tool, _NAME)} do this?" if question.tool else question.title
