"""Every setting: its type, default, limits and one line of help.

The classes are the tree of settings.toml as it is read; their fields carry what may be written there, so that
reading, checking, saving and a settings screen go by one list (`SETTINGS`). `Settings` is a value: it is
loaded, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from msgspec import Struct, StructMeta, field
from msgspec.structs import force_setattr, replace

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


class Part(Struct, frozen=True):
    """What a field of a table may hold: a value that a rule allows, a table, or tables with names of the user's."""

    default: Any
    rule: Rule | None = None
    table: type[Table] | None = None
    named: bool = False


class _TableMeta(StructMeta):
    """Keeps in `parts` what the fields of a table may hold; their defaults stay where they are."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        parts = {key: value for key, value in namespace.items() if isinstance(value, Part)}
        defaults = {key: part.default for key, part in parts.items()}
        return super().__new__(cls, name, bases, {**namespace, **defaults, "parts": parts}, **options)


class Table(Struct, frozen=True, metaclass=_TableMeta):
    """A table of settings.toml."""

    parts: ClassVar[Mapping[str, Part]]


def _rule(default: Any, kind: Kind, help: str, **limits: Any) -> Any:
    return Part(default, Rule(kind, help, **limits))


def _table(kind: type[Table]) -> Any:
    return Part(field(default_factory=kind), table=kind)


def _tables(kind: type[Table]) -> Any:
    return Part(_EMPTY, table=kind, named=True)


def _now(default: Any, kind: Kind, help: str, **limits: Any) -> Any:
    """A setting whose change takes effect at once."""
    return _rule(default, kind, help, when="now", **limits)


def _priority(default: int, help: str) -> Any:
    return _rule(default, "integer", help, minimum=0, maximum=100)


class Priorities(Table, frozen=True):
    """How much messages matter, 0 to 100: what matters least is shortened first. 100 is never shortened."""

    goal: int = _priority(100, "The goal and the plan, while nothing newer was told of them.")
    words: int = _priority(75, "What a person said. Micro-compaction never touches it.")
    failures: int = _priority(75, "Results of calls that failed.")
    normal: int = _priority(50, "Answers, and results of calls.")
    reasoning: int = _priority(25, "What the model says to itself between two calls.")
    confirmations: int = _priority(0, "Results that only say that a write succeeded.")
    superseded: int = _priority(0, "Reminders of which a newer one was told.")
    trivial_steps: int = _rule(
        20,
        "integer",
        "What is of priority 0 expires after so many answers of the model.",
        minimum=1,
        maximum=100_000,
    )


class Compaction(Table, frozen=True):
    """When and how a long context is shortened."""

    trigger_ratio: float = _now(
        0.85, "number", "Compact when this part of the window is full.", minimum=0.1, maximum=0.99
    )
    reserved_tokens: int = _now(
        50_000,
        "integer",
        "Compact when less than this is free (at most a quarter of a window under 200,000).",
        minimum=0,
        maximum=100_000_000,
        unit="tokens",
    )
    micro_ratio: float = _now(
        0.5,
        "number",
        "Shorten old tool results when this part of the window is full.",
        minimum=0.05,
        maximum=0.99,
    )
    micro_stop_ratio: float | None = _now(
        None,
        "number",
        "Shorten them until this part of the window is full; left out: four fifths of micro_ratio.",
        minimum=0.01,
        maximum=0.98,
    )
    micro_keep: int = _now(
        3,
        "integer",
        "So many of the newest answers to calls are never shortened.",
        minimum=1,
        maximum=1_000,
    )
    micro_long: int = _now(
        5_000,
        "integer",
        "Of results longer than this the first and last lines stay.",
        minimum=200,
        maximum=10_000_000,
        unit="characters",
    )
    strategy: str = _now(
        "summary", "name", "How: summary, extractive, none, or an installed strategy's name."
    )
    auto: bool = _now(True, "switch", "Compact without being asked.")
    review: bool = _now(
        False, "switch", "Show the summary before it takes effect (with -p: not, and it says so)."
    )
    fallback: Literal["ask", "extractive"] = _now(
        "ask",
        "choice",
        "When the strategy fails and nothing fits: ask (with -p, extractive), or extractive at once.",
        choices=("ask", "extractive"),
    )
    ahead: Literal["free", "on", "off"] = _now(
        "free",
        "choice",
        "Prepare the summary before it is due: never, always, or where a model is known to cost nothing (free).",
        choices=("free", "on", "off"),
    )
    ahead_ratio: float = _now(
        0.7, "number", "Prepare it at this part of the trigger.", minimum=0.1, maximum=0.99
    )
    summary_ratio: float = _now(
        0.15, "number", "A summary takes at most this part of the window.", minimum=0.01, maximum=0.5
    )
    keep_messages: int = _now(
        2,
        "integer",
        "So many of the newest messages, and what follows them, stay word for word.",
        minimum=1,
        maximum=1_000,
    )
    keep_requests: int = _now(
        20_000,
        "integer",
        "So much of a person's last requests stays word for word (at most a tenth of the window).",
        minimum=0,
        maximum=100_000_000,
        unit="tokens",
    )
    priorities: Priorities = _table(Priorities)


def _own(name: str) -> Any:
    """A key of `Compaction` that a profile may set for itself."""
    rule = Compaction.parts[name].rule
    assert rule is not None
    what = rule.help.partition("; left out:")[0].removesuffix(".")
    help = f"{what}; left out: as [compaction] says."
    return Part(None, replace(rule, help=help))


class OwnCompaction(Table, frozen=True):
    """What a profile sets for itself of `Compaction`; None is left out."""

    trigger_ratio: float | None = _own("trigger_ratio")
    reserved_tokens: int | None = _own("reserved_tokens")
    micro_ratio: float | None = _own("micro_ratio")
    micro_stop_ratio: float | None = _own("micro_stop_ratio")
    micro_keep: int | None = _own("micro_keep")
    micro_long: int | None = _own("micro_long")
    strategy: str | None = _own("strategy")
    auto: bool | None = _own("auto")
    review: bool | None = _own("review")
    fallback: Literal["ask", "extractive"] | None = _own("fallback")
    ahead: Literal["free", "on", "off"] | None = _own("ahead")
    ahead_ratio: float | None = _own("ahead_ratio")
    summary_ratio: float | None = _own("summary_ratio")
    keep_messages: int | None = _own("keep_messages")
    keep_requests: int | None = _own("keep_requests")

    def over(self, general: Compaction) -> Compaction:
        """`general`, but for the keys that are given here."""
        given = {name: getattr(self, name) for name in self.parts}
        return replace(general, **{name: value for name, value in given.items() if value is not None})


class Profile(Table, frozen=True):
    """An endpoint and a model: what is asked, and how. `name` is its name in settings.toml."""

    name: str = ""
    provider: Literal["anthropic", "demo"] = _rule(
        "anthropic",
        "choice",
        "Who answers: an endpoint that speaks the Anthropic Messages API, or the offline demo model.",
        choices=("anthropic", "demo"),
        when="choice",
    )
    model: str = _rule("", "text", "The model; left out: the newest that the endpoint lists.", when="choice")
    base_url: str = _rule(ANTHROPIC_URL, "url", "The endpoint's address, without /v1.", when="choice")
    auth: Auth = _rule(
        "bearer", "choice", "How the key is sent.", choices=("bearer", "x-api-key", "none"), when="choice"
    )
    api_key_env: str = _rule(
        "",
        "variable",
        f"The environment variable that holds the key; left out: {ANTHROPIC_KEY}, or none for other endpoints.",
        when="choice",
    )
    context_window: int | None = _rule(
        None,
        "integer",
        "The model's window; left out: asked from the endpoint.",
        minimum=LEAST_WINDOW,
        maximum=100_000_000,
        unit="tokens",
        when="choice",
    )
    max_output_tokens: int | None = _rule(
        None,
        "integer",
        "The longest answer; left out: asked from the endpoint.",
        minimum=1,
        maximum=1_000_000,
        unit="tokens",
        when="choice",
    )
    thinking: Thinking = _rule(
        "off", "choice", "How much the model may think before it answers.", choices=LEVELS, when="choice"
    )
    compaction: OwnCompaction = _table(OwnCompaction)


class Approvals(Table, frozen=True):
    """What tools may do without asking."""

    allow: tuple[str, ...] = _rule(
        (), "list", "Rules: a tool's name, or name:pattern such as bash:git status or bash:pnpm test*."
    )


class Backups(Table, frozen=True):
    """Which backups of a session's log are kept. By default all of them."""

    keep: int | None = _rule(
        None, "integer", "Keep at most this many backups a session, the newest.", minimum=1, maximum=1_000_000
    )
    max_bytes: int | None = _rule(
        None,
        "integer",
        "Keep at most this much of backups a session, the newest.",
        minimum=1,
        maximum=2**50,
        unit="bytes",
    )


