"""Half a minute of the soak: keys, turns and resizes at once raise nothing."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.soak import run

SECONDS = 30


def test_keys_turns_and_resizes_at_once_raise_nothing(tmp_path: Path) -> None:
    soak = run(SECONDS, tmp_path)
    assert not soak.errors
    assert soak.records and soak.echoes
