"""Every setting: its type, default, limits and one line of help.

The classes are the tree of settings.toml as it is read; their fields carry what may be written there, so that
reading, checking, saving and a settings screen go by one list (`SETTINGS`). `Settings` is a value: it is
loaded, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from tui_agent.settings.rules import Kind, Rule, Setting, SettingsError

Durability = Literal["step", "record", "off"]
Signs = Literal["unicode", "ascii"]
Motion = Literal["full", "reduced"]
Auth = Literal["bearer", "x-api-key", "none"]
Thinking = Literal["off", "low", "medium", "high"]
LEVELS: tuple[Thinking, ...] = ("off", "low", "medium", "high")
"""How much a model may think."""

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_KEY = "ANTHROPIC_API_KEY"
LEAST_WINDOW = 8_000
"""Tokens: no window smaller than this can hold the system prompt, the tools and a conversation."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


def _rule(kind: Kind, help: str, **limits: Any) -> dict[str, Rule]:
    return {"rule": Rule(kind, help, **limits)}


def _table(kind: type) -> dict[str, type]:
    return {"table": kind}


def _tables(kind: type) -> dict[str, type]:
    return {"tables": kind}


def _nothing() -> Mapping[str, Any]:
    return _EMPTY


@dataclass(frozen=True, slots=True)
class Profile:
    """An endpoint and a model: what is asked, and how. `name` is its name in settings.toml."""

    name: str = ""
    provider: Literal["anthropic", "demo"] = field(
        default="anthropic",
        metadata=_rule(
            "choice",
            "Who answers: an endpoint that speaks the Anthropic Messages API, or the offline demo model.",
            choices=("anthropic", "demo"),
            when="choice",
        ),
    )
    model: str = field(
        default="",
        metadata=_rule("text", "The model; left out: the newest that the endpoint lists.", when="choice"),
    )
    base_url: str = field(
        default=ANTHROPIC_URL,
        metadata=_rule("url", "The endpoint's address, without /v1.", when="choice"),
    )
    auth: Auth = field(
        default="bearer",
        metadata=_rule(
            "choice", "How the key is sent.", choices=("bearer", "x-api-key", "none"), when="choice"
        ),
    )
    api_key_env: str = field(
        default="",
        metadata=_rule(
            "variable",
            f"The environment variable that holds the key; left out: {ANTHROPIC_KEY}, or none for other endpoints.",
            when="choice",
        ),
    )
    context_window: int | None = field(
        default=None,
        metadata=_rule(
            "integer",
            "The model's window; left out: asked from the endpoint.",
            minimum=LEAST_WINDOW,
            maximum=100_000_000,
            unit="tokens",
            when="choice",
        ),
    )
    max_output_tokens: int | None = field(
        default=None,
        metadata=_rule(
            "integer",
            "The longest answer; left out: asked from the endpoint.",
            minimum=1,
            maximum=1_000_000,
            unit="tokens",
            when="choice",
        ),
    )
    thinking: Thinking = field(
        default="off",
        metadata=_rule(
            "choice",
            "How much the model may think before it answers.",
            choices=LEVELS,
            when="choice",
        ),
    )


@dataclass(frozen=True, slots=True)
class Compaction:
    """When and how a long context is shortened."""

    trigger_ratio: float = field(
        default=0.85,
        metadata=_rule("number", "Compact when this part of the window is full.", minimum=0.1, maximum=0.99),
    )
    reserved_tokens: int = field(
        default=50_000,
        metadata=_rule(
            "integer",
            "Compact when less than this is free (at most a quarter of a window under 200,000).",
            minimum=0,
            maximum=100_000_000,
            unit="tokens",
        ),
    )
    micro_ratio: float = field(
        default=0.5,
        metadata=_rule(
            "number",
            "Shorten old tool results when this part of the window is full.",
            minimum=0.05,
            maximum=0.99,
        ),
    )
    strategy: str = field(
        default="summary",
        metadata=_rule("name", "How: summary, extractive, none, or an installed strategy's name."),
    )
    auto: bool = field(default=True, metadata=_rule("switch", "Compact without being asked."))
    review: bool = field(default=False, metadata=_rule("switch", "Show the summary before it takes effect."))
    fallback: Literal["ask", "extractive"] = field(
        default="ask",
        metadata=_rule(
            "choice",
            "When the strategy fails and nothing fits: ask (with -p, extractive), or extractive at once.",
            choices=("ask", "extractive"),
        ),
    )


@dataclass(frozen=True, slots=True)
class Approvals:
    """What tools may do without asking."""

    allow: tuple[str, ...] = field(
        default=(),
        metadata=_rule(
            "list", "Rules: a tool's name, or name:pattern such as bash:git status or bash:pnpm test*."
        ),
    )