class Memory(Table, frozen=True):
    """What is remembered beyond a conversation."""

    keep_markers: bool = _now(
        True, "switch", "Send the model its <memory> markers again, so that it sees what it has proposed."
    )


class Hooks(Table, frozen=True):
    """Commands of the user that run at certain moments, with JSON on their standard input."""

    pre_compact: str = _now("", "text", "A command that runs before a compaction; exit code 2 prevents it.")
    post_compact: str = _now("", "text", "A command that runs after a compaction.")


class Terminal(Table, frozen=True):
    """How the program uses the terminal."""

    keyboard: Literal["auto", "kitty", "legacy"] = _rule(
        "auto",
        "choice",
        "How keys are asked for: every way, the kitty protocol alone, or without it (some input methods).",
        choices=("auto", "kitty", "legacy"),
        when="start",
    )
    bell: bool = _rule(
        True,
        "switch",
        "Ring when a card waits or a long turn is done and no key came for 15 seconds.",
        when="now",
    )


class Price(Table, frozen=True):
    """What a model costs, in US dollars per million tokens."""

    input: float = _rule(0.0, "number", "Input.", minimum=0, maximum=1e6, unit="$ per million tokens")
    output: float = _rule(0.0, "number", "Output.", minimum=0, maximum=1e6, unit="$ per million tokens")
    cache_read: float = _rule(
        0.0, "number", "Input read from the cache.", minimum=0, maximum=1e6, unit="$ per million tokens"
    )
    cache_write: float = _rule(
        0.0, "number", "Input written to the cache.", minimum=0, maximum=1e6, unit="$ per million tokens"
    )


