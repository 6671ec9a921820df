"""What is installed from a wheel is whole: the app starts from it, with its stylesheets."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built with the build backend that the tests have."""
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)], cwd=_ROOT, check=True
    )
    return next(place.glob("*.whl"))


def test_the_wheel_holds_the_package_and_its_stylesheets_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tui_agent"}
    styles = {Path(name).name for name in names if name.startswith("tui_agent/styles/")}
    assert styles == {path.name for path in (_ROOT / "styles").glob("*.tcss")}


def test_the_app_starts_from_the_wheel_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python, command = str(place / "bin" / "python"), str(place / "bin" / "tui-agent")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    # What the package depends on is there already: the plain path does not bring this checkout along.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    workspace = tmp_path / "shop"
    workspace.mkdir()
    found = subprocess.run(
        [python, "-c", "import tui_agent; print(tui_agent.__file__)"],
        cwd=workspace, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.startswith(str(site))
    with Terminal(command, cwd=workspace, python=python) as terminal:
        terminal.until(b"no AI", b"commands")
        terminal.press(b"\x11")
        assert terminal.end() == 0
    assert b"Traceback" not in terminal.shown
