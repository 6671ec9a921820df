"""What waits for a person: asked once, answered once, gone when whoever asked is cancelled."""

from __future__ import annotations

import asyncio
import itertools
from contextvars import ContextVar

from msgspec.structs import replace

from tui_agent.events import Answer, Answered, Asked, Emit, Question

CALLING: ContextVar[str] = ContextVar("CALLING", default="")
"""The id of the tool call in whose course this runs: what it asks is asked for that call."""


class NoSuchQuestion(Exception):
    """There is no open question of that id: it was answered before, or what asked is gone."""


class Questions:
    """The questions of one session, oldest first."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._open: dict[str, tuple[Question, asyncio.Future[Answer]]] = {}
        self._ids = itertools.count(1)

    def open(self) -> list[Question]:
        """What waits, oldest first."""
        return [question for question, _ in self._open.values()]

    async def ask(self, question: Question) -> Answer:
        """Ask and wait. Cancelling this call withdraws the question (answer `dismissed`).

        It gets its id here, and the call that asks where it names none.
        """
        question = replace(question, id=f"q{next(self._ids)}", call=question.call or CALLING.get())
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.id] = (question, future)
        answer = Answer("dismissed")
        try:
            self._emit(Asked(question))
            answer = await future
        finally:
            del self._open[question.id]
            self._emit(Answered(question.id, answer))
        return answer

    def answer(self, identity: str, answer: Answer) -> None:
        """Settle a question.

        Raises:
            NoSuchQuestion: it is not open.
        """
        waiting = self._open.get(identity)
        if waiting is None or waiting[1].done():
            raise NoSuchQuestion(f"question {identity} is not open any more")
        waiting[1].set_result(answer)
