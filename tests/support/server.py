"""A model on loopback that does what a script says: the Anthropic Messages protocol over SSE, served by aiohttp.

    async with ScriptedServer() as server:
        server.script(Reply.text("hi"), Reply.tools(("bash", {"command": "ls"})), Reply.error(429, retry_after=1))
        ...                        # point a profile at server.url, auth "none"
        server.requests            # the bodies that came, parsed
        server.headers             # their headers, names in lower case

Replies and holds are in tests/support/script. `server.caching()` simulates the provider's prompt cache
(tests/support/prompt_cache) and answers with its figures.

Each request to `/v1/messages` takes the next step: a `Reply`, or a function of the request's body that gives one.
Every request is checked against the API's rules (tests/support/validity), and leaving the block fails if one broke a
rule or came when nothing was scripted (`server.always(step)` answers those).

`python -m tests.support.server [SCRIPT]` serves a Python file that sets `script` to a list of steps (`Reply` and `Hold`
are there already; it starts over at its end) and prints the profile to paste into settings.toml.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import itertools
import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.support import validity
from tests.support.prompt_cache import PromptCache, tokens_of
from tests.support.script import Hold, Reply, Step
from tests.support.stream import events_of

DEFAULT_MODEL: dict[str, Any] = {
    "type": "model",
    "id": "scripted-1",
    "display_name": "Scripted",
    "created_at": "2026-01-01T00:00:00Z",
    "lifecycle": "active",
    "max_input_tokens": 200_000,
    "max_tokens": 8_192,
}


class ScriptedServer:
    """The server. `url` goes into a profile as base_url.

    Attributes:
        models: what `/v1/models` lists (newest first), or None: the endpoint has no such list (404).
        listing_status: if set, asking for the list fails with this status.
        tokens: what count_tokens answers: a figure, a function of the body, or None: 404.
        api_key: if set, requests need it (Bearer or x-api-key) and get 401 otherwise.
        requests, headers: of each `/v1/messages` request, in order.
        connections: how many connections those requests came over.
        listings: how often the model list was asked for.
        deltas: how many pieces of answers were sent.
        aside: answers a request before the script is asked for a step; None: it is the script's.
        cache: the prompt cache that gives the figures of usage; None until `caching` is called.
        violations: rules of the API that requests broke, in words.
        unscripted: how many requests came when the script was at its end.
    """

    def __init__(self, *, port: int = 0) -> None:
        self.listing_status: int | None = None
        self.models: Sequence[Mapping[str, Any]] | None = [DEFAULT_MODEL]
        self.tokens: int | Callable[[dict[str, Any]], int] | None = lambda body: len(json.dumps(body)) // 4
        self.api_key: str | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.cache: PromptCache | None = None
        self.aside: Callable[[dict[str, Any]], Reply | None] = lambda body: None
        self.listings = 0
        self.deltas = 0
        self.unscripted = 0
        self.url = ""
        self._port = port
        self._steps: list[Step] = []
        self._fallback: Step | None = None
        self._messages = itertools.count(1)
        self._peers: set[object] = set()
        self._runner: web.AppRunner | None = None

    @property
    def connections(self) -> int:
        return len(self._peers)

    def script(self, *steps: Step) -> None:
        """Add steps; each answers one request."""
        self._steps.extend(steps)

    def always(self, step: Step | None) -> None:
        """Answer every request beyond the script with this step."""
        self._fallback = step

    def caching(self, **options: Any) -> PromptCache:
        """Answer with the figures of a prompt cache from now on, where a reply does not bring its own."""
        self.cache = PromptCache(**options)
        return self.cache

    @property
    def remaining(self) -> int:
        """Steps not yet taken."""
        return len(self._steps)

    async def start(self) -> Self:
        """Listen on loopback."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/messages", self._answer)
        app.router.add_post("/v1/messages/count_tokens", self._count)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1/models/{name}", self._model)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def stop(self) -> None:
        """Close; held replies end."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def check(self) -> None:
        """Fail if a request broke a rule or was not expected."""
        assert not self.violations, "requests broke the API's rules:\n  " + "\n  ".join(self.violations)
        assert not self.unscripted, f"{self.unscripted} requests came when nothing was scripted"

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        if kind is None:
            self.check()

    # --- routes -------------------------------------------------------------------------------------------------

    def _refused(self, request: web.Request) -> web.Response | None:
        if self.api_key is None:
            return None
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.api_key in (bearer, request.headers.get("x-api-key", "")):
            return None
        return _failure(Reply.error(401, "invalid x-api-key"))

    async def _list(self, request: web.Request) -> web.Response:
        self.listings += 1
        if (refused := self._refused(request)) is not None:
            return refused
        if self.models is None or self.listing_status is not None:
            return _failure(Reply.error(self.listing_status or 404))
        ids = [str(model["id"]) for model in self.models]
        ends = {"first_id": ids[0], "last_id": ids[-1]} if ids else {}
        return web.json_response({"data": [dict(m) for m in self.models], "has_more": False, **ends})

    async def _model(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        for model in self.models or ():
            if model["id"] == request.match_info["name"]:
                return web.json_response(dict(model))
        return _failure(Reply.error(404))

    async def _count(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        if self.tokens is None:
            return _failure(Reply.error(404))
        tokens = self.tokens(await request.json()) if callable(self.tokens) else self.tokens
        return web.json_response({"input_tokens": tokens})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        self.requests.append(body)
        self._peers.add(request.transport.get_extra_info("peername") if request.transport else None)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.violations.extend(f"request {len(self.requests)}: {rule}" for rule in validity.check(body))
        if (refused := self._refused(request)) is not None:
            return refused
        reply = await self._next(body)
        if reply.held is not None and reply.held_after < 0:
            await reply.held.wait()
        if reply.status != 200 or reply.body is not None:
            return _failure(reply)
        if not body.get("stream"):
            return _failure(Reply.error(400, "this server only streams"))
        return await self._stream(request, body, reply)

    async def _next(self, body: dict[str, Any]) -> Reply:
        if (reply := self.aside(body)) is not None:
            return reply
        step = self._steps.pop(0) if self._steps else self._fallback
        if step is None:
            self.unscripted += 1
            return Reply.error(400, "the script is at its end")
        if isinstance(step, Reply):
            return step
        reply = step(body)
        return await reply if inspect.isawaitable(reply) else reply

    def _counted(self, reply: Reply, body: dict[str, Any]) -> Reply:
        """The reply with the figures of the prompt cache, if there is one."""
        if self.cache is None:
            return reply
        figures = self.cache.begin(body)
        if reply.usage is not None:
            return reply
        written = tokens_of([dict(block) for block in reply.content])
        return replace(reply, usage={**figures.usage(), "output_tokens": max(1, written)})

    async def _stream(self, request: web.Request, body: dict[str, Any], reply: Reply) -> web.StreamResponse:
        number = next(self._messages)
        response = web.StreamResponse(
            headers={
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "request-id": f"req_{number:06d}",
                **reply.headers,
            }
        )
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        sent, due = 0, loop.time()
        for event in events_of(self._counted(reply, body), f"msg_{number:06d}", body):
            delta = event["type"] == "content_block_delta"
            if (
                reply.held is not None
                and (delta or event["type"] == "message_delta")
                and sent == reply.held_after
            ):
                await reply.held.wait()
                due = loop.time()
            if delta:
                sent += 1
                if reply.pace:
                    due += reply.pace
                    await asyncio.sleep(max(0.0, due - loop.time()))
            name = f"event: {event['type']}\n" if reply.named else ""
            await response.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.deltas += delta
        if reply.ending == "cut":
            transport = request.transport
            assert transport is not None
            transport.abort()
        return response


def _failure(reply: Reply) -> web.Response:
    if isinstance(reply.body, str):
        return web.Response(
            status=reply.status, text=reply.body, content_type="text/html", headers=dict(reply.headers)
        )
    return web.json_response(reply.body, status=reply.status, headers=dict(reply.headers))


async def _serve(script: str | None, port: int, pace: float) -> None:
    steps: list[Step] = [Reply.text("This is the scripted server; give it a script to hear more.")]
    if script is not None:
        steps = runpy.run_path(script, init_globals={"Reply": Reply, "Hold": Hold})["script"]
    turns = itertools.cycle(steps)

    async def answer(body: dict[str, Any]) -> Reply:
        step = next(turns)
        reply = step if isinstance(step, Reply) else step(body)
        if inspect.isawaitable(reply):
            reply = await reply
        return reply.paced(pace) if pace else reply

    server = ScriptedServer(port=port)
    server.caching()
    server.always(answer)
    await server.start()
    print(
        "[profiles.scripted]\n"
        'provider = "anthropic"\n'
        f'model = "{DEFAULT_MODEL["id"]}"\n'
        f'base_url = "{server.url}"\n'
        'auth = "none"',
        flush=True,
    )
    told = 0
    try:
        while True:
            await asyncio.sleep(0.5)
            for violation in server.violations[told:]:
                print(f"# {violation}", flush=True)
            told = len(server.violations)
    finally:
        await server.stop()


def main() -> None:
    """Serve a script until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.server", description=__doc__.splitlines()[0]
    )
    parser.add_argument("script", nargs="?", help="a Python file that sets `script` to a list of steps")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds before each delta")
    options = parser.parse_args()
    try:
        asyncio.run(_serve(options.script, options.port, options.pace))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
