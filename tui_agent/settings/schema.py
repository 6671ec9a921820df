"""Every setting: its type, default, limits and one line of help.

The classes are the tree of settings.toml as it is read; their fields carry what may be written there, so that
reading, checking, saving and a settings screen go by one list (`SETTINGS`). `Settings` is a value: it is
loaded, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from msgspec.structs import force_setattr

from tui_agent.settings.prompting import Prompt
from tui_agent.settings.rules import Setting, SettingsError
from tui_agent.settings.serving import Mcp, McpServer, Tools
from tui_agent.settings.shortening import Compaction, OwnCompaction
from tui_agent.settings.shortening import (
    Priorities as Priorities,
)  # whoever reads settings takes it from here
from tui_agent.settings.table import EMPTY, Table, now, rule, table, tables

__all__ = [
    "SETTINGS",
    "Compaction",
    "Mcp",
    "McpServer",
    "OwnCompaction",
    "Priorities",
    "Settings",
    "Table",
    "Tools",
]  # and what is defined here

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


class Profile(Table, frozen=True):
    """An endpoint and a model: what is asked, and how. `name` is its name in settings.toml."""

    name: str = ""
    provider: Literal["anthropic", "demo"] = rule(
        "anthropic",
        "choice",
        "Who answers: an endpoint that speaks the Anthropic Messages API, or the offline demo model.",
        choices=("anthropic", "demo"),
        when="choice",
    )
    model: str = rule("", "text", "The model; left out: the newest that the endpoint lists.", when="choice")
    base_url: str = rule(ANTHROPIC_URL, "url", "The endpoint's address, without /v1.", when="choice")
    auth: Auth = rule(
        "bearer", "choice", "How the key is sent.", choices=("bearer", "x-api-key", "none"), when="choice"
    )
    api_key_env: str = rule(
        "",
        "variable",
        f"The environment variable that holds the key; left out: {ANTHROPIC_KEY}, or none for other endpoints.",
        when="choice",
    )
    context_window: int | None = rule(
        None,
        "integer",
        "The model's window; left out: as the endpoint tells, or known, or a guess (~).",
        minimum=LEAST_WINDOW,
        maximum=100_000_000,
        unit="tokens",
        when="choice",
    )
    max_output_tokens: int | None = rule(
        None,
        "integer",
        "The longest answer; left out: asked from the endpoint.",
        minimum=1,
        maximum=1_000_000,
        unit="tokens",
        when="choice",
    )
    thinking: Thinking = rule(
        "off", "choice", "How much the model may think before it answers.", choices=LEVELS, when="choice"
    )
    compaction: OwnCompaction = table(OwnCompaction)


class Approvals(Table, frozen=True):
    """What tools may do without asking."""

    allow: tuple[str, ...] = rule(
        (), "list", "Rules: a tool's name, or name:pattern such as bash:git status or bash:pnpm test*."
    )


class Backups(Table, frozen=True):
    """Which backups of a session's log are kept. By default all of them."""

    keep: int | None = rule(
        None, "integer", "Keep at most this many backups a session, the newest.", minimum=1, maximum=1_000_000
    )
    max_bytes: int | None = rule(
        None,
        "integer",
        "Keep at most this much of backups a session, the newest.",
        minimum=1,
        maximum=2**50,
        unit="bytes",
    )


class Memory(Table, frozen=True):
    """What is remembered beyond a conversation."""

    keep_markers: bool = now(
        True, "switch", "Send the model its <memory> markers again, so that it sees what it has proposed."
    )


class Hooks(Table, frozen=True):
    """Commands of the user that run at certain moments, with JSON on their standard input."""

    pre_compact: str = now("", "text", "A command that runs before a compaction; exit code 2 prevents it.")
    post_compact: str = now("", "text", "A command that runs after a compaction.")


class Terminal(Table, frozen=True):
    """How the program uses the terminal."""

    keyboard: Literal["auto", "kitty", "legacy"] = rule(
        "auto",
        "choice",
        "How keys are asked for: every way, the kitty protocol alone, or without it (some input methods).",
        choices=("auto", "kitty", "legacy"),
        when="start",
    )
    bell: bool = rule(
        True,
        "switch",
        "Ring when a card waits or a long turn is done and no key came for 15 seconds.",
        when="now",
    )


