"""The tools of a session, and how they are offered to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tui_agent.tools.tool import Tool, definition

if TYPE_CHECKING:
    from tui_agent.tools.selection import Selection
    from tui_agent.tools.tool import Call


@runtime_checkable
class Closing(Protocol):
    """A tool that holds something beyond a call."""

    async def close(self) -> None:
        """Give it back."""
        ...


@runtime_checkable
class Standing(Protocol):
    """A tool whose call stands for one of another tool."""

    def stands_for(self, call: Call) -> Call:
        """The call of the other tool; the same call if there is none."""
        ...


class Served(Protocol):
    """Tools that come from elsewhere, and may be others later."""

    def tools(self) -> Sequence[Tool]:
        """Those there are now, always in one order."""
        ...

    async def close(self) -> None:
        """Give back what they hold."""
        ...


class Toolbox:
    """Tools by name: those of the program in the order they were given, then those that are served.

    Raises:
        ValueError: two have the same name.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        self._served: Served | None = None
        self._selection: Selection | None = None
        self._add(tools)

    def serve(self, served: Served, selection: Selection) -> None:
        """Offer tools that come from elsewhere too; `selection` decides which of them are described in full."""
        self._served, self._selection = served, selection
        self._add(selection.tools(self))

    def _add(self, tools: Iterable[Tool]) -> None:
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        yield from self._tools.values()
        yield from self.served

    @property
    def served(self) -> Sequence[Tool]:
        """The tools that come from elsewhere."""
        return self._served.tools() if self._served is not None else ()

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name) or next((tool for tool in self.served if tool.name == name), None)

    def resolve(self, call: Call) -> Call:
        """The call that is meant: itself, or that of the tool it stands for."""
        tool = self._tools.get(call.tool)
        return tool.stands_for(call) if isinstance(tool, Standing) else call

    def offer(self, *, anew: bool = False) -> list[dict[str, Any]]:
        """The definitions as the Messages API takes them: the prompt cache begins with them.

        In one order always, as long as the tools are the same; `anew`: at a moment when the cache begins anew anyway.
        """
        if self._selection is None:
            return [definition(tool) for tool in self]
        chosen = self._selection.choose(list(self._tools.values()), self.served, anew=anew)
        return [definition(tool) for tool in chosen]

    async def close(self) -> None:
        """End what calls have left running. The session calls it once, when it closes."""
        for tool in self._tools.values():
            if isinstance(tool, Closing):
                await tool.close()
        if self._served is not None:
            await self._served.close()
