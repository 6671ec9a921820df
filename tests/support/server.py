"""A model on loopback that does what a script says: the Anthropic Messages protocol over SSE, served by aiohttp.

    async with ScriptedServer() as server:
        server.script(Reply.text("hi"), Reply.tools(("bash", {"command": "ls"})), Reply.error(429, retry_after=1))
        ...                        # point a profile at server.url, auth "none"
        server.requests            # the bodies that came, parsed
        server.headers             # their headers, names in lower case

`server.caching()` simulates the provider's prompt cache (tests/support/prompt_cache) and answers with its figures.

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
import re
import runpy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from tests.support import validity
from tests.support.prompt_cache import PromptCache, tokens_of

Ending = Literal["stop", "cut", "error", "no_stop_reason", "no_message_stop"]
Wording = Literal["anthropic", "output", "bedrock", "llama", "ollama", "openai", "kimi", "glm", "generic"]

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}

_OVERFLOWS: dict[Wording, str] = {
    "anthropic": "prompt is too long: {tokens} tokens > {window} maximum",
    "output": "input length and `max_tokens` exceed context limit: {tokens} + 8192 > {window}, "
    "decrease input length or `max_tokens` and try again",
    "bedrock": "Input is too long for requested model.",
    "llama": "the request exceeds the available context size, try increasing it",
    "ollama": "prompt too long; exceeded max context length by {over} tokens",
    "openai": "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{tokens} tokens. Please reduce the length of the messages.",
    "kimi": "Invalid request: Your request exceeded model token limit: {window} (requested: {tokens})",
    "glm": "The input exceeds the context window of the model: {tokens} tokens, at most {window}",
    "generic": "context_length_exceeded",
}


class Hold:
    """A place where a reply stops until the test lets it go on.

    `reached` is set when the server is there, `release` lets it go on, `gone` is set if the client hung up meanwhile.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.release = asyncio.Event()
        self.gone = asyncio.Event()

    async def wait(self) -> None:
        """Stop here; called by the server."""
        self.reached.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.gone.set()
            raise


