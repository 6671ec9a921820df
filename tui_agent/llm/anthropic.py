"""The Anthropic Messages API, and every endpoint that speaks like it.

The SDK is large (seconds to import), so it is loaded in a thread when first needed: `load()`. Of it the client is used
(addresses, credentials, connections, errors); the body is encoded here, off the event loop, and the stream's events are
read as the JSON they are. So blocks are kept as the endpoint sent them, unknown ones included, and the SDK's own
retries, deprecation warnings and telemetry stay out of it.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import re
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from operator import is_
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.llm import failures, heap, models
from tui_agent.llm.assembly import Assembly
from tui_agent.llm.provider import ProviderError

if TYPE_CHECKING:
    import anthropic

    from tui_agent.llm.provider import Delta
    from tui_agent.messages.blocks import Block
    from tui_agent.messages.request import Request
    from tui_agent.settings.schema import Profile

_OFFICIAL = re.compile(r"https?://api\.anthropic\.com(?:[:/]|$)", re.IGNORECASE)
_COMPATIBLE_VERSION = "2023-06-01"
"""The protocol version for endpoints other than Anthropic's own: all of them know it, newer ones not all."""

_ABSENT = (404, 405, 501)
"""What endpoints answer where they have no list of models, or no count of tokens."""

_CONNECT_SECONDS = 15.0
_WRITE_SECONDS = 120.0
_LIST_SECONDS = 15.0
"""For the model list, which is asked while someone waits for the first screen."""
IDLE_SECONDS = 300.0
"""A stream without a single byte for so long is dead; the API sends pings while it works."""
LOCAL_IDLE_SECONDS = 1800.0
"""Servers on this machine send nothing while they read a long prompt."""

_EVENTS_AT_ONCE = 16
"""A burst of events is read in portions, so that the event loop gets its turn in between."""
_DRAIN_SECONDS = 0.25
"""After the last event the stream is read to its end, so that the connection can be used again, but not for long."""

_LONG_BYTES = 256 * 1024
"""After a request of so many bytes at least, what making it left free is given back to the system."""

_MEDIA = ("image", "document")
_MISSING = "[image missing]"

LoadBlob = Callable[[str], "bytes | None"]


async def load() -> None:
    """Import the SDK in a thread, with the garbage collector off, which keeps the event loop moving meanwhile."""
    await asyncio.to_thread(_import)


def _import() -> None:
    if "anthropic" in sys.modules:
        return
    collecting = gc.isenabled()
    gc.disable()
    try:
        import anthropic  # noqa: F401
        import anyio._backends._asyncio  # noqa: F401  (its transport imports it in the middle of the first request)
    finally:
        # Half a million new objects that live for ever: left to the collector, its next run would stop everything.
        gc.freeze()
        if collecting:
            gc.enable()


