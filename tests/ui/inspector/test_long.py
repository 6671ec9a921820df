"""The inspector on a very long log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import sessions

MEGABYTE = 1024 * 1024


@pytest.mark.slow
def test_one_of_100_000_records_is_found_and_memory_grows_by_30_mb_at_most(tmp_path: Path) -> None:
    sessions.write(tmp_path / "context.jsonl", 100_000, seed=1)
    command = [sys.executable, "-m", "tests.ui.inspector.long", str(tmp_path), "17", "99998"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["found"] == {"17": [17], "99998": [99_998]}
    assert said["filtered"] <= 30 * MEGABYTE
    assert said["opened"] <= 30 * MEGABYTE