@dataclass(frozen=True, slots=True)
class Backups:
    """Which backups of a session's log are kept. By default all of them."""

    keep: int | None = field(
        default=None,
        metadata=_rule(
            "integer", "Keep at most this many backups a session, the newest.", minimum=1, maximum=1_000_000
        ),
    )
    max_bytes: int | None = field(
        default=None,
        metadata=_rule(
            "integer",
            "Keep at most this much of backups a session, the newest.",
            minimum=1,
            maximum=2**50,
            unit="bytes",
        ),
    )


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands of the user that run at certain moments, with JSON on their standard input."""

    pre_compact: str = field(
        default="",
        metadata=_rule("text", "A command that runs before a compaction; exit code 2 prevents it."),
    )
    post_compact: str = field(default="", metadata=_rule("text", "A command that runs after a compaction."))


@dataclass(frozen=True, slots=True)
class Terminal:
    """How the program uses the terminal."""

    keyboard: Literal["auto", "kitty", "legacy"] = field(
        default="auto",
        metadata=_rule(
            "choice",
            "How keys are asked for: every way, the kitty protocol alone, or without it (some input methods).",
            choices=("auto", "kitty", "legacy"),
            when="start",
        ),
    )
    bell: bool = field(
        default=True,
        metadata=_rule(
            "switch",
            "Ring when a card waits or a long turn is done and no key came for 15 seconds.",
            when="now",
        ),
    )


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars per million tokens."""

    input: float = field(
        default=0.0, metadata=_rule("number", "Input.", minimum=0, maximum=1e6, unit="$ per million tokens")
    )
    output: float = field(
        default=0.0, metadata=_rule("number", "Output.", minimum=0, maximum=1e6, unit="$ per million tokens")
    )
    cache_read: float = field(
        default=0.0,
        metadata=_rule(
            "number", "Input read from the cache.", minimum=0, maximum=1e6, unit="$ per million tokens"
        ),
    )
    cache_write: float = field(
        default=0.0,
        metadata=_rule(
            "number", "Input written to the cache.", minimum=0, maximum=1e6, unit="$ per million tokens"
        ),
    )


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A place to look things up."""

    kind: str = field(
        default="markdown",
        metadata=_rule("name", "What it is: markdown, sqlite_fts or another engine's name."),
    )
    path: str = field(default="", metadata=_rule("text", "The folder or file it lies in."))
    endpoint: str = field(default="", metadata=_rule("text", "The address of its server."))
    api_key_env: str = field(
        default="", metadata=_rule("variable", "The environment variable that holds its server's key.")
    )
    profile_aliases: tuple[str, ...] = field(
        default=(), metadata=_rule("list", "The profiles that use it; left out: all.")
    )
    max_results: int = field(
        default=5, metadata=_rule("integer", "The most hits a question brings.", minimum=1, maximum=100)
    )
    min_score: float = field(
        default=0.0, metadata=_rule("number", "Hits below this score are left out.", minimum=0, maximum=1e6)
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """settings.toml, checked, with defaults for what it leaves out.

    `profiles` always holds the built-in ones, `claude` and `demo`, unless the file defines them otherwise. `unknown`
    holds the tables that no part of the program knows: they are kept when the file is saved and named in `notices`.
    `file` is where it was read from, whether that file exists or not.
    """

    profile: str = field(default="claude", metadata=_rule("name", "The profile that a session starts with."))
    durability: Durability = field(
        default="step",
        metadata=_rule(
            "choice",
            "When the log is forced to the disk: at each step of a turn, at each record, or never.",
            choices=("step", "record", "off"),
        ),
    )
    theme: str = field(
        default="auto",
        metadata=_rule(
            "name",
            "auto (light or dark as the terminal is), light, dark, ansi, or a theme of your own (themes/NAME.toml).",
            when="now",
        ),
    )
    glyphs: Signs = field(
        default="unicode",
        metadata=_rule(
            "choice",
            "The signs and lines of the screen; ascii for fonts and terminals that lack others.",
            choices=("unicode", "ascii"),
            when="now",
        ),
    )
    motion: Motion = field(
        default="full",
        metadata=_rule(
            "choice",
            "Whether anything on the screen may move by itself; reduced: no animation, no smooth scrolling.",
            choices=("full", "reduced"),
            when="now",
        ),
    )
    profiles: Mapping[str, Profile] = field(default_factory=_nothing, metadata=_tables(Profile))
    compaction: Compaction = field(default_factory=Compaction, metadata=_table(Compaction))
    approvals: Approvals = field(default_factory=Approvals, metadata=_table(Approvals))
    keys: Mapping[str, str] = field(
        default_factory=_nothing,
        metadata=_rule("map", 'Keys by action, such as compact = "f5".', when="now"),
    )
    terminal: Terminal = field(default_factory=Terminal, metadata=_table(Terminal))
    backups: Backups = field(default_factory=Backups, metadata=_table(Backups))
    hooks: Hooks = field(default_factory=Hooks, metadata=_table(Hooks))
    prices: Mapping[str, Price] = field(default_factory=_nothing, metadata=_tables(Price))
    knowledge_bases: Mapping[str, KnowledgeBase] = field(
        default_factory=_nothing, metadata=_tables(KnowledgeBase)
    )
    unknown: Mapping[str, Any] = field(default_factory=_nothing)
    notices: tuple[str, ...] = ()
    file: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", MappingProxyType({**builtin_profiles(), **self.profiles}))

    def find_profile(self, name: str | None = None) -> Profile:
        """The profile of that name, by default the one settings choose.

        Raises:
            SettingsError: there is none; the message names those there are.
        """
        wanted = name or self.profile
        if wanted not in self.profiles:
            raise SettingsError(
                f'there is no profile "{wanted}" in {self.file or "settings.toml"}',
                key="profile",
                allowed=", ".join(self.profiles),
            )
        return self.profiles[wanted]


def builtin_profiles() -> dict[str, Profile]:
    """The profiles that exist without a settings file."""
    return {
        "claude": Profile(name="claude", api_key_env=ANTHROPIC_KEY),
        "demo": Profile(name="demo", provider="demo", auth="none"),
    }


def _walk(kind: type, prefix: str) -> Iterator[Setting]:
    for item in fields(kind):
        meta = item.metadata
        if "rule" in meta:
            default = _EMPTY if item.default is MISSING else item.default
            yield Setting(prefix + item.name, meta["rule"], default)
        elif "table" in meta:
            yield from _walk(meta["table"], f"{prefix}{item.name}.")
        elif "tables" in meta:
            yield from _walk(meta["tables"], f"{prefix}{item.name}.*.")


SETTINGS: tuple[Setting, ...] = tuple(_walk(Settings, ""))
"""Every setting, in the order of the file."""
