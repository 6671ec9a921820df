"""Windows and output limits of models, and what an endpoint's model list says of them.

An endpoint that lists limits is believed; the table serves those that list names alone. Its figures come from the
makers' public model pages (Anthropic's models overview, and the pages of DeepSeek, Moonshot and Z.ai); no prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

DEMO = "demo"
"""The name of the demo model, which costs nothing."""

_MILLION = 1_000_000


class Limits(Struct, frozen=True):
    """What a model takes and gives, in tokens; None where it is not known."""

    window: int | None = None
    max_output: int | None = None


# Beginnings of names, dots as dashes; the longest that fits a name counts.
_KNOWN: dict[str, Limits] = {
    "claude-3": Limits(200_000, 4_096),
    "claude-3-5": Limits(200_000, 8_192),
    "claude-3-7": Limits(200_000, 64_000),
    "claude-opus-4": Limits(200_000, 32_000),
    "claude-sonnet-4": Limits(200_000, 64_000),
    "claude-opus-4-5": Limits(200_000, 64_000),
    "claude-sonnet-4-5": Limits(200_000, 64_000),
    "claude-haiku-4-5": Limits(200_000, 64_000),
    "claude-opus-4-6": Limits(_MILLION, 128_000),
    "claude-opus-4-7": Limits(_MILLION, 128_000),
    "claude-opus-4-8": Limits(_MILLION, 128_000),
    "claude-sonnet-4-6": Limits(_MILLION, 128_000),
    "claude-opus-5": Limits(_MILLION, 128_000),
    "claude-sonnet-5": Limits(_MILLION, 128_000),
    "claude-haiku-5": Limits(_MILLION, 128_000),
    "claude-fable-5": Limits(_MILLION, 128_000),
    "claude-mythos": Limits(_MILLION),
    "deepseek-v4": Limits(_MILLION),
    "deepseek-flash": Limits(_MILLION),
    "kimi-k2": Limits(262_144),
    "kimi-k3": Limits(1_048_576),
    "glm-4-5": Limits(131_072),
    "glm-4-6": Limits(200_000),
    "glm-4-7": Limits(200_000),
    "glm-5": Limits(200_000),
    "glm-5-2": Limits(1_048_576),
    "glm-5-3": Limits(1_048_576),
}

FALLBACK_WINDOW = 32_768
"""Tokens, when neither the settings, nor the endpoint, nor the table tell: what local servers usually give at least."""
FALLBACK_OUTPUT = 8_192
"""Tokens, likewise."""

_WINDOWS = ("max_input_tokens", "context_length", "context_window", "max_model_len", "max_context_length")
_OUTPUTS = ("max_tokens", "max_output_tokens", "max_completion_tokens")

_ADAPTIVE = re.compile(
    r"claude-(?:(?:opus|sonnet|haiku)-(?:4-(?:[6-9]|\d\d)(?!\d)|[5-9]|\d\d(?!\d))|fable|mythos)"
)
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 32_000}
_LEAST_BUDGET = 1_024


def known(model: str) -> Limits:
    """What the table knows of a model. Its name may carry a maker (`anthropic/...`), a date, dots for dashes."""
    name = _plain(model)
    found = max((start for start in _KNOWN if name.startswith(start)), key=len, default=None)
    return _KNOWN[found] if found is not None else Limits()


def _plain(model: str) -> str:
    return model.lower().rpartition("/")[2].replace(".", "-").removeprefix("anthropic-")


def listed(entry: Mapping[str, Any]) -> Limits:
    """The limits in one entry of an endpoint's model list, under any of the names endpoints give them.

    Anthropic: `max_input_tokens` and `max_tokens`; OpenRouter and Moonshot: `context_length`; vLLM: `max_model_len`;
    llama.cpp: `meta.n_ctx`.
    """
    meta = entry.get("meta")
    top = entry.get("top_provider")
    window = _first(entry, _WINDOWS)
    if window is None and isinstance(meta, Mapping):
        window = _first(meta, ("n_ctx",))
    output = _first(entry, _OUTPUTS)
    if output is None and isinstance(top, Mapping):
        output = _first(top, _OUTPUTS)
    return Limits(window, output)


def _first(entry: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def newest(entries: Iterable[Mapping[str, Any]]) -> str | None:
    """The name of the newest model in a list that is still offered, or None if the list names none.

    By `created_at` (a date) or `created` (seconds); entries without either keep their order, which puts newer models
    first (Anthropic's rule for its list).
    """
    best: tuple[float, int] | None = None
    name: str | None = None
    for place, entry in enumerate(entries):
        identity = entry.get("id")
        if not isinstance(identity, str) or not identity or entry.get("lifecycle", "active") != "active":
            continue
        age = (_released(entry), -place)
        if best is None or age > best:
            best, name = age, identity
    return name


def _released(entry: Mapping[str, Any]) -> float:
    created = entry.get("created_at", entry.get("created"))
    if isinstance(created, (int, float)) and not isinstance(created, bool):
        return float(created)
    if isinstance(created, str):
        try:
            return datetime.fromisoformat(created).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return 0.0


def default_output(limit: int | None, window: int) -> int:
    """The longest answer to ask for where settings name none: the model's limit, at most a quarter of the window."""
    return max(1, min(limit or FALLBACK_OUTPUT, window // 4))


def thinking(level: str, model: str, max_tokens: int) -> dict[str, Any] | None:
    """The `thinking` parameter for a level of the settings (`off`, `low`, `medium`, `high`), or None to leave it out.

    Claude from 4.6 on decides by itself how much it thinks (`adaptive`; a budget is refused from 4.7 on). Others take a
    budget, at least 1 024 tokens and less than `max_tokens`; where that leaves no room, thinking stays off.
    """
    if level == "off":
        return None
    if _ADAPTIVE.match(_plain(model)):
        return {"type": "adaptive"}
    budget = min(_BUDGETS[level], max_tokens - _LEAST_BUDGET)
    return {"type": "enabled", "budget_tokens": budget} if budget >= _LEAST_BUDGET else None
