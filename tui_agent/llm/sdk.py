"""The Anthropic SDK: loaded when it is needed first, and what it raises in our words.

It is large (seconds to import), so it is loaded in a thread.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import TYPE_CHECKING

from tui_agent.llm import failures

if TYPE_CHECKING:
    from tui_agent.llm.assembly import Assembly
    from tui_agent.llm.provider import ProviderError


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


def faults() -> tuple[type[Exception], ...]:
    """What the SDK, its transport and the decoding of what they bring may raise."""
    import anthropic
    import httpx2

    sdk = (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
    return (*sdk, OSError, ValueError)


def failure(
    endpoint: failures.Endpoint, error: BaseException, *, idle: float, assembly: Assembly | None = None
) -> ProviderError:
    """What the SDK or its transport raised, as our error.

    `idle` is how long a stream may send nothing, in seconds; `assembly` is the reply that was on its way, if one was.
    """
    import anthropic
    import httpx2

    partial, dropped = assembly.partial() if assembly is not None else ([], [])
    begun = assembly is not None and assembly.begun
    if isinstance(error, anthropic.APIStatusError):
        return failures.from_status(endpoint, error.status_code, error.body, error.response.headers)
    if isinstance(error, anthropic.APIConnectionError):
        error = _innermost(error.__cause__ or error)
    if isinstance(error, httpx2.ReadTimeout):
        return failures.silent(endpoint, idle, partial=partial, dropped=dropped)
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


def _innermost(error: BaseException) -> BaseException:
    """The first error of a group: connecting tries several addresses at once."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
