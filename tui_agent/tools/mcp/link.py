"""One connection to an MCP server, from its start to its end. The `mcp` package is imported here, when one is made."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tui_agent import __version__
from tui_agent.literal import one_line
from tui_agent.messages.wellformed import encodable
from tui_agent.process import ProcessError
from tui_agent.tools.mcp import content
from tui_agent.tools.mcp.listing import MOST_TOOLS, Listed, checked
from tui_agent.tools.mcp.pipe import LINE_BYTES, Pipe
from tui_agent.tools.tool import Progress, ToolError

if TYPE_CHECKING:
    import httpx2
    import mcp

    from tui_agent.tools.mcp.config import Spec

_MOST_PAGES = 50
_PING_SECONDS = 5.0
_CONNECT_SECONDS = 30.0
_GOODBYE_SECONDS = 2.0
_MORE_SECONDS = 5.0
"""What a call gets beyond its limit, in which the server is told that it is over."""
_CHANGES = ("ToolListChangedNotification", "PromptListChangedNotification")


Mode = Literal["auto", "legacy"]
T = TypeVar("T")


class ServerError(ToolError):
    """A server could not be asked, or did not answer as it should."""


class Late(ServerError):
    """A server did not answer in time."""


class Connection:
    """A connection to one server; all of it happens in one event loop. `changed` hears that its tools are others.

    `mode`: ask first whether it speaks the newest protocol, or greet it as all servers have been greeted (`legacy`).
    """

    def __init__(self, spec: Spec, log: Path, changed: Callable[[], None], mode: Mode = "auto") -> None:
        self._spec = spec
        self._mode = mode
        self._changed = changed
        self._pipe = None if spec.url else Pipe(spec, log)
        self._client: mcp.Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._opened = asyncio.Event()
        self._over = asyncio.Event()
        self._refusal = ""
        self._broken = False
        """An address answered with what is no answer: it is greeted anew before it is asked again."""

    @property
    def lost(self) -> bool:
        """True once nothing can be asked any more."""
        over = self._task is None or self._task.done()
        return over or self._broken or bool(self._pipe and self._pipe.fault)

    @property
    def ended_at_once(self) -> bool:
        """True if a program ended before it was connected."""
        return self._pipe is not None and bool(self._pipe.fault) and not self._opened.is_set()

    async def open(self) -> None:
        """Start the server or reach it.

        Raises:
            ServerError: that failed, or took too long.
        """
        self._task = asyncio.create_task(self._live())
        waiting = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait(
                {self._task, waiting}, timeout=self._spec.start_timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not self._opened.is_set():
                failed = self._task.done()
                await self.close()
                late = f"it did not answer within {self._spec.start_timeout} s"
                raise ServerError(self._reason(self._task) if failed else self._with_last_words(late))
            self._refusal = ""
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            waiting.cancel()

    async def tools(self) -> list[Listed]:
        """What the server says it can do.

        Raises:
            ServerError: it does not say so.
        """
        has = self._client.server_capabilities if self._client is not None else None
        if has is not None and has.tools is None and (has.resources or has.prompts):
            return []  # it is there for these alone, and does not know the question
        found: list[Listed] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._asked(partial(_page, cursor), self._spec.start_timeout)
            found += [checked(tool.name, tool.description, tool.input_schema) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS]

    async def call(self, tool: str, arguments: dict[str, Any], say: Progress) -> content.Given:
        """Call a tool. Cancelled, or over its time, the server is told.

        Raises:
            Late: it does not answer in time.
            ServerError: it does not answer, refuses, or answers with what is no result.
        """
        from mcp import types

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            of = f"{progress:g}" + (f" of {total:g}" if total else "")
            say(f"{message} ({of})\n" if message else f"{of}\n")

        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=tool, arguments=encodable(arguments))
        )
        result = await self._asked(
            lambda client: client.session.send_request(
                request,
                types.CallToolResult,
                request_read_timeout_seconds=self._spec.timeout,
                progress_callback=tell,
            ),
            self._spec.timeout,
        )
        return await content.of_call(result)

    async def ask(self, work: Callable[[mcp.Client], Awaitable[T]], seconds: float | None = None) -> T:
        """Ask it something else than a call; `seconds` is how long, if not as long as for one.

        Raises:
            Late: it does not answer in time.
            ServerError: it does not answer, refuses, or answers with nonsense.
        """
        found: T = await self._asked(work, self._spec.timeout if seconds is None else seconds)
        return found

    async def answers(self) -> bool:
        """Whether the server still answers at all."""
        from mcp import MCPError

        if self._client is None or self.lost:
            return False
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self._client.session.send_ping()
        except MCPError:
            return not self.lost
        except Exception:  # noqa: BLE001 - whatever went wrong, it is no answer
            return False
        return True

    async def close(self) -> None:
        """End it, with the server if it was started here."""
        self._over.set()
        if self._task is None:
            return
        if self._opened.is_set():
            # an address that does not answer any more is left alone; a program takes its own time, which is limited
            await asyncio.wait([self._task], timeout=None if self._pipe is not None else _GOODBYE_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _live(self) -> None:
        _load()
        import mcp
        from mcp.types import Implementation

        async with AsyncExitStack() as stack:
            transport = self._pipe if self._pipe is not None else await self._address(stack)
            client = mcp.Client(
                transport,
                message_handler=self._heard,
                client_info=Implementation(name="tui-agent", version=__version__),
                mode=self._mode,
                cache=None,
            )
            self._client = await stack.enter_async_context(client)
            self._opened.set()
            listening = asyncio.create_task(self._listen(client))
            try:
                await self._over.wait()
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _address(self, stack: AsyncExitStack) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        client = httpx2.AsyncClient(
            headers=dict(self._spec.headers),
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            event_hooks={"response": [self._answered]},
        )
        await stack.enter_async_context(client)
        return streamable_http_client(self._spec.url, http_client=client, max_sse_event_size=LINE_BYTES)

    async def _answered(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self._refusal = f"HTTP {response.status_code} {response.reason_phrase}".strip()
            if response.status_code in (401, 403):
                self._refusal += " (does it want a key in `headers`?)"
        response.stream = _limited(response)

    async def _heard(self, message: object) -> None:
        if type(message).__name__ in _CHANGES:
            self._changed()

    async def _listen(self, client: mcp.Client) -> None:
        """Hear of other tools and prompts where the server tells it on a stream of its own (protocol 2026-07-28)."""
        has = client.server_capabilities
        tools = bool(has and has.tools and has.tools.list_changed)
        prompts = bool(has and has.prompts and has.prompts.list_changed)
        if client.protocol_version < "2026" or not (tools or prompts):
            return
        with suppress(Exception):  # a server without it is none the worse
            async with client.listen(tools_list_changed=tools, prompts_list_changed=prompts) as events:
                async for _ in events:
                    self._changed()

    async def _asked(self, work: Callable[[mcp.Client], Any], seconds: float) -> Any:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT
        from pydantic import ValidationError

        if self._client is None or self.lost:
            raise ServerError(self._reason(self._task))
        self._refusal = ""
        try:
            async with asyncio.timeout(seconds + _MORE_SECONDS):
                return await work(self._client)
        except MCPError as error:
            if self._pipe is not None and self._pipe.fault:
                raise ServerError(self._pipe.fault) from error
            if error.code == REQUEST_TIMEOUT:
                raise Late(f"it did not answer within {seconds:g} s") from error
            self._broken = bool(self._refusal) or error.code == CONNECTION_CLOSED
            raise ServerError(self._refusal or one_line(error.message, 500)) from error
        except TimeoutError as error:
            raise Late(f"it did not answer within {seconds:g} s") from error
        except ValidationError as error:
            where = "; ".join(".".join(map(str, fault["loc"])) for fault in error.errors()[:3])
            raise ServerError(f"its answer is no valid result ({where})") from error
        except Exception as error:
            self._broken = True
            raise ServerError(self._refusal or _words(error)) from error

    def _reason(self, task: asyncio.Task[None] | None) -> str:
        if self._pipe is not None and self._pipe.fault:
            return self._pipe.fault
        error = task.exception() if task is not None and task.done() and not task.cancelled() else None
        if error is None:
            return "the connection is closed"
        return self._refusal or _words(error)

    def _with_last_words(self, text: str) -> str:
        words = self._pipe.last_words if self._pipe is not None else ""
        return f"{text}: {words}" if words else text


def _limited(response: httpx2.Response) -> httpx2.AsyncByteStream:
    """The body of a response, as long as it is not too long; in a stream of events each event has a limit."""
    import httpx2

    body: Any = response.stream
    events = "event-stream" in response.headers.get("content-type", "")

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in body:
                size += len(piece)
                if size > LINE_BYTES and not events:
                    raise httpx2.StreamError(f"an answer of more than {LINE_BYTES // 1_000_000} MB")
                yield piece

        async def aclose(self) -> None:
            await body.aclose()

    return Limited()


async def _page(cursor: str | None, client: mcp.Client) -> Any:
    return await client.list_tools(cursor=cursor, cache_mode="bypass")


def _load() -> None:
    """Import the package without a garbage collection in between, and keep what it writes to loggers off the terminal.

    A collection would stop the screen for as long as it takes, whatever thread it runs in.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module("mcp")
    finally:
        if collecting:
            gc.enable()
    for name in ("mcp", "httpx2", "anyio"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        logger.propagate = False


def _words(error: BaseException) -> str:
    """The first cause in a group of errors, in words."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, ProcessError):
        return str(error)
    return f"{one_line(str(error), 300) or 'it failed'} ({type(error).__name__})"
