"""The walk of `tests.tmux.walk`, at the smallest size, and at a usual one with the slow tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import some
from tests.tmux.terminal import missing
from tests.tmux.walk import walk

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.mark.parametrize("size", some([(80, 24), (120, 36)], 2))
def test_no_step_of_a_first_session_loses_anything(tmp_path: Path, size: tuple[int, int]) -> None:
    walk(tmp_path, size, lambda title, pane: print(f"\n=== {title} ===\n{pane}"))
