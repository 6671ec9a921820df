"""What a compactor asks of the session around it: who may be asked, what settings say, who must be told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from tui_agent.compaction.hooks import Hooks
    from tui_agent.compaction.policy import Policy
    from tui_agent.compaction.strategy import Compaction, Model
    from tui_agent.events import Answer, Emit, Question
    from tui_agent.settings.schema import Price


class Fresh(Struct, frozen=True):
    """Prompt and tools as they would be written now, None where the log has the same; `words` say what differs."""

    prompt: Mapping[str, Any] | None = None
    tools: Mapping[str, Any] | None = None
    words: tuple[str, ...] = ()


class Around(Struct, frozen=True):
    """What a compactor asks of the session around it, each time it needs it.

    `model` is whom a strategy may ask, and is told where stages go; `window` is in tokens, and `guessed` says that
    nobody has told it. `ask` puts a question to a
    person; None: nobody is there. `spawn` runs something beside, under a name. `settled` is told of a rewrite that is
    in force, before the events.
    """

    policy: Callable[[], Policy]
    model: Callable[[Emit], Model]
    window: Callable[[], int]
    thinking: Callable[[], Mapping[str, Any] | None]
    strategy: Callable[[str], Compaction]
    hooks: Callable[[], Hooks]
    fresh: Callable[[], Awaitable[Fresh]]
    price: Callable[[], Price | None]
    settled: Callable[[], Awaitable[None]]
    spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
    ask: Callable[[Question], Awaitable[Answer]] | None = None
    guessed: Callable[[], bool] = lambda: False
