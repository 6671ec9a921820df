"""The `_usage` records of a log, as columns: there may be tens of thousands, of which the last few are looked at."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import overload

from msgspec import Struct


class Usage(Struct, frozen=True):
    """A `_usage` record: `boundary` is the index of the last line it covers, `produced` that of the answer, or -1.

    A usage covers at least what the ones before it cover.
    """

    index: int
    count: int
    exact: bool
    boundary: int
    produced: int


class Usages(Sequence[Usage]):
    """The `_usage` records in order, as columns."""

    __slots__ = ("boundary", "count_", "exact", "index_", "produced")

    def __init__(self) -> None:
        self.index_ = array("I")
        self.count_ = array("Q")
        self.exact = bytearray()
        self.boundary = array("I")
        self.produced = array("q")

    def __len__(self) -> int:
        return len(self.index_)

    @overload
    def __getitem__(self, at: int) -> Usage: ...
    @overload
    def __getitem__(self, at: slice) -> list[Usage]: ...
    def __getitem__(self, at: int | slice) -> Usage | list[Usage]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        return Usage(
            self.index_[at], self.count_[at], bool(self.exact[at]), self.boundary[at], self.produced[at]
        )

    def before(self, index: int) -> int:
        """How many stand before the line at `index`."""
        return bisect_left(self.index_, index)

    def add(self, index: int, count: int, exact: bool, boundary: int, produced: int) -> None:
        """Take the next one. A boundary of -1 is not known yet."""
        bounds = self.boundary
        last = bounds[-1] if bounds else 0
        self.index_.append(index)
        self.count_.append(count)
        self.exact.append(exact)
        bounds.append(boundary if boundary > last else last)
        self.produced.append(produced)

    def correct(self, found: Mapping[int, tuple[int, int]]) -> None:
        """What some cover, by their place: boundary and answer, which were not known when they were taken."""
        if not found:
            return
        first = min(found)
        last = self.boundary[first - 1] if first else 0
        for at in range(first, len(self)):
            boundary = self.boundary[at]
            if at in found:
                boundary, self.produced[at] = found[at]
            last = self.boundary[at] = max(last, boundary)

    def first(self, count: int) -> Usages:
        """The first so many."""
        other = Usages()
        for name in self.__slots__:
            setattr(other, name, getattr(self, name)[:count])
        return other
