"""Every test has a home of its own and no keys of the machine it runs on."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("slow", parent=settings.get_profile("ci"), max_examples=2000)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names for homes, counted here: pytest looks through all that there are for the next number."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh TUI_AGENT_HOME; variables that hold keys are taken away."""
    place = next(homes)
    place.mkdir()
    monkeypatch.setenv("TUI_AGENT_HOME", str(place))
    monkeypatch.setenv("HOME", str(place))
    for name in tuple(os.environ):
        if name.endswith(("_API_KEY", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)
    return place


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Half as many again as there are cores: many tests wait for a program on a terminal."""
    return max(2, (os.cpu_count() or 2) * 3 // 2)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays to the end: the collector looks at it no more, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


_LONG = (
    *(
        "tests/ui/test_soak.py",
        "tests/test_screenshots.py",
        "tests/tmux/",
        "tests/cli/",
        "tests/test_install.py",
    ),
    *("tests/ui/inspector/test_live.py", "tests/ui/cards/test_any_keys.py", "tests/ui/test_reach.py"),
)
"""Files that wait long, or take long, for the few tests they hold."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, so that no core waits for one of them at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
