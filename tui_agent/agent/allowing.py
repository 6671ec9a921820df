"""Whether the words of a goal fit the model's window beside the prompt and the tools, said before the goal is set.

They are sent with every request for as long as the goal is worked on; what they leave has to be enough for the work.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from tui_agent.agent.building import limits_of
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Estimator
from tui_agent.planning import briefing
from tui_agent.planning.goal import GoalError, State

if TYPE_CHECKING:
    from tui_agent.agent.session import Session

_WORK_TOKENS = 1_024
"""Room for the work of a turn: a summary, a call and its result, how far the goal is."""
_DOUBT = 1.1
"""Estimates may be so much too low while the endpoint has counted nothing."""
_STEP_CHARACTERS = 100
"""A length that would do is said in steps of so many."""


class _Sizes(Struct, frozen=True):
    """In tokens: the words of a goal, prompt and tools beside them, the model's window, what a request may weigh at
    all, and the weight at which the history is summarised."""

    words: int
    floor: int
    window: int
    most: int
    due: int


async def allowed(session: Session, text: str, before: str = "") -> str:
    """What a person should know of a goal of these words, "" where there is room enough for the work on it.

    Fewer words than those of the goal `before` are never refused.

    Raises:
        GoalError: there is not; says how long it may be, and the ways out.
    """
    sizes = await asyncio.to_thread(_sizes, session, text)
    left = sizes.most - sizes.floor - _WORK_TOKENS
    if sizes.words > left and len(text) >= len(before):
        raise GoalError(_too_long(sizes, text, left))
    if sizes.floor + sizes.words + _WORK_TOKENS <= sizes.due:
        return ""
    return (
        f"it is about {sizes.words:,} tokens, and {sizes.floor:,} are prompt and tools: in a window of "
        f"{sizes.window:,} there is little room beside them, so the conversation is summarised often"
    )


def _sizes(session: Session, text: str) -> _Sizes:
    context, limits = session.context, limits_of(session.provider, session.thinking)
    told = briefing.opening(State(text))
    words = Estimator(context.model).weigh(text_block(told)) * context.factor
    known = context.system_tokens.count + context.tools_tokens.count + max(0, context.unattributed)
    doubt = 1.0 if context.weigh().exact else _DOUBT
    return _Sizes(
        words=round(words * doubt),
        floor=round((known + session.premises.lacking()) * doubt),
        window=limits.window,
        most=limits.most,
        due=session.shrinking.due[1],
    )


def _too_long(sizes: _Sizes, text: str, left: int) -> str:
    about = (
        f"the goal does not fit: it is about {sizes.words:,} tokens and stays in every request, beside about "
        f"{sizes.floor:,} of prompt and tools, and of the model's window of {sizes.window:,} the work and the answer "
        "need some too"
    )
    length = len(text) * max(0, left) // sizes.words // _STEP_CHARACTERS * _STEP_CHARACTERS
    shorter = (
        f"say it in about {length:,} characters, put the rest into a file and name that in the goal"
        if length
        else "shorten the instruction files or offer fewer tools (/context shows what weighs)"
    )
    return f"{about}. Use a model with a larger window (/model), or {shorter}"
