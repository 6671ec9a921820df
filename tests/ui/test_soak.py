"""A few seconds of the soak, and half a minute with the slow tests: keys, turns and resizes at once raise nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.soak import run


@pytest.mark.parametrize("seconds", [8, pytest.param(30, marks=pytest.mark.slow)])
def test_keys_turns_and_resizes_at_once_raise_nothing(seconds: float, tmp_path: Path) -> None:
    soak = run(seconds, tmp_path)
    assert not soak.errors
    assert soak.records and soak.echoes
