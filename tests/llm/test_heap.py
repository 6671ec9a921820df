"""What a long request left free is not kept."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tui_agent.llm.heap import trim

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to")


def resident() -> int:
    """Pages of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_what_is_free_between_things_in_use_is_given_back() -> None:
    made = [bytes(100_000) for _ in range(600)]
    kept = made[::50]
    full = resident()
    del made
    trim()
    assert full - resident() > 5_000, "much of 60 MB"
    assert all(len(piece) == 100_000 for piece in kept)
