"""Connecting to a model: known endpoints to begin from, and a test with a real request."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui_agent.llm import models
from tui_agent.llm.anthropic import AnthropicProvider
from tui_agent.llm.provider import ProviderError, Reply, Text, Thinking, ToolUse
from tui_agent.messages.blocks import Message, text_block
from tui_agent.messages.request import Request

if TYPE_CHECKING:
    from tui_agent.settings.schema import Profile

_TEST_SECONDS = 120.0
"""A local server may have to load its model first."""
_TEST_TOKENS = 64
_TEST_WORDS = "Answer with the single word: ready"


@dataclass(frozen=True, slots=True)
class Preset:
    """An endpoint to begin from. Every field can be edited; `name` becomes the profile's name.

    `model` is empty where the endpoint lists its models (the newest is taken), `api_key_env` where it needs no key.
    """

    name: str
    title: str
    words: str
    base_url: str
    auth: Literal["bearer", "x-api-key", "none"]
    api_key_env: str = ""
    model: str = ""


# Addresses as the makers document them for clients of the Anthropic API (without /v1).
PRESETS: tuple[Preset, ...] = (
    Preset(
        "claude",
        "Anthropic",
        "Claude, by its maker",
        "https://api.anthropic.com",
        "bearer",
        "ANTHROPIC_API_KEY",
    ),
    Preset("ollama", "Ollama", "open models on this machine", "http://localhost:11434", "none"),
    Preset("lmstudio", "LM Studio", "open models on this machine", "http://localhost:1234", "none"),
    Preset("llamacpp", "llama.cpp server", "a GGUF model on this machine", "http://localhost:8080", "none"),
    Preset(
        "kimi",
        "Kimi",
        "Moonshot AI's models",
        "https://api.moonshot.ai/anthropic",
        "bearer",
        "MOONSHOT_API_KEY",
        "kimi-k2.6",
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        "DeepSeek's models",
        "https://api.deepseek.com/anthropic",
        "x-api-key",
        "DEEPSEEK_API_KEY",
        "deepseek-v4-pro",
    ),
    Preset(
        "glm", "GLM", "Z.ai's models", "https://api.z.ai/api/anthropic", "bearer", "ZAI_API_KEY", "glm-5.2"
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "many makers' models by one key",
        "https://openrouter.ai/api",
        "bearer",
        "OPENROUTER_API_KEY",
        "anthropic/claude-sonnet-5",
    ),
)


@dataclass(frozen=True, slots=True)
class Report:
    """What a test of a profile found.

    `ok`: the model answered. `window` and `max_output_tokens` are in tokens, as they will be used; `assumed` says which
    of them nobody told. `first_seconds` is the time to the first piece of the answer, `seconds` to its end. `error` and
    `ways` say what went wrong and what to do. `models` are the names the endpoint lists, in its order.
    """

    ok: bool
    endpoint: str
    model: str = ""
    window: int = 0
    max_output_tokens: int = 0
    assumed: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    text: str = ""
    first_seconds: float = 0.0
    seconds: float = 0.0
    kind: str = ""
    error: str = ""
    ways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offered:
    """A model that an endpoint lists, with its limits in tokens where it tells or the table knows them."""

    name: str
    window: int | None = None


async def offered(profile: Profile, api_key: str | None) -> list[Offered]:
    """The models that a profile's endpoint lists, in its order; empty if it lists none.

    Raises:
        ProviderError: it cannot be reached or refuses the key.
    """
    provider = AnthropicProvider(profile, api_key)
    try:
        entries = await provider.models()
    finally:
        await provider.close()
    names = [(str(entry["id"]), entry) for entry in entries if entry.get("id")]
    return [Offered(name, models.listed(entry).window or models.known(name).window) for name, entry in names]


async def test(profile: Profile, api_key: str | None) -> Report:
    """Ask the endpoint for its models and limits, then send a tiny request. Never raises ProviderError.

    It costs some tokens. Cancelling it hangs up.
    """
    provider = AnthropicProvider(profile, api_key)
    names: tuple[str, ...] = ()
    try:
        async with asyncio.timeout(_TEST_SECONDS):
            listing = await provider.models()
            names = tuple(str(entry["id"]) for entry in listing if entry.get("id"))
            await provider.prepare()
            text, first, whole = await _ask(provider)
    except ProviderError as error:
        return Report(
            ok=False,
            endpoint=profile.base_url,
            model=provider.model,
            models=names,
            kind=error.kind,
            error=str(error),
            ways=error.ways,
        )
    except TimeoutError:
        return Report(
            ok=False,
            endpoint=profile.base_url,
            model=provider.model,
            models=names,
            kind="timeout",
            error=f"{profile.base_url} gave no whole answer in {_TEST_SECONDS:g} s",
            ways=("try again: the model may be loading", "choose a smaller model"),
        )
    finally:
        await provider.close()
    return Report(
        ok=True,
        endpoint=profile.base_url,
        model=provider.model,
        window=provider.window,
        max_output_tokens=provider.max_output_tokens,
        assumed=provider.assumed,
        models=names,
        text=text,
        first_seconds=first,
        seconds=whole,
    )


async def _ask(provider: AnthropicProvider) -> tuple[str, float, float]:
    request = Request.make(
        model=provider.model,
        system=[],
        history=[Message("user", [text_block(_TEST_WORDS)])],
        max_tokens=min(_TEST_TOKENS, provider.max_output_tokens),
        tools=[],
    )
    start = time.monotonic()
    first = 0.0
    pieces: list[str] = []
    async for delta in provider.stream(request):
        match delta:
            case Text(text):
                pieces.append(text)
                first = first or time.monotonic() - start
            case Thinking() | ToolUse():
                first = first or time.monotonic() - start
            case Reply():
                pass
    return "".join(pieces), first, time.monotonic() - start