class AnthropicProvider:
    """A model behind an endpoint that speaks the Anthropic Messages API.

    Args:
        profile: where and how to ask. What it leaves open (model, window, longest answer) `prepare` asks.
        api_key: the key, or None where `auth` is `none`.
        load_blob: the bytes of a medium by its sha256, or None if they are gone; called in a thread.
        idle_seconds: how long a stream may send nothing; by default 300, and 1800 for servers on this machine.
    """

    def __init__(
        self,
        profile: Profile,
        api_key: str | None,
        *,
        load_blob: LoadBlob = lambda sha256: None,
        idle_seconds: float | None = None,
    ) -> None:
        key = api_key.strip() if api_key else None
        self._profile = profile
        self._url = profile.base_url.rstrip("/").removesuffix("/v1")
        self._official = _OFFICIAL.match(self._url) is not None
        self._key = None if profile.auth == "none" else key or None
        self._load_blob = load_blob
        self._model = profile.model
        self._window = profile.context_window
        self._max_output = profile.max_output_tokens
        self._client: anthropic.AsyncAnthropic | None = None
        self._connecting = asyncio.Lock()
        self._preparing = asyncio.Lock()
        local = failures.Endpoint(self._url).local
        self._idle = idle_seconds or (LOCAL_IDLE_SECONDS if local else IDLE_SECONDS)
        self.assumed: tuple[str, ...] = ()
        """After `prepare`: the figures that nobody told, and the setting that would fix each."""

    @property
    def model(self) -> str:
        """The model's name, `""` until `prepare` has chosen one."""
        return self._model

    @property
    def label(self) -> str:
        """What stands where the model's name is shown."""
        return self._model

    @property
    def window(self) -> int:
        """The model's window, in tokens: of the settings, the endpoint or the table, in this order."""
        return self._window or models.known(self._model).window or models.FALLBACK_WINDOW

    @property
    def max_output_tokens(self) -> int:
        """The longest answer to ask for, in tokens."""
        return self._max_output or models.default_output(models.known(self._model).max_output, self.window)

    @property
    def _endpoint(self) -> failures.Endpoint:
        profile = self._profile
        env = profile.api_key_env or ("ANTHROPIC_API_KEY" if self._official else "")
        return failures.Endpoint(self._url, self._model, profile.auth, env, self._key)

    async def prepare(self) -> None:
        """Ask the endpoint's model list for what settings left open. An endpoint without a list is no error.

        Raises:
            ProviderError: the endpoint cannot be reached, refuses the key, or names no model and settings neither.
        """
        async with self._preparing:
            if not (self._model and self._window and self._max_output):
                await self._prepare()

    async def _prepare(self) -> None:
        entries = await self.models()
        if not self._model:
            newest = models.newest(entries)
            if newest is None:
                raise ProviderError(
                    f"{self._url} lists no models, and the profile names none",
                    kind="invalid",
                    ways=("set model in the profile",),
                )
            self._model = newest
        entry = next((entry for entry in entries if entry.get("id") == self._model), {})
        told, known = models.listed(entry), models.known(self._model)
        assumed = []
        if self._window is None:
            self._window = told.window or known.window
            if self._window is None:
                self._window = models.FALLBACK_WINDOW
                assumed.append(
                    f"the window of {self._model} is not known; {self._window:,} tokens assumed, "
                    "set context_window in the profile"
                )
        if self._max_output is None:
            self._max_output = models.default_output(told.max_output or known.max_output, self._window)
        self.assumed = tuple(assumed)

    async def models(self) -> list[dict[str, Any]]:
        """The endpoint's model list as it gives it; empty if it has none.

        Raises:
            ProviderError: the endpoint cannot be reached or refuses the key.
        """
        client = await self._connected()
        import httpx2

        try:
            response = await client.get(
                "/v1/models",
                cast_to=httpx2.Response,
                options={"params": {"limit": 1000}, "timeout": _LIST_SECONDS},
            )
            listing = json.loads(response.content)
        except ValueError:
            return []
        except _faults() as error:
            failure = self._failure(error, None)
            if failure.status in _ABSENT or (self._model and failure.status and failure.kind != "auth"):
                return []
            raise failure from error
        data = listing.get("data") if isinstance(listing, dict) else None
        return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Send the request; yield deltas, last the Reply. Closing the generator hangs up.

        Raises:
            ProviderError: in one of its kinds. `partial` holds what had arrived of the reply.
        """
        client = await self._connected()
        body = await asyncio.to_thread(self._encode, request)
        assembly = Assembly(request.model)
        try:
            async with aclosing(self._events(client, body)) as events:
                taken = 0
                async for event in events:
                    taken += 1
                    if taken % _EVENTS_AT_ONCE == 0:
                        await asyncio.sleep(0)
                    if _is_error(event):
                        partial, dropped = assembly.partial()
                        raise failures.from_event(self._endpoint, event, partial=partial, dropped=dropped)
                    for delta in assembly.feed(event):
                        yield delta
                    if assembly.ended:
                        await _drain(events)
                        break
        except _faults() as error:
            if not assembly.complete:
                raise self._failure(error, assembly) from error
        if not assembly.complete:
            partial, dropped = assembly.partial()
            reason = "the stream ended early" if assembly.begun else "the stream ended before it began"
            raise failures.cut(self._endpoint, reason, partial=partial, dropped=dropped)
        yield assembly.reply()

    async def count(self, request: Request) -> int:
        """The endpoint's own estimate of the request's input tokens.

        Raises:
            ProviderError: the endpoint does not count, cannot be reached or refuses.
        """
        client = await self._connected()
        body = await asyncio.to_thread(self._encode, request, counting=True)
        import httpx2

        try:
            response = await client.post("/v1/messages/count_tokens", content=body, cast_to=httpx2.Response)
            return int(json.loads(response.content)["input_tokens"])
        except (ValueError, KeyError, TypeError) as error:
            raise failures.foreign(self._endpoint, "it gave no token count") from error
        except _faults() as error:
            failure = self._failure(error, None)
            if failure.status in _ABSENT:
                failure = failures.uncounted(self._endpoint, failure.status)
            raise failure from error

    async def close(self) -> None:
        """Give back connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- the wire -----------------------------------------------------------------------------------------------

    async def _connected(self) -> anthropic.AsyncAnthropic:
        """The client, made on first use; making one reads certificates, so it happens in a thread too."""
        async with self._connecting:
            if self._client is None:
                if self._profile.auth != "none" and self._key is None:
                    raise failures.no_key(self._endpoint)
                if self._key is not None and not (self._key.isascii() and self._key.isprintable()):
                    raise failures.unusable_key(self._endpoint)
                await load()
                self._client = await asyncio.to_thread(self._make_client)
            return self._client

    def _make_client(self) -> anthropic.AsyncAnthropic:
        import anthropic
        import httpx2

        headers: dict[str, Any] = {}
        if not self._official:
            headers["anthropic-version"] = _COMPATIBLE_VERSION
        # A key is always passed, even where none is sent: without one the SDK looks for credentials by itself.
        key = self._key or "none"
        if self._profile.auth != "bearer":
            headers["authorization"] = anthropic.omit
        if self._profile.auth == "x-api-key":
            headers["x-api-key"] = key
        timeout = httpx2.Timeout(
            connect=_CONNECT_SECONDS, read=self._idle, write=_WRITE_SECONDS, pool=_CONNECT_SECONDS
        )
        try:
            return anthropic.AsyncAnthropic(
                api_key=key,
                base_url=self._url,
                default_headers=headers,
                timeout=timeout,
                max_retries=0,
                open_telemetry=False,
            )
        except (ValueError, httpx2.InvalidURL) as error:
            raise failures.unreachable(self._endpoint, str(error), retry=False, kind="invalid") from error

    async def _events(
        self, client: anthropic.AsyncAnthropic, body: bytes
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The stream's events as JSON. Their `event:` lines are not needed: the type stands in the data too."""
        import anthropic

        stream = await client.post(
            "/v1/messages",
            content=body,
            cast_to=object,
            options={"headers": {"Accept": "text/event-stream, application/json"}},
            stream=True,
            stream_cls=anthropic.AsyncStream[Any],
        )
        response = stream.response
        try:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind in ("text/html", "application/json"):
                told = failures.read_body(await response.aread())
                raise failures.foreign(self._endpoint, told.message or f"it answered with {kind}")
            async for sent in stream.raw_events(response):
                if not sent.data or sent.data == "[DONE]":
                    continue
                event = json.loads(sent.data)
                if isinstance(event, dict):
                    yield event if "type" in event else {"type": sent.event, **event}
        finally:
            await response.aclose()

    def _encode(self, request: Request, *, counting: bool = False) -> bytes:
        """The request's JSON, media put in. Runs in a thread; msgspec holds the interpreter least."""
        body = request.wire()
        body["messages"] = [self._resolved(message) for message in body["messages"]]
        if counting:
            body.pop("max_tokens", None)
        else:
            body["stream"] = True
        encoded = msgspec.json.encode(body)
        if len(encoded) > _LONG_BYTES:
            del body
            heap.trim()
        return encoded

    def _resolved(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        content = message["content"]
        if not isinstance(content, list):
            return message
        blocks = [self._with_bytes(block) for block in content]
        return message if all(map(is_, blocks, content)) else {**message, "content": blocks}

    def _with_bytes(self, block: Block) -> Block:
        if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
            return {**block, "content": [self._with_bytes(part) for part in block["content"]]}
        source = block.get("source")
        if block.get("type") not in _MEDIA or not isinstance(source, dict) or source.get("type") != "blob":
            return block
        data = self._load_blob(str(source.get("sha256")))
        if data is None:
            missing: Block = {"type": "text", "text": _MISSING}
            return missing | {key: block[key] for key in ("cache_control",) if key in block}
        encoded = base64.b64encode(data).decode("ascii")
        return {
            **block,
            "source": {"type": "base64", "media_type": source.get("media_type"), "data": encoded},
        }

    def _failure(self, error: BaseException, assembly: Assembly | None) -> ProviderError:
        """What the SDK or its transport raised, as our error."""
        import anthropic
        import httpx2

        endpoint = self._endpoint
        partial, dropped = assembly.partial() if assembly is not None else ([], [])
        begun = assembly is not None and assembly.begun
        if isinstance(error, anthropic.APIStatusError):
            return failures.from_status(endpoint, error.status_code, error.body, error.response.headers)
        if isinstance(error, anthropic.APIConnectionError):
            error = _innermost(error.__cause__ or error)
        if isinstance(error, httpx2.ReadTimeout):
            return failures.silent(endpoint, self._idle, partial=partial, dropped=dropped)
        if isinstance(error, (httpx2.TimeoutException, TimeoutError)):
            return failures.unreachable(endpoint, "no answer in time", kind="timeout")
        if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError)):
            return failures.unreachable(endpoint, str(error), retry=False, kind="invalid")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return failures.unreachable(endpoint, str(error), retry=False)
        if isinstance(error, (httpx2.TransportError, OSError)):
            reason = str(error) or type(error).__name__
            if begun:
                return failures.cut(endpoint, reason, partial=partial, dropped=dropped)
            return failures.unreachable(endpoint, reason)
        if assembly is not None and isinstance(error, (ValueError, httpx2.DecodingError)):
            return failures.foreign(endpoint, f"{error}", partial=partial, dropped=dropped)
        return failures.unreachable(endpoint, f"{type(error).__name__}: {error}", retry=False)


def _faults() -> tuple[type[Exception], ...]:
    """What the SDK, its transport and the decoding of what they bring may raise."""
    import anthropic
    import httpx2

    sdk = (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
    return (*sdk, OSError, ValueError)


def _innermost(error: BaseException) -> BaseException:
    """The first error of a group: connecting tries several addresses at once."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _is_error(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "error" or (event.get("type") is None and "error" in event)


async def _drain(events: AsyncGenerator[dict[str, Any], None]) -> None:
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass
    except TimeoutError:
        pass
