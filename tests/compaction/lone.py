"""Compaction of a log alone, without a session around it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tui_agent.compaction.around import Around, Fresh
from tui_agent.compaction.budget import Budget, Room
from tui_agent.compaction.compactor import Compactor
from tui_agent.compaction.extractive import Extractive
from tui_agent.compaction.hooks import Hooks
from tui_agent.compaction.micro import Micro
from tui_agent.compaction.policy import Policy
from tui_agent.compaction.relief import Relief
from tui_agent.events import Event
from tui_agent.settings.schema import Compaction as Keys
from tui_agent.settings.schema import Hooks as Commands

if TYPE_CHECKING:
    from tui_agent.compaction.strategy import Compaction, Model
    from tui_agent.context import Context
    from tui_agent.events import Emit

E = TypeVar("E", bound=Event)


class Alone:
    """A compactor with a strategy, and when it is due by itself; `heard` is what happened."""

    def __init__(
        self, context: Context, model: Model, *, strategy: Compaction | None = None, keys: Keys | None = None
    ) -> None:
        self.heard: list[Event] = []
        chosen, settings = strategy or Extractive(), keys or Keys(ahead="off")
        around = _around(model, chosen, settings)
        self.compactor = Compactor(
            context=context, around=around, gate=asyncio.Lock(), emit=self.heard.append
        )
        self.relief = Relief(
            context=context,
            compactor=self.compactor,
            micro=Micro(context=context, policy=around.policy, emit=self.heard.append),
            around=around,
            emit=self.heard.append,
            budget=Budget(context=context, policy=around.policy, emit=self.heard.append),
            room=lambda: Room(around.window(), around.window()),
            run=self.compactor.compact,
            free=lambda: False,
        )

    def all(self, kind: type[E]) -> list[E]:
        """What happened of a kind."""
        return [event for event in self.heard if isinstance(event, kind)]


def _around(model: Model, strategy: Compaction, keys: Keys) -> Around:
    async def fresh() -> Fresh:
        return Fresh()

    async def settled() -> None:
        """Nobody has to be told."""

    def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=name)

    def asked(emit: Emit) -> Model:
        return model

    return Around(
        policy=lambda: Policy(keys),
        model=asked,
        window=lambda: model.window,
        thinking=lambda: None,
        strategy=lambda name: Extractive() if name == Extractive.name else strategy,
        hooks=lambda: Hooks(Commands(), Path()),
        fresh=fresh,
        price=lambda: None,
        settled=settled,
        spawn=spawn,
    )
