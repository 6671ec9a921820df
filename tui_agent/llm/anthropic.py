"""The Anthropic Messages API, and every endpoint that speaks like it.

Of the SDK (`sdk`) the client is used (addresses, credentials, connections, errors); the body is encoded here (`body`),
off the event loop, and the stream's events are read as the JSON they are. So blocks are kept as the endpoint sent them,
unknown ones included, and the SDK's own retries, deprecation warnings and telemetry stay out of it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from tui_agent.llm import failures, models, sdk
from tui_agent.llm.assembly import Assembly
from tui_agent.llm.body import LoadBlob, encode
from tui_agent.llm.provider import ProviderError

if TYPE_CHECKING:
    import anthropic

    from tui_agent.llm.provider import Delta
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
        self._asked = False
        """True once the endpoint's list was read."""
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
        """The model's window, in tokens: of the settings, the endpoint or the table, in this order; else a guess."""
        return self._window or models.known(self._model).window or models.FALLBACK_WINDOW

    @property
    def guessed(self) -> bool:
        """True while the window is a guess: neither settings, the endpoint nor the table have told it."""
        return not (self._window or models.known(self._model).window)

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
            if not (self._model and (self._window or self._asked) and self._max_output):
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
                assumed.append(
                    f"the window of {self._model} is not known; {self.window:,} tokens assumed, "
                    "set context_window in the profile"
                )
        if self._max_output is None:
            self._max_output = models.default_output(told.max_output or known.max_output, self.window)
        self._asked = True
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
        except sdk.faults() as error:
            failure = self._failure(error)
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
        body = await asyncio.to_thread(encode, request, self._load_blob)
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
        except sdk.faults() as error:
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
        body = await asyncio.to_thread(encode, request, self._load_blob, counting=True)
        import httpx2

        try:
            response = await client.post("/v1/messages/count_tokens", content=body, cast_to=httpx2.Response)
            return int(json.loads(response.content)["input_tokens"])
        except (ValueError, KeyError, TypeError) as error:
            raise failures.foreign(self._endpoint, "it gave no token count") from error
        except sdk.faults() as error:
            failure = self._failure(error)
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
                await sdk.load()
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

    def _failure(self, error: BaseException, assembly: Assembly | None = None) -> ProviderError:
        return sdk.failure(self._endpoint, error, idle=self._idle, assembly=assembly)


def _is_error(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "error" or (event.get("type") is None and "error" in event)


async def _drain(events: AsyncGenerator[dict[str, Any], None]) -> None:
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass
    except TimeoutError:
        pass
