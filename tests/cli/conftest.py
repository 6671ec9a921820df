from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Inside


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workspace."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shop: Path) -> Inside:
    """Runs the command line in this process, inside the workspace."""
    return Inside(capsys, monkeypatch, shop)
