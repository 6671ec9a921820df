"""A compactor of a log alone, without a session around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.compaction.compactor import Around, Compactor, Fresh
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.hooks import Hooks
from tui_agent.compaction.policy import Policy
from tui_agent.settings.schema import Compaction as Keys
from tui_agent.settings.schema import Hooks as Commands

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Compaction, Model
    from tui_agent.context import Context
    from tui_agent.events import Emit, Event


def lone(
    context: Context,
    model: Model,
    *,
    strategy: Compaction | None = None,
    keys: Keys | None = None,
    emit: Callable[[Event], None] = lambda event: None,
) -> Compactor:
    """A compactor with this strategy (without one: extractive), whose model has the window."""
    settings, chosen = keys or Keys(), strategy or Extractive()

    async def fresh() -> Fresh:
        return Fresh()

    async def settled() -> None:
        """Nobody has to be told."""

    def spawn(work: Coroutine[Any, Any, None], name: str) -> object:
        return asyncio.create_task(work, name=name)

    def asked(emit: Emit) -> Model:
        return model

    around = Around(
        policy=lambda: Policy(settings),
        model=asked,
        window=lambda: model.window,
        thinking=lambda: None,
        strategy=lambda name: Extractive() if name == Extractive.name else chosen,
        hooks=lambda: Hooks(Commands(), Path()),
        fresh=fresh,
        price=lambda: None,
        settled=settled,
        spawn=spawn,
    )
    return Compactor(context=context, around=around, gate=asyncio.Lock(), emit=emit)