class Price(Table, frozen=True):
    """What a model costs, in US dollars per million tokens."""

    input: float = rule(0.0, "number", "Input.", minimum=0, maximum=1e6, unit="$ per million tokens")
    output: float = rule(0.0, "number", "Output.", minimum=0, maximum=1e6, unit="$ per million tokens")
    cache_read: float | None = rule(
        None,
        "number",
        "Input read from the cache; left out: it is counted without money.",
        minimum=0,
        maximum=1e6,
        unit="$ per million tokens",
    )
    cache_write: float | None = rule(
        None,
        "number",
        "Input written to the cache; left out: it is counted without money.",
        minimum=0,
        maximum=1e6,
        unit="$ per million tokens",
    )


class KnowledgeBase(Table, frozen=True):
    """A place to look things up."""

    kind: str = rule("markdown", "name", "What it is: markdown, sqlite_fts or another engine's name.")
    path: str = rule("", "text", "The folder or file it lies in.")
    endpoint: str = rule("", "text", "The address of its server.")
    api_key_env: str = rule("", "variable", "The environment variable that holds its server's key.")
    profile_aliases: tuple[str, ...] = rule((), "list", "The profiles that use it; left out: all.")
    max_results: int = rule(5, "integer", "The most hits a question brings.", minimum=1, maximum=100)
    min_score: float = rule(0.0, "number", "Hits below this score are left out.", minimum=0, maximum=1e6)


class Settings(Table, frozen=True):
    """settings.toml, checked, with defaults for what it leaves out.

    `profiles` always holds the built-in ones, `claude` and `demo`, unless the file defines them otherwise. `unknown`
    holds the tables that no part of the program knows: they are kept when the file is saved and named in `notices`.
    `file` is where it was read from, whether that file exists or not.
    """

    profile: str = rule("claude", "name", "The profile that a session starts with.")
    durability: Durability = rule(
        "step",
        "choice",
        "When the log is forced to the disk: at each step of a turn, at each record, or never.",
        choices=("step", "record", "off"),
    )
    theme: str = rule(
        "auto",
        "name",
        "auto (light or dark as the terminal is), light, dark, ansi, or a theme of your own (themes/NAME.toml).",
        when="now",
    )
    glyphs: Signs = rule(
        "unicode",
        "choice",
        "The signs and lines of the screen; ascii for fonts and terminals that lack others.",
        choices=("unicode", "ascii"),
        when="now",
    )
    motion: Motion = rule(
        "full",
        "choice",
        "Whether anything on the screen may move by itself; reduced: no animation, no smooth scrolling.",
        choices=("full", "reduced"),
        when="now",
    )
    profiles: Mapping[str, Profile] = tables(Profile)
    compaction: Compaction = table(Compaction)
    approvals: Approvals = table(Approvals)
    tools: Tools = table(Tools)
    mcp: Mcp = table(Mcp)
    keys: Mapping[str, str] = rule(EMPTY, "map", 'Keys by action, such as compact = "f5".', when="now")
    terminal: Terminal = table(Terminal)
    backups: Backups = table(Backups)
    memory: Memory = table(Memory)
    prompt: Prompt = table(Prompt)
    hooks: Hooks = table(Hooks)
    prices: Mapping[str, Price] = tables(Price)
    knowledge_bases: Mapping[str, KnowledgeBase] = tables(KnowledgeBase)
    unknown: Mapping[str, Any] = EMPTY
    notices: tuple[str, ...] = ()
    file: Path | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "profiles", MappingProxyType({**builtin_profiles(), **self.profiles}))

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

    def compaction_of(self, profile: str | None = None) -> Compaction:
        """When and how a long context is shortened under a profile, by default the one settings choose.

        Raises:
            SettingsError: there is no such profile.
        """
        return self.find_profile(profile).compaction.over(self.compaction)


def builtin_profiles() -> dict[str, Profile]:
    """The profiles that exist without a settings file."""
    return {
        "claude": Profile(name="claude", api_key_env=ANTHROPIC_KEY),
        "demo": Profile(name="demo", provider="demo", auth="none"),
    }


def _walk(kind: type[Table], prefix: str) -> Iterator[Setting]:
    for name, part in kind.parts.items():
        if part.rule is not None:
            yield Setting(prefix + name, part.rule, part.default)
        elif part.table is not None:
            yield from _walk(part.table, f"{prefix}{name}.*." if part.named else f"{prefix}{name}.")


SETTINGS: tuple[Setting, ...] = tuple(_walk(Settings, ""))
"""Every setting, in the order of the file."""
