"""The tools of a session, and how they are offered to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

from tui_agent.tools.tool import Tool, definition


@runtime_checkable
class Closing(Protocol):
    """A tool that holds something beyond a call."""

    async def close(self) -> None:
        """Give it back."""
        ...


class Toolbox:
    """Tools by name, in the order they were given.

    Raises:
        ValueError: two have the same name.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def offer(self) -> list[dict[str, Any]]:
        """The definitions as the Messages API takes them, in one order always: the prompt cache begins with them."""
        return [definition(tool) for tool in self]

    async def close(self) -> None:
        """End what calls have left running. The session calls it once, when it closes."""
        for tool in self:
            if isinstance(tool, Closing):
                await tool.close()
