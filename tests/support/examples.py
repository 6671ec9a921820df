"""What CI tries of what is tried in full when all slow tests run: some cases, and so many examples of a property."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings

_USUAL = 100
"""Examples of a property that says nothing about their number, in CI."""


def some(all_of_them: Iterable[object], every: int) -> list[object]:
    """The first and every so many of these in CI, the others when all slow tests run."""
    return [
        pytest.param(one, marks=() if index % every == 0 else pytest.mark.slow)
        for index, one in enumerate(all_of_them)
    ]


def examples(number: int) -> settings:
    """So many examples in CI; under the profile `slow` as many times more as that profile tries of any property."""
    return settings(max_examples=number * settings().max_examples // _USUAL)
