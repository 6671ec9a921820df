"""Which rows of a list are shown: all of them, or those a filter lets through, found a slice at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from time import perf_counter

SLICE_S = 0.005
"""Seconds a filter works before it lets others run."""


class Sieve:
    """The rows shown of `length` rows. A position counts the shown ones, an index all of them."""

    def __init__(self, length: int = 0) -> None:
        self.length = length
        self._wanted: Callable[[int], bool] | None = None
        self._found = array("I")
        self._looked = 0

    def __len__(self) -> int:
        """Rows shown: all, or those found so far."""
        return self.length if self._wanted is None else len(self._found)

    @property
    def filters(self) -> bool:
        """True if a filter is in force."""
        return self._wanted is not None

    @property
    def busy(self) -> bool:
        """True while the filter has not looked at every row."""
        return self._wanted is not None and self._looked < self.length

    def want(self, wanted: Callable[[int], bool] | None) -> None:
        """Show only the rows for whose index it is true; None shows all."""
        self._wanted = wanted
        self.again()

    def again(self) -> None:
        """Look at every row anew."""
        self._found, self._looked = array("I"), 0

    def look(self) -> bool:
        """Look at rows for a slice of time; returns whether any was found."""
        wanted, until, had = self._wanted, perf_counter() + SLICE_S, len(self._found)
        while wanted is not None and self._looked < self.length:
            if wanted(self._looked):
                self._found.append(self._looked)
            self._looked += 1
            if perf_counter() > until:
                break
        return len(self._found) != had

    def index(self, position: int) -> int:
        """The index of the row at a position."""
        return position if self._wanted is None else self._found[position]

    def position(self, index: int) -> int:
        """Where the row with that index is shown, -1 if it is not."""
        nearest = self.nearest(index)
        return nearest if nearest >= 0 and self.index(nearest) == index else -1

    def nearest(self, index: int) -> int:
        """Where the row nearest to that index is shown, -1 if none is."""
        shown = len(self)
        if not shown:
            return -1
        if self._wanted is None:
            return max(0, min(index, shown - 1))
        after = min(bisect_left(self._found, index), shown - 1)
        before = max(0, after - 1)
        return min(after, before, key=lambda position: abs(self._found[position] - index))
