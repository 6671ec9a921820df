"""The code spans of one block of Markdown, while it grows: which runs of backticks begin one, and which end it."""

from __future__ import annotations

import copy
import re
from typing import Literal

State = Literal["text", "code", "maybe"]

_TOKEN = re.compile(r"(`+)|(\\+)|[^`\\]+")
_MISSES = 8
"""Code spans of one block that may turn out not to end; then no more are looked for, so that reading stays linear."""


class Spans:
    """Follows the inline text of a block.

    `fate`: whether the span that might have been open at a `fork` was closed since, or the block ended first.
    """

    def __init__(self) -> None:
        self.fate: Literal["", "closed", "ended"] = ""
        self._opener = 0
        """Backticks that may have begun a code span; 0 if none."""
        self._sure = False
        """True if it is known that it ends."""
        self._inner: list[tuple[int, bool]] = []
        """Runs of backticks since then: how many, and whether a backslash stands before them."""
        self._run, self._slashes, self._escaped = 0, 0, False
        self._misses = 0

    @property
    def state(self) -> State:
        """What text that comes next is."""
        if not self._opener:
            return "text"
        if self._sure:
            return "code"
        return "maybe" if self._misses < _MISSES else "text"

    def feed(self, text: str) -> None:
        """The text goes on with this, on the same line."""
        for token in _TOKEN.finditer(text):
            if token[1]:
                if not self._run:
                    self._escaped = self._slashes % 2 == 1
                self._run += len(token[1])
                self._slashes = 0
                continue
            self.flush()
            self._slashes = self._slashes + len(token[2]) if token[2] else 0

    def flush(self) -> None:
        """No backtick comes next, so a run is over."""
        length, self._run = self._run, 0
        if not length:
            return
        if not self._opener:
            self._opener = length - self._escaped
        elif self._opener != length:
            self._inner.append((length, self._escaped))
        else:
            self.fate = self.fate or "closed"
            self._opener, self._sure = 0, False
            self._inner = []

    def end_line(self) -> None:
        """A newline comes next."""
        self.flush()
        self._slashes = 0

    def end(self) -> None:
        """The block is over."""
        self.flush()
        self.fate = self.fate or "ended"

    def fork(self) -> Spans:
        """Another one at the same place, which knows of no runs before it."""
        other = copy.copy(self)
        other.fate, other._inner = "", []
        return other

    def decide(self, ahead: Spans) -> None:
        """Believe a fork that has read ahead until its fate was known."""
        if ahead.fate == "closed":
            self._sure = True
        else:
            self._misses += 1
            self._next({length for length, _ in ahead._inner})

    def _next(self, after: set[int]) -> None:
        """The code span does not end: perhaps one began later that does, with one of the runs `after` this place."""
        runs, self._opener = self._inner, 0
        last = {length: at for at, (length, _) in enumerate(runs)}
        at = 0
        while at < len(runs):
            length = runs[at][0] - runs[at][1]
            if last.get(length, -1) > at:
                at = next(later for later in range(at + 1, len(runs)) if runs[later][0] == length)
            elif length in after:
                self._opener, self._sure = length, True
                break
            at += 1
        self._inner = runs[at + 1 :]
