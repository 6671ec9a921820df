"""Every test has a home of its own and no keys of the machine it runs on."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

gc.disable()  # what is imported and collected stays: it is not looked at until all of it is there

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
    """Two to a core: many tests wait for a program on a terminal, and those of the screen for its next frame."""
    return max(2, 2 * (os.cpu_count() or 1))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays to the end: the collector looks at it no more, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


_LONG = (
    "tests/ui/test_soak.py",
    "tests/tmux/test_walk.py",
    "tests/ui/test_looks.py",
    "tests/ui/transcript/test_spare.py",
    "tests/context/test_faults.py",
    "tests/ui/test_ladders.py",
    "tests/ui/cards/test_scenarios.py",
    "tests/ui/test_reach.py",
    "tests/test_screenshots.py",
    "tests/test_install.py",
    "tests/tmux/",
    "tests/cli/",
    "tests/ui/cards/",
    "tests/ui/inspector/",
    "tests/ui/chat/test_screen.py",
    "tests/ui/test_themes.py",
    "tests/ui/test_connect.py",
    "tests/ui/test_over.py",
    "tests/ui/test_help.py",
    "tests/agent/test_compaction.py",
    "tests/ui/test_session.py",
    "tests/ui/test_sessions.py",
    "tests/ui/test_switching.py",
    "tests/ui/transcript/",
    "tests/ui/",
    "tests/compaction/",
    "tests/context/",
)
"""Files that wait long, or take long, the longest first: no core waits for one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first."""
    place = {name: number for number, name in enumerate(_LONG)}

    def rank(item: pytest.Item) -> int:
        return next((number for name, number in place.items() if item.nodeid.startswith(name)), len(place))

    items.sort(key=rank)
