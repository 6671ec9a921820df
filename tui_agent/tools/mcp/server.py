"""One MCP server over the time of a session: started when it is needed, and again when it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tui_agent.tools.mcp import listing, offers
from tui_agent.tools.mcp.link import Connection, Late, ServerError
from tui_agent.tools.mcp.offers import Offers

if TYPE_CHECKING:
    import mcp

    from tui_agent.tools.mcp.config import Spec
    from tui_agent.tools.mcp.content import Given
    from tui_agent.tools.mcp.listing import Listed
    from tui_agent.tools.mcp.loop import Loop
    from tui_agent.tools.tool import Progress

State = Literal["disabled", "misconfigured", "not agreed", "not started", "starting", "running", "failed"]

T = TypeVar("T")

MOST_FAILURES = 3
"""A server that was lost so often without a call that worked is not started again by itself."""
RELIST_SECONDS = 1.0
"""A server that says all the time that its tools are others is asked for them once in so long."""
PACKAGE = "mcp"
MISSING = "the mcp package is not installed: pip install 'tui-agent[mcp]'"


class Server:
    """One server. `tools` are those it listed last, or those that were kept of it, and `offers` is what it has besides;
    `error` is what went wrong last.

    `call`, `ask`, `start`, `again` and `close` may be called from any loop: what they do happens in `loop`. `changed`
    is called there when its tools or prompts are others than before.
    """

    def __init__(
        self, spec: Spec, loop: Loop, folder: Path, changed: Callable[[Server, str], None], *, agreed: bool
    ) -> None:
        self.spec = spec
        self.enabled = spec.enabled
        self.agreed = agreed
        self.error = spec.fault
        kept = None if spec.fault else listing.load(folder, spec.key)
        besides = None if spec.fault else offers.load(folder, spec.key)
        self.known = kept is not None
        """Whether it ever told what it can do."""
        self.complete = self.known and besides is not None
        """Whether it told what it has besides, too."""
        self.tools: tuple[Listed, ...] = tuple(listing.wanted(kept or (), spec))
        self.offers = besides or Offers()
        self.log = folder / "logs" / f"{listing.part(spec.name)}-{spec.key[:8]}.log"
        self._loop = loop
        self._folder = folder
        self._changed = changed
        self._connection: Connection | None = None
        self._starting = False
        self._doubtful = False
        self._failures = 0
        self._lock: asyncio.Lock | None = None
        self._outdated = False
        self._relisting: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        """Whether its tools may be offered and called."""
        return self.enabled and self.agreed and not self.spec.fault

    @property
    def state(self) -> State:
        """What there is to say of it."""
        if not self.enabled:
            return "disabled"
        if self.spec.fault:
            return "misconfigured"
        if not self.agreed:
            return "not agreed"
        if self._starting:
            return "starting"
        if self._connection is not None and not self._connection.lost:
            return "running"
        return "failed" if self.error else "not started"

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> Given:
        """Call a tool; the server is started first if it does not run.

        Raises:
            ServerError: it cannot be started, or does not answer as it should.
        """
        here = asyncio.get_running_loop()

        def tell(text: str) -> None:
            here.call_soon_threadsafe(progress, text)

        return await self._loop.run(self._ask(lambda one: one.call(tool, arguments, tell)))

    async def ask(self, work: Callable[[mcp.Client], Awaitable[T]]) -> T:
        """Ask it something else; the server is started first if it does not run.

        Raises:
            ServerError: it cannot be started, or does not answer as it should.
        """
        return await self._loop.run(self._ask(lambda one: one.ask(work)))

    async def start(self) -> None:
        """Start it if it does not run, and learn what it can do.

        Raises:
            ServerError: it cannot be started.
        """
        await self._loop.run(self._connected())

    async def again(self) -> None:
        """End it and start it anew, however often it failed.

        Raises:
            ServerError: it cannot be started.
        """
        await self.close()
        self._failures = 0
        await self.start()

    async def disable(self) -> None:
        """Do not use it any more."""
        self.enabled = False
        await self.close()

    async def close(self) -> None:
        """End it if it runs."""
        if self._loop.runs:
            await self._loop.run(self._close())

    async def _ask(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = await self._connected()
        try:
            given = await work(connection)
        except Late as error:
            self._doubtful = True
            raise self._failed(error) from error
        except ServerError as error:
            if connection.lost:
                self._failures += 1
            raise self._failed(error) from error
        self._failures = 0
        return given

    async def _connected(self) -> Connection:
        if not self.usable:
            raise ServerError(f"the MCP server {self.spec.name} is {self.state}: {self.error or 'see /mcp'}")
        if self._lock is None:
            self._lock = asyncio.Lock()
        async with self._lock:
            if self._doubtful and self._connection is not None and not await self._connection.answers():
                self._failures += 1
                await self._close_connection()
            self._doubtful = False
            if self._connection is not None and not self._connection.lost:
                return self._connection
            if self._failures >= MOST_FAILURES:
                name = self.spec.name
                raise ServerError(
                    f"the MCP server {name} failed {self._failures} times in a row and is not started again by "
                    f"itself ({self.error}); /mcp restart {name} tries again"
                )
            return await self._started()

    async def _started(self) -> Connection:
        await self._close_connection()
        if find_spec(PACKAGE) is None:
            raise self._failed(ServerError(MISSING))
        self._starting = True
        try:
            connection = self._connection = await self._opened()
            self._learn(await connection.tools(), await self._besides(connection))
        except ServerError as error:
            self._failures += 1
            await self._close_connection()
            raise self._failed(error, "cannot be started") from error
        except asyncio.CancelledError:
            await self._close_connection()
            raise
        finally:
            self._starting = False
        self.error = ""
        return connection

    async def _opened(self) -> Connection:
        """A connection; some programs end when they are asked for the newest protocol, and are greeted the old way."""
        connection = Connection(self.spec, self.log, self._other_tools)
        try:
            await connection.open()
        except ServerError:
            if not connection.ended_at_once:
                raise
            connection = Connection(self.spec, self.log, self._other_tools, "legacy")
            await connection.open()
        return connection

    async def _besides(self, connection: Connection) -> Offers:
        """What it has beside tools; one that does not say goes on with its tools alone."""
        seconds, resources, what = self.spec.start_timeout, False, "resources"
        try:
            resources, what = await connection.ask(offers.resourceful, seconds), "prompts"
            return Offers(resources, await connection.ask(offers.prompts, seconds))
        except ServerError as error:
            if connection.lost:
                raise
            return Offers(resources, fault=f"its {what} are not known: {error}")

    def _learn(self, tools: list[Listed], besides: Offers) -> None:
        found = tuple(listing.wanted(tools, self.spec))
        what = _difference(_named(self.tools, self.offers), _named(found, besides)) if self.known else ""
        if (found, besides) == (self.tools, self.offers) and self.complete:
            return
        self.tools, self.offers, self.known, self.complete = found, besides, True, True
        try:
            listing.save(self._folder, self.spec.key, tools)
            offers.save(self._folder, self.spec.key, besides)
        except OSError as error:
            what = f"{what}; the list could not be kept: {error.strerror}".removeprefix("; ")
        self._changed(self, what)

    def _other_tools(self) -> None:
        self._outdated = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        while self._outdated and self._connection is not None:
            self._outdated = False
            try:
                connection = self._connection
                self._learn(await connection.tools(), await self._besides(connection))
            except ServerError as error:
                self.error = str(error)
            await asyncio.sleep(RELIST_SECONDS)

    def _failed(self, error: ServerError, how: str = "failed") -> ServerError:
        self.error = str(error)
        return ServerError(f"the MCP server {self.spec.name} {how}: {error}")

    async def _close(self) -> None:
        await self._close_connection()
        self._doubtful = False

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _named(tools: tuple[Listed, ...], besides: Offers) -> dict[str, object]:
    """All that a server has, by its name."""
    found: dict[str, object] = {tool.name: tool for tool in tools}
    return found | {f"the prompt {prompt.name}": prompt for prompt in besides.prompts}


def _difference(old: dict[str, object], new: dict[str, object]) -> str:
    """What is different, in words."""
    parts = {
        "new": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts.items() if names)