@dataclass(frozen=True)
class Reply:
    """One step of a script: what the server answers. Made by the class methods, refined by the others.

    `content` holds blocks as the API would return them; a tool_use whose `input` is a string streams that string as its
    arguments, whether it is JSON or not; a text that is a list of texts streams these as its deltas.
    """

    content: tuple[Mapping[str, Any], ...] = ()
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, int] | None = None
    ending: Ending = "stop"
    failure: str = "overloaded_error"
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_events: tuple[Mapping[str, Any], ...] = ()
    held: Hold | None = None
    held_after: int = -1
    pace: float = 0.0
    named: bool = True

    # --- answers ------------------------------------------------------------------------------------------------

    @classmethod
    def blocks(cls, *content: Mapping[str, Any], stop_reason: str = "end_turn") -> Reply:
        """These blocks, of any type, known or not."""
        return cls(content=content, stop_reason=stop_reason)

    @classmethod
    def text(cls, text: str, *, stop_reason: str = "end_turn") -> Reply:
        """One text block."""
        return cls.blocks({"type": "text", "text": text}, stop_reason=stop_reason)

    @classmethod
    def thinking(cls, thinking: str, text: str = "", *, signature: str = "c2lnbmVk") -> Reply:
        """A signed thinking block, then text if there is any."""
        first = {"type": "thinking", "thinking": thinking, "signature": signature}
        return cls.blocks(first, *([{"type": "text", "text": text}] if text else []))

    @classmethod
    def tools(cls, *calls: tuple[str, Mapping[str, Any] | str], text: str = "", thinking: str = "") -> Reply:
        """Parallel tool calls (name, arguments), with thinking and text before them where given.

        Arguments given as a string are streamed as they are: malformed JSON, for instance.
        """
        before: list[Mapping[str, Any]] = []
        if thinking:
            before.append({"type": "thinking", "thinking": thinking, "signature": "c2lnbmVk"})
        if text:
            before.append({"type": "text", "text": text})
        uses = [
            {"type": "tool_use", "id": f"toolu_{next(_CALLS):06d}", "name": name, "input": arguments}
            for name, arguments in calls
        ]
        return cls.blocks(*before, *uses, stop_reason="tool_use")

    @classmethod
    def truncated(cls, tool: str, arguments: str, *, text: str = "") -> Reply:
        """A call that max_tokens cut inside its arguments."""
        return replace(cls.tools((tool, arguments), text=text), stop_reason="max_tokens")

    @classmethod
    def refusal(cls, text: str = "") -> Reply:
        """The model declines; usually without content."""
        return replace(cls.text(text) if text else cls(), stop_reason="refusal")

    @classmethod
    def error(
        cls, status: int, message: str = "", *, kind: str = "", retry_after: float | None = None
    ) -> Reply:
        """An HTTP error in the API's form."""
        kind = kind or _KINDS.get(status, "api_error")
        body = {
            "type": "error",
            "error": {"type": kind, "message": message or kind.replace("_", " ")},
            "request_id": "req_scripted",
        }
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        return cls(status=status, body=body, headers=headers)

    @classmethod
    def overflow(
        cls, wording: Wording = "anthropic", *, tokens: int = 212_345, window: int = 200_000
    ) -> Reply:
        """400: the request does not fit the window, in one of the wordings that endpoints use."""
        message = _OVERFLOWS[wording].format(tokens=tokens, window=window, over=tokens - window)
        reply = cls.error(400, message)
        if wording == "llama":
            error = {
                "code": 400,
                "message": message,
                "type": "exceed_context_size_error",
                "n_prompt_tokens": tokens,
                "n_ctx": window,
            }
            return replace(reply, body={"error": error})
        return reply

    @classmethod
    def page(cls, status: int, text: str) -> Reply:
        """Not the protocol at all: a proxy's HTML page."""
        return cls(status=status, body=text)

    # --- refinements --------------------------------------------------------------------------------------------

    def using(self, *, input: int, output: int, cache_read: int = 0, cache_write: int = 0) -> Reply:
        """With these usage figures."""
        return replace(
            self,
            usage={
                "input_tokens": input,
                "output_tokens": output,
                "cache_read_input_tokens": cache_read,
                "cache_creation_input_tokens": cache_write,
            },
        )

    def cut(self) -> Reply:
        """The connection breaks inside the last block."""
        return replace(self, ending="cut")

    def failing(self, kind: str = "overloaded_error") -> Reply:
        """An SSE `error` event comes inside the last block."""
        return replace(self, ending="error", failure=kind)

    def without_stop_reason(self) -> Reply:
        """message_stop comes, but no message_delta before it."""
        return replace(self, ending="no_stop_reason")

    def without_message_stop(self) -> Reply:
        """The stream ends properly after the last block; message_delta and message_stop never come."""
        return replace(self, ending="no_message_stop")

    def stopping(self, reason: str) -> Reply:
        """With another stop_reason."""
        return replace(self, stop_reason=reason)

    def with_events(self, *events: Mapping[str, Any]) -> Reply:
        """With these events, of any type, before the message ends."""
        return replace(self, extra_events=events)

    def holding(self, hold: Hold, *, after: int = 0) -> Reply:
        """Stop at `hold` after so many deltas; -1: before the response's headers."""
        return replace(self, held=hold, held_after=after)

    def paced(self, seconds: float) -> Reply:
        """With so much time from one delta to the next; what is late is made up for."""
        return replace(self, pace=seconds)

    def nameless(self) -> Reply:
        """Without the `event:` lines, as some compatible endpoints stream."""
        return replace(self, named=False)


Step = Reply | Callable[[dict[str, Any]], Reply | Awaitable[Reply]]

_CALLS = itertools.count(1)

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
        for event in _events(self._counted(reply, body), f"msg_{number:06d}", body):
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


def _events(reply: Reply, message: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stream's events, up to where the reply ends."""
    usage = dict(reply.usage or _usage(reply, body))
    start = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    broken = reply.ending in ("cut", "error")
    for index, block in enumerate(reply.content):
        events.extend(_block_events(index, block))
        if broken and index == len(reply.content) - 1:
            events.pop()
    if reply.ending == "error":
        message = reply.failure.removesuffix("_error").capitalize()
        events.append({"type": "error", "error": {"type": reply.failure, "message": message}})
    if broken or reply.ending == "no_message_stop":
        return events
    events.extend(dict(event) for event in reply.extra_events)
    if reply.ending != "no_stop_reason":
        delta = {"stop_reason": reply.stop_reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _block_events(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = block["type"]
    deltas: list[dict[str, Any]] = []
    start = dict(block)
    if kind == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    elif kind == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
        if block["signature"]:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start["input"] = {}
        given = block["input"]
        raw = given if isinstance(given, str) else json.dumps(given)
        cuts = [raw[at : at + 7] for at in range(0, len(raw), 7)]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cuts]]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _pieces(text: str | list[str]) -> list[str]:
    if isinstance(text, list):
        return text
    return re.findall(r"\s*\S+|\s+$", text)


def _usage(reply: Reply, body: Mapping[str, Any]) -> dict[str, int]:
    """Plausible figures: four characters a token."""
    return {
        "input_tokens": max(1, len(json.dumps(body)) // 4),
        "output_tokens": max(1, len(json.dumps(list(reply.content))) // 4),
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }


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
