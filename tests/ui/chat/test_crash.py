"""What was written and not sent outlives the program's being killed."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.cli import terminal
from tests.support.script import Hold, Reply
from tests.support.served import served

PATIENCE = 60.0


def drafts(home: Path) -> list[dict[str, object]]:
    found = []
    for path in home.rglob("draft.json"):
        found.append(json.loads(path.read_text()))
    return found


def wait(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.05)


def test_draft_and_queue_are_offered_again_after_a_kill(tmp_path: Path, home: Path) -> None:
    (shop := tmp_path / "shop").mkdir()
    paste = "\r".join(f"line {number}" for number in range(40))
    hold = Hold()
    with served(home) as server:
        server.script(Reply.text(["one ", "two"]).holding(hold, after=1))
        with terminal.run("--profile", "scripted", cwd=shop) as run:
            run.until(b"ready")
            run.press(b"go\r")
            server.wait(hold.reached)
            run.press(f"\x1b[200~{paste}\x1b[201~ waits\r".encode())
            run.until(b"waits, at the next step")
            run.press(b"half a thought")
            wait(
                lambda: [d for d in drafts(home) if d["draft"] == "half a thought" and d["queue"]],
                "the draft",
            )
            run.process.send_signal(signal.SIGKILL)
            run.process.wait()
        server.let_go(hold)
        [session] = [path.parent.name for path in home.rglob("draft.json")]
        with terminal.run("--resume", session, "--profile", "scripted", cwd=shop) as run:
            run.until(b"2 unsent prompts of last time", b"[Pasted #1, 40 lines]", b"half a thought")
            run.press(b"\x11")
            assert run.end() == 0
    assert len(server.requests) == 1, "nothing was sent by itself"


def test_words_of_a_session_in_which_nothing_was_said_outlive_a_kill(tmp_path: Path, home: Path) -> None:
    (shop := tmp_path / "shop").mkdir()
    with terminal.run(".", "--demo", cwd=shop) as run:
        run.until(b"ready")
        run.press(b"half a thought")
        wait(lambda: [draft for draft in drafts(home) if draft["draft"] == "half a thought"], "the draft")
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    with terminal.run("--demo", "--continue", cwd=shop) as run:
        run.until(b"unsent words of last time", b"half a thought")
        run.press(b"\x11")
        assert run.end() == 0
