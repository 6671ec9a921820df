"""Who may say no to a compaction: a hook before it, a person at a review, or where nothing else is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tui_agent.compaction.making import ANSWER_TOKENS, Skipped, summary_body
from tui_agent.events import Notice, Question
from tui_agent.messages.tokens import Estimator

if TYPE_CHECKING:
    from tui_agent.compaction.around import Around
    from tui_agent.compaction.making import Look, Made, Wanted
    from tui_agent.context import Context
    from tui_agent.events import Emit

UNREAD = (
    "compaction.review is on, but nobody is there to read the summary: it is put in force unread "
    "(tui-agent context summary shows it, tui-agent context undo takes it back)"
)
"""What is said where nobody can be asked."""
_MAKE, _LEAVE = "summarise without a model", "leave everything as it is"


class Consent:
    """Asks for one log. `say` tells what is waited for."""

    def __init__(self, context: Context, around: Around, emit: Emit, say: Callable[[str], None]) -> None:
        self._context = context
        self._around = around
        self._emit = emit
        self._say = say

    async def of_hook(self, wanted: Wanted, name: str) -> None:
        """Ask the hook, if there is one.

        Raises:
            Skipped: it said no.
        """
        hooks = self._around.hooks()
        if not hooks.has("pre_compact"):
            return
        self._say("asking the pre_compact hook")
        verdict = await hooks.before(
            {
                "trigger": wanted.trigger,
                "strategy": name,
                "instruction": wanted.instruction,
                "tokens": self._context.weigh().total,
                "session": str(self._context.path.parent),
            }
        )
        if verdict.notice:
            self._emit(Notice(verdict.notice, "warning", "compaction"))
        if verdict.blocked:
            raise Skipped("hook", f"the pre_compact hook said no: {verdict.blocked}")

    async def to_fall_back(self, wanted: Wanted, found: Look, error: Exception) -> bool:
        """True if a summary without a model is to be made: the next request cannot be sent otherwise."""
        window = wanted.window or self._around.window()
        if wanted.trigger != "overflow" and found.weight.total + ANSWER_TOKENS <= window:
            return False
        ask = self._around.ask
        if ask is None or self._around.policy().settings.fallback == "extractive":
            self._emit(Notice(f"{error}; a summary without a model is made instead", "warning", "compaction"))
            return True
        self._say("waiting for your answer")
        answer = await ask(
            Question(
                "",
                "choice",
                "The summary failed, and without one the next request does not fit the model's window",
                str(error),
                choices=(_MAKE, _LEAVE),
            )
        )
        return answer.note == _MAKE

    async def to_summary(self, found: Made) -> Made:
        """The summary as a person accepted it.

        Raises:
            Skipped: they did not.
        """
        ask = self._around.ask
        if not self._around.policy().settings.review:
            return found
        if ask is None:
            self._emit(Notice(UNREAD, "warning", "compaction"))
            return found
        self._say("waiting for your review")
        retained = found.look.retained
        body = [f"It stands for {len(retained.replaced)} messages of {retained.tokens.count:,} tokens."]
        body += [f"Word for word stay: {', '.join(retained.words())}."] if retained.kept else []
        body += [f"Doubtful: {doubt}" for doubt in found.doubts]
        # it may have been made ahead of time, for less than there is now
        weight = self._context.weigh()
        sign = "" if weight.mark == "exact" else "~"
        after = found.after + weight.total - found.look.weight.total
        title = f"Compact from {sign}{weight.total:,} to about {after:,} tokens with this summary?"
        most = self._around.policy().summary_most(self._around.window())
        answer = await ask(Question("", "review", title, "\n".join(body), editable=found.text, most=most))
        if answer.verdict != "once":
            raise Skipped("declined", answer.note or "the summary was discarded at the review")
        text = (answer.edited or "").strip()
        return await asyncio.to_thread(self._edited, found, text) if text else found

    def _edited(self, found: Made, text: str) -> Made:
        """The summary as it was written anew, with the weight that it has so."""
        count = Estimator(self._context.model, factor=self._context.factor).count
        return replace(found, text=text, tokens=count(summary_body(text, found.look.ledger)["content"]))
