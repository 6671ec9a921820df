"""Who answers: the model in force, and the one that was chosen for the next turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from tui_agent.llm.provider import Provider


class Chosen(Struct, frozen=True):
    """A model to ask: the provider, the profile it came from and its thinking setting."""

    provider: Provider
    profile: str
    thinking: str
    demo: bool


class Speaker:
    """Holds the model in force and closes providers that nobody asks any more. `adopted` is told of another one."""

    def __init__(self, chosen: Chosen, adopted: Callable[[Chosen], None]) -> None:
        self.now = chosen
        self.next: Chosen | None = None
        self._adopted = adopted

    async def choose(self, chosen: Awaitable[Chosen]) -> Chosen:
        """Let another model answer once it is adopted; one that was chosen before and never asked is closed."""
        fresh = await chosen
        passed_over, self.next = self.next, fresh
        if passed_over is not None and passed_over.provider is not self.now.provider:
            await passed_over.provider.close()
        return fresh

    def think(self, level: str) -> None:
        """Let the model think so much once that is adopted."""
        self.next = replace(self.next or self.now, thinking=level)

    async def adopt(self) -> None:
        """From now on the model that was chosen answers, if one was."""
        chosen, self.next = self.next, None
        if chosen is None:
            return
        old, self.now = self.now, chosen
        self._adopted(chosen)
        if old.provider is not chosen.provider:
            await old.provider.close()

    async def close(self) -> None:
        """Close every provider."""
        for chosen in (self.now, self.next):
            if chosen is not None:
                await chosen.provider.close()
