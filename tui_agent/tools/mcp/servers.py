"""The MCP servers of a session: which may be used, what they offer, and that all of them end with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from tui_agent.events import Answer, Emit, Notice, Question
from tui_agent.tools.mcp import config, listing, resources
from tui_agent.tools.mcp.link import ServerError
from tui_agent.tools.mcp.loop import Loop
from tui_agent.tools.mcp.prompts import Called, ServerPrompt
from tui_agent.tools.mcp.server import Server
from tui_agent.tools.mcp.tool import McpTool

if TYPE_CHECKING:
    from tui_agent.tools.mcp.config import Configured
    from tui_agent.tools.mcp.listing import Listed
    from tui_agent.tools.tool import Tool

_State = list[tuple[bool, "tuple[Listed, ...]", bool]]
"""Of each server whether it may be used, what it listed, and whether it has resources."""

_KEPT = 20

SOURCE = "mcp"
"""Where notices about servers come from."""

SOON_SECONDS = 1.0
"""A wait that takes longer is told."""
FIRST_SECONDS = 20.0
"""A first message waits so long for servers that were never asked what they offer."""


class Servers:
    """The servers of one session. They are not started before one of their tools is called.

    Only a server that was never asked what it offers is started by `begin`. `ask` puts a question to a person; None:
    nobody is there. `always`: what a workspace names is started without asking.
    """

    def __init__(
        self,
        found: Configured,
        emit: Emit,
        *,
        ask: Callable[[Question], Awaitable[Answer]] | None = None,
        always: bool = False,
    ) -> None:
        self._found = found
        self._emit = emit
        self._ask = ask
        self._loop = Loop()
        self._parts = listing.parts(spec.name for spec in found.specs)
        self._home: asyncio.AbstractEventLoop | None = None
        self._made: tuple[_State, Sequence[Tool]] = ([], ())
        self.called: deque[Called] = deque(maxlen=_KEPT)
        """The prompts that a person called last, with their texts."""
        self._learning: set[asyncio.Task[None]] = set()
        agreed = always or (bool(found.digest) and config.is_agreed(found.digest))
        self.all: tuple[Server, ...] = tuple(
            Server(
                spec,
                self._loop,
                config.folder(),
                self._changed,
                agreed=agreed or spec.origin == "settings",
            )
            for spec in found.specs
        )

    def tools(self) -> Sequence[Tool]:
        """The tools of every server that may be used, as far as they are known, and those for their resources."""
        state = [(server.usable, server.tools, server.offers.resources) for server in self.all]
        known, made = self._made
        if state != known:
            made = self._make()
            self._made = state, made
        return made

    def _make(self) -> list[Tool]:
        listed = [(server, tool) for server in self.all if server.usable for tool in server.tools]
        listed = [(server, tool) for server, tool in listed if not tool.fault]
        names = listing.names((self._parts[server.spec.name], tool.name) for server, tool in listed)
        made = [McpTool(name, server, tool) for name, (server, tool) in zip(names, listed, strict=True)]
        return [*made, *resources.tools(self._resourceful(), self._resourceful)]

    def _resourceful(self) -> list[Server]:
        """The servers that have resources."""
        return [server for server in self.all if server.usable and server.offers.resources]

    def tools_of(self, server: Server) -> Sequence[McpTool]:
        """The tools of one server."""
        return [tool for tool in self.tools() if isinstance(tool, McpTool) and tool.server is server]

    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of every server that may be used, as far as they are known; the first of a name."""
        found: dict[str, ServerPrompt] = {}
        for server in self.all:
            for one in server.offers.prompts if server.usable else ():
                prompt = ServerPrompt(self._parts[server.spec.name], server, one)
                found.setdefault(prompt.name.casefold(), prompt)
        return tuple(found.values())

    async def prompt(self, name: str) -> ServerPrompt | None:
        """The prompt of that name, however it is written; None if there is none.

        Servers that are being asked what they offer are waited for, but not long.
        """
        wanted = name.casefold()
        if ":" in name:
            await self.settled()
        return next((one for one in self.prompts() if one.name.casefold() == wanted), None)

    async def enable(self, server: Server) -> None:
        """Use a server that was not, after asking where that is still to be agreed to."""
        server.enabled = True
        if not server.agreed:
            await self._agree([server])
        elif server.usable and not server.complete:
            self._learn([server])

    def find(self, name: str) -> Server | None:
        """The server of that name, or None."""
        return next((server for server in self.all if server.spec.name == name), None)

    async def begin(self) -> None:
        """Say what is wrong, ask what has to be asked, and learn what servers offer that were never asked."""
        self._home = asyncio.get_running_loop()
        self._say_faults()
        self._learn([server for server in self.all if server.usable and not server.complete])
        await self._agree([server for server in self.all if server.enabled])

    @property
    def asks(self) -> bool:
        """True while servers are asked what they offer that were never asked before."""
        return bool(self._learning)

    async def learned(self) -> None:
        """Wait for what is being learned, however long."""
        while self._learning:
            await asyncio.wait(tuple(self._learning))

    async def settled(self) -> None:
        """Wait for what is being learned, but not long."""
        for seconds, words in (
            (SOON_SECONDS, "asked what it offers before your words are sent"),
            (FIRST_SECONDS, "not ready yet; its tools come when it is"),
        ):
            if not self._learning:
                return
            _, late = await asyncio.wait(tuple(self._learning), timeout=seconds)
            for task in late:
                self._notice(f"{task.get_name()} is {words}")

    async def close(self) -> None:
        """End every server with its children."""
        for task in tuple(self._learning):
            task.cancel()
        await asyncio.gather(*self._learning, return_exceptions=True)
        if self._loop.runs:
            await asyncio.gather(*(server.close() for server in self.all))
            await self._loop.stop()

    def _learn(self, servers: Sequence[Server]) -> None:
        for server in servers:
            task = asyncio.create_task(self._start(server), name=f"the MCP server {server.spec.name}")
            self._learning.add(task)
            task.add_done_callback(self._learning.discard)

    async def _start(self, server: Server) -> None:
        try:
            await server.start()
        except ServerError as error:
            self._notice(str(error), "warning")
            return
        left_out = [f"{tool.name} ({tool.fault})" for tool in server.tools if tool.fault]
        if left_out:
            self._notice(f"the MCP server {server.spec.name}: not offered: {', '.join(left_out)}", "warning")

    def _say_faults(self) -> None:
        for fault in self._found.faults:
            self._notice(fault, "warning")
        for server in self.all:
            if server.enabled and server.spec.fault:
                self._notice(
                    f"the MCP server {server.spec.name} cannot be used: {server.spec.fault}", "warning"
                )

    async def _agree(self, servers: Sequence[Server]) -> None:
        waiting = [server for server in servers if not server.agreed and not server.spec.fault]
        if not waiting:
            return
        names = ", ".join(server.spec.name for server in waiting)
        if self._ask is None:
            self._notice(
                f"the MCP servers of {self._found.file} are not started ({names}): nobody is there to agree. Agree "
                'once on the screen, or set mcp.workspace = "always" in settings',
                "warning",
            )
            return
        answer = await self._ask(
            Question(
                id="",
                kind="agree",
                title="use the MCP servers that this workspace names?",
                body="\n".join(f"{server.spec.name}: {server.spec.written}" for server in waiting),
                place=str(self._found.file),
                warning="they run on this machine with your rights, and see what they are called with",
            )
        )
        if answer.verdict != "once":
            if answer.verdict == "no":
                self._notice(f"not used in this session: {names}")
            return
        for server in waiting:
            server.agreed = True
        self._learn([server for server in waiting if not server.complete])
        await asyncio.to_thread(self._remember)

    def _remember(self) -> None:
        try:
            config.agree(self._found)
        except OSError as error:
            self._notice(f"the agreement holds for this session alone: {error.strerror}", "warning")

    def _changed(self, server: Server, what: str) -> None:
        """Called in the loop of the servers."""
        if what and self._home is not None:
            text = f"the tools of the MCP server {server.spec.name} have changed: {what}"
            self._home.call_soon_threadsafe(self._notice, text)

    def _notice(self, text: str, level: str = "info") -> None:
        self._emit(Notice(text, "warning" if level == "warning" else "info", SOURCE))
