"""May this call run? The mode and rules decide; where they do not, a person does.

Every call of every tool comes through here, so that in plan mode none writes: not by a rule, not by an answer that was
given before the mode changed, not by a command that a person edited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui_agent.events import Emit, Notice, Question
from tui_agent.tools.permission import barred

if TYPE_CHECKING:
    from tui_agent.agent.questions import Questions
    from tui_agent.tools.permission import Mode, Rules
    from tui_agent.tools.tool import Need, Tool

_VERBS = {
    "read": "read this?",
    "write": "make this change?",
    "run": "run this command?",
    "none": "allow this?",
}

_PLANNING = "plan mode is on, and nothing may be written"
_INSTEAD = (
    "Look with read_file, glob, grep and commands that only read; "
    "when you know what is to be done, call present_plan"
)


class Permit(Struct, frozen=True):
    """The decision. `note` is what the model is told with a refusal; `edited` replaces the editable argument."""

    allowed: bool
    note: str = ""
    edited: str | None = None
    by: Literal["rule", "person", "nobody", "mode"] = "rule"


class Approvals:
    """Decides calls one at a time, in the order they come, so that one card waits and the next knows its answer.

    `mode` says which mode is in force. `save` writes a rule into settings; it may raise OSError, then the rule holds
    for this session and a notice says so.
    """

    def __init__(
        self,
        rules: Rules,
        questions: Questions,
        *,
        mode: Callable[[], Mode],
        save: Callable[[str], Awaitable[None]],
        emit: Emit,
    ) -> None:
        self._rules = rules
        self._questions = questions
        self._mode = mode
        self._save = save
        self._emit = emit
        self._turn = asyncio.Lock()

    async def permit(self, tool: Tool, need: Need, call: str) -> Permit:
        """Allow or refuse a call, asking if the rules leave it open."""
        async with self._turn:
            if (refused := await self.barred(tool, need)) is not None:
                return refused
            mode = self._mode()
            # what plan mode does not bar is judged as without it
            decision = self._rules.decide(tool, need, mode if mode != "plan" else "ask")
            if decision == "allow":
                return Permit(True)
            if decision == "deny":
                return Permit(False, "a rule in settings forbids this call")
            permit = await self._ask(tool, need, call)
            # the mode may be another one since the question was asked
            return (await self.barred(tool, need) if permit.allowed else None) or permit

    async def barred(self, tool: Tool, need: Need) -> Permit | None:
        """The refusal of what the mode bars, whoever allows it; None if it does not. May read files."""
        why = await asyncio.to_thread(barred, tool, need) if self._mode() == "plan" else ""
        return Permit(False, f"{_PLANNING}: {why}. {_INSTEAD}", by="mode") if why else None

    async def _ask(self, tool: Tool, need: Need, call: str) -> Permit:
        answer = await self._questions.ask(
            Question(
                id="",
                kind="approval",
                title=need.question or _VERBS[need.kind],
                body=need.body or need.command or need.title,
                tool=tool.name,
                call=call,
                rule=need.rule,
                place=need.place,
                warning=need.warning,
                diff=need.diff,
                editable=need.editable,
            )
        )
        if answer.verdict == "no":
            return Permit(False, answer.note, by="person")
        if answer.verdict == "dismissed":
            return Permit(False, answer.note or "nobody answered", by="nobody")
        rule = answer.rule or need.rule
        if answer.verdict in ("session", "always") and rule:
            await self._remember(rule, lasting=answer.verdict == "always")
        return Permit(True, edited=answer.edited, by="person")

    async def _remember(self, rule: str, *, lasting: bool) -> None:
        try:
            self._rules.remember(rule, "settings" if lasting else "session")
        except ValueError as error:
            self._emit(Notice(f"the rule {rule!r} was not kept: {error}", "warning", "approvals"))
            return
        if not lasting:
            return
        try:
            await self._save(rule)
        except OSError as error:
            self._emit(
                Notice(
                    f"the rule {rule!r} holds for this session, but settings could not be written: "
                    f"{error.strerror or error}",
                    "warning",
                    "approvals",
                )
            )
