from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Inside
from tests.support.served import Served, served


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


@pytest.fixture
def server(home: Path) -> Iterator[Served]:
    """A scripted model, chosen by the user's settings (`--profile scripted`)."""
    with served(home) as made:
        yield made
