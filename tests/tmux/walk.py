"""A walk through the app in a real terminal, with no key set: every step is typed, every screen is printed.

    python -m tests.tmux.walk [COLUMNS ROWS]

Launch; the demo model reads a file, runs a command, edits a file, each change approved; records, checkpoints and
backups are looked at; two checkpoints back, undo, redo; a backup restored; killed in the middle of a command;
`--continue` goes on. It ends with what lies on disk, and fails at the first step that does not show what it must.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.tmux.terminal import WAIT_SECONDS, Terminal, missing

Show = Callable[[str, str], None]

READY = r"\A[^\n]*\bready\b"
"""What the status line says when nothing runs."""
_ENDED = re.compile(rb'"stop_reason": ?"end_turn"')
_ARMING_S = 0.5
"""Seconds for which a card that came to the front swallows what is pressed."""


def program() -> list[str]:
    """The installed command of the environment that runs this."""
    return [str(Path(sys.executable).with_name("tui-agent"))]


def walk(place: Path, size: tuple[int, int], show: Show) -> None:
    """The whole walk in a folder that is empty before."""
    shop = place / "shop"
    shop.mkdir()
    (shop / "greeting.txt").write_text("hello world\nsecond line\n")
    environment = {"TUI_AGENT_HOME": str(place / "home"), "HOME": str(place), "TERM": "tmux-256color"}
    with Terminal(program(), cwd=shop, environment=environment, size=size) as terminal:
        log = first_half(terminal, place, show)
        os.kill(terminal.pid(), signal.SIGKILL)
        terminal.wait_dead()
        show("killed in the middle of a command", terminal.pane())
    before = log.read_bytes()
    with Terminal([*program(), "--continue"], cwd=shop, environment=environment, size=size) as terminal:
        show("--continue", terminal.wait("cut off"))
        assert log.read_bytes().startswith(before), "opening again changed what was on disk"
        ended = answers(log)
        say(terminal, "read greeting.txt")
        idle(terminal, log, ended)
        show("and it goes on", terminal.wait("goodbye world"))
        terminal.keys("C-q")
        terminal.wait_dead()
        show("after quitting", terminal.pane())
    show(
        "on disk",
        "\n".join(sorted(f"{f.stat().st_size:8} {f.name}" for f in log.parent.iterdir() if f.is_file())),
    )


def first_half(terminal: Terminal, place: Path, show: Show) -> Path:
    """From the launch to a command that is running; the log that is written."""
    show("launch without a key", terminal.wait("demo model - no AI"))
    terminal.wait(r"setting\s+ANTHROPIC_API_KEY|ANTHROPIC_API_KEY before")
    say(terminal, "read greeting.txt")
    show("a file is read", terminal.wait("2 lines came back"))
    log = next((place / "home").rglob("context.jsonl"))
    idle(terminal, log, 0)
    say(terminal, "run ls -la")
    show("a command asks", terminal.wait("run this command"))
    approve(terminal)
    show("and has run", terminal.wait("exit 0"))
    idle(terminal, log, 1)
    say(terminal, "in greeting.txt change hello to goodbye")
    show("an edit asks", terminal.wait("make this change"))
    approve(terminal)
    show("and is made", terminal.wait(r"\+1 -1"))
    idle(terminal, log, 2)
    assert (place / "shop" / "greeting.txt").read_text().startswith("goodbye")
    travel(terminal, show)
    say(terminal, "run sleep 60")
    terminal.wait("run this command")
    approve(terminal)
    show("a command is running", terminal.wait(r"bash sleep 60.*runn?ing|running"))
    return log


def travel(terminal: Terminal, show: Show) -> None:
    """Look at the inspector; two checkpoints back, undo, redo, a backup restored."""
    inspect(terminal, 0)
    show("the records", terminal.wait("first words"))
    terminal.keys("Right")
    show("the checkpoints", terminal.wait("3 turns, 7 steps"))
    leave(terminal)
    terminal.keys("C-x", "g")
    terminal.wait("go back to before")
    terminal.wait("6 +.* +in greeting.txt change")
    terminal.keys("Down")
    show("two turns back: the preview", terminal.wait("❯ +3 "))
    terminal.keys("Enter")
    terminal.wait("go back to before", gone=True)
    show("gone back, the words are in the composer", terminal.wait(r"> run ls -la\s*\n.*jump back"))
    assert "change hello to goodbye" not in terminal.pane()
    terminal.keys("C-c")
    terminal.wait("> Ask, or /")
    terminal.keys("C-x", "u")
    show("undone", terminal.wait("change hello to goodbye"))
    terminal.keys("C-x", "r")
    show("redone", terminal.wait("change hello to goodbye", gone=True))
    inspect(terminal, 1)
    show("the backups", terminal.wait("3 backups"))
    terminal.keys("End")
    terminal.wait(r"❯ +(context_)?1\b")
    terminal.keys("r")
    leave(terminal)
    show("the oldest backup restored", terminal.wait("change hello to goodbye"))


def inspect(terminal: Terminal, further: int) -> None:
    """Open the inspector, at the tab where it was closed, and go so many tabs further."""
    terminal.keys("C-x", "i")
    terminal.wait("Records +(Checkpoints|Points) +Backups")
    terminal.wait("/ filter")
    for _ in range(further):
        terminal.keys("Right")


def leave(terminal: Terminal) -> None:
    """Close the inspector; a terminal takes Escape and a key after it at once for one key with Alt."""
    terminal.keys("C-x", "i")
    terminal.wait("Records +(Checkpoints|Points) +Backups", gone=True)


def say(terminal: Terminal, words: str) -> None:
    """Type a prompt and send it."""
    terminal.type(words)
    terminal.wait(re.escape(words[-20:]))
    terminal.keys("Enter")


def approve(terminal: Terminal) -> None:
    """Go to the card and say yes, when it has been there for so long that it takes keys."""
    terminal.wait("Tab to answer")
    seen = time.monotonic()
    terminal.keys("C-x", "a")
    terminal.wait("Tab to answer", gone=True)
    time.sleep(max(0.0, seen + _ARMING_S - time.monotonic()))
    terminal.keys("y")
    # the head, for a card that takes a line more is caught half drawn
    terminal.wait(r"\d to answer", gone=True)


def answers(log: Path) -> int:
    """How many turns of a log came to their end."""
    return len(_ENDED.findall(log.read_bytes()))


def idle(terminal: Terminal, log: Path, before: int) -> None:
    """Wait until a turn is over that began when so many had ended; the status line may say ready before it began."""
    end = time.monotonic() + WAIT_SECONDS
    while answers(log) <= before:
        assert time.monotonic() < end, f"the turn does not end:\n{terminal.pane()}"
        time.sleep(0.05)
    terminal.wait(READY)


def main() -> int:
    """Walk and print."""
    if reason := missing():
        print(f"skipped: {reason}")
        return 0
    size = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) == 3 else (120, 36)

    def show(title: str, pane: str) -> None:
        print(f"\n=== {title} ===\n{pane}")

    with tempfile.TemporaryDirectory() as place:
        walk(Path(place), size, show)
    print("\nevery step showed what it must")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
