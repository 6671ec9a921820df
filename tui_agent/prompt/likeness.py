"""When two texts say the same: by a fingerprint that overlooks case and white space, or by the words they share."""

from __future__ import annotations

from collections.abc import Set
from hashlib import sha256

LIKE = 0.9
"""Texts that share so much of their shingles (Jaccard) say the same."""
_WORDS = 3
"""Words in a shingle."""


def normal(text: str) -> str:
    """The text without what does not change what it says: case and white space."""
    return " ".join(text.casefold().split())


def fingerprint(text: str, version: str = "") -> str:
    """The same for texts that differ in case or white space alone; `version` tells apart what has the same words."""
    told = f"{normal(text)}\0{version}" if version else normal(text)
    return sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


class Likeness:
    """A text, to be compared with many: what is worked out of it is worked out once."""

    def __init__(self, text: str) -> None:
        self._words = normal(text).split()
        self._shingles: Set[tuple[str, ...]] | None = None

    @property
    def shingles(self) -> Set[tuple[str, ...]]:
        """Every run of three words; of a shorter text all of its words."""
        if self._shingles is None:
            words, size = self._words, min(_WORDS, len(self._words))
            self._shingles = {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}
        return self._shingles

    def is_like(self, other: Likeness) -> bool:
        """True if both say the same, or very nearly."""
        if self._words == other._words:
            return True
        short, long = sorted((len(self.shingles), len(other.shingles)))
        if not short or short < LIKE * long:
            return False  # sets of such sizes cannot overlap so much
        shared = len(self.shingles & other.shingles)
        return shared >= LIKE * (short + long - shared)
