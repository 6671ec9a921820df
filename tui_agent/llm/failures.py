"""What goes wrong at an endpoint, as a ProviderError that says so and names the way out.

Statuses, error types and wordings come from outside and vary by endpoint; this module alone knows them. Messages carry
the endpoint's own words, shortened, on one line, with the key taken out should it be quoted in them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from tui_agent.llm.provider import ContextOverflow, ProviderError

_MOST_WORDS = 400
"""Characters of an endpoint's message that are shown."""

_RETRY_STATUSES = frozenset({408, 409, 429, 529})

_KINDS = {
    400: "invalid",
    401: "auth",
    402: "invalid",
    403: "auth",
    404: "invalid",
    408: "timeout",
    413: "overflow",
    422: "invalid",
    429: "rate_limit",
    529: "overloaded",
}

_STATUSES = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "rate_limit_error": 429,
    "timeout_error": 408,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}
"""Error types, as they come inside a stream, and the status that the same error has outside of one."""

# The Messages API has no code for an overflow: it is known by its words. Groups give the numbers where they are told.
_N = r"[\d,_]+"
_OVERFLOW = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"prompt is too long: (?P<tokens>{_N}) tokens > (?P<window>{_N})",
        rf"prompt is too long: (?P<tokens>{_N}), model maximum context length: (?P<window>{_N})",
        rf"exceed context limit: (?P<tokens>{_N}) \+ {_N} > (?P<window>{_N})",
        rf"exceeded model token limit: (?P<window>{_N}) \(requested: (?P<tokens>{_N})\)",
        rf"prompt too long: (?P<tokens>{_N}) tokens exceeds \w+ (?P<window>{_N})",
        rf"maximum context length is (?P<window>{_N}) tokens.*?(?:in|requested|about) (?P<tokens>{_N}) tokens",
        rf"input length \((?P<tokens>{_N})\) exceeds .*?context length \((?P<window>{_N})\)",
        rf"input \((?P<tokens>{_N}) tokens\) is longer than .*?context length \((?P<window>{_N}) tokens\)",
        rf"prompt has (?P<tokens>{_N}) tokens?, but the configured context size is (?P<window>{_N})",
        rf"prompt token count of (?P<tokens>{_N}) exceeds the limit of (?P<window>{_N})",
        rf"maximum prompt length is (?P<window>{_N}) but the request contains (?P<tokens>{_N})",
        rf"token count \((?P<tokens>{_N})\) exceeds the maximum .*?\((?P<window>{_N})\)",
        rf"input exceeds the context window.*?(?P<tokens>{_N}) tokens, at most (?P<window>{_N})",
        rf"too large for model with (?P<window>{_N}) maximum context length",
        rf"maximum context length (?:is|of)?\s*\(?(?P<window>{_N})",
        r"prompt (?:is )?too long",
        r"prompt exceeds max length",
        r"prompt 超长",
        r"input is too long for requested model",
        r"exceeds? (?:the |its )?(?:available |model's )?context (?:size|window|length|limit)",
        r"context window exceeds limit",
        r"exceeded (?:max )?context length",
        r"greater than the context length",
        r"exceeds? (?:the )?(?:model'?s )?maximum (?:allowed )?(?:context|input) length",
        r"range of input length should be",
        r"reduce the length of the messages",
        r"exceeded model token limit",
        r"context[ _]length[ _]exceeded",
        r"model_context_window_exceeded",
        r"exceed_context_size",
        r"request_too_large",
    )
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom an error names: the address, the model, where the key comes from. `key` is only taken out of texts."""

    url: str
    model: str = ""
    auth: str = "bearer"
    key_env: str = ""
    key: str | None = None

    def safe(self, text: str) -> str:
        """Words of the endpoint: on one line, shortened, the key taken out."""
        if self.key:
            text = text.replace(self.key, "[key]")
        text = " ".join(text.split())
        return text if len(text) <= _MOST_WORDS else text[: _MOST_WORDS - 1] + "…"

    @property
    def local(self) -> bool:
        """The endpoint runs on this machine."""
        return re.match(r"https?://(localhost|127\.|\[::1\]|0\.0\.0\.0)", self.url, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Told:
    """What an error body says: its type, message and code, and the figures some endpoints add."""

    kind: str = ""
    message: str = ""
    code: str = ""
    tokens: int | None = None
    window: int | None = None


def read_body(body: object) -> Told:
    """The error in a response body or SSE event, in any of the shapes endpoints give it."""
    if isinstance(body, (bytes, bytearray)):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            text = body if isinstance(body, str) else ""
            page = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
            if "<html" in text.lower() or page:
                return Told(message=f"a web page ({page.group(1).strip()})" if page else "a web page")
            return Told(message=text)
    if not isinstance(body, Mapping):
        return Told(message="" if body is None else str(body))
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        return Told(message=str(error))
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else error.get("code")
    return Told(
        kind=_text(error.get("type")),
        message=_text(error.get("message")) or _text(error.get("detail")),
        code=_text(code),
        tokens=_number(error.get("n_prompt_tokens")),
        window=_number(error.get("n_ctx")),
    )


def from_status(
    endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """The error that a response with an error status is."""
    told = read_body(body)
    wait = retry_after(headers or {})
    error = _make(endpoint, status, told, f"{endpoint.url} answered {status}")
    error.status = status
    error.retry_after = wait
    return error


def from_event(
    endpoint: Endpoint,
    event: Mapping[str, Any],
    *,
    partial: Sequence[dict[str, Any]] = (),
    dropped: Sequence[str] = (),
) -> ProviderError:
    """The error that an `error` event in the middle of a stream is."""
    told = read_body(event)
    status = _STATUSES.get(told.kind, 500)
    error = _make(endpoint, status, told, f"{endpoint.url} broke off its answer")
    error.partial = list(partial)
    error.dropped = list(dropped)
    return error


def _make(endpoint: Endpoint, status: int, told: Told, opening: str) -> ProviderError:
    words = endpoint.safe(": ".join(part for part in (told.kind, told.message) if part))
    message = f"{opening}: {words}" if words else opening
    overflow = _overflow(endpoint, status, told, message)
    if overflow is not None:
        return overflow
    retry = status in _RETRY_STATUSES or status >= 500
    # A spending limit answers 429 too, but no wait within a turn lifts it.
    if told.code.endswith("limit_reached") or told.code == "insufficient_quota":
        retry = False
    kind = _KINDS.get(status, "server" if status >= 500 else "other")
    return ProviderError(message, kind=kind, retry=retry, ways=_ways(endpoint, status, told))


def _overflow(endpoint: Endpoint, status: int, told: Told, message: str) -> ContextOverflow | None:
    if status in _RETRY_STATUSES or status in (401, 402, 403, 404):
        return None
    text = f"{told.kind} {told.code} {told.message}"
    found = next((match for pattern in _OVERFLOW if (match := pattern.search(text))), None)
    if found is None and status != 413 and told.code != "1261":
        return None
    numbers = found.groupdict() if found else {}
    tokens = told.tokens if told.tokens is not None else _number(numbers.get("tokens"))
    window = told.window if told.window is not None else _number(numbers.get("window"))
    if tokens is not None and window is not None:
        opening = (
            f"the request has {tokens:,} tokens, the window of {endpoint.model or 'the model'} {window:,}"
        )
        message = f"{opening} ({message})"
    error = ContextOverflow(message, tokens=tokens, window=window)
    error.status = status
    return error


def _ways(endpoint: Endpoint, status: int, told: Told) -> tuple[str, ...]:
    key = f"the key in {endpoint.key_env}" if endpoint.key_env else "the key (api_key_env of the profile)"
    match status:
        case 401:
            other = "x-api-key" if endpoint.auth == "bearer" else "bearer"
            return (f"check {key}", f'try auth = "{other}" in the profile', "start with --demo")
        case 403:
            return (f"check what {key} may do", "choose another model (/model)")
        case 402:
            return ("check the account's balance", "choose another profile (/model)")
        case 404:
            return (
                f"check the model's name ({endpoint.model or 'none'})",
                f"check base_url ({endpoint.url}); it has no /v1 at its end",
            )
        case 429:
            return ("wait, then ask again (/retry)", "choose another profile (/model)")
        case 529 | 408 | 409:
            return ("try again later (/retry)", "choose another profile (/model)")
        case _ if status >= 500:
            return ("try again later (/retry)", "choose another profile (/model)")
        case 400 | 422 if "thinking" in told.message:
            return ('set thinking = "off" in the profile', "go back to an earlier checkpoint (/revert)")
        case _:
            return ("go back to an earlier checkpoint (/revert)", "choose another model (/model)")


def unreachable(
    endpoint: Endpoint, reason: str, *, retry: bool = True, kind: str = "connection"
) -> ProviderError:
    """No connection, or none that lasts until an answer begins."""
    ways = [f"check base_url ({endpoint.url})", "start with --demo"]
    ways.insert(0, "start the server" if endpoint.local else "check the network")
    return ProviderError(
        f"{endpoint.url} cannot be reached: {endpoint.safe(reason)}", kind=kind, retry=retry, ways=ways
    )


def silent(
    endpoint: Endpoint,
    seconds: float,
    *,
    partial: Sequence[dict[str, Any]] = (),
    dropped: Sequence[str] = (),
) -> ProviderError:
    """The endpoint sent nothing for too long."""
    return ProviderError(
        f"{endpoint.url} sent nothing for {seconds:g} s",
        kind="timeout",
        retry=True,
        partial=partial,
        dropped=dropped,
        ways=("try again later (/retry)", "choose another profile (/model)"),
    )


def cut(
    endpoint: Endpoint, reason: str, *, partial: Sequence[dict[str, Any]] = (), dropped: Sequence[str] = ()
) -> ProviderError:
    """The stream ended before the answer did."""
    return ProviderError(
        f"the answer of {endpoint.url} was cut off: {endpoint.safe(reason)}",
        kind="cut",
        retry=True,
        partial=partial,
        dropped=dropped,
        ways=("let it go on (/retry)",),
    )


def foreign(
    endpoint: Endpoint, what: str, *, partial: Sequence[dict[str, Any]] = (), dropped: Sequence[str] = ()
) -> ProviderError:
    """What came is not the Messages API's stream."""
    return ProviderError(
        f"{endpoint.url} does not speak the Anthropic Messages API: {endpoint.safe(what)}",
        kind="invalid",
        partial=partial,
        dropped=dropped,
        ways=(f"check base_url ({endpoint.url}); it has no /v1 at its end",),
    )


def uncounted(endpoint: Endpoint, status: int | None) -> ProviderError:
    """The endpoint has no count of tokens."""
    return ProviderError(f"{endpoint.url} counts no tokens ({status})", kind="invalid", status=status)


def no_key(endpoint: Endpoint) -> ProviderError:
    """There is no key to send."""
    name = endpoint.key_env or "the variable that api_key_env names"
    return ProviderError(
        f"no API key for {endpoint.url}: {name} is not set",
        kind="auth",
        ways=(
            f"set {name}",
            'set auth = "none" in the profile if the endpoint needs no key',
            "start with --demo",
        ),
    )


def unusable_key(endpoint: Endpoint) -> ProviderError:
    """The key cannot stand in a header."""
    name = endpoint.key_env or "the key's variable"
    return ProviderError(
        f"the API key for {endpoint.url} has characters that cannot be sent",
        kind="auth",
        ways=(f"check {name} for line breaks, spaces and quotes",),
    )


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """The seconds that `retry-after` (seconds or a date) or `retry-after-ms` asks to wait, or None."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - (time.time() if now is None else now))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ("" if value is None else str(value))


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        digits = value.replace(",", "").replace("_", "")
        return int(digits) if digits.isdecimal() and len(digits) < 16 else None
    return None