class KnowledgeBase(Table, frozen=True):
    """A place to look things up."""

    kind: str = _rule("markdown", "name", "What it is: markdown, sqlite_fts or another engine's name.")
    path: str = _rule("", "text", "The folder or file it lies in.")
    endpoint: str = _rule("", "text", "The address of its server.")
    api_key_env: str = _rule("", "variable", "The environment variable that holds its server's key.")
    profile_aliases: tuple[str, ...] = _rule((), "list", "The profiles that use it; left out: all.")
    max_results: int = _rule(5, "integer", "The most hits a question brings.", minimum=1, maximum=100)
    min_score: float = _rule(0.0, "number", "Hits below this score are left out.", minimum=0, maximum=1e6)


class Settings(Table, frozen=True):
    """settings.toml, checked, with defaults for what it leaves out.

    `profiles` always holds the built-in ones, `claude` and `demo`, unless the file defines them otherwise. `unknown`
    holds the tables that no part of the program knows: they are kept when the file is saved and named in `notices`.
    `file` is where it was read from, whether that file exists or not.
    """

    profile: str = _rule("claude", "name", "The profile that a session starts with.")
    durability: Durability = _rule(
        "step",
        "choice",
        "When the log is forced to the disk: at each step of a turn, at each record, or never.",
        choices=("step", "record", "off"),
    )
    theme: str = _rule(
        "auto",
        "name",
        "auto (light or dark as the terminal is), light, dark, ansi, or a theme of your own (themes/NAME.toml).",
        when="now",
    )
    glyphs: Signs = _rule(
        "unicode",
        "choice",
        "The signs and lines of the screen; ascii for fonts and terminals that lack others.",
        choices=("unicode", "ascii"),
        when="now",
    )
    motion: Motion = _rule(
        "full",
        "choice",
        "Whether anything on the screen may move by itself; reduced: no animation, no smooth scrolling.",
        choices=("full", "reduced"),
        when="now",
    )
    profiles: Mapping[str, Profile] = _tables(Profile)
    compaction: Compaction = _table(Compaction)
    approvals: Approvals = _table(Approvals)
    keys: Mapping[str, str] = _rule(_EMPTY, "map", 'Keys by action, such as compact = "f5".', when="now")
    terminal: Terminal = _table(Terminal)
    backups: Backups = _table(Backups)
    memory: Memory = _table(Memory)
    hooks: Hooks = _table(Hooks)
    prices: Mapping[str, Price] = _tables(Price)
    knowledge_bases: Mapping[str, KnowledgeBase] = _tables(KnowledgeBase)
    unknown: Mapping[str, Any] = _EMPTY
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
