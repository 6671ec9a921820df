"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100
"""Examples of a property that says nothing about their number, in CI."""


def examples(number: int) -> settings:
    """So many examples in CI; under the profile `slow` as many times more as that profile tries of any property."""
    return settings(max_examples=number * settings().max_examples // _USUAL)
