"""When the context is shortened: at which sizes old results are elided, and at which a summary is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tui_agent.settings.schema import Compaction

Due = Literal["full", "micro"] | None

_FULL_RESERVE_FROM = 200_000
"""Tokens: in a smaller window the reserve is at most a quarter of it."""
_STOP = 0.8
"""Where shortening stops, as a part of where it begins, unless settings say it."""


def should_auto_compact(
    token_count: int,
    max_context_size: int,
    trigger_ratio: float = 0.85,
    reserved_context_size: int = 50_000,
) -> bool:
    """True if so many tokens of a window call for a summary: by their share, or because too little is free.

    Whichever comes first counts. The reserve is at most a quarter of a window under 200,000 tokens.
    """
    if max_context_size <= 0:
        return False
    free = reserve(max_context_size, reserved_context_size)
    return token_count >= trigger_ratio * max_context_size or token_count + free >= max_context_size


def reserve(window: int, reserved: int) -> int:
    """The tokens that are to stay free in a window, where settings ask for `reserved`."""
    return reserved if window >= _FULL_RESERVE_FROM else min(reserved, window // 4)


class Policy:
    """The sizes that settings name, for any window. All figures are tokens."""

    def __init__(self, settings: Compaction) -> None:
        self.settings = settings

    def limit(self, window: int) -> int:
        """The least weight at which a summary is due."""
        by_ratio = _at_least(self.settings.trigger_ratio, window)
        return max(0, min(by_ratio, window - reserve(window, self.settings.reserved_tokens)))

    def ahead_limit(self, window: int) -> int:
        """The least weight at which a summary may be prepared, before it is due."""
        return _at_least(self.settings.ahead_ratio, self.limit(window))

    def summary_most(self, window: int) -> int:
        """The most that a summary may have."""
        return max(1, int(self.settings.summary_ratio * window))

    def micro_limit(self, window: int) -> int:
        """The weight above which old results are elided."""
        return int(self.settings.micro_ratio * window)

    def micro_stop(self, window: int) -> int:
        """The weight down to which they are."""
        ratio = self.settings.micro_stop_ratio
        return int((self.settings.micro_ratio * _STOP if ratio is None else ratio) * window)

    def micro_step(self, window: int) -> int:
        """How much a context has to grow after one batch before the next: so batches are few and large."""
        return max(1, self.micro_limit(window) - self.micro_stop(window))

    def micro_again(self, window: int, relieved: int | None) -> int:
        """The weight above which the next batch is due; the last one ended at `relieved`, None if there was none."""
        first = self.micro_limit(window)
        return first if relieved is None else max(first, relieved + self.micro_step(window))

    def due(self, total: int, window: int, *, floor: int = 0) -> Due:
        """What a context of this weight needs, whether or not settings allow it unasked.

        `floor` is what no summary can take away: the weight of the system prompt and the tools. Where it is most of
        the total, the reserve alone calls for nothing: there is next to nothing to summarise.
        """
        if window <= 0:
            return None
        settings = self.settings
        reserved = 0 if 2 * floor > total else settings.reserved_tokens
        if should_auto_compact(total, window, settings.trigger_ratio, reserved):
            return "full"
        return "micro" if total > self.micro_limit(window) else None


def _at_least(ratio: float, window: int) -> int:
    """The least whole number that is not under this part of a window."""
    whole = int(ratio * window)
    return whole if whole >= ratio * window else whole + 1
