"""Pictures of the installed program with the demo model, in three sizes.

    python -m tests.screenshots [NAME ...] [--check] [--png DIR]

Without names all scenes are drawn into screenshots/NAME-WIDTHxHEIGHT.svg. Each film runs `tui-agent` on a terminal of
its own in a fresh home, types, and draws what it shows. `--check` draws them anew and fails if one differs. `--png`
also writes PNG files (with rsvg-convert, which librsvg2-bin brings). Times, durations and ids are masked.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.filmed import Filmed

FOLDER = Path(__file__).resolve().parents[1] / "screenshots"
SIZES = ((80, 24), (120, 36), (200, 50))
_PLACE = Path(tempfile.gettempdir()) / "tui-agent-pictures"
"""Where films run: always the same place, because the paths of a session weigh tokens."""
_REPORT = '''"""The report of a shop."""


def report(rows):
    return "\\n".join(f"{name:20}{price:8.2f}" for name, price in rows)
'''
_LONG = "write a long answer with tables and code"
_TASKS = "read report.py, then edit report.py: replace rows with items"
_RIGHT, _LEFT = "\x1b[C", "\x1b[D"
_ESC = "\x1b"

_SMALL = """theme = "dark"
profile = "demo"

[profiles.demo]
provider = "demo"
auth = "none"
context_window = 24000
"""
"""Settings of a small window, which a short talk fills."""

Film = Callable[[Filmed], Iterator[str]]
"""Types into a program, and gives the name of each scene when it stands."""


def _send(film: Filmed, words: str, *shown: str) -> None:
    film.rest()
    film.press(words)
    film.until(words[-20:])
    film.rest()
    film.press("\r")
    film.until(*shown)


def _turn_to(film: Filmed) -> None:
    """Give the waiting card the focus."""
    film.rest()
    if "Tab to answer" in film.text:
        film.press("\t")
        film.until("Tab to answer", gone=True)


def _answer(film: Filmed, *shown: str) -> None:
    """Give the waiting card the focus, wait until it takes keys, and allow."""
    _turn_to(film)
    film.rest()
    film.rest()
    film.press("y")
    film.until(*shown)
    film.until("ready")


def _main(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    yield "welcome"
    _send(film, "read report.py", "lines came back", "ready")
    _send(film, "run python3 -m py_compile report.py", "run this command?")
    _turn_to(film)
    yield "approval"
    _answer(film, "exit code 0")
    _send(film, "edit report.py: replace rows with items", "make this change?")
    _answer(film, "is now")
    film.press("\x0f")
    film.until("▾ edit_file")
    yield "chat"
    film.press("\x18i")
    film.until("first words")
    yield "records"
    film.press(_RIGHT)
    film.until("your words")
    film.press(_RIGHT * 2)
    film.until("what fills")
    yield "tokens"
    film.press("\x18i")
    film.until("Tokens", gone=True)
    film.press("\x06rows")
    film.until("of")
    yield "find"
    film.press(_ESC)
    film.rest()
    film.press("\x18g")
    film.until("messages leave the chat")
    yield "jump"
    film.press("\r")
    film.until("context_1.jsonl")
    film.rest()
    film.press("\x03")
    film.press("\x18u")
    film.until("is undone")
    film.press("\x18i")
    film.until("what fills")  # it opens where it was closed
    film.rest()
    film.press(_LEFT)
    film.until("2 backups")
    yield "backups"


def _places(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    film.press("\x18h")
    film.until("keys and commands")
    yield "help"
    film.press(_ESC)
    film.until("keys and commands", gone=True)
    film.press("\x18,")
    film.until("durability")
    yield "settings"
    film.press("\x18")
    film.until("connect")  # the letters
    film.press("o")
    film.until("Ollama")
    yield "connect"


def _compaction(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, "read report.py", "lines came back", "ready")
    _send(film, _LONG, "That was all", "ready")
    _send(film, "run python3 -m py_compile report.py", "run this command?")
    _answer(film, "exit code 0")
    film.rest()
    film.press("\x18c")
    film.until("compacted  ")
    film.rest()
    film.press("\x18a")
    film.until("u undo")
    yield "compaction"


def _memory(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, "remember that I use tabs", "remember?", "1 to answer")
    film.rest()
    film.press("\x18a")
    film.until("a accept")
    yield "proposal"
    film.rest()
    film.press("a")
    film.until("remembered  user")
    _send(film, "remember that I never push to main", "remember?", "1 to answer")
    film.press("\x18b")
    film.until("Kept 1")
    film.press("\r")
    film.until("accepted")
    yield "memory"


def _planning(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, f"plan to {_TASKS}", "accept this plan?")
    _turn_to(film)
    yield "plan"
    film.rest()
    film.rest()
    film.press("a")
    film.until("make this change?")
    _answer(film, "is now")
    _send(film, "/goal run python3 -m py_compile report.py, then run ls", "run this command?")
    _turn_to(film)
    yield "goal"


def _request(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, "read report.py", "lines came back", "ready")
    _send(film, _LONG, "That was all", "ready")
    film.press("\x18v")
    film.until("the next request", " messages ", "builtin tui-agent")
    yield "request"


def _light(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, _LONG, "That was all", "ready")
    film.rest()
    yield "light"


def _ansi(film: Filmed) -> Iterator[str]:
    film.until("ready", "demo model - no AI", "jump back")
    _send(film, "edit report.py: replace rows with items", "make this change?")
    _turn_to(film)
    yield "ansi"


FILMS: dict[str, tuple[Film, str]] = {
    "main": (_main, 'theme = "dark"\n'),
    "compaction": (_compaction, _SMALL),
    "memory": (_memory, 'theme = "dark"\n'),
    "planning": (_planning, 'theme = "dark"\n'),
    "request": (_request, 'theme = "dark"\n'),
    "places": (_places, 'theme = "dark"\n'),
    "light": (_light, 'theme = "light"\n'),
    "ansi": (_ansi, 'theme = "ansi"\n'),
}
"""Films, and the settings they run with."""


def shoot(name: str, size: tuple[int, int]) -> dict[str, str]:
    """The scenes of a film at a size, as SVG."""
    film, settings = FILMS[name]
    home = _PLACE / f"{name}-{size[0]}"
    shutil.rmtree(home, ignore_errors=True)
    workspace = home / "work" / "shop"
    workspace.mkdir(parents=True)
    (workspace / "report.py").write_text(_REPORT)
    config = home / "agent" / "config"
    config.mkdir(parents=True)
    (config / "settings.toml").write_text(settings)
    environment = {
        "HOME": str(home),
        "TUI_AGENT_HOME": str(home / "agent"),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [str(Path(sys.executable).with_name("tui-agent"))]
    drawn: dict[str, str] = {}
    with Filmed(command, cwd=workspace, environment=environment, size=size) as running:
        for scene in film(running):
            running.rest()
            drawn[scene] = running.svg("tui-agent")
    shutil.rmtree(home, ignore_errors=True)
    return drawn


def picture(scene: str, size: tuple[int, int]) -> Path:
    """The file of a scene at a size."""
    return FOLDER / f"{scene}-{size[0]}x{size[1]}.svg"


def differences(drawn: dict[str, str], size: tuple[int, int]) -> list[str]:
    """What differs from the files: each with its first lines."""
    found = []
    for scene, svg in drawn.items():
        file = picture(scene, size)
        old = file.read_text() if file.exists() else ""
        if old != svg:
            lines = difflib.unified_diff(old.splitlines(), svg.splitlines(), lineterm="", n=0)
            found.append("\n".join([file.name, *list(lines)[:12]]))
    return found


def _png(scene: str, size: tuple[int, int], svg: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # librsvg drops spaces at the ends of a text unless it is told to keep them
    spaced = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    target = folder / picture(scene, size).with_suffix(".png").name
    subprocess.run(["rsvg-convert", "-o", str(target)], input=spaced.encode(), check=True)


def main() -> int:
    """The command line."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"films: {', '.join(FILMS)}")
    parser.add_argument("--check", action="store_true", help="fail if a picture differs from its file")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also write PNG files into this folder")
    options = parser.parse_args()
    if unknown := set(options.names) - set(FILMS):
        parser.error(f"no film is called {', '.join(sorted(unknown))}; there are {', '.join(FILMS)}")
    if options.png and shutil.which("rsvg-convert") is None:
        parser.error("--png needs rsvg-convert (Debian: librsvg2-bin)")
    different = []
    for name in options.names or FILMS:
        for size in SIZES:
            drawn = shoot(name, size)
            if options.check:
                different += differences(drawn, size)
                continue
            FOLDER.mkdir(exist_ok=True)
            for scene, svg in drawn.items():
                picture(scene, size).write_text(svg)
                print(picture(scene, size).name)
                if options.png:
                    _png(scene, size, svg, options.png)
    if different:
        print(*different, "draw them anew with python -m tests.screenshots", sep="\n", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
