"""The request that a log stands for now, and the weight of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.llm.models import thinking
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.assembler import Assembler, DoesNotFit, Limits
from tui_agent.prompt.books import LogBooks
from tui_agent.prompt.manifest import Item, Manifest, Total
from tui_agent.prompt.system import pieces

if TYPE_CHECKING:
    from tui_agent.context import Context
    from tui_agent.context.reading import Shown
    from tui_agent.llm.provider import Provider
    from tui_agent.messages.request import Request
    from tui_agent.prompt.system import Layer


def limits_of(provider: Provider, level: str) -> Limits:
    """What a provider's model takes, with the thinking parameter for a level of the settings."""
    model, longest = provider.model, provider.max_output_tokens
    thought = thinking(level, model, longest)
    return Limits(model, provider.window, longest, thought, provider.guessed)


def assemble(
    context: Context,
    limits: Limits,
    *,
    layers: Sequence[Layer] = (),
    tools: Sequence[Mapping[str, Any]] = (),
    unsent: Callable[[], Iterable[Item]] = tuple,
    last: Request | None = None,
) -> tuple[Request, Manifest]:
    """The request the log stands for, under these limits. `layers` and `tools` stand in for those a new log lacks.

    `unsent` gives the injections that were due and left out. What is as it was in the `last` request is not made anew.

    Raises:
        DoesNotFit: it does not fit the window.
    """
    new = context.system_prompt is None
    total = total_of(context)
    if new and (more := lacking(context, layers, tools)):
        total = Total(total.count + more, total.exact, total.pending + more, "estimated")
    try:
        return Assembler(limits, Estimator(limits.model, factor=context.factor)).build(
            system=[text_block(piece) for piece in pieces(layers)] if new else context.system_blocks,
            tools=tools if context.tools is None else context.tools,
            history=context.history,
            total=total,
            books=LogBooks(context, layers=layers, unsent=unsent),
            last=last,
        )
    except DoesNotFit as refused:
        from tui_agent.agent.ways import ways_out  # not needed while requests fit

        raise DoesNotFit(refused.manifest, ways_out(context, total.count, limits.most)) from None


def lacking(context: Context, layers: Sequence[Layer], tools: Sequence[Mapping[str, Any]]) -> int:
    """The estimated tokens of what a log without a prompt will be given first."""
    estimator = Estimator(context.model)
    system = sum(estimator.count(piece) for piece in pieces(layers))
    return system + (estimator.count(tools) if context.tools is None else 0)


def total_of(context: Shown) -> Total:
    """The weight of the next request as the log accounts for it."""
    weight = context.weigh()
    return Total(weight.total, weight.exact, weight.pending, weight.mark)
