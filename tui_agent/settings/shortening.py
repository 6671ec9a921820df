"""The settings of compaction: when and how a long context is shortened."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from tui_agent.settings.table import Part, Table, now, rule, table


def _priority(default: int, help: str) -> Any:
    return rule(default, "integer", help, minimum=0, maximum=100)


class Priorities(Table, frozen=True):
    """How much messages matter, 0 to 100: what matters least is shortened first. 100 is never shortened."""

    goal: int = _priority(100, "The goal and the plan, while nothing newer was told of them.")
    words: int = _priority(75, "What a person said. Micro-compaction never touches it.")
    failures: int = _priority(75, "Results of calls that failed.")
    normal: int = _priority(50, "Answers, and results of calls.")
    reasoning: int = _priority(25, "What the model says to itself between two calls.")
    confirmations: int = _priority(0, "Results that only say that a write succeeded.")
    superseded: int = _priority(0, "Reminders of which a newer one was told.")
    trivial_steps: int = rule(
        20,
        "integer",
        "What is of priority 0 expires after so many answers of the model.",
        minimum=1,
        maximum=100_000,
    )


class Compaction(Table, frozen=True):
    """When and how a long context is shortened."""

    trigger_ratio: float = now(
        0.85, "number", "Compact when this part of the window is full.", minimum=0.1, maximum=0.99
    )
    reserved_tokens: int = now(
        50_000,
        "integer",
        "Compact when less than this is free (at most a quarter of a window under 200,000).",
        minimum=0,
        maximum=100_000_000,
        unit="tokens",
    )
    micro_ratio: float = now(
        0.5,
        "number",
        "Shorten old tool results when this part of the window is full.",
        minimum=0.05,
        maximum=0.99,
    )
    micro_stop_ratio: float | None = now(
        None,
        "number",
        "Shorten them until this part of the window is full; left out: four fifths of micro_ratio.",
        minimum=0.01,
        maximum=0.98,
    )
    micro_keep: int = now(
        3,
        "integer",
        "So many of the newest answers to calls are never shortened.",
        minimum=1,
        maximum=1_000,
    )
    micro_long: int = now(
        5_000,
        "integer",
        "Of results longer than this the first and last lines stay.",
        minimum=200,
        maximum=10_000_000,
        unit="characters",
    )
    strategy: str = now("summary", "name", "How: summary, extractive, none, or an installed strategy's name.")
    auto: bool = now(True, "switch", "Compact without being asked.")
    review: bool = now(
        False, "switch", "Show the summary before it takes effect (with -p: not, and it says so)."
    )
    fallback: Literal["ask", "extractive"] = now(
        "ask",
        "choice",
        "When the strategy fails and nothing fits: ask (with -p, extractive), or extractive at once.",
        choices=("ask", "extractive"),
    )
    ahead: Literal["free", "on", "off"] = now(
        "free",
        "choice",
        "Prepare the summary before it is due: never, always, or where a model is known to cost nothing (free).",
        choices=("free", "on", "off"),
    )
    ahead_ratio: float = now(
        0.7, "number", "Prepare it at this part of the trigger.", minimum=0.1, maximum=0.99
    )
    summary_ratio: float = now(
        0.15, "number", "A summary takes at most this part of the window.", minimum=0.01, maximum=0.5
    )
    keep_messages: int = now(
        2,
        "integer",
        "So many of the newest messages, and what follows them, stay word for word.",
        minimum=1,
        maximum=1_000,
    )
    keep_requests: int = now(
        20_000,
        "integer",
        "So much of a person's last requests stays word for word (at most a tenth of the window).",
        minimum=0,
        maximum=100_000_000,
        unit="tokens",
    )
    priorities: Priorities = table(Priorities)


def _own(name: str) -> Any:
    """A key of `Compaction` that a profile may set for itself."""
    found = Compaction.parts[name].rule
    assert found is not None
    what = found.help.partition("; left out:")[0].removesuffix(".")
    help = f"{what}; left out: as [compaction] says."
    return Part(None, replace(found, help=help))


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
