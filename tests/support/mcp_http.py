"""MCP servers on loopback, in a thread of the test: `with served() as address`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

TOKEN = "tok-0123456789"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def guarded(app: App) -> App:
    """The app, for those who send the token."""

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        sent = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "http" and sent != f"Bearer {TOKEN}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await app(scope, receive, send)

    return guard


def saying(body: bytes, kind: bytes = b"application/json", status: int = 200) -> App:
    """An app that gives the same answer to everything."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(b"content-type", kind)]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    return app


def real() -> App:
    """The real server, over streamable HTTP."""
    from tests.support.mcp_real import server

    return server("web").streamable_http_app()


@contextmanager
def served(app: App) -> Iterator[str]:
    """Serve an app until the block ends; its address."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="auto", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
